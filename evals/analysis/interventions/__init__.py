"""Analyses that change a response and sample its continuation."""
