"""The figures of the study, from the same runs as its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.plots import study as plots
from evals.stats.compare import compare_average
from evals.stats.intervals import estimate
from evals.stats.score import unit
from evals.stats.verdict_table import complete
from harness.spec.scales import SCALES
from harness.tables.measured import Measured
from studies.tiny.design import Design
from studies.tiny.outcomes import CheckedClaims, K, Key, Row, Value, claim_outcome, gains, placebos, row

if TYPE_CHECKING:
    import pandas as pd

    from evals.plots.plot import Plot

NAN = float("nan")
SHOWN = {"train/accuracy": "training accuracy", "train/entropy": "entropy (nats a token)"}


def figures(design: Design, arms: Mapping[Key, Measured], checked: CheckedClaims) -> list[Plot]:
    """Learning curves and pass@k of each family, accuracy against entropy, claims, gains beside placebos, as far as
    measured."""
    made: list[Plot] = []
    for scale in design.families:
        of = {f"{paper} {arm}": m for (s, paper, arm), m in arms.items() if s == scale and m.trained}
        if not of:
            continue
        curves = _curves(of)
        for metric, label in SHOWN.items():
            if metric in curves and curves[metric].notna().any():
                name, title = f"{scale}_{metric.rpartition('/')[2]}", f"{scale}: {label}"
                grpo = ("baselines grpo",)
                made.append(
                    plots.learning_curves(
                        curves, metric, label=label, name=name, title=title, reference=grpo, note=_note(scale)
                    )
                )
        base = next((m for (s, _, arm), m in arms.items() if s == scale and arm == "base"), None)
        numbers = _pass_at_k({**({} if base is None else {"base": base}), **of})
        name, title, held = f"{scale}_pass_at_k", f"{scale}: pass@k", ("base", "baselines grpo")
        made.append(plots.pass_at_k_curves(numbers, name=name, title=title, reference=held, note=_note(scale)))
    points = _points(design, {key: row(key, m) for key, m in arms.items() if m.trained})
    if not points.empty:
        made.append(plots.accuracy_against_entropy(points, note="Tiny scale."))
    decided = _claims(arms, checked)
    if not decided.empty:
        made.append(plots.claims_forest(decided, note="Tiny scale. Difference: mean over the benchmarks."))
    beside = _beside_placebos(design, arms)
    if not beside.empty:
        made.append(plots.placebo_points(beside, note="Tiny scale. avg, mean over the family's benchmarks."))
    return made


def _note(scale: str) -> str:
    return f"{SCALES[scale].label.partition(':')[0].capitalize()}, family {scale}."


def _curves(of: Mapping[str, Measured]) -> pd.DataFrame:
    """`arm`, `seed`, `step` and the curves."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for arm, m in of.items():
        for seed in m.seeds:
            for metric, points in m.curves.get(seed, {}).items():
                rows += [{"arm": arm, "seed": seed, "step": step, "metric": metric, "value": v} for step, v in points]
    if not rows:
        return pd.DataFrame()
    wide = pd.DataFrame(rows).pivot_table(index=["arm", "seed", "step"], columns="metric", values="value", sort=False)
    return wide.reset_index()


def _pass_at_k(of: Mapping[str, Measured]) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for arm, m in of.items():
        for k in (1, 2, 4, 8, 16):
            tables = []
            for benchmark in m.verdicts:
                values = m.held(benchmark).values("pass", k)
                tables.append(values[:, complete(values)])
            interval = estimate(tables).interval()
            mean = float(np.mean([table.mean() for table in tables]))
            low, high = (interval.low, interval.high) if interval else (mean, mean)
            rows.append({"arm": arm, "k": k, "pass": mean, "low": low, "high": high})
    return pd.DataFrame(rows)


def _points(design: Design, rows: Mapping[Key, Row]) -> pd.DataFrame:
    import pandas as pd

    reference = {arm.paper: arm.arm for arm in design.arms if not arm.than}
    return pd.DataFrame(
        {
            "arm": key[2] if key[2] != reference[key[1]] else f"{key[2]} ({key[1]})",
            "group": key[1],
            "family": key[0],
            "accuracy": r.avg.mean,
            "accuracy_low": _ends(r.avg)[0],
            "accuracy_high": _ends(r.avg)[1],
            "entropy": r.entropy.mean,
            "entropy_low": _ends(r.entropy)[0],
            "entropy_high": _ends(r.entropy)[1],
        }
        for key, r in rows.items()
        if r.entropy is not None
    )


def _ends(value: Value) -> tuple[float, float]:
    return (value.interval.low, value.interval.high) if value.interval else (value.mean, value.mean)


def _claims(arms: Mapping[Key, Measured], checked: CheckedClaims) -> pd.DataFrame:
    """One row a claim on a metric in percent: its difference is the mean over the family's benchmarks, with pass@16 and
    maj@16 for all k. p is that of the claim's own comparison, where it has one."""
    import pandas as pd

    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for scale, of_papers in checked.items():
        for paper, of_paper in of_papers.items():
            for c in of_paper:
                a, b = (arms.get((scale, paper, arm)) for arm in (c.claim.arm, c.claim.than))
                if not c.evidence or c.claim.curve is not None or a is None or b is None:
                    continue
                for metric in c.claim.compared:
                    line = compare_average(a.run(), b.run(), list(a.verdicts), metric, ks=(K,))
                    if unit(metric) == "%" and line.low is not None:
                        only = c.evidence[0].line.p_holm if len(c.evidence) == 1 else None
                        name = f"{paper}: {a.arm} − {b.arm} {c.claim.direction}, {line.name}"
                        rows[name, scale] = {
                            "claim": name,
                            "family": scale,
                            "difference": line.difference,
                            "low": line.low,
                            "high": line.high,
                            "outcome": claim_outcome(c),
                            "p": NAN if only is None else only,
                        }
    return pd.DataFrame(list(rows.values()))


def _beside_placebos(design: Design, arms: Mapping[Key, Measured]) -> pd.DataFrame:
    """Gains over the reference, of each method that has placebos and of its placebos."""
    import pandas as pd

    with_placebos = {(d.paper, d.a) for d in placebos(design, arms)}
    every = gains(design, arms, controlled=True)
    rows = []
    for d in every:
        method, _, control = d.a.partition("+")
        if d.line.metric == "avg" and (d.paper, method) in with_placebos and d.line.low is not None:
            rows.append(
                {
                    "method": f"{d.paper} {method}",
                    "variant": control.replace("_", " ") or "the method",
                    "family": d.scale,
                    "value": d.line.difference,
                    "low": d.line.low,
                    "high": d.line.high,
                }
            )
    return pd.DataFrame(rows)
