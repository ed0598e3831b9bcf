"""Archives of runs, checked."""
