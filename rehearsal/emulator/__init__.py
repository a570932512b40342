"""The embedded cloud: the parts of Google's REST APIs that tpuwright uses, on this machine."""
