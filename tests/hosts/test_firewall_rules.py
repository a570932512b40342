from rehearsal.hosts.backend import IAP_RANGE, FirewallRule
from rehearsal.hosts.firewall import admits
from rehearsal.hosts.iptables import Surroundings, compile_rules

NETWORK = "projects/p/global/networks/n"
SSH = (("tcp", ("22",)),)


def rule(name: str, **fields: object) -> FirewallRule:
    return FirewallRule(name=name, network=NETWORK, **fields)


def chain(text: str, name: str) -> list[str]:
    start = f"-A TPUWRIGHT-{name} "
    return [line.removeprefix(start) for line in text.splitlines() if line.startswith(start)]


def compiled(*rules: FirewallRule, nat: bool = False, tags: tuple[str, ...] = ("pod",)) -> str:
    return compile_rules(
        rules,
        Surroundings(
            network=NETWORK,
            ip="10.9.0.2",
            tags=tags,
            gateway="10.9.0.1",
            vpc_ranges=("10.9.0.0/24",),
            members={"bastion": ["10.9.0.7"], "pod": ["10.9.0.2", "10.9.0.3"]},
            resolvers=("192.0.2.53",),
            nat=nat,
        ),
    )


def test_nothing_comes_in_when_no_rule_says_so():
    assert not admits([], NETWORK, ["pod"], "10.9.0.3", 22)
    assert chain(compiled(), "IN")[-1] == "-j DROP"


def test_the_lower_priority_number_decides_and_deny_wins_at_the_same_one():
    allow = rule("allow", allowed=SSH, source_ranges=("10.0.0.0/8",), priority=1000)
    deny = rule("deny", denied=(("all", ()),), source_ranges=("10.9.0.0/24",), priority=1000)
    assert not admits([allow, deny], NETWORK, [], "10.9.0.3", 22)
    assert admits([allow, deny], NETWORK, [], "10.8.0.3", 22)
    sooner = rule("sooner", allowed=SSH, source_ranges=("10.9.0.3/32",), priority=999)
    assert admits([allow, deny, sooner], NETWORK, [], "10.9.0.3", 22)


def test_a_disabled_rule_and_one_of_another_network_or_target_do_not_count():
    assert not admits(
        [rule("off", allowed=SSH, source_ranges=("10.0.0.0/8",), disabled=True)], NETWORK, [], "10.1.1.1", 22
    )
    elsewhere = FirewallRule("else", "projects/p/global/networks/other", allowed=SSH, source_ranges=("10.0.0.0/8",))
    assert not admits([elsewhere], NETWORK, [], "10.1.1.1", 22)
    targeted = rule("t", allowed=SSH, source_ranges=("10.0.0.0/8",), target_tags=("bastion",))
    assert not admits([targeted], NETWORK, ["pod"], "10.1.1.1", 22)
    assert admits([targeted], NETWORK, ["pod", "bastion"], "10.1.1.1", 22)


def test_ports_and_protocols_are_matched_by_range_and_by_number():
    ports = rule("p", allowed=(("6", ("8000-9000", "22")),), source_ranges=("10.0.0.0/8",))
    assert admits([ports], NETWORK, [], "10.1.1.1", 8471)
    assert not admits([ports], NETWORK, [], "10.1.1.1", 7999)
    assert not admits([ports], NETWORK, [], "10.1.1.1", 8471, protocol="udp")


def test_source_tags_stand_for_the_addresses_of_the_hosts_that_have_them():
    jump = rule("jump", allowed=SSH, source_tags=("bastion",), target_tags=("pod",))
    assert admits([jump], NETWORK, ["pod"], "10.9.0.7", 22, source_tags=["bastion"])
    assert not admits([jump], NETWORK, ["pod"], "10.9.0.7", 22)
    assert "-s 10.9.0.7/32 -p tcp --dport 22 -j ACCEPT" in chain(compiled(jump), "IN")


def test_the_machine_gets_in_only_where_iap_does():
    internal = rule("internal", allowed=(("all", ()),), source_ranges=("10.9.0.0/24",))
    text = compiled(internal)
    assert chain(text, "IN")[0] == "-s 10.9.0.1/32 -j TPUWRIGHT-RELAY"
    assert chain(text, "RELAY") == ["-j DROP"]
    iap = rule("iap", allowed=SSH, source_ranges=(IAP_RANGE,), target_tags=("bastion",))
    assert chain(compiled(internal, iap), "RELAY") == ["-j DROP"]
    assert chain(compiled(internal, iap, tags=("bastion",)), "RELAY") == ["-p tcp --dport 22 -j ACCEPT", "-j DROP"]
    assert admits([iap], NETWORK, ["bastion"], IAP_RANGE, 22)
    assert not admits([iap], NETWORK, ["bastion"], IAP_RANGE, 8888)


def test_without_nat_only_the_vpc_and_the_resolver_can_be_reached():
    way_out = chain(compiled(), "AWAY")
    assert way_out[0] == "-d 10.9.0.1/32 -j DROP"
    assert "-d 10.9.0.0/24 -j ACCEPT" in way_out
    assert "-d 192.0.2.53/32 -p udp --dport 53 -j ACCEPT" in way_out
    assert way_out[-1] == "-j DROP"
    assert chain(compiled(nat=True), "AWAY")[-1] == "-j ACCEPT"


def test_an_egress_rule_that_denies_stands_before_the_way_out():
    deny = rule(
        "no", direction="EGRESS", denied=(("tcp", ("25",)),), destination_ranges=("203.0.113.0/24", "2001:db8::/32")
    )
    assert chain(compiled(deny), "OUT") == ["-d 203.0.113.0/24 -p tcp --dport 25 -j DROP", "-g TPUWRIGHT-AWAY"]


def test_a_rule_with_only_ipv6_ranges_opens_nothing():
    six = rule("six", allowed=SSH, source_ranges=("::/0",))
    assert not admits([six], NETWORK, [], "10.1.1.1", 22)
    text = compiled(six)
    assert chain(text, "IN")[1:] == ["-j DROP"]
    assert chain(text, "RELAY") == ["-j DROP"]
