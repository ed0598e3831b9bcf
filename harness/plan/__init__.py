"""What a command would start and cost, whether it fits, and whether this machine can do it. Starts nothing."""
