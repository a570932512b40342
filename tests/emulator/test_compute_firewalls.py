"""Firewall rules, over HTTP: changes are shown, and reach the machinery of the hosts."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal.hosts.backend import FirewallRule

FIREWALLS = "/compute/beta/projects/demo-proj/global/firewalls"
SSH: dict[str, Any] = {
    "name": "iap",
    "network": "projects/demo-proj/global/networks/net",
    "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}],
    "sourceRanges": ["35.235.240.0/20"],
    "targetTags": ["bastion"],
}
RULE = FirewallRule(
    name="iap",
    network="projects/demo-proj/global/networks/net",
    allowed=(("tcp", ("22",)),),
    source_ranges=("35.235.240.0/20",),
    target_tags=("bastion",),
)


def test_a_rule_reaches_the_hosts_machinery_before_its_operation_is_done(vpc: Any) -> None:
    vpc.done(vpc.http.post(FIREWALLS, json=SSH))
    assert vpc.cloud.hosts.rules == (RULE,)


def test_a_deleted_rule_is_gone_from_the_hosts(vpc: Any) -> None:
    vpc.done(vpc.http.post(FIREWALLS, json=SSH))
    vpc.done(vpc.http.delete(f"{FIREWALLS}/iap"))
    assert vpc.cloud.hosts.rules == ()
    assert vpc.http.get(f"{FIREWALLS}/iap").status_code == 404


def test_a_patch_changes_what_it_names_and_empty_lists_clear(vpc: Any) -> None:
    vpc.done(vpc.http.post(FIREWALLS, json=SSH))
    vpc.done(vpc.http.patch(f"{FIREWALLS}/iap", json={"sourceRanges": ["203.0.113.0/24"], "targetTags": []}))
    shown = vpc.http.get(f"{FIREWALLS}/iap").json()
    assert shown["sourceRanges"] == ["203.0.113.0/24"]
    assert "targetTags" not in shown
    assert shown["allowed"] == SSH["allowed"]


def test_an_update_replaces_the_rule(vpc: Any) -> None:
    vpc.done(vpc.http.post(FIREWALLS, json=SSH))
    before = vpc.http.get(f"{FIREWALLS}/iap").json()
    body = {"name": "iap", "network": SSH["network"], "denied": [{"IPProtocol": "all"}], "sourceRanges": ["10.0.0.0/8"]}
    vpc.done(vpc.http.put(f"{FIREWALLS}/iap", json=body))
    shown = vpc.http.get(f"{FIREWALLS}/iap").json()
    assert "allowed" not in shown
    assert "targetTags" not in shown
    assert (shown["id"], shown["priority"]) == (before["id"], 1000)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"network": "global/networks/no"}, "The referenced network resource cannot be found."),
        ({"network": None}, "'resource.network': 'global/networks/default'"),
        ({"priority": 70000}, "'resource.priority': '70000'"),
        ({"allowed": [{"IPProtocol": "icmp", "ports": ["22"]}]}, "one of [TCP, UDP, SCTP]"),
        ({"name": "Iap"}, "'resource.name': 'Iap'"),
    ],
)
def test_a_rule_that_google_would_refuse_is_refused_and_reaches_nobody(
    vpc: Any, change: dict[str, Any], words: str
) -> None:
    answer = vpc.http.post(FIREWALLS, json={**SSH, **change})
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]
    assert vpc.cloud.hosts.rules == ()


def test_a_rule_cannot_change_its_network(vpc: Any) -> None:
    vpc.done(vpc.http.post(FIREWALLS, json=SSH))
    root = "/compute/v1/projects/demo-proj/global/networks"
    vpc.done(vpc.http.post(root, json={"name": "second", "autoCreateSubnetworks": False}))
    answer = vpc.http.patch(f"{FIREWALLS}/iap", json={"network": "global/networks/second"})
    assert answer.status_code == 400
    assert vpc.http.get(f"{FIREWALLS}/iap").json()["network"].endswith("/networks/net")


def test_rules_are_given_to_the_hosts_again_when_the_emulator_starts(vpc: Any) -> None:
    vpc.done(vpc.http.post(FIREWALLS, json=SSH))
    vpc.cloud.hosts.rules = ()
    vpc.run(vpc.cloud.start())
    assert vpc.cloud.hosts.rules == (RULE,)
