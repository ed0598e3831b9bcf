"""Figures of interventions: tokens replaced, tokens perturbed, a temperature of its own at forks, tools.

Each takes run -> frame, in the order of the runs, as the measurement returned it
(`evals.analysis.interventions.replacement`,
`perturbation`, `fork_temperature`; for tools two verdict tables a run).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis.interventions.effects import by_group, contrasts
from evals.analysis.interventions.fork_temperature import REFERENCE, scores
from evals.analysis.interventions.perturbation import CONTRASTS, Perturbation
from evals.analysis.interventions.tool_use import tool_use
from evals.analysis.responses.pass_curves import pass_curves
from evals.plots.drawing import WIDTH, Drawing, look, tidy
from evals.plots.parts import covered, legend_below, legend_height, point_look, sizes

if TYPE_CHECKING:
    import pandas as pd

TRIAL_AND_ERROR, ERPO, FORKING = "arXiv 2508.07534", "arXiv 2603.28204", "arXiv 2506.01939"
REPLACEMENT_SOURCES = {
    "entropy": f"{TRIAL_AND_ERROR}, Eq. 6",
    "perplexity": f"{TRIAL_AND_ERROR}, Fig. 5b",
    "position": f"{TRIAL_AND_ERROR}, Fig. 6b",
}


def draw_replacement(frames: Mapping[str, pd.DataFrame], *, benchmark: str, by: str = "entropy") -> list[Drawing]:
    """Accuracy lost by replacing a token, by group of tokens (arXiv 2508.07534, Eq. 6; by perplexity of the response
    Fig. 5b, by position of the token Fig. 6b).

    Args:
        frames: run -> `measure_impact`'s frame; all with the same groups.
        by: "entropy", "perplexity" or "position": what tells the groups apart.
    Raises:
        ValueError: no run, runs with other groups, or another `by`.
    """
    if by not in REPLACEMENT_SOURCES:
        raise ValueError(f"by={by!r}, expected one of: {', '.join(REPLACEMENT_SOURCES)}")
    numbers = _by_group(frames)
    caption = (
        f"Impact I of a token (Eq. 6): accuracy of responses that go on from it less that of responses that go on from "
        f"its most probable alternative; above 0 the token itself was the better choice. {_counts(numbers)} Mean over "
        f"problems, 95 % intervals over problems. {_each(numbers)}"
    )
    drawing = _groups(
        f"replacement_by_{by}_{benchmark}",
        f"Accuracy lost by replacing a token, on {benchmark}",
        caption,
        REPLACEMENT_SOURCES[by],
        numbers,
        "accuracy lost by the replacement\n(percentage points)",
        {
            "top": "highest entropy",
            "bottom": "lowest entropy",
            "random": "random tokens",
            "low PPL": "responses of\nlowest perplexity",
            "high PPL": "responses of\nhighest perplexity",
        },
    )
    return [drawing]


def draw_perturbation(
    frames: Mapping[str, pd.DataFrame], *, benchmark: str, perturbation: Perturbation | None = None, seed: int = 0
) -> list[Drawing]:
    """Accuracy lost by perturbing the tokens of highest and of lowest entropy (arXiv 2603.28204, Fig. 1b).

    Args:
        frames: run -> `measure_perturbation`'s frame. perturbation: as they were measured with.
        seed: draws the sign flips of the tests.
    """
    perturbation = perturbation or Perturbation()
    numbers = _by_group(frames)
    tests = [
        f"{run}: top less bottom {100 * one['difference']:+.1f} points, {_p(one['p_holm'])}"
        for run, frame in frames.items()
        for one in contrasts(frame, CONTRASTS, seed=seed).to_dict("records")
        if one["b"]
    ]
    caption = (
        f"{_meaning(perturbation)} Problems of which at least {100 * perturbation.sure:g} % of the samples are right; "
        f"the first right response to each. {_counts(numbers)} Accuracy of what is decoded again without the "
        "perturbation less that with it; mean over problems, 95 % intervals over problems. "
        f"{_each(numbers)} {'; '.join(tests)} "
        f"(sign flip over problems; Holm over three comparisons of a run)."
    )
    share = f"{100 * perturbation.share:g} %"
    drawing = _groups(
        f"perturbation_{benchmark}",
        f"Accuracy lost by perturbing tokens of high and of low entropy, on {benchmark}",
        caption,
        f"{ERPO}, Fig. 1b",
        numbers,
        "accuracy lost by the perturbation\n(percentage points)",
        {"top": f"highest\n{share} entropy", "bottom": f"lowest\n{share} entropy"},
    )
    return [drawing]


def draw_fork_temperatures(
    frames: Mapping[str, pd.DataFrame],
    *,
    benchmark: str,
    reference: tuple[float, float] = REFERENCE,
    seed: int = 0,
) -> list[Drawing]:
    """Score against the temperature at forks, and against that elsewhere, the other one held (arXiv 2506.01939,
    section 3). A panel a run, at most four.

    Args:
        frames: run -> `measure_fork_temperatures`' frame. reference: the pair (forks, elsewhere) whose values are held.
        seed: draws the sign flips of the tests in the numbers.
    Raises:
        ValueError: no run or more than four, or a frame without the reference.
    """
    import pandas as pd

    _one_to_four(frames)
    numbers = pd.concat(
        [scores(frame, reference=reference, seed=seed).assign(model=run) for run, frame in frames.items()],
        ignore_index=True,
    )
    fork, other = numbers["fork_temperature"], numbers["other_temperature"]
    numbers["varied"] = np.select(
        [(fork == reference[0]) & (other == reference[1]), other == reference[1], fork == reference[0]],
        ["neither", "forks", "elsewhere"],
        "both",
    )
    percent = ["score", "low", "high", "difference", "difference_low", "difference_high"]
    numbers[percent] *= 100
    labels = {
        "forks": f"temperature at forks varies, elsewhere {reference[1]:g}",
        "elsewhere": f"temperature elsewhere varies, at forks {reference[0]:g}",
    }
    temperatures = sorted({*fork[numbers["varied"] != "both"], *other[numbers["varied"] != "both"]})

    def draw(figure: Any) -> None:
        for place, (axis, run) in enumerate(_panels(figure, list(frames), "temperature that varies", "accuracy (%)")):
            for varied in labels:
                _temperature_line(axis, numbers[numbers["model"] == run], varied, place)
            axis.set_xticks(temperatures, [f"{t:g}" for t in temperatures])
            axis.set_ylim(0, min(100.0, 1.05 * float(np.nanmax(numbers["high"].fillna(numbers["score"])))))
        _two_lines(figure, list(labels.values()))

    caption = (
        f"{_problems(numbers)}, {_span(numbers['samples'] / numbers['problems'])} samples a problem. Accuracy: mean "
        f"over problems, 95 % intervals over problems. {_thresholds(frames)} All points of a run share each sample's "
        "random numbers."
    )
    if (numbers["varied"] == "both").any():
        caption += f" {int((numbers['varied'] == 'both').sum())} pairs in which both vary are in the numbers alone."
    if unscored := int(numbers["unscored"].sum()):
        caption += f" {unscored} responses that could not be scored are left out."
    title = f"Accuracy by the temperature at forks and elsewhere, on {benchmark}"
    source = f"{FORKING}, section 3"
    return [Drawing(f"fork_temperature_{benchmark}", title, caption, source, numbers, draw, _panels_size(len(frames)))]


def draw_tools(
    tables: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]],
    *,
    benchmark: str,
    turns: int,
    ks: Sequence[int] | None = None,
    note: str = "",
) -> list[Drawing]:
    """pass@k with and without tools (arXiv 2508.07534, Fig. 2). A panel a run, at most four.

    Args:
        tables: run -> its verdict tables without and with tools. turns: that the tools were drawn with.
        ks: see `evals.analysis.responses.pass_curves`. note: of how they were drawn, for the caption.
    Raises:
        ValueError: no run or more than four; or as `pass_curves` and `tool_use`.
    """
    _one_to_four(tables)
    flat = {f"{run}, {what}": table for run, pair in tables.items() for what, table in zip(_WITH, pair, strict=True)}
    frame, same = pass_curves(flat, ks)
    numbers = frame.rename(columns={"pass": "pass@k (%)", "low": "low (%)", "high": "high (%)"})
    for column in ("pass@k (%)", "low (%)", "high (%)"):
        numbers[column] *= 100
    shown = sorted(numbers["k"].unique())

    def draw(figure: Any) -> None:
        for place, (axis, run) in enumerate(_panels(figure, list(tables), "k (samples a problem)", "pass@k (%)")):
            for hollow, what in zip((False, True), _WITH[::-1], strict=True):
                rows, style = numbers[numbers["model"] == f"{run}, {what}"], point_look(place, hollow=hollow)
                style |= {"linestyle": "--" if hollow else "-", "linewidth": 1.3, "clip_on": False}
                # where both are the same, a ring around a point shows that there are two
                style |= {"markersize": 8, "markerfacecolor": "none"} if hollow else {"markersize": 4}
                axis.plot(rows["k"], rows["pass@k (%)"], **style)
                axis.fill_between(
                    rows["k"], rows["low (%)"], rows["high (%)"], color=style["color"], alpha=0.13, linewidth=0
                )
            axis.set_xscale("log", base=2)
            axis.set_xticks(shown, [str(k) for k in shown])
            axis.minorticks_off()
            axis.set_ylim(0, 100)
        _two_lines(figure, _WITH[::-1])

    uses = {run: tool_use(pair[1], turns) for run, pair in tables.items()}
    idle = "" if any(use.share for use in uses.values()) else " No response ran code: the tools changed nothing."
    used = "; ".join(
        f"{run}: {100 * use.share:.0f} % of the responses ran code, {use.mean_blocks:.2f} blocks a response"
        + ("" if use.failed is None else f", {100 * use.failed:.0f} % of them ended with an error")
        for run, use in uses.items()
    )
    caption = " ".join(
        part
        for part in (
            f"{sizes(flat, len(same.problems))} pass@k: chance that k samples hold a right answer (unbiased estimate). "
            f"{covered(list(numbers['covers']))} With tools at most {turns} blocks of a response run. {used}.{idle}",
            note,
            same.note(),
        )
        if part
    )
    title = f"pass@k on {benchmark}, with and without tools"
    source = f"{TRIAL_AND_ERROR}, Fig. 2"
    return [Drawing(f"tools_{benchmark}", title, caption, source, numbers, draw, _panels_size(len(tables)))]


_WITH = ("without tools", "with tools")


def _by_group(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """`by_group` of every run, in percentage points.

    Raises:
        ValueError: no run, or runs with other groups.
    """
    import pandas as pd

    if not frames:
        raise ValueError("frames: expected one run or more, got none")
    numbers = pd.concat([by_group(frame).assign(model=run) for run, frame in frames.items()], ignore_index=True)
    groups = {run: list(part["group"]) for run, part in numbers.groupby("model", sort=False)}
    first = next(iter(groups))
    if other := [run for run in groups if groups[run] != groups[first]]:
        raise ValueError(
            f"groups of {first!r} are {groups[first]}, of {other[0]!r} {groups[other[0]]}; expected the same"
        )
    points = ["drop", "low", "high", "original", "altered"]
    numbers[points] *= 100
    return numbers


def _groups(
    name: str,
    title: str,
    caption: str,
    source: str,
    numbers: pd.DataFrame,
    label: str,
    words: Mapping[str, str] | None = None,
) -> Drawing:
    """Points with intervals, a place a group and a point a run."""
    groups, runs = list(dict.fromkeys(numbers["group"])), list(dict.fromkeys(numbers["model"]))
    step = min(0.18, 0.7 / len(runs))

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        axis.axhline(0, color="black", linewidth=0.8)
        handles = []
        for place, run in enumerate(runs):
            rows = numbers[numbers["model"] == run]
            x = np.arange(len(rows)) + step * (place - (len(runs) - 1) / 2)
            axis.vlines(x, rows["low"], rows["high"], color=look(place)["color"], linewidth=1.3)
            handles += axis.plot(x, rows["drop"], **point_look(place))
        axis.set_xticks(range(len(groups)), [(words or {}).get(group, group) for group in groups])
        axis.set_xlim(-0.5, len(groups) - 0.5)
        axis.set_ylabel(label)
        tidy(axis)
        axis.grid(axis="x", visible=False)
        if len(runs) > 1:
            legend_below(figure, handles, runs)

    height = 3.0 + (legend_height(runs) if len(runs) > 1 else 0.0)
    return Drawing(name, title, caption, source, numbers, draw, (WIDTH, height))


def _one_to_four(runs: Mapping[str, object]) -> None:
    if not 1 <= len(runs) <= 4:
        raise ValueError(f"expected one to four runs in this figure, got {len(runs)}")


def _panels(figure: Any, runs: Sequence[str], xlabel: str, ylabel: str) -> list[tuple[Any, str]]:
    """A panel for each run, with its name, at most two in a line; all with the same axes."""
    columns = min(len(runs), 2)
    axes = figure.subplots(-(-len(runs) // columns), columns, sharex=True, sharey=True, squeeze=False)
    for axis in axes[:, 0]:
        axis.set_ylabel(ylabel)
    for place, axis in enumerate(axes.flat):
        if place >= len(runs):
            axis.set_visible(False)
            continue
        axis.set_title(fill(runs[place], 30 if columns == 2 else 70), loc="left")
        tidy(axis)
        if place >= len(runs) - columns:  # the lowest panel of its column
            axis.set_xlabel(xlabel)
            axis.tick_params(labelbottom=True)
    return list(zip(axes.flat, runs, strict=False))


def _panels_size(runs: int) -> tuple[float, float]:
    return WIDTH * (1.0 if runs == 1 else 1.25), 0.5 + 2.3 * -(-runs // 2) + legend_height(["", ""])


def _two_lines(figure: Any, labels: Sequence[str]) -> None:
    """What the solid line and the dashed one are, in no run's colour."""
    from matplotlib.lines import Line2D

    common: dict[str, Any] = {"color": "black", "marker": "o", "markersize": 4, "linewidth": 1.3}
    handles = [Line2D([], [], **common), Line2D([], [], **common, linestyle="--", markerfacecolor="white")]
    legend_below(figure, handles, labels)


