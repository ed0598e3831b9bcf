"""`rlvr analyze` and the report's figures: finding the runs, measuring once, plot."""
