"""Cloud TPU: nodes and queued resources, as the plugin speaks to `tpu.googleapis.com/v2alpha1`."""

from rehearsal.provider.kinds import Kind, Update

_NETWORK_CONFIGS = ("networkConfig", "networkConfigs")

V2_VM = Kind(
    "gcp:tpu/v2Vm:V2Vm",
    title="Vm",
    service="tpuV2",
    operation="long-running",
    collection="projects/{project}/locations/{zone}/nodes",
    create_query="nodeId={name}",
    labels=True,
    api={"serviceAccount.scopes": "scope", "networkEndpoints.accessConfigs": "accessConfig"},
    names=frozenset({"name"}),
    computed=frozenset(
        {"acceleratorConfig", "acceleratorType", "cidrBlock", "networkConfig", "serviceAccount", "zone"}
        | {f"{config}.{name}" for config in _NETWORK_CONFIGS for name in ("network", "subnetwork")}
        | {"serviceAccount.email", "serviceAccount.scopes"}
    ),
    defaults={"dataDisks.mode": "READ_WRITE"},
    always=frozenset(
        {f"{config}.{name}" for config in _NETWORK_CONFIGS for name in ("canIpForward", "enableExternalIps")}
        | {"schedulingConfig.preemptible", "schedulingConfig.reserved"}
        | {"shieldedInstanceConfig.enableSecureBoot"}
    ),
    conflicts=(("acceleratorConfig", "acceleratorType"), _NETWORK_CONFIGS),
    updates=(Update(("description", "dataDisks", "metadata", "tags", "labels"), mask=True),),
    behaviour="rehearsal.provider.tpu_node:TpuNode",
)

V2_QUEUED_RESOURCE = Kind(
    "gcp:tpu/v2QueuedResource:V2QueuedResource",
    title="QueuedResource",
    service="tpuV2",
    operation="long-running",
    collection="projects/{project}/locations/{zone}/queuedResources",
    create_query="queuedResourceId={name}",
    api={"tpu.nodeSpecs": "nodeSpec"},
    names=frozenset({"name"}),
    computed=frozenset(
        {"zone", "tpu.nodeSpecs.node.acceleratorType", "tpu.nodeSpecs.node.networkConfig"}
        | {f"tpu.nodeSpecs.node.networkConfig.{name}" for name in ("network", "subnetwork")}
    ),
    always=frozenset(f"tpu.nodeSpecs.node.networkConfig.{name}" for name in ("canIpForward", "enableExternalIps")),
)

KINDS = (V2_VM, V2_QUEUED_RESOURCE)