def _temperature_line(axis: Any, rows: pd.DataFrame, varied: str, place: int) -> None:
    """One of a run's two lines, through the reference."""
    column = "fork_temperature" if varied == "forks" else "other_temperature"
    rows = rows[rows["varied"].isin([varied, "neither"])].sort_values(column)
    style = point_look(place, hollow=varied == "elsewhere")
    nudge = 0.012 if varied == "elsewhere" else -0.012  # where both have a point their bars stay apart
    x = rows[column] + nudge
    axis.vlines(x, rows["low"], rows["high"], color=style["color"], linewidth=0.9)
    dashes = "--" if varied == "elsewhere" else "-"
    axis.plot(x, rows["score"], **{**style, "linestyle": dashes, "markersize": 4}, linewidth=1.3)


def _meaning(perturbation: Perturbation) -> str:
    share = f"{100 * perturbation.share:g} %"
    by = "a random token" if perturbation.token == "random" else "the most probable other token"
    if perturbation.scope == "all":
        return (
            f"The first {100 * perturbation.keep:g} % of a response are kept; in them the {share} of tokens of highest "
            f"(lowest) entropy, at least one, are each replaced by {by}; the rest is decoded again."
        )
    return (
        f"One of the {share} of tokens of highest (lowest) entropy of a response is replaced by {by}, and all after it "
        "is decoded again."
    )


