"""A firewall rule gets Google's defaults, or Google's refusal."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.services.compute import firewall_rules
from rehearsal.hosts.backend import FirewallRule

SSH: dict[str, Any] = {"name": "fw", "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}]}


def test_a_rule_without_sources_gets_googles_defaults() -> None:
    rule = firewall_rules.complete(SSH)
    assert rule["sourceRanges"] == ["0.0.0.0/0"]
    assert (rule["direction"], rule["priority"], rule["disabled"]) == ("INGRESS", 1000, False)
    assert rule["logConfig"] == {"enable": False}


def test_a_rule_with_source_tags_is_not_widened_to_everybody() -> None:
    rule = firewall_rules.complete({**SSH, "sourceTags": ["bastion"]})
    assert "sourceRanges" not in rule


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"priority": 65536}, "'resource.priority': '65536'"),
        ({"priority": -1}, "'resource.priority': '-1'"),
        ({"allowed": []}, "either allowed or denied"),
        ({"denied": [{"IPProtocol": "udp"}]}, "not both"),
        ({"allowed": [{"IPProtocol": "tpc"}]}, "'resource.allowed[0].IPProtocol': 'tpc'"),
        ({"allowed": [{"IPProtocol": "256"}]}, "'resource.allowed[0].IPProtocol': '256'"),
        ({"allowed": [{"IPProtocol": "icmp", "ports": ["1"]}]}, "one of [TCP, UDP, SCTP]"),
        ({"allowed": [{"IPProtocol": "tcp", "ports": ["22", "x"]}]}, "'resource.allowed[0].ports[1]': 'x'"),
        ({"allowed": [{"IPProtocol": "tcp", "ports": ["80-22"]}]}, "'80-22'"),
        ({"allowed": [{"IPProtocol": "tcp", "ports": ["65536"]}]}, "'65536'"),
        ({"sourceRanges": ["10.0.0.1/24"]}, "'resource.sourceRanges[0]': '10.0.0.1/24'"),
        ({"sourceRanges": ["10.0.0.0/24", "fd00::/8"]}, "cannot be mixed"),
        ({"sourceTags": ["Bad"]}, "'resource.sourceTags[0]': 'Bad'"),
        ({"targetTags": ["a", "a"]}, "Duplicate"),
        ({"direction": "EGRESS", "sourceTags": ["a"]}, "Egress"),
    ],
)
def test_what_google_refuses_is_refused_naming_the_field(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ApiError) as refused:
        firewall_rules.complete({**SSH, **change})
    assert words in str(refused.value)


def test_a_rule_by_service_account_says_that_it_is_not_emulated() -> None:
    with pytest.raises(ApiError, match="not emulated") as refused:
        firewall_rules.complete({**SSH, "targetServiceAccounts": ["a@p.iam.gserviceaccount.com"]})
    assert refused.value.http_code == 501


def test_a_stored_rule_reaches_the_hosts_machinery_whole() -> None:
    stored = firewall_rules.complete(
        {**SSH, "priority": 7, "sourceRanges": ["35.235.240.0/20"], "targetTags": ["bastion"]}
    )
    assert firewall_rules.to_rule(stored, "projects/p/global/networks/n") == FirewallRule(
        name="fw",
        network="projects/p/global/networks/n",
        priority=7,
        allowed=(("tcp", ("22",)),),
        source_ranges=("35.235.240.0/20",),
        target_tags=("bastion",),
    )
