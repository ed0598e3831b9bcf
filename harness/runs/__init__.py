"""The traces of a run: its environment, its MLflow run, its disk, libraries and interrupts."""
