"""Analyses of models and their responses, beyond correct and incorrect."""
