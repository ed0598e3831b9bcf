"""Benchmarks, prompts and protocols: what is measured, and how each paper measures it."""
