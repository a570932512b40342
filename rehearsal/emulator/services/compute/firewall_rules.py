"""What a VPC firewall rule may say, what Google fills in, and the rule as the hosts' machinery takes it.

Sources: the `Firewall` schema of Compute's discovery document and
https://cloud.google.com/firewall/docs/firewalls ("Firewall rule components").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Literal, cast

from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.services.compute.naming import check_tags
from rehearsal.emulator.services.compute.refusals import invalid_field
from rehearsal.hosts.backend import FirewallRule

DEFAULT_PRIORITY = 1000
LOWEST_PRIORITY = 65535
ANYWHERE = "0.0.0.0/0"
"""What Google fills in when a rule names no source (or no destination): said by the API, not chosen here."""

_PROTOCOLS = frozenset({"tcp", "udp", "icmp", "esp", "ah", "ipip", "sctp", "all"})
_WITH_PORTS = frozenset({"tcp", "udp", "sctp", "6", "17", "132"})
_PORTS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_BY_ACCOUNT = ("sourceServiceAccounts", "targetServiceAccounts")


def complete(resource: Mapping[str, Any]) -> dict[str, Any]:
    """The rule with Google's defaults; ApiError 400 with Google's sentence when it may not be so.

    `resource` is a Firewall without its network resolved; what identifies it (id, selfLink, ...) is kept.
    Rules by service account answer 501: the rehearsal's hosts are told apart by tags only.
    """
    rule = {key: value for key, value in resource.items() if value not in ([], None)}
    rule.setdefault("direction", "INGRESS")
    rule.setdefault("priority", DEFAULT_PRIORITY)
    rule.setdefault("disabled", False)
    rule.setdefault("description", "")
    rule["logConfig"] = {"enable": bool(rule.get("logConfig", {}).get("enable", False))}
    for field in _BY_ACCOUNT:
        if rule.get(field):
            raise ApiError(501, f"Firewall rules by service account (field '{field}') are not emulated: use tags.")
    if not 0 <= rule["priority"] <= LOWEST_PRIORITY:
        raise invalid_field(
            "resource.priority", rule["priority"], f"Must be greater than or equal to 0 and at most {LOWEST_PRIORITY}"
        )
    _check_action(rule)
    _check_ends(rule)
    return rule


def to_rule(resource: Mapping[str, Any], network: str) -> FirewallRule:
    """A stored, completed Firewall as the hosts' backend takes it; `network` is the full name of its VPC."""
    return FirewallRule(
        name=resource["name"],
        network=network,
        direction=cast("Literal['INGRESS', 'EGRESS']", resource["direction"]),
        priority=resource["priority"],
        allowed=_protocols(resource, "allowed"),
        denied=_protocols(resource, "denied"),
        source_ranges=tuple(resource.get("sourceRanges", ())),
        source_tags=tuple(resource.get("sourceTags", ())),
        target_tags=tuple(resource.get("targetTags", ())),
        destination_ranges=tuple(resource.get("destinationRanges", ())),
        disabled=resource["disabled"],
    )


def _protocols(resource: Mapping[str, Any], action: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((entry["IPProtocol"], tuple(entry.get("ports", ()))) for entry in resource.get(action, ()))


def _check_action(rule: dict[str, Any]) -> None:
    if bool(rule.get("allowed")) == bool(rule.get("denied")):
        raise invalid_field(
            "resource.allowed", "", "A firewall rule must specify either allowed or denied, and not both."
        )
    action = "allowed" if rule.get("allowed") else "denied"
    for index, entry in enumerate(rule[action]):
        field = f"resource.{action}[{index}]"
        protocol = str(entry.get("IPProtocol", "")).lower()
        if protocol not in _PROTOCOLS and not (protocol.isascii() and protocol.isdigit() and int(protocol) <= 255):
            raise invalid_field(
                f"{field}.IPProtocol", entry.get("IPProtocol", ""), "Must be a valid IP protocol name or number."
            )
        entry["IPProtocol"] = protocol
        if entry.get("ports") and protocol not in _WITH_PORTS:
            raise invalid_field(
                f"{field}.ports[0]",
                entry["ports"][0],
                "Ports may only be specified on rules whose protocol is one of [TCP, UDP, SCTP].",
            )
        for number, ports in enumerate(entry.get("ports", ())):
            _check_ports(ports, f"{field}.ports[{number}]")


def _check_ports(ports: str, field: str) -> None:
    match = _PORTS.fullmatch(ports) if ports.isascii() else None
    ends = [int(end) for end in match.groups() if end is not None] if match else []
    if not ends or max(ends) > 65535 or ends[0] > ends[-1]:
        raise invalid_field(
            field, ports, "Ports must be an integer or a range such as 20-25, between 0 and 65535, in rising order."
        )


def _check_ends(rule: dict[str, Any]) -> None:
    ingress = rule["direction"] == "INGRESS"
    if not ingress and rule.get("sourceTags"):
        raise invalid_field("resource.sourceTags", rule["sourceTags"][0], "Egress rules cannot have source tags.")
    if ingress and not rule.get("sourceRanges") and not rule.get("sourceTags"):
        rule["sourceRanges"] = [ANYWHERE]
    if not ingress and not rule.get("destinationRanges"):
        rule["destinationRanges"] = [ANYWHERE]
    for field in ("sourceTags", "targetTags"):
        check_tags(rule.get(field, ()), f"resource.{field}")
    for field in ("sourceRanges", "destinationRanges"):
        versions = {
            _parse_range(value, f"resource.{field}[{index}]").version for index, value in enumerate(rule.get(field, ()))
        }
        if len(versions) > 1:
            raise invalid_field(
                f"resource.{field}", ", ".join(rule[field]), "IPv4 and IPv6 ranges cannot be mixed in one rule."
            )


def _parse_range(value: str, field: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(value)
    except ValueError:
        raise invalid_field(field, value, "Must be a valid CIDR address range.") from None
