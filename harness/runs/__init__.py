"""The traces of a run: its record, its MLflow run, its state, and how to read them again."""
