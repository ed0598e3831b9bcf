"""The TRL backend: `translate` (pure), `trainer` (our methods inside GRPOTrainer), `train` (the launcher)."""
