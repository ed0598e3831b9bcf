"""Break real runs on purpose and check what the harness promises: `nox -s faults` writes docs/reliability.md."""
