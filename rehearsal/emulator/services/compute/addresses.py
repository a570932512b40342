"""Reserved addresses, internal ones of a subnetwork and external ones of the rehearsal's own pool."""

from __future__ import annotations

from rehearsal.emulator.addresses import AddressTaken, NoRoom
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.services.compute import catalog, disks, refusals, rendering, resources
from rehearsal.emulator.services.compute.naming import check_labels, check_name
from rehearsal.emulator.services.compute.references import ADDRESSES, ROUTERS, SUBNETWORKS, resolve
from rehearsal.emulator.services.compute.resources import mutation

EXTERNAL = "external"
EXTERNAL_RANGE = "198.51.100.0/24"
"""External addresses come from RFC 5737's range for documentation: nothing answers there, on purpose."""
_DIFFERS = "External addresses are of 198.51.100.0/24 and lead nowhere."


@mutation("compute.addresses.insert", differs=_DIFFERS)
async def insert_address(call: Call, cloud: Cloud) -> Json:
    body = {key: value for key, value in call.body.items() if value not in ([], {}, "") and key != "params"}
    name = resources.full_name(call, cloud, ADDRESSES, check_name(body.get("name")))
    if body.get("ipVersion", "IPV4") != "IPV4":
        raise ApiError(501, "IPv6 addresses are not emulated.")
    check_labels(body.get("labels", {}))
    fields: Json = {
        "description": "",
        "addressType": "EXTERNAL",
        "networkTier": "PREMIUM",
        **body,
        "region": f"projects/{cloud.project}/regions/{call.path['region']}",
    }
    resources.check_free(cloud, name)
    pool, pool_range = EXTERNAL, EXTERNAL_RANGE
    if fields["addressType"] == "INTERNAL":
        given = body.get("subnetwork", "")
        if not given:
            raise refusals.invalid_field(
                "resource.subnetwork", "", "No default subnetwork was found for an address with type INTERNAL."
            )
        pool = resolve(
            given, SUBNETWORKS, project=cloud.project, place=call.path["region"], field="resource.subnetwork"
        )
        pool_range = resources.referenced(cloud, SUBNETWORKS, pool, given, "resource.subnetwork")["ipCidrRange"]
        fields |= {"subnetwork": pool, "purpose": "GCE_ENDPOINT"}
    elif "subnetwork" in body:
        raise refusals.invalid_field(
            "resource.subnetwork", body["subnetwork"], "Subnetwork can only be given for addresses of type INTERNAL."
        )
    with cloud.store.transaction():
        fields["address"] = _reserve(cloud, pool, pool_range, body.get("address"), name)
        document = resources.add(cloud, ADDRESSES, name, fields)
    return resources.begin(call, cloud, name, "insert", document)


@operation("compute.addresses.get")
async def get_address(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, ADDRESSES, call.path["address"])
    return _shown(call, cloud, name, document)


@operation("compute.addresses.list")
async def list_addresses(call: Call, cloud: Cloud) -> Json:
    path = resources.path_of(call, cloud, ADDRESSES)
    found = cloud.store.list(resources.kind(ADDRESSES), f"{path}/")
    return rendering.listed(call, [_shown(call, cloud, name, one) for name, one in found], ADDRESSES, path)


@operation("compute.addresses.aggregatedList")
async def aggregate_addresses(call: Call, cloud: Cloud) -> Json:
    found = cloud.store.list(resources.kind(ADDRESSES), f"projects/{resources.project_of(call, cloud)}/")
    places = [f"regions/{region}" for region in catalog.ZONES]
    return rendering.aggregated(call, [_shown(call, cloud, name, one) for name, one in found], ADDRESSES, places)


@mutation("compute.addresses.setLabels")
async def set_address_labels(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, ADDRESSES, call.path["resource"])
    disks.check_label_fingerprint(call, document)
    check_labels(call.body.get("labels", {}), "labels")
    cloud.store.update(name, labels=call.body.get("labels") or None)
    return resources.begin(call, cloud, name, "setLabels", document)


@mutation("compute.addresses.delete", differs=_DIFFERS)
async def delete_address(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, ADDRESSES, call.path["address"])
    users = _users(cloud, name, document)
    if users:
        raise refusals.in_use("address", name, users[0])
    with cloud.store.transaction():
        cloud.addresses.release(name)
        cloud.store.delete(name)
    return resources.begin(call, cloud, name, "delete", document)


def take(cloud: Cloud, pool: str, pool_range: str, wanted: str | None, holder: str) -> str:
    """An address of the pool for an instance: any free one, or the wanted one, also if it is reserved.

    Raises AddressTaken when another machine has it, NoRoom when none is free.
    """
    if wanted is None:
        return cloud.addresses.allocate(pool, pool_range, [holder])[0]
    reserved = cloud.addresses.holders(pool).get(wanted, "")
    if "/addresses/" in reserved:
        cloud.addresses.release(reserved)
    cloud.addresses.claim(pool, pool_range, wanted, holder)
    return wanted


def give_back(cloud: Cloud, holder: str) -> None:
    """Release what a machine holds; a reserved address goes back to its reservation."""
    cloud.addresses.release(holder)
    for name, document in cloud.store.list(resources.kind(ADDRESSES)):
        pool = document.get("subnetwork", EXTERNAL)
        if document["address"] not in cloud.addresses.holders(pool):
            cloud.store.add_address(pool, document["address"], name)


def _reserve(cloud: Cloud, pool: str, pool_range: str, wanted: str | None, name: str) -> str:
    try:
        if wanted is None:
            return cloud.addresses.allocate(pool, pool_range, [name])[0]
        cloud.addresses.claim(pool, pool_range, wanted, name)
    except NoRoom:
        raise ApiError(400, f"IP space of '{pool}' is exhausted.", reason="ipSpaceExhausted") from None
    except AddressTaken:
        raise refusals.invalid_field(
            "resource.address", wanted, "Specified IP address is in use, reserved or outside of the allowed range."
        ) from None
    except ValueError:
        raise refusals.invalid_field("resource.address", wanted, "Must be a valid IPV4 address.") from None
    return wanted


def _users(cloud: Cloud, name: str, document: Json) -> list[str]:
    holder = cloud.addresses.holders(document.get("subnetwork", EXTERNAL)).get(document["address"], name)
    users = [] if holder == name else [holder.removesuffix("/external").partition("/workers/")[0]]
    users += [
        router
        for router, one in cloud.store.list(resources.kind(ROUTERS))
        if any(name in nat.get("natIps", ()) for nat in one.get("nats", ()))
    ]
    return users


def _shown(call: Call, cloud: Cloud, name: str, document: Json) -> Json:
    users = _users(cloud, name, document)
    state: Json = {"status": "IN_USE", "users": users} if users else {"status": "RESERVED"}
    return rendering.rendered(call, name, {**document, **state}, ADDRESSES)
