"""The figures of the study, from the same runs as its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evals.plots.curves import learning_curves
from evals.plots.parts import (
    ForestRow,
    Verdict,
    forest,
    legend_below,
    legend_height,
    name_rows,
    offsets,
    point_look,
    points,
)
from evals.plots.plot import WIDTH, Plot
from evals.stats.compare import compare_average
from evals.stats.score import p_words, unit
from harness.spec.scales import SCALES
from studies.tiny.design import Design
from studies.tiny.outcomes import CheckedClaims, K, claim_outcome, gains, placebos
from studies.tiny.scores import Arms

if TYPE_CHECKING:
    import pandas as pd

CURVES = {"train/accuracy": "training accuracy", "train/entropy": "entropy (nats a token)"}
OUTCOMES = {
    "appears": Verdict("#0072B2", "o"),
    "reversed": Verdict("#D55E00", "s"),
    "does not appear": Verdict("#E69F00", "v"),
    "equal within δ": Verdict("#009E73", "P"),
    "cannot tell": Verdict("#666666", "D", filled=False),
}


def figures(design: Design, arms: Arms, checked: CheckedClaims) -> list[Plot]:
    """Learning curves of each family, claims, gains beside placebos, as far as measured."""
    plots = []
    for scale in design.families:
        curves = curve_points(arms, scale)
        for metric, label in CURVES.items():
            if metric in curves:
                plots.append(
                    learning_curves(
                        curves,
                        metric,
                        label=label,
                        name=f"{scale}_{metric.rpartition('/')[2]}",
                        title=f"{scale}: {label}",
                        reference=("baselines grpo",),
                        bounds=(0.0, 1.0) if metric == "train/accuracy" else (0.0, float("inf")),
                        note=f"{SCALES[scale].label.partition(':')[0].capitalize()}, family {scale}.",
                    )
                )
    decided = decided_claims(arms, checked)
    beside = gains_beside_placebos(design, arms)
    return [
        *plots,
        *([] if decided.empty else [claims_forest(decided)]),
        *([] if beside.empty else [placebo_points(beside)]),
    ]


def curve_points(arms: Arms, scale: str) -> pd.DataFrame:
    """`arm` ("PAPER ARM"), `seed`, `step` and a column for each of CURVES, of the trained arms of one family."""
    import pandas as pd

    rows = [
        {"arm": f"{paper} {arm}", "seed": seed, "step": step, "metric": metric, "value": value}
        for (family, paper, arm), m in arms.items()
        if family == scale and m.trained
        for seed in m.seeds
        for metric in CURVES
        for step, value in m.curves.get(seed, {}).get(metric, ())
    ]
    if not rows:
        return pd.DataFrame()
    wide = pd.DataFrame(rows).pivot_table(index=["arm", "seed", "step"], columns="metric", values="value", sort=False)
    return wide.reset_index()


def decided_claims(arms: Arms, checked: CheckedClaims) -> pd.DataFrame:
    """`claim`, `family`, `difference`, `low`, `high` (percentage points), `outcome`, `p`: a row a claim on a metric in
    percent. Its difference is the mean over the family's benchmarks, with pass@16 and maj@16 for all k; p is that of
    the claim's own comparison, NaN where it has several."""
    import pandas as pd

    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for scale, of_papers in checked.items():
        for paper, of_paper in of_papers.items():
            for c in of_paper:
                a, b = (arms.get((scale, paper, arm)) for arm in (c.claim.arm, c.claim.than))
                if not c.evidence or c.claim.curve is not None or a is None or b is None:
                    continue
                for metric in c.claim.compared:
                    line = compare_average(a.run, b.run, list(a.verdicts), metric, ks=(K,))
                    if unit(metric) != "%" or line.difference is None or line.low is None or line.high is None:
                        continue
                    p = c.evidence[0].line.p_holm if len(c.evidence) == 1 else None
                    name = f"{paper}: {a.arm} − {b.arm} {c.claim.direction}, {line.name}"
                    rows[name, scale] = {
                        "claim": name,
                        "family": scale,
                        "difference": 100 * line.difference,
                        "low": 100 * line.low,
                        "high": 100 * line.high,
                        "outcome": claim_outcome(c),
                        "p": float("nan") if p is None else p,
                    }
    return pd.DataFrame(list(rows.values()))


