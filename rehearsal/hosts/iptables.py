"""The VPC's rules as one host sees them, in the language of iptables-restore.

The chains that are filled here are jumped to from those that the image's `boot` lays down: it has already accepted
loopback, what belongs to established connections, and the metadata server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rehearsal.hosts.backend import IAP_RANGE, FirewallRule
from rehearsal.hosts.firewall import Match, inside, ipv4, matches, port_range

_PROTOCOLS = {"ipip": "4", "all": ""}


@dataclass(frozen=True)
class Surroundings:
    """What a host's rules depend on besides the rules.

    `gateway` is the machine's own address on the host's network; `members` are the addresses by tag of the hosts in
    the VPC; `resolvers` are the name servers that the engine asks, from within the host's network namespace.
    """

    network: str
    ip: str
    tags: tuple[str, ...]
    gateway: str
    vpc_ranges: tuple[str, ...]
    members: Mapping[str, Sequence[str]]
    resolvers: tuple[str, ...]
    nat: bool


def compile_rules(rules: Sequence[FirewallRule], host: Surroundings) -> str:
    """The filter chains TPUWRIGHT-IN, -RELAY, -OUT and -AWAY for one host, applied as a whole or not at all."""
    lines = [
        "*filter",
        *(f":TPUWRIGHT-{chain} - [0:0]" for chain in ("IN", "RELAY", "OUT", "AWAY")),
        # The machine is outside of the VPC although its gateway address is inside the range: only as IAP's relay.
        f"-A TPUWRIGHT-IN -s {host.gateway}/32 -j TPUWRIGHT-RELAY",
    ]
    for match in matches(rules, host.network, host.tags, "INGRESS"):
        if match.rule.destination_ranges and not inside(host.ip, match.rule.destination_ranges):
            continue
        verdict = "ACCEPT" if match.allow else "DROP"
        for source in _sources(match.rule, host.members):
            lines += [f"-A TPUWRIGHT-IN {source}{what}-j {verdict}" for what in _what(match)]
        if _meets_relay(match.rule):
            lines += [f"-A TPUWRIGHT-RELAY {what}-j {verdict}" for what in _what(match)]
    lines += ["-A TPUWRIGHT-IN -j DROP", "-A TPUWRIGHT-RELAY -j DROP"]
    for match in matches(rules, host.network, host.tags, "EGRESS"):
        verdict = "-g TPUWRIGHT-AWAY" if match.allow else "-j DROP"
        for network in ipv4(match.rule.destination_ranges) if match.rule.destination_ranges else [""]:
            to = f"-d {network} " if network else ""
            lines += [f"-A TPUWRIGHT-OUT {to}{what}{verdict}" for what in _what(match)]
    lines += [
        "-A TPUWRIGHT-OUT -g TPUWRIGHT-AWAY",
        # What may leave goes to the VPC, to Google's resolver's stand-in, or out where something translates addresses.
        f"-A TPUWRIGHT-AWAY -d {host.gateway}/32 -j DROP",
        *(f"-A TPUWRIGHT-AWAY -d {vpc_range} -j ACCEPT" for vpc_range in host.vpc_ranges),
        *(
            f"-A TPUWRIGHT-AWAY -d {resolver}/32 -p {protocol} --dport 53 -j ACCEPT"
            for resolver in host.resolvers
            for protocol in ("udp", "tcp")
        ),
        f"-A TPUWRIGHT-AWAY -j {'ACCEPT' if host.nat else 'DROP'}",
        "COMMIT",
    ]
    return "".join(line + "\n" for line in lines)


def _sources(rule: FirewallRule, members: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if not rule.source_ranges and not rule.source_tags:
        yield ""
    for network in ipv4(rule.source_ranges):
        yield f"-s {network} "
    for address in sorted({ip for tag in rule.source_tags for ip in members.get(tag, ())}):
        yield f"-s {address}/32 "


def _meets_relay(rule: FirewallRule) -> bool:
    if not rule.source_ranges:
        return not rule.source_tags
    (relay,) = ipv4([IAP_RANGE])
    return any(relay.overlaps(network) for network in ipv4(rule.source_ranges))


def _what(match: Match) -> Iterable[str]:
    protocol = _PROTOCOLS.get(match.protocol, match.protocol)
    if not protocol:
        return [""]
    if not match.ports:
        return [f"-p {protocol} "]
    return [
        f"-p {protocol} --dport {first}:{last} " if first != last else f"-p {protocol} --dport {first} "
        for first, last in map(port_range, match.ports)
    ]
