"""Run jobs: train, evaluate, log, record. Resumable."""
