"""Benchmarks, prompts and protocols: what each paper measures, and how."""
