"""Analyses of training curves."""
