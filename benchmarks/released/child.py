"""The process of one case: `python -m benchmarks.released.child CASE FOLDER BATCHES RESULT`; the guard is up."""

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

PASSES = (1, 2)
MOST_OF_TRACE = 1500


def run(case: Case, folder: Path, batches: list[Drawn], result: Path) -> None:
    """Write the gradients of all batches, or the error that ended them, to `result`."""
    guard, stubs, driven = Guard(result.parent), Stubs(), Driven()
    root = (folder / case.folder).resolve()
    gradients: dict[str, torch.Tensor] = {}
    error = ""
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
    found = {
        "gradients": gradients,
        "error": error,
        "stubs": stubs.listed(),
        "called": sorted(set(stubs.called)),
        "refused": guard.refused,
        "values": driven.values,
    }
    torch.save(found, result)


def _of_checkout(trace: str, root: Path) -> str:
    """The trace without this machine's paths."""
    return trace.replace(str(root) + "/", "").replace(str(root), "")[-MOST_OF_TRACE:]


def main(arguments: list[str]) -> None:
    from benchmarks.released.cases import CASES

    key, folder, batches, result = arguments
    torch.set_num_threads(1)
    drawn = [Drawn(**fields) for fields in torch.load(batches, weights_only=True)]
    run(CASES[key], Path(folder).resolve(), drawn, Path(result).resolve())


if __name__ == "__main__":
    main(sys.argv[1:])
