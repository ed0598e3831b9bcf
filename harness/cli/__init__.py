"""The `rlvr` command: what each command reads, and what it prints."""
