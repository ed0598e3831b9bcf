"""Analyses of whole responses: pass@k, diversity, length, repetition, quality."""
