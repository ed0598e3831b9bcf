"""Parse a command line into checked jobs."""
