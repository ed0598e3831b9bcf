"""Runs in other people's formats, and as bundles that say themselves whether they are whole."""
