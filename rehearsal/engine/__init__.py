"""Pulumi on a machine where its releases cannot be downloaded: the engine from source, plugins that stand in."""
