"""Studies made with this package and not installed with it; run from a clone (`python -m studies.NAME`)."""
