"""The plan of a command: what it would start and cost, whether it fits, and whether this machine can do it. Starts
nothing."""
