"""The `rlvr` command: reads options, prints results."""
