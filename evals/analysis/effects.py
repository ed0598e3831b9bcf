"""The cost of an intervention: accuracy of continuations without it minus accuracy with it, by group, with tests.

Every frame here has one row per intervention: `group`, `problem_id`, `k_original` and `k_altered` (graded
continuations), `original` and `altered` (their accuracy), and `drop` (original - altered). An unknown
drop is NaN. Excluded, and counted in the caption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evals.analysis.token_table import mean_of
from evals.grading.verdicts import Verdict
from evals.plots.figures import point_rows
from evals.plots.parts import span
from evals.plots.plot import Plot
from evals.stats.differences import Paired, paired

if TYPE_CHECKING:
    import pandas as pd

BOUNDS = (-1.0, 1.0)  # the limits of a drop


def effects(pairs: Sequence[tuple[str, str]], verdicts: pd.DataFrame) -> pd.DataFrame:
    """The columns `k_original` to `drop`, a row a pair. `drop` is I of arXiv 2508.07534, Eq. 6.

    Args:
        pairs: the prefixes without and with the intervention.
        verdicts: of every prefix (`interventions.measure`). Unscored continuations are excluded, not wrong.
    """
    import pandas as pd

    of_prefix = correctness(verdicts["verdict"]).groupby(verdicts["problem_id"]).agg(["count", "mean"])
    columns: dict[str, object] = {}
    for side, name in enumerate(("original", "altered")):
        of_pair = of_prefix.reindex([pair[side] for pair in pairs])
        columns |= {f"k_{name}": of_pair["count"].to_numpy(), name: of_pair["mean"].to_numpy()}
    frame = pd.DataFrame(columns)
    return frame.assign(drop=frame["original"] - frame["altered"])


def by_group(frame: pd.DataFrame) -> pd.DataFrame:
    """The mean drop of each group, every problem counting once, with its 95 % interval over problems.

    Returns:
        group; `mean_of` the drops; original, altered (means over problems); interventions; unknown (excluded, without a
        drop); k (the fewest graded continuations of a prefix that counts). Missing values are NaN.
    """
    import pandas as pd

    rows = []
    for group, part in frame.groupby("group", sort=False):
        known = part[part["drop"].notna()]
        means = known.groupby("problem_id")[["original", "altered", "drop"]].mean()
        rows.append(
            {
                "group": group,
                **mean_of(means["drop"], means.index, bounds=BOUNDS),
                **{name: means[name].mean() for name in ("original", "altered")},
                "interventions": len(known),
                "unknown": len(part) - len(known),
                "k": int(known[["k_original", "k_altered"]].to_numpy().min()) if len(known) else 0,
            }
        )
    return pd.DataFrame(rows)


def compare_groups(frame: pd.DataFrame, a: str, b: str) -> Paired:
    """Mean drop of group a minus that of group b, paired by problem.

    Raises:
        ValueError: no problem has a drop in both.
    """
    means = frame[frame["drop"].notna()].pivot_table(index="problem_id", columns="group", values="drop")
    both = means.reindex(columns=[a, b]).dropna()
    if both.empty:
        raise ValueError(f"no problem has a drop in group {a!r} and in group {b!r}")
    return paired(both[a], both[b], bounds=BOUNDS)


def correctness(verdicts: pd.Series) -> pd.Series[float]:
    """1 for correct, NaN for unscored, 0 for every other verdict."""
    return (verdicts == Verdict.CORRECT).astype(float).where(verdicts != Verdict.UNSCORED)


def plot_groups(
    name: str,
    title: str,
    caption: str,
    source: str,
    frames: Mapping[str, pd.DataFrame],
    names: Sequence[str],
    labels: Mapping[str, str],
    unit: str,
) -> Plot:
    """A row for each group, with the mean drop (percentage points) and its interval for each run.

    Args:
        caption: before the counts and accuracies. frames: run -> frame. names: all runs. labels: group -> row's name.
    """
    import pandas as pd

    numbers = pd.concat([by_group(frame).assign(model=run) for run, frame in frames.items()], ignore_index=True)
    numbers[["mean", "low", "high", "original", "altered"]] *= 100
    accuracies = [
        f"{run}: " + ", ".join(f"{row.group} {row.original:.1f} to {row.altered:.1f} %" for row in rows.itertuples())
        for run, rows in numbers.groupby("model", sort=False)
    ]
    unknown = int(numbers["unknown"].sum())
    texts = [
        caption,
        f"{span(numbers['problems'])} problems, {span(numbers['interventions'])} interventions a group, "
        f"{span(numbers['k'])} graded continuations of either prefix.",
        f"{unknown} interventions whose continuations could not be scored are excluded." if unknown else "",
        "Mean over problems, 95 % intervals over problems.",
        f"Accuracy without and with it: {'; '.join(accuracies)}.".replace("nan to nan %", "not known"),
    ]
    return point_rows(
        name,
        title,
        " ".join(filter(None, texts)),
        source,
        numbers,
        names,
        by="group",
        labels={g: labels.get(g, g) for g in dict.fromkeys(numbers["group"])},
        unit=unit,
        mark=0.0,
    )
