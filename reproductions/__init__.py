"""One folder per paper: `method.py` (its equations), `paper.py` (its declaration), `published.csv` (its tables)."""
