"""The figures: each function returns a `Drawing` (evals/analysis/drawing.py)."""
