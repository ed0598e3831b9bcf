"""How a checkpoint is measured: benchmarks, protocols, engines, the grader, metrics and intervals.

Imports nothing else of this project, so that an evaluation can be used and trusted on its own.
"""
