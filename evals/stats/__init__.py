"""Verdicts to numbers: metrics, scores with intervals, paired differences, power."""
