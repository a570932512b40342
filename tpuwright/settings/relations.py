"""What must hold between settings. Each function looks at the sections that are good by themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network

from tpuwright import addressing, naming
from tpuwright.settings.access import AccessSettings
from tpuwright.settings.model import NetworkSettings
from tpuwright.settings.pod import PodSettings
from tpuwright.settings.problems import Problem

LABELS_OF_OURS = 4
"""tpuwright-stack, tpuwright-project, tpuwright-pod and the goog-pulumi-provisioned that the provider adds."""

_LABELS_AT_MOST = 64  # https://cloud.google.com/compute/docs/labeling-resources


def same_names(pods: Mapping[int, PodSettings]) -> list[Problem]:
    """Two pods of one name would be one node, and one of them would be lost."""
    first: dict[str, int] = {}
    problems = []
    for index, pod in pods.items():
        if pod.name in first:
            text = f"is the name of pods[{first[pod.name]}] too, and two pods cannot share their hosts: rename one"
            problems.append(Problem(f"pods[{index}].name", text, pod.name))
        first.setdefault(pod.name, index)
    return problems


def same_logins(access: AccessSettings) -> list[Problem]:
    """Two users of one name would be one login with the keys of both."""
    seen: set[str] = set()
    problems = []
    for index, user in enumerate(access.users):
        if user.name in seen:
            problems.append(Problem(f"access.users[{index}].name", "stands here twice: put all keys in one", user.name))
        seen.add(user.name)
    return problems


def too_many_labels(pods: Mapping[int, PodSettings], stack: Mapping[str, str]) -> list[Problem]:
    return [
        Problem(
            f"pods[{index}].labels", f"make {count} labels with those of the stack, and Google takes 64: remove some"
        )
        for index, pod in pods.items()
        if (count := len({**stack, **pod.labels}) + LABELS_OF_OURS) > _LABELS_AT_MOST
    ]


def small_subnets(
    pods: Mapping[int, PodSettings], network: NetworkSettings, access: AccessSettings | None
) -> list[Problem]:
    """The subnet of each region must hold the hosts of its pods, and the bastion."""
    try:
        subnets = subnets_of(list(pods.values()), network, access)
    except ValueError as error:
        return [Problem("pods", str(error))]
    problems = []
    for region, machines in machines_in(list(pods.values()), access).items():
        subnet = subnets[region]
        room = addressing.usable_addresses(subnet)
        if machines > room:
            text = (
                f"gives {region} the subnet {subnet} with room for {room} machines (Google keeps "
                f"{addressing.RESERVED_PER_SUBNET} addresses), and {machines} are needed: "
                f"write a range of /{addressing.prefix_for(machines)} or wider"
            )
            problems.append(Problem("network.ip_cidr_range", text, network.ip_cidr_range))
    return problems


def machines_in(pods: Sequence[PodSettings], access: AccessSettings | None) -> dict[str, int]:
    """How many addresses each region must have: every zone that a pod may be in counts, and the bastion."""
    machines: Counter[str] = Counter()
    for pod in pods:
        for region in {naming.region_of(zone) for zone in pod.zones}:
            machines[region] += pod.accelerator.hosts * pod.slices
    if access and access.mode == "bastion" and (access.bastion.zone or pods):
        machines[naming.region_of(access.bastion.zone or pods[0].zones[0])] += 1
    return dict(machines)


def subnets_of(
    pods: Sequence[PodSettings], network: NetworkSettings, access: AccessSettings | None
) -> dict[str, IPv4Network]:
    """The subnet of each region that the stack may use, whether or not it uses it now.

    Raises ValueError where there are more new regions than places.
    """
    places = addressing.place_regions(list(machines_in(pods, access)))
    return {region: addressing.subnet_of(network.ip_cidr_range, place) for region, place in places.items()}
