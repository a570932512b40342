"""Numbers of enum values, which discovery documents do not hold.

Google's generated clients send enums as numbers over REST. Only the enums that a request can hold are
here; the figures are those of google-cloud-tpu's protocol buffers (a test compares them).
"""

from __future__ import annotations

_NUMBERS: dict[str, dict[int, str]] = {
    "tpu.AcceleratorConfig.type": {
        0: "TYPE_UNSPECIFIED",
        2: "V2",
        4: "V3",
        7: "V4",
        9: "V5LITE_POD",
        10: "V5P",
        11: "V6E",
    },
    "tpu.AttachedDisk.mode": {0: "DISK_MODE_UNSPECIFIED", 1: "READ_WRITE", 2: "READ_ONLY"},
    "tpu.MultiNodeParams.workloadType": {
        0: "WORKLOAD_TYPE_UNSPECIFIED",
        1: "THROUGHPUT_OPTIMIZED",
        2: "AVAILABILITY_OPTIMIZED",
    },
    "tpu.Node.health": {
        0: "HEALTH_UNSPECIFIED",
        1: "HEALTHY",
        3: "TIMEOUT",
        4: "UNHEALTHY_TENSORFLOW",
        5: "UNHEALTHY_MAINTENANCE",
    },
}


def enum_name(key: str, number: int) -> str | int:
    """The name of an enum value: key is "service.Message.field". An unknown number is returned as it is."""
    return _NUMBERS.get(key, {}).get(number, number)
