"""Compute Engine: networks, addresses, disks and instances, as the plugin speaks to `compute/beta`."""

from rehearsal.provider.kinds import GCE_NAME, Kind, Update

_NETWORKS = "global/networks"
_REGIONS = "global/regions"
_ZONES = "global/zones"
_SUBNETWORKS = "regions/{region}/subnetworks"

NETWORK = Kind(
    "gcp:compute/network:Network",
    title="Network",
    service="compute",
    collection="projects/{project}/global/networks",
    api={
        "routingMode": "routingConfig.routingMode",
        "bgpAlwaysCompareMed": "routingConfig.bgpAlwaysCompareMed",
        "bgpBestPathSelectionMode": "routingConfig.bgpBestPathSelectionMode",
        "bgpInterRegionCost": "routingConfig.bgpInterRegionCost",
        "gatewayIpv4": "gatewayIPv4",
        "networkId": "id",
        "numericId": "id",
    },
    name_pattern=GCE_NAME,
    computed=frozenset(
        {"internalIpv6Range", "mtu", "routingMode", "bgpAlwaysCompareMed"}
        | {"bgpBestPathSelectionMode", "bgpInterRegionCost"}
    ),
    defaults={"autoCreateSubnetworks": True, "networkFirewallPolicyEnforcementOrder": "AFTER_CLASSIC_FIREWALL"},
    compared_as_names=frozenset({"networkProfile"}),
    zeros={"autoCreateSubnetworks": False},
    virtual=frozenset({"deleteDefaultRoutesOnCreate", "deleteBgpAlwaysCompareMed"}),
    updates=(
        Update(
            (
                *("routingMode", "bgpBestPathSelectionMode", "bgpAlwaysCompareMed", "bgpInterRegionCost"),
                "networkFirewallPolicyEnforcementOrder",
            )
        ),
        Update(("enableUlaInternalIpv6",)),
        Update(("mtu",), fingerprint=True),
    ),
)

SUBNETWORK = Kind(
    "gcp:compute/subnetwork:Subnetwork",
    title="Subnetwork",
    service="compute",
    collection="projects/{project}/regions/{region}/subnetworks",
    api={"ipv6CidrRange": "ipv6CidrRange", "subnetworkId": "id", "logConfig.metadataFields": "metadataFields"},
    links={"network": _NETWORKS, "region": _REGIONS},
    names=frozenset({"region"}),
    name_pattern=GCE_NAME,
    computed=frozenset(
        {"region", "allowSubnetCidrRoutesOverlap", "externalIpv6Prefix", "internalIpv6Prefix", "ipCidrRange"}
        | {"privateIpGoogleAccess", "privateIpv6GoogleAccess", "purpose", "secondaryIpRanges", "stackType"}
        | {"secondaryIpRanges.ipCidrRange", "secondaryIpRanges.ipVersion"}
    ),
    compared_as_names=frozenset({"ipCollection", "reservedInternalRange"}),
    defaults={
        "logConfig.aggregationInterval": "INTERVAL_5_SEC",
        "logConfig.filterExpr": "true",
        "logConfig.flowSampling": 0.5,
        "logConfig.metadata": "INCLUDE_ALL_METADATA",
    },
    sets=frozenset({"logConfig.metadataFields"}),
    zeros={"logConfig": {"enable": False}},
    update_zeros={"logConfig": {"enable": False}, "secondaryIpRanges": []},
    virtual=frozenset({"sendSecondaryIpRangeIfEmpty"}),
    updates=(
        Update(("ipCidrRange",), "POST", "/expandIpCidrRange"),
        Update(("privateIpGoogleAccess",), "POST", "/setPrivateIpGoogleAccess"),
        Update(
            (
                *("privateIpv6GoogleAccess", "stackType", "ipv6AccessType", "ipCollection"),
                "allowSubnetCidrRoutesOverlap",
            ),
            fingerprint=True,
        ),
        Update(("logConfig",), fingerprint=True),
        Update(("purpose",), fingerprint=True),
        Update(("role",), fingerprint=True),
        Update(("secondaryIpRanges",), fingerprint=True),
    ),
    behaviour="rehearsal.provider.logged:Logged",
)

_FIREWALL_SETS = (
    *("allows", "denies", "destinationRanges", "sourceRanges", "sourceServiceAccounts", "sourceTags"),
    *("targetServiceAccounts", "targetTags"),
)

