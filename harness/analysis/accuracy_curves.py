"""Accuracy over training steps, from the evaluations that `eval.every=K` made; means and bands over seeds.

Test accuracy over steps is plotted in Fig. 3c, 5c, 6c and 7 of arXiv 2508.07534 and Fig. 3 to 5 of arXiv 2603.28204.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evals.files import read_object
from evals.plots.curves import learning_curves
from harness.jobs.watching import CURVE, curves
from harness.spec.scales import SCALES

if TYPE_CHECKING:
    import pandas as pd

    from evals.plots.plot import Plot


def evaluated_runs(home: Path, paper: str, scale: str) -> list[tuple[str, int, Path]]:
    """(arm, seed, folder) of the finished runs of a paper that were evaluated while they trained, sorted.

    An arm that was trained with several sets of values has the digest of each in its name.
    """
    evaluated = []
    for folder in sorted((home / paper / scale).glob("*/")):
        record = read_object(folder / "record.json")
        if record is not None and (folder / CURVE).exists():
            evaluated.append((f"{record['model']}/{record['arm']}", record["digest"], int(record["seed"]), folder))
    digests = {name: {digest for other, digest, *_ in evaluated if other == name} for name, *_ in evaluated}
    return [
        (name if len(digests[name]) == 1 else f"{name} {digest}", seed, folder)
        for name, digest, seed, folder in sorted(evaluated, key=lambda row: row[:3])
    ]


def accuracy_curves(runs: Sequence[tuple[str, int, Path]], *, scale: str, metric: str | None = None) -> list[Plot]:
    """One figure a benchmark, or the one of `metric` (`<benchmark>/<metric>`, as in `curve.jsonl`).

    Raises:
        ValueError: there is no evaluation, or none of that metric.
    """
    frame: pd.DataFrame = curves(runs)
    known = [name for name in frame.columns if "/" in name]
    if not known:
        raise ValueError("no finished run was evaluated while it trained; give eval.every=K to `rlvr run`")
    if metric is not None and metric not in known:
        raise ValueError(f"metric: expected one of {', '.join(known)}, got {metric!r}")
    wanted = [metric] if metric else [name for name in known if name.partition("/")[2].startswith("avg")]
    return [
        learning_curves(
            frame,
            name,
            label=f"{name.partition('/')[2]}, {name.partition('/')[0]}",
            name="accuracy_" + name.replace("/", "_"),
            title=f"{name.partition('/')[0]} over training",
            bounds=(0.0, float("inf") if "tokens" in name else 1.0),
            note=f"Evaluated while training, with the protocol of `eval.*`; {SCALES[scale].label}.",
        )
        for name in wanted
    ]
