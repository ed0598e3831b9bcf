"""From a command line to checked jobs, and what they would do."""
