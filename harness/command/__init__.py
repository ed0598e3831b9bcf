"""Parse a command line into checked jobs, and plan them."""
