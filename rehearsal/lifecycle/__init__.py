"""The whole life cycle on this machine: create, configure, verify, repeat, destroy, and look for what is left."""
