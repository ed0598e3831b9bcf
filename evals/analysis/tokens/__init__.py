"""Analyses of single tokens: entropy, forks, probability changes, update size."""
