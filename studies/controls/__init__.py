"""Random and inverted rewards at tiny scale, seed by seed, and why a random reward costs accuracy."""
