"""The process of one checkout: `python -m benchmarks.released.child CASE,CASE FOLDER BATCHES RESULTS`. The guard is up.

Cases of one checkout share a process, because importing takes most of the time.
"""

from __future__ import annotations

import io
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path

import torch

from benchmarks.released.batches import Drawn
from benchmarks.released.cases import Case
from benchmarks.released.drivers import Driven, seeded
from benchmarks.released.guard import Guard
from benchmarks.released.stubs import Stubs

MOST_OF_TRACE = 1500


def run(case: Case, folder: Path, batches: list[Drawn], guard: Guard, stubs: Stubs) -> dict[str, object]:
    """The gradients of all batches, or the error that ended them."""
    driven = Driven()
    root = (folder / case.folder).resolve()
    gradients: dict[str, torch.Tensor] = {}
    error = ""
    guard.refused.clear()
    try:
        with redirect_stdout(io.StringIO()):
            gradient = case.driver.start(root, stubs, driven)
            stubs.called.clear()  # decorators of the import are no part of the result
            for drawn in batches:
                for passes in case.passes:
                    seeded()
                    gradients[f"{drawn.name}/{passes}"] = gradient(drawn, passes)
    except Exception:  # whatever the checkout raises is the finding
        error = _of_checkout(traceback.format_exc(), root)
    return {
        "gradients": gradients,
        "error": error,
        "stubs": stubs.listed(),
        "called": sorted(set(stubs.called)),
        "refused": list(guard.refused),
        "values": driven.values,
    }


def _of_checkout(trace: str, root: Path) -> str:
    """The trace without this machine's paths."""
    return trace.replace(str(root) + "/", "").replace(str(root), "")[-MOST_OF_TRACE:]


def main(arguments: list[str]) -> None:
    from benchmarks.released.cases import CASES

    keys, folder, batches, results = arguments
    torch.set_num_threads(1)
    drawn = [Drawn(**fields) for fields in torch.load(batches, weights_only=True)]
    guard, stubs = Guard(Path(results).parent), Stubs()
    for key in keys.split(","):
        result = run(CASES[key], Path(folder).resolve(), drawn, guard, stubs)
        torch.save(result, f"{results}-{key}")


if __name__ == "__main__":
    main(sys.argv[1:])
