"""One folder a paper: `method.py` (its equations), `paper.py` (its declaration), `published.csv` (its tables)."""
