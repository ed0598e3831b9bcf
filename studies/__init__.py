"""Studies made with this package and not installed with it. Run from a clone (`python -m studies.NAME`)."""
