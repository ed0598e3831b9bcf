"""Break real runs on purpose and check the harness's promises: `nox -s faults` writes docs/reliability.md."""
