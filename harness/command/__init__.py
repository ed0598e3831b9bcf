"""Parse a command line into checked jobs, and plan what they would do."""
