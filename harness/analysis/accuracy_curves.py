"""Accuracy over training steps, from the evaluations that `eval.every=K` made; means and bands over seeds.

Test accuracy over steps is plotted in Fig. 3c, 5c, 6c and 7 of arXiv 2508.07534 and Fig. 3 to 5 of arXiv 2603.28204.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evals.plots.curves import learning_curves
from harness.record.run import Run
from harness.spec.scales import SCALES

if TYPE_CHECKING:
    from evals.plots.plot import Plot

CURVE = "curve/"  # how the metrics of evaluations while training begin


def accuracy_curves(runs: Sequence[Run], *, scale: str, metric: str | None = None) -> list[Plot]:
    """One figure a benchmark, or the one of `metric` (`<benchmark>/<metric>`).

    An arm that was trained with several sets of values has the digest of each in its name.

    Raises:
        ValueError: there is no evaluation, or none of that metric.
    """
    import pandas as pd

    evaluated = [run for run in runs if any(name.startswith(CURVE) for name in run.metric_names)]
    evaluated.sort(key=lambda run: (run.model, run.arm, run.digest, run.seed))
    digests: dict[str, set[str]] = {}
    for run in evaluated:
        digests.setdefault(f"{run.model}/{run.arm}", set()).add(run.digest)
    rows = []
    for run in evaluated:
        arm = f"{run.model}/{run.arm}"
        name = arm if len(digests[arm]) == 1 else f"{arm} {run.digest}"
        for step, values in run.curve.items():
            if scores := {key.removeprefix(CURVE): v for key, v in values.items() if key.startswith(CURVE)}:
                rows.append({"arm": name, "seed": run.seed, "step": step, **scores})
    frame = pd.DataFrame(rows, columns=None if rows else ["arm", "seed", "step"])
    metrics = [name for name in frame.columns if "/" in name]
    if not metrics:
        raise ValueError("no finished run was evaluated while it trained; give eval.every=K to `rlvr run`")
    if metric is not None and metric not in metrics:
        raise ValueError(f"metric: expected one of {', '.join(metrics)}, got {metric!r}")
    shown = [metric] if metric else [name for name in metrics if name.partition("/")[2].startswith("avg")]
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
        for name in shown
    ]