FIREWALL = Kind(
    "gcp:compute/firewall:Firewall",
    title="Firewall",
    service="compute",
    collection="projects/{project}/global/firewalls",
    api={
        "allows": "allowed",
        "denies": "denied",
        "allows.protocol": "IPProtocol",
        "denies.protocol": "IPProtocol",
    },
    links={"network": _NETWORKS},
    name_pattern=GCE_NAME,
    computed=frozenset({"destinationRanges", "direction", "enableLogging"}),
    defaults={"priority": 1000},
    sets=frozenset(_FIREWALL_SETS),
    zeros={"logConfig": {"enable": False}},
    update_zeros={
        "description": "",
        "disabled": False,
        "logConfig": {"enable": False},
        "priority": 0,
        **{name: [] for name in _FIREWALL_SETS},
    },
    virtual=frozenset({"enableLogging"}),
    updates=(Update((*_FIREWALL_SETS, "description", "disabled", "logConfig", "network", "priority")),),
    behaviour="rehearsal.provider.logged:Logged",
)

ROUTER = Kind(
    "gcp:compute/router:Router",
    title="Router",
    service="compute",
    collection="projects/{project}/regions/{region}/routers",
    links={"network": _NETWORKS, "region": _REGIONS},
    names=frozenset({"region"}),
    name_pattern=GCE_NAME,
    computed=frozenset({"region", "bgp.identifierRange"}),
    compared_as_names=frozenset({"nccGateway"}),
    defaults={"bgp.advertiseMode": "DEFAULT", "bgp.keepaliveInterval": 20},
    sets=frozenset({"bgp.advertisedIpRanges"}),
    zeros={"bgp": None},
    update_zeros={"bgp": None, "description": ""},
    updates=(Update(("description", "bgp", "md5AuthenticationKeys")),),
)

_NAT_LISTS = ("natIps", "drainNatIps", "subnetworks", "nat64Subnetworks", "rules")
_NAT_CHANGEABLE = (
    *("natIpAllocateOption", "sourceSubnetworkIpRangesToNat", "sourceSubnetworkIpRangesToNat64", "minPortsPerVm"),
    *("maxPortsPerVm", "enableDynamicPortAllocation", "udpIdleTimeoutSec", "icmpIdleTimeoutSec"),
    *("tcpEstablishedIdleTimeoutSec", "tcpTransitoryIdleTimeoutSec", "tcpTimeWaitTimeoutSec", "logConfig"),
    *("enableEndpointIndependentMapping", "autoNetworkTier", *_NAT_LISTS),
)

ROUTER_NAT = Kind(
    "gcp:compute/routerNat:RouterNat",
    title="RouterNat",
    service="compute",
    collection="projects/{project}/regions/{region}/routers/{router}",
    path="projects/{project}/regions/{region}/routers/{router}",
    identity="{project}/{region}/{router}/{name}",
    api={"subnetworks.sourceIpRangesToNats": "sourceIpRangesToNat"},
    compared_as_names=frozenset({"router", "region", "natIps", "drainNatIps", "initialNatIps"}),
    name_pattern=r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$",
    computed=frozenset(
        {"region", "autoNetworkTier", "drainNatIps", "enableDynamicPortAllocation", "endpointTypes"}
        | {"enableEndpointIndependentMapping", "minPortsPerVm", "natIps"}
    ),
    defaults={
        "icmpIdleTimeoutSec": 30,
        "tcpEstablishedIdleTimeoutSec": 1200,
        "tcpTimeWaitTimeoutSec": 120,
        "tcpTransitoryIdleTimeoutSec": 30,
        "type": "PUBLIC",
        "udpIdleTimeoutSec": 30,
    },
    sets=frozenset({*_NAT_LISTS, "initialNatIps"}),
    zeros={"logConfig": None, "initialNatIps": [], **{name: [] for name in _NAT_LISTS}},
    update_zeros={"logConfig": None, **{name: [] for name in _NAT_LISTS}},
    virtual=frozenset({"router", "region"}),
    updates=(Update(_NAT_CHANGEABLE),),
    behaviour="rehearsal.provider.router_nat:RouterNat",
)

ADDRESS = Kind(
    "gcp:compute/address:Address",
    title="Address",
    service="compute",
    collection="projects/{project}/regions/{region}/addresses",
    labels=True,
    api={"addressId": "id"},
    links={"network": _NETWORKS, "region": _REGIONS, "subnetwork": _SUBNETWORKS},
    names=frozenset({"region"}),
    name_pattern=GCE_NAME,
    computed=frozenset({"address", "region", "networkTier", "prefixLength", "purpose", "subnetwork"}),
    defaults={"addressType": "EXTERNAL"},
    updates=(Update(("labels",), "POST", "/setLabels"),),
)

