"""The parts that all figures share: a figure as a value, legends, captions."""
