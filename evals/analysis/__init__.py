"""Analyses of models and their responses, beyond right and wrong."""
