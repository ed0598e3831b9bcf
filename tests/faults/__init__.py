"""The promises of the harness when something breaks, tried on real runs: `nox -s faults`.

`results/faults.md` has the results.
Every case is a command and what it must leave: the final weights, the verdicts and the points in MLflow equal those of
a run that nothing disturbed. RLVR_TESTS_FAULTS sets how many random cases of each kind are tried (12).
"""

from __future__ import annotations

import os

CASES = int(os.environ.get("RLVR_TESTS_FAULTS", "12"))
