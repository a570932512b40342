"""Who can reach what: every firewall rule that the program asks for, and every external address."""

from good_stack import POD, PUBLIC_KEY

USERS = [{"name": "researcher", "keys": [PUBLIC_KEY]}]
DIRECT = {"mode": "direct", "cidrs": ["203.0.113.7/32", "2001:db8::/48"], "users": USERS}
FIREWALL = "gcp:compute/firewall:Firewall"


def test_every_rule_names_its_sources_and_none_is_the_whole_internet(run_program):
    for access in ({"mode": "bastion", "users": USERS}, DIRECT):
        rules = run_program(access=access).of_type(FIREWALL)
        assert len(rules) >= 2
        for name, rule in rules.items():
            ranges = rule.inputs.get("sourceRanges", [])
            assert ranges or rule.inputs["sourceTags"], f"{name} names no source, which means everybody"
            assert rule.inputs["targetTags"], f"{name} names no target, which means every machine"
            assert not {"0.0.0.0/0", "::/0"} & set(ranges), name


def test_people_come_to_the_bastion_from_iap_only_and_from_there_to_the_hosts(run_program):
    run = run_program()
    to_bastion, to_hosts = run.inputs("iap-to-bastion"), run.inputs("bastion-to-hosts")
    assert to_bastion["sourceRanges"] == ["35.235.240.0/20"]
    assert to_bastion["targetTags"] == run.inputs("bastion")["tags"] == to_hosts["sourceTags"]
    assert set(to_hosts["targetTags"]) < set(run.inputs("pod-node")["tags"])
    assert to_bastion["allows"] == to_hosts["allows"] == [{"protocol": "tcp", "ports": ["22"]}]


def test_with_a_bastion_no_machine_has_an_external_address(run_program):
    run = run_program()
    assert run.inputs("pod-node")["networkConfig"]["enableExternalIps"] is False
    assert all("accessConfigs" not in interface for interface in run.inputs("bastion")["networkInterfaces"])
    assert [host["external_ip"] for host in run.exports["pods"]["pod"]["hosts"]] == [None] * 4


def test_direct_access_is_open_to_the_named_ranges_and_needs_no_bastion(run_program):
    run = run_program(access=DIRECT)
    assert run.inputs("people-to-hosts")["sourceRanges"] == DIRECT["cidrs"]
    assert "bastion" not in run.google.made
    assert run.exports["access"]["bastion"] is None
    assert run.exports["pods"]["pod"]["hosts"][0]["external_ip"] == "203.0.113.0"


def test_members_of_a_pod_reach_each_other_on_every_port_and_other_pods_do_not(run_program):
    run = run_program(pods=[POD, {**POD, "name": "other", "accelerator_type": "v5litepod-4"}])
    rule = run.inputs("pod-members")
    assert rule["allows"] == [{"protocol": "all"}]
    assert rule["sourceTags"] == rule["targetTags"]
    assert set(rule["sourceTags"]) <= set(run.inputs("pod-node")["tags"])
    assert not set(rule["sourceTags"]) & set(run.inputs("other-node")["tags"])


def test_the_bastion_can_do_nothing_in_the_project_and_boots_only_what_is_signed(run_program):
    bastion = run_program().inputs("bastion")
    assert "serviceAccount" not in bastion
    assert bastion["shieldedInstanceConfig"] == {
        "enableSecureBoot": True,
        "enableVtpm": True,
        "enableIntegrityMonitoring": True,
    }


def test_only_the_keys_of_the_stack_open_a_machine_and_host_keys_are_published(run_program):
    run = run_program()
    for machine in ("bastion", "pod-node"):
        metadata = run.inputs(machine)["metadata"]
        assert metadata["ssh-keys"] == f"researcher:{PUBLIC_KEY}"
        assert metadata["block-project-ssh-keys"] == "TRUE"
        assert metadata["enable-guest-attributes"] == "TRUE"
        assert metadata["enable-oslogin"] == "FALSE"


def test_hosts_have_an_account_of_their_own_that_may_write_logs_and_metrics_and_nothing_else(run_program):
    run = run_program()
    roles = {args.inputs["role"] for args in run.of_type("gcp:projects/iAMMember:IAMMember").values()}
    assert roles == {"roles/logging.logWriter", "roles/monitoring.metricWriter"}
    email = run.inputs("pod-node")["serviceAccount"]["email"]
    assert email == "tpuwright-dev@my-project.iam.gserviceaccount.com"