def _counts(numbers: pd.DataFrame) -> str:
    """Problems, interventions and continuations, and what is not known."""
    text = (
        f"{_problems(numbers)}, {_span(numbers['interventions'])} interventions a group, {_span(numbers['k'])} graded "
        "continuations of either beginning."
    )
    unknown = int(numbers["unknown"].sum())
    return text + (f" {unknown} interventions whose continuations could not be scored are left out." if unknown else "")


def _each(numbers: pd.DataFrame) -> str:
    """Accuracy without and with the intervention, for a caption."""
    parts = []
    for run, rows in numbers.groupby("model", sort=False):
        pairs = [f"{row.group} {row.original:.1f} to {row.altered:.1f} %" for row in rows.itertuples()]
        parts.append(f"{run}: {', '.join(pairs)}")
    return f"Accuracy without and with it: {'; '.join(parts)}.".replace("nan to nan %", "not known")


def _problems(numbers: pd.DataFrame) -> str:
    return f"{_span(numbers['problems'])} problems"


def _span(values: pd.Series) -> str:
    """ "4", or "2 to 4"."""
    known = values[np.isfinite(values)]
    if not len(known):
        return "no"
    low, high = known.min(), known.max()
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _thresholds(frames: Mapping[str, pd.DataFrame]) -> str:
    found = {run: frame["threshold"].iloc[0] for run, frame in frames.items()}
    return (
        "A fork is a position whose entropy at temperature 1 is at or above "
        f"{', '.join(f'{value:.3f} nats ({run})' for run, value in found.items())}."
    )


def _p(value: float) -> str:
    return "p not known" if np.isnan(value) else f"p = {value:.3f}" if value >= 0.001 else "p < 0.001"
