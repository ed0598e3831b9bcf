"""Runs: a folder each; one class that reads it (`run.Run`), its writer, its mirror in MLflow, archives."""
