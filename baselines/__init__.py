"""Baselines, one file each: pure functions on a `harness.step.batch.TokenBatch`."""
