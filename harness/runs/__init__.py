"""What a run leaves behind: its record, its MLflow run, and a clear error for a full disk."""
