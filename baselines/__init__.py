"""Baselines, one file each: pure functions on a `harness.batch.TokenBatch`."""
