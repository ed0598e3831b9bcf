"""Analyses of words and sentences: categories, pivotal tokens, reflection, rare behaviour."""
