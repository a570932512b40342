"""Pods as the program asks for them, and what it exports of them."""

import pytest
from good_stack import POD, PUBLIC_KEY

from tpuwright import accelerators
from tpuwright.outputs import StackOutputs

NODE = "gcp:tpu/v2Vm:V2Vm"


def test_the_exports_are_what_configuration_reads(run_program):
    exports = run_program(pods=[{**POD, "jax_environment": {"JAX_PLATFORMS": "cpu"}}]).exports
    outputs = StackOutputs.model_validate(exports)
    pod = outputs.pods["pod"]
    assert set(exports) == {"pods", "access", "storage", "cloud"}
    assert [host.name for host in pod.hosts] == ["pod-w0", "pod-w1", "pod-w2", "pod-w3"]
    assert [host.worker for host in pod.hosts] == [0, 1, 2, 3]
    assert pod.hosts[3].internal_ip == "10.200.112.6"
    assert (pod.node, pod.zone, pod.topology, pod.chips, pod.chips_per_host, pod.devices) == (
        "dev-pod",
        "us-west4-a",
        "4x4",
        16,
        4,
        16,
    )
    assert pod.jax_environment == {"JAX_PLATFORMS": "cpu"}
    assert outputs.access.bastion.model_dump() == {
        "name": "tpuwright-dev-bastion",
        "zone": "us-west4-a",
        "internal_ip": "10.200.112.2",
    }
    assert outputs.access.users[0].keys == (PUBLIC_KEY,)
    assert outputs.cloud.tpu_endpoint == "https://tpu.googleapis.com/v2alpha1/"


@pytest.mark.parametrize(
    "accelerator_type", ["v5litepod-1", "v5litepod-4", "v5litepod-8", "v6e-256", "v5p-128", "v2-8"]
)
def test_a_pod_of_any_size_exports_a_host_for_every_endpoint(run_program, accelerator_type):
    exports = run_program(pods=[{**POD, "accelerator_type": accelerator_type}]).exports
    assert len(exports["pods"]["pod"]["hosts"]) == accelerators.lookup(accelerator_type).hosts


def test_a_node_with_another_number_of_hosts_than_the_table_says_is_an_error_that_names_both(run_program):
    run = run_program(hosts=3)
    errors = [text for level, text in run.logged if level == "error"]
    assert len(errors) == 1
    assert "to have 4 hosts" in errors[0]
    assert "node dev-pod has 3" in errors[0]
    assert len(run.exports["pods"]["pod"]["hosts"]) == 3, "what the API says is exported all the same"


def test_a_spot_pod_is_asked_for_as_spot_and_a_standard_one_without_scheduling(run_program):
    run = run_program(pods=[POD, {**POD, "name": "cheap", "provisioning_model": "spot"}])
    assert run.inputs("cheap-node")["schedulingConfig"] == {"spot": True}
    assert "schedulingConfig" not in run.inputs("pod-node")


def test_the_generation_brings_its_image_unless_one_is_named(run_program):
    run = run_program(pods=[POD, {**POD, "name": "six", "accelerator_type": "v6e-4", "runtime_version": "my-image"}])
    assert run.inputs("pod-node")["runtimeVersion"] == "v2-alpha-tpuv5-lite"
    assert run.inputs("six-node")["runtimeVersion"] == "my-image"


def test_everything_that_takes_labels_says_whose_it_is(run_program):
    run = run_program(labels={"team": "vision"}, pods=[{**POD, "labels": {"experiment": "llama"}}])
    whose = {"tpuwright-stack": "dev", "tpuwright-project": "tpuwright", "team": "vision"}
    assert run.inputs("bastion")["labels"] == whose
    assert run.inputs("bastion")["bootDisk"]["initializeParams"]["labels"] == whose
    assert run.inputs("pod-node")["labels"] == {**whose, "experiment": "llama", "tpuwright-pod": "pod"}


def test_what_takes_no_labels_says_whose_it_is_in_its_description(run_program):
    made = run_program().google.made.values()
    unlabelled = [args for args in made if args.typ.startswith("gcp:") and "labels" not in args.inputs]
    silent = {args.typ for args in unlabelled if "stack dev of tpuwright" not in args.inputs.get("description", "")}
    assert silent == {"gcp:compute/routerNat:RouterNat", "gcp:projects/iAMMember:IAMMember"}, "Google has no room there"


def test_each_region_has_a_subnet_of_its_own_and_a_way_out(run_program):
    run = run_program(pods=[POD, {**POD, "name": "east", "zones": ["us-east1-d"], "accelerator_type": "v6e-4"}])
    subnets = run.of_type("gcp:compute/subnetwork:Subnetwork")
    assert {name: args.inputs["ipCidrRange"] for name, args in subnets.items()} == {
        "subnet-us-west4": "10.200.112.0/20",
        "subnet-us-east1": "10.200.32.0/20",
    }
    assert run.inputs("east-node")["networkConfig"]["subnetwork"].endswith(
        "regions/us-east1/subnetworks/tpuwright-dev-us-east1"
    )
    assert set(run.of_type("gcp:compute/routerNat:RouterNat")) == {"nat-us-west4", "nat-us-east1"}
    assert all(args.inputs["privateIpGoogleAccess"] for args in subnets.values())


def test_a_pod_in_another_region_moves_no_subnet_that_is_there(run_program):
    alone = run_program().inputs("subnet-us-west4")
    more = [{**POD, "name": "a", "zones": ["asia-east1-c"], "accelerator_type": "v2-8"}, POD]
    assert run_program(pods=more).inputs("subnet-us-west4")["ipCidrRange"] == alone["ipCidrRange"]


def test_the_bastion_can_stand_in_another_region_than_every_pod(run_program):
    access = {"users": [{"name": "a", "keys": [PUBLIC_KEY]}], "bastion": {"zone": "us-central1-f"}}
    run = run_program(access=access)
    assert run.inputs("bastion")["zone"] == "us-central1-f"
    assert "regions/us-central1/" in run.inputs("bastion")["networkInterfaces"][0]["subnetwork"]


def test_a_name_that_is_fixed_is_deleted_before_it_is_made_again(run_program):
    run = run_program()
    made = {name for name, args in run.google.made.items() if args.typ.startswith("gcp:")}
    assert {"network", "bastion", "pod-node"} < made <= set(run.options)
    assert {name for name in made if run.options[name].delete_before_replace is not True} == set()


def test_stacks_with_odd_names_get_names_that_google_accepts_and_that_differ(run_program):
    from tpuwright.naming import resource_name_problem

    names = []
    for stack in ("My_Stack.1", "my-stack-1", "x" * 90, "x" * 91, "1st"):
        run = run_program(stack=stack)
        these = {args.inputs["name"] for args in run.google.made.values() if "name" in args.inputs}
        assert not [name for name in these if resource_name_problem(name)]
        assert len(run.inputs("hosts")["accountId"]) <= 30
        names.append(run.inputs("pod-node")["name"])
    assert len(set(names)) == len(names)