def gains_beside_placebos(design: Design, arms: Arms) -> pd.DataFrame:
    """`method`, `variant`, `family`, `value`, `low`, `high` (percentage points): the gain in avg over the reference, of
    each method that has placebos and of its placebos; a method's own gain comes first."""
    import pandas as pd

    with_placebos = {(d.paper, d.a) for d in placebos(design, arms)}
    rows = []
    for d in gains(design, arms, controlled=True):
        method, _, control = d.a.partition("+")
        line = d.line
        if line.metric != "avg" or (d.paper, method) not in with_placebos:
            continue
        if line.difference is None or line.low is None or line.high is None:
            continue
        variant = control.replace("_", " ") or "the method"
        values = {"value": 100 * line.difference, "low": 100 * line.low, "high": 100 * line.high}
        rows.append({"method": f"{d.paper} {method}", "variant": variant, "family": d.scale, **values})
    return pd.DataFrame(rows)


def claims_forest(numbers: pd.DataFrame) -> Plot:
    """Every claim's difference with its interval, marked by its outcome, a panel a family; `numbers` as from
    `decided_claims`."""
    families = list(dict.fromkeys(numbers["family"]))
    counts = [int((numbers["family"] == family).sum()) for family in families]
    present = [outcome for outcome in OUTCOMES if (numbers["outcome"] == outcome).any()]

    def render(figure: Any) -> None:
        heights = [0.25 * count + 0.6 for count in counts]
        axes = figure.subplots(len(families), 1, squeeze=False, height_ratios=heights, sharex=True)[:, 0]
        for axis, family in zip(axes, families, strict=True):
            rows = [_forest_row(row) for row in numbers[numbers["family"] == family].to_dict("records")]
            forest(axis, rows, "difference (percentage points)")
            axis.set_title(family, loc="left")
        looks = [OUTCOMES[outcome] for outcome in present]
        handles = [
            axes[0].plot([], [], look.marker, color=look.color, markerfacecolor=look.color if look.filled else "white")[
                0
            ]
            for look in looks
        ]
        legend_below(figure, handles, present)

    count_of = ", ".join(f"{outcome}: {int((numbers['outcome'] == outcome).sum())}" for outcome in present)
    caption = (
        "Bars: 95 % intervals of the difference; p corrected for the family of claims it was tested in. "
        f"{count_of}. Tiny scale. Difference: mean over the benchmarks."
    )
    height = sum(0.25 * count + 0.6 for count in counts) + 0.2 + legend_height(present)
    return Plot("claims", "Claims of the papers", caption, "", numbers, render, (1.75 * WIDTH, height))


def _forest_row(row: dict[Any, Any]) -> ForestRow:
    note = f"{row['difference']:+.1f} [{row['low']:+.1f}, {row['high']:+.1f}]  {p_words(row['p'])}".rstrip()
    return ForestRow(row["claim"], row["low"], row["difference"], row["high"], OUTCOMES[row["outcome"]], note)


def placebo_points(numbers: pd.DataFrame) -> Plot:
    """Each method beside its placebos, as points with intervals: a row a method, a panel a family; `numbers` as from
    `gains_beside_placebos`."""
    methods, variants, families = (list(dict.fromkeys(numbers[name])) for name in ("method", "variant", "family"))

    def render(figure: Any) -> None:
        axes = figure.subplots(1, len(families), squeeze=False, sharey=True)[0]
        for axis, family in zip(axes, families, strict=True):
            name_rows(axis, methods)
            axis.axvline(0, color="black", linewidth=0.8)
            for series, (variant, shift) in enumerate(zip(variants, offsets(len(variants)), strict=True)):
                rows = numbers[(numbers["family"] == family) & (numbers["variant"] == variant)]
                at = [methods.index(method) + shift for method in rows["method"]]
                points(axis, at, rows["low"], rows["value"], rows["high"], series, hollow=series > 0)
            axis.set_title(family, loc="left")
            axis.set_xlabel("gain over the reference (percentage points)")
        handles = [axes[0].plot([], [], **point_look(i, hollow=i > 0))[0] for i in range(len(variants))]
        legend_below(figure, handles, variants)

    size = (1.35 * WIDTH if len(families) > 1 else WIDTH, 1.0 + 0.36 * len(methods) + legend_height(variants))
    caption = "Lines: 95 % intervals. Tiny scale. avg, mean over the family's benchmarks."
    return Plot("placebos", "Methods beside their placebos", caption, "", numbers, render, size)