DISK = Kind(
    "gcp:compute/disk:Disk",
    title="Disk",
    service="compute",
    collection="projects/{project}/zones/{zone}/disks",
    labels=True,
    api={"size": "sizeGb", "image": "sourceImage", "snapshot": "sourceSnapshot", "diskId": "id"},
    links={"zone": _ZONES, "type": "zones/{zone}/diskTypes"},
    names=frozenset({"zone", "type"}),
    name_pattern=GCE_NAME,
    computed=frozenset(
        {"zone", "accessMode", "enableConfidentialCompute", "guestOsFeatures", "licenses", "provisionedIops"}
        | {"physicalBlockSizeBytes", "provisionedThroughput", "resourcePolicies", "size"}
    ),
    images=frozenset({"image"}),
    compared_as_names=frozenset({"snapshot", "sourceDisk", "storagePool", "sourceInstantSnapshot"}),
    defaults={"type": "pd-standard", "interface": "SCSI"},
    sets=frozenset({"guestOsFeatures"}),
    virtual=frozenset({"interface", "createSnapshotBeforeDestroy", "createSnapshotBeforeDestroyPrefix"}),
    updates=(
        Update(("labels",), "POST", "/setLabels"),
        Update(("size",), "POST", "/resize"),
    ),
    behaviour="rehearsal.provider.disk:Disk",
)

INSTANCE = Kind(
    "gcp:compute/instance:Instance",
    title="instance",
    service="compute",
    collection="projects/{project}/zones/{zone}/instances",
    read_query="view=FULL",
    labels=True,
    default_zone=True,
    api={
        "bootDisk.kmsKeySelfLink": "kmsKeyName",
        "networkInterfaces.networkIp": "networkIP",
        "networkInterfaces.accessConfigs.natIp": "natIP",
        "guestAccelerators.type": "acceleratorType",
        "guestAccelerators.count": "acceleratorCount",
        "instanceId": "id",
        "currentStatus": "status",
    },
    links={
        "networkInterfaces.network": _NETWORKS,
        "networkInterfaces.subnetwork": _SUBNETWORKS,
        "machineType": "zones/{zone}/machineTypes",
    },
    names=frozenset({"zone", "machineType", "bootDisk.initializeParams.type"}),
    images=frozenset({"bootDisk.initializeParams.image"}),
    compared_as_names=frozenset(
        {"attachedDisks.source", "bootDisk.source", "resourcePolicies", "serviceAccount.scopes"}
    ),
    name_pattern=r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$",
    computed=frozenset(
        {"zone", "guestAccelerators", "minCpuPlatform", "scheduling", "shieldedInstanceConfig"}
        | {"confidentialInstanceConfig", "reservationAffinity", "serviceAccount.email"}
        | {"scheduling.onHostMaintenance", "scheduling.provisioningModel", "attachedDisks.deviceName"}
        | {f"bootDisk.{name}" for name in ("deviceName", "source", "kmsKeySelfLink", "guestOsFeatures")}
        | {"bootDisk.initializeParams", "bootDisk.diskEncryptionKeySha256"}
        | {f"bootDisk.initializeParams.{name}" for name in ("size", "type", "image", "snapshot", "labels")}
        | {f"bootDisk.initializeParams.{name}" for name in ("architecture", "resourcePolicies")}
        | {f"bootDisk.initializeParams.provisioned{name}" for name in ("Iops", "Throughput")}
        | {f"networkInterfaces.{name}" for name in ("network", "subnetwork", "subnetworkProject", "networkIp")}
        | {f"networkInterfaces.{name}" for name in ("name", "stackType", "igmpQuery", "macAddress")}
        | {f"networkInterfaces.ipv6{name}" for name in ("AccessType", "Address")}
        | {"networkInterfaces.internalIpv6PrefixLength", "networkInterfaces.networkAttachment"}
        | {"networkInterfaces.parentNicName"}
        | {f"networkInterfaces.accessConfigs.{name}" for name in ("natIp", "networkTier", "securityPolicy")}
    ),
    defaults={
        "bootDisk.autoDelete": True,
        "bootDisk.mode": "READ_WRITE",
        "attachedDisks.mode": "READ_WRITE",
        "scratchDisks.size": 375,
        "scheduling.automaticRestart": True,
        "shieldedInstanceConfig.enableVtpm": True,
        "shieldedInstanceConfig.enableIntegrityMonitoring": True,
    },
    sets=frozenset({"tags", "serviceAccount.scopes"}),
    virtual=frozenset({"allowStoppingForUpdate", "desiredStatus", "eraseWindowsVssSignature"}),
    updates=(
        Update(("labels",), "POST", "/setLabels"),
        Update(("metadata", "metadataStartupScript"), "POST", "/setMetadata"),
        Update(("tags",), "POST", "/setTags"),
        Update(("deletionProtection",), "POST", "/setDeletionProtection"),
        Update(("machineType",), "POST", "/setMachineType"),
        Update(("serviceAccount",), "POST", "/setServiceAccount"),
    ),
    behaviour="rehearsal.provider.instance:Instance",
)

KINDS = (NETWORK, SUBNETWORK, FIREWALL, ROUTER, ROUTER_NAT, ADDRESS, DISK, INSTANCE)
