"""Coverage of the intervals and error rates of the verdicts, by simulation; results/coverage.md is made from it.

`seeds`: shapes of seed effects. `intervals`: do they contain the truth? `verdicts`: how often are they false? The tests
in tests/evals/stats simulate some of the cases with fewer repetitions.
"""
