"""Training problems and solutions: by name, from a file, or of the tiny family."""
