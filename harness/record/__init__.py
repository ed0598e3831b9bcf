"""Runs: a folder each. One class that reads it (`run.Run`), its writer, its mirror in MLflow, archives."""
