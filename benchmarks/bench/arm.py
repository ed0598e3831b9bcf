"""A tiny arm end to end: the command in its own process, from its start to its last line.

Beside it the least time that its arithmetic needs: the counted operations of its passes at the speed of this machine's
large matrix products. `python -m benchmarks.bench.arm STEPS` prints the operations of a run of so many steps.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bench.timing import Row

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 20.0
STEPS = 60  # of the tiny scale
COMMAND = ["run", "paper=egsw", "arm=egsw", "seeds=1"]
IMPORTS = ("trl.trainer.grpo_trainer", "mlflow.store.tracking.sqlalchemy_store")
IMPORT = f"from evals.imports import uncollected\nwith uncollected():\n    import {', '.join(IMPORTS)}"  # as a run does


def run(rounds: int) -> Iterator[Row]:
    """Each once, whatever the rounds."""
    for steps in (15, STEPS):
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        _at_new_home([sys.executable, "-m", "harness.cli", *COMMAND, f"max_steps={steps}"])
        seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        yield _row(
            f"rlvr {' '.join(COMMAND)} max_steps={steps}", seconds,
            f"{steps} steps of 128 responses, three benchmarks, MLflow: {seconds:.1f} s wall clock, {busy:.1f} s CPU",
        )  # fmt: skip
    start = time.perf_counter()
    _at_new_home([sys.executable, "-c", IMPORT])
    imports = time.perf_counter() - start
    yield _row("its imports alone", imports, f"{', '.join(IMPORTS)}: {imports:.1f} s wall clock")
    few, more = 2, 6
    counted = {n: float(_at_new_home([sys.executable, "-m", __name__, str(n)]).split()[-1]) for n in (few, more)}
    a_step = (counted[more] - counted[few]) / (more - few)
    operations, speed = counted[few] + a_step * (STEPS - few), _products_per_second()
    yield _row(
        f"the arithmetic of {STEPS} steps alone", operations / speed,
        f"{a_step / 1e9:.1f} GFLOP a step (counted), {operations / 1e9:,.0f} in all; float32 matrix products here: "
        f"{speed / 1e9:.0f} GFLOP/s; so at least {operations / speed:.1f} s, "
        f"and {operations / speed + imports:.1f} s with the imports",
    )  # fmt: skip


def _row(name: str, seconds: float, note: str) -> Row:
    return Row(name, "runs/hour", 3600 / seconds, 3600 / LIMIT_S, f"{LIMIT_S:g} s", 1, note)


def _at_new_home(command: list[str]) -> str:
    """What the command prints, with an empty home folder."""
    with TemporaryDirectory() as home:
        environment = {**os.environ, "RLVR_HOME": home, "PYTHONPATH": str(ROOT)}
        environment.pop("MLFLOW_TRACKING_URI", None)
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def _products_per_second(rounds: int = 200) -> float:
    """Operations per second of float32 matrix products of the sizes of the tiny model's layers."""
    import torch

    a, b = torch.randn(3000, 128), torch.randn(128, 512)
    for _ in range(rounds // 10):
        a @ b
    start = time.perf_counter()
    for _ in range(rounds):
        a @ b
    return 2 * 3000 * 128 * 512 * rounds / (time.perf_counter() - start)


def _count(steps: str) -> None:
    """Print the floating-point operations of a run's matrix products."""
    from torch.utils.flop_counter import FlopCounterMode

    from harness.cli.main import main

    with FlopCounterMode(display=False) as counter:
        code = main([*COMMAND, f"max_steps={steps}"])
    if code:
        sys.exit(code)
    print(counter.get_total_flops())


if __name__ == "__main__":
    _count(sys.argv[1])
