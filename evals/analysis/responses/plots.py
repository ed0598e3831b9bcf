"""Figures from verdicts and texts of responses: pass@k, answer diversity, length, form."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis.common_problems import CommonProblems
from evals.analysis.responses.diversity import diversity_curves
from evals.analysis.responses.pass_curves import pass_curves
from evals.analysis.responses.quality import NATIVE, REDUNDANT_ABOVE
from evals.analysis.responses.responses import MEASURES, lengths, response_table, shares
from evals.analysis.subjects import Subject
from evals.plots.drawing import WIDTH, Drawing, look, tidy
from evals.plots.parts import (
    common_benchmarks,
    covered,
    legend_below,
    legend_height,
    point_look,
    sizes,
    tables_of,
)

if TYPE_CHECKING:
    import pandas as pd

TRIAL_AND_ERROR, ENTROPY_ADVANTAGE, ERPO = "arXiv 2508.07534", "arXiv 2506.14758", "arXiv 2603.28204"


def draw_verdicts(
    subjects: Sequence[Subject],
    *,
    benchmarks: Sequence[str] | None = None,
    ks: Sequence[int] | None = None,
    redundant_above: float = REDUNDANT_ABOVE,
    native: Collection[str] = NATIVE,
) -> list[Drawing]:
    """Every figure of this file, for each benchmark.

    Args:
        subjects: the runs, the base model first.
        benchmarks: None takes those that all runs were measured on.
        ks: None takes the powers of two up to what all problems allow (`evals.analysis.responses.pass_curves`).
        redundant_above, native: see `evals.analysis.responses.quality.flags`.
    Raises:
        ValueError: no runs, no common benchmark, or tables without texts.
    """
    drawings = []
    for benchmark in common_benchmarks(subjects, benchmarks):
        tables = tables_of(subjects, benchmark)
        responses = {
            name: response_table(table, redundant_above=redundant_above, native=native)
            for name, table in tables.items()
        }
        drawings += [pass_at_k(tables, benchmark, ks), answer_diversity(tables, benchmark, ks)]
        if any(table["tokens"].notna().any() for table in responses.values()):  # a server may not tell
            drawings.append(response_length(responses, benchmark))
        drawings.append(response_form(responses, benchmark, redundant_above))
    return drawings


def pass_at_k(tables: Mapping[str, pd.DataFrame], benchmark: str, ks: Sequence[int] | None = None) -> Drawing:
    """pass@k against k, all runs (arXiv 2508.07534, Fig. 1a; Fig. 2 with tools)."""
    frame, same = pass_curves(tables, ks)
    numbers = frame.assign(benchmark=benchmark)
    for column in ("pass", "low", "high"):
        numbers[column] = 100 * numbers[column]
    numbers = numbers.rename(columns={"pass": "pass@k (%)", "low": "low (%)", "high": "high (%)"})
    return _over_k(
        f"pass_at_k_{benchmark}",
        f"pass@k on {benchmark}",
        f"{TRIAL_AND_ERROR}, Fig. 1a",
        numbers,
        same,
        tables,
        ("pass@k (%)", "low (%)", "high (%)"),
        "pass@k: chance that k samples hold a right answer (unbiased estimate)",
        label="pass@k (%)",
        limits=(10.0, 100.0),
    )


def answer_diversity(tables: Mapping[str, pd.DataFrame], benchmark: str, ks: Sequence[int] | None = None) -> Drawing:
    """Different answers to a problem among k samples, all runs (arXiv 2508.07534, Fig. 1b)."""
    frame, same = diversity_curves(tables, ks)
    columns = ("answers", "low (answers)", "high (answers)")
    numbers = frame.assign(benchmark=benchmark).rename(
        columns=dict(zip(("distinct", "low", "high"), columns, strict=True))
    )
    return _over_k(
        f"answer_diversity_{benchmark}",
        f"Different answers to a problem of {benchmark}",
        f"{TRIAL_AND_ERROR}, Fig. 1b",
        numbers,
        same,
        tables,
        columns,
        "Expected number of different answers among k samples; equal answers are those that the verifier calls equal, "
        "and a response without an answer adds none",
        label="different answers a problem",
        limits=(1.0, float("inf")),
    )


def response_length(responses: Mapping[str, pd.DataFrame], benchmark: str) -> Drawing:
    """Length of right and of other responses (arXiv 2506.14758, section 6.2; arXiv 2506.01939, Table 2)."""
    names = list(responses)
    numbers = lengths(responses).assign(benchmark=benchmark)
    outcomes = {"right": -0.17, "not right": 0.17}

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        for row in numbers[numbers["outcome"].isin(outcomes)].to_dict("records"):
            place = names.index(str(row["model"]))
            y, colour = place + outcomes[str(row["outcome"])], look(place)["color"]
            axis.plot([row["q05"], row["q95"]], [y, y], color=colour, linewidth=0.9)
            axis.plot([row["q25"], row["q75"]], [y, y], color=colour, linewidth=3.5, solid_capstyle="butt")
            axis.plot([row["q50"]], [y], **point_look(place, hollow=row["outcome"] != "right"))
        for place in set(range(len(names))) - {names.index(name) for name in numbers["model"]}:
            axis.text(0, place, " not known", va="center", color=look(place)["color"])
        axis.set_yticks(range(len(names)), [fill(name, 22) for name in names])
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.set_xlim(left=0)
        axis.set_xlabel("length of a response (tokens)")
        tidy(axis)
        axis.grid(axis="y", visible=False)

    unknown = sum(int(table["tokens"].isna().sum()) for table in responses.values())
    means = "; ".join(
        f"{row['model']} {row['mean']:.0f}"
        + ("" if np.isnan(row["low"]) else f" [{row['low']:.0f}, {row['high']:.0f}]")
        for row in numbers[numbers["outcome"] == "all"].to_dict("records")
    )
    caption = (
        f"{_sizes(responses)} Filled: right, hollow: not right (unscored responses are in neither). Marker: median of "
        f"the responses, thick line: middle half, thin line: 5 to 95 %. Mean of all responses over problems, with its "
        f"95 % interval: {means}."
    )
    if unknown:
        caption += f" {unknown} responses of unknown length are left out."
    return Drawing(
        f"response_length_{benchmark}",
        f"Length of responses on {benchmark}",
        caption,
        f"{ENTROPY_ADVANTAGE}, section 6.2",
        numbers,
        draw,
        (WIDTH, 0.8 + 0.55 * len(names)),
    )


def response_form(responses: Mapping[str, pd.DataFrame], benchmark: str, redundant_above: float) -> Drawing:
    """Fmt, truncation, repetition and quality flags (arXiv 2508.07534, Fig. 3d; arXiv 2603.28204, Fmt of Table 1)."""
    names = list(responses)
    numbers = shares(responses).assign(benchmark=benchmark)
    for column in ("value", "low", "high"):
        numbers[column] = 100 * numbers[column]
    numbers = numbers.rename(columns={"value": "value (%)", "low": "low (%)", "high": "high (%)"})
    measures = [measure for measure in MEASURES if (numbers["measure"] == measure).any()]

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        handles = []
        for place, name in enumerate(names):
            rows = numbers[numbers["model"] == name].set_index("measure")
            for y, measure in enumerate(measures):
                if measure in rows.index:
                    low, high = rows.loc[measure, "low (%)"], rows.loc[measure, "high (%)"]
                    at = y + (place - (len(names) - 1) / 2) * 0.7 / len(names)
                    axis.plot([low, high], [at, at], color=look(place)["color"], linewidth=1)
                    axis.plot([rows.loc[measure, "value (%)"]], [at], **point_look(place))
            handles += axis.plot([], [], **point_look(place))
        axis.set_yticks(range(len(measures)), [MEASURES[measure] for measure in measures])
        axis.set_ylim(len(measures) - 0.5, -0.5)
        axis.set_xlim(-2, 102)
        axis.set_xlabel("mean of the responses (%)")
        for y in range(1, len(measures)):
            axis.axhline(y - 0.5, color="black", linewidth=0.3, alpha=0.3)
        tidy(axis)
        axis.grid(axis="y", visible=False)
        legend_below(figure, handles, names)

    caption = (
        f"{_sizes(responses)} 95 % intervals over problems (and training seeds, where there are several; one problem "
        "has none). Shares of responses; 3-gram redundancy is the mean of 1 - distinct / all 3-grams of words. "
        f"Repetitive: redundancy above {redundant_above:g}; garbled: characters that no writing uses; mixes languages: "
        "letters of another script. Rules, where the paper asks a language model whether content is irrelevant. "
        "Unscored responses count."
    )
    if "truncated" not in measures:
        caption += " Truncation is not known."
    return Drawing(
        f"response_form_{benchmark}",
        f"Form of responses on {benchmark}",
        caption,
        f"{TRIAL_AND_ERROR}, Fig. 3d; {ERPO}, Table 1 (Fmt)",
        numbers,
        draw,
        (WIDTH, 0.7 + len(measures) * (0.2 + 0.12 * len(names)) + legend_height(names)),
    )


def _over_k(
    name: str,
    title: str,
    source: str,
    numbers: pd.DataFrame,
    same: CommonProblems,
    tables: Mapping[str, pd.DataFrame],
    columns: tuple[str, str, str],
    what: str,
    label: str,
    limits: tuple[float, float],
) -> Drawing:
    """A line a run over k, with a band; columns are (value, low, high) of `numbers`, `limits` of the axis' top."""
    value, low, high = columns
    names = list(tables)
    ks = sorted(numbers["k"].unique())

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        handles = []
        for place, run in enumerate(names):
            rows = numbers[numbers["model"] == run]
            handles += axis.plot(
                rows["k"], rows[value], **{**look(place), "markersize": 4, "linewidth": 1.4}, clip_on=False
            )
            if len(ks) == 1:
                axis.plot([rows["k"]] * 2, [rows[low], rows[high]], color=look(place)["color"], linewidth=1)
            else:
                axis.fill_between(rows["k"], rows[low], rows[high], color=look(place)["color"], alpha=0.13, linewidth=0)
        axis.set_xscale("log", base=2)
        shown = ks[:: -(-len(ks) // 10)]
        axis.set_xticks(shown, [str(k) for k in shown])
        axis.minorticks_off()
        least, most = limits
        axis.set_ylim(0, min(most, max(least, axis.get_ylim()[1])))
        axis.set_xlabel("k (samples a problem)")
        axis.set_ylabel(label)
        tidy(axis)
        legend_below(figure, handles, names)

    caption = " ".join(
        part
        for part in (f"{sizes(tables, len(same.problems))} {what}. {covered(list(numbers['covers']))}", same.note())
        if part
    )
    return Drawing(name, title, caption, source, numbers, draw, (WIDTH, 3.0 + legend_height(names)))


def _sizes(responses: Mapping[str, pd.DataFrame]) -> str:
    problems = set().union(*(table["problem_id"] for table in responses.values()))
    return sizes(responses, len(problems))
