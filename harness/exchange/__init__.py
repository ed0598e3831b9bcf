"""Runs in other people's formats, and as bundles that can be verified."""
