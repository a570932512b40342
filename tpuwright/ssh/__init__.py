"""ssh to the hosts of a stack: configuration and known hosts, from the exports and from what the API says now."""
