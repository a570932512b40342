"""Compute Engine, v1 and beta: networks, firewalls, routers, disks, instances and what they refer to."""
