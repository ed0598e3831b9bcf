"""`rlvr analyze` and the report's figures: find the runs, measure once, plot."""
