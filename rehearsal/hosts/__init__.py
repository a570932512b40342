"""Hosts of the rehearsal: what stands in for a TPU VM or a Compute Engine instance on this machine."""
