"""Experiments and measurements that write pages of results/: speed, coverage of intervals, agreement of the grader."""
