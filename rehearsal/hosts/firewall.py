"""Which VPC firewall rule decides: Google's order, without any machinery.

Source: https://cloud.google.com/firewall/docs/firewalls (lower priority number first, deny before allow at the same
priority, an implied deny for ingress and an implied allow for egress at the end).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_address, ip_network
from typing import Literal

from rehearsal.hosts.backend import FirewallRule


@dataclass(frozen=True)
class Match:
    """One (action, protocol, ports) of a rule, in the order in which matches decide."""

    rule: FirewallRule
    allow: bool
    protocol: str
    ports: tuple[str, ...]


def matches(
    rules: Iterable[FirewallRule],
    network: str,
    tags: Iterable[str],
    direction: Literal["INGRESS", "EGRESS"],
) -> Iterator[Match]:
    """What decides for a host with `tags` in `network`, first match first; the implied rule comes after."""
    mine = frozenset(tags)
    found = [
        Match(rule, allow, protocol, ports)
        for rule in rules
        if rule.network == network and rule.direction == direction and not rule.disabled
        if not rule.target_tags or mine & frozenset(rule.target_tags)
        for allow, pairs in ((False, rule.denied), (True, rule.allowed))
        for protocol, ports in pairs
    ]
    return iter(sorted(found, key=lambda match: (match.rule.priority, match.allow)))


def admits(
    rules: Iterable[FirewallRule],
    network: str,
    tags: Iterable[str],
    source: str,
    port: int,
    protocol: str = "tcp",
    source_tags: Iterable[str] = (),
) -> bool:
    """Whether a host with `tags` in `network` takes a new connection to `port` from `source`.

    `source` is an address, or a range (IAP_RANGE): a rule that meets any part of it applies. `source_tags` are those
    of the host at `source`, if it is one of the network.
    """
    senders = ip_network(source)
    sender_tags = frozenset(source_tags)
    for match in matches(rules, network, tags, "INGRESS"):
        rule = match.rule
        unnamed = not rule.source_ranges and not rule.source_tags
        by_range = any(senders.overlaps(ip_network(text)) for text in rule.source_ranges if ":" not in text)
        if not (unnamed or by_range or sender_tags & frozenset(rule.source_tags)):
            continue
        if _same_protocol(match.protocol, protocol) and (not match.ports or _within(port, match.ports)):
            return match.allow
    return False


def port_range(text: str) -> tuple[int, int]:
    """First and last port of "22" or "8000-9000"."""
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def ipv4(ranges: Iterable[str]) -> list[IPv4Network]:
    """The IPv4 ones of `ranges`: hosts of a rehearsal have no other addresses."""
    return [IPv4Network(text) for text in ranges if ":" not in text]


def inside(address: str, ranges: Iterable[str]) -> bool:
    """Whether `address` lies in any of the IPv4 `ranges`."""
    return any(ip_address(address) in network for network in ipv4(ranges))


def _within(port: int, ports: tuple[str, ...]) -> bool:
    return any(first <= port <= last for first, last in map(port_range, ports))


def _same_protocol(ours: str, theirs: str) -> bool:
    numbers = {"icmp": "1", "ipip": "4", "tcp": "6", "udp": "17", "esp": "50", "ah": "51", "sctp": "132"}
    return ours == "all" or numbers.get(ours, ours) == numbers.get(theirs, theirs)
