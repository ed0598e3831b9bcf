"""Run jobs: train, evaluate, log, record; resumable."""
