"""The form of responses, from a verdict table with texts: length, format, repetition, quality flags.

No measure needs a verdict, so unscored responses count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from evals.analysis import ENTROPY_ADVANTAGE, ERPO, TRIAL_AND_ERROR
from evals.analysis.curves_over_k import answer_diversity, pass_at_k
from evals.analysis.quality import REDUNDANT_ABOVE, Judge, flags, redundancy
from evals.grading.verdicts import Verdict
from evals.plots.intervals import dots
from evals.plots.parts import legend_below, legend_height, point_look, sizes
from evals.plots.plot import WIDTH, Plot, look, tidy
from evals.stats.intervals import Bounds, Interval, estimate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Mean:
    """A mean over problems (each counts once), its 95 % interval, and its sample sizes.

    `interval` is None if no spread is known (`evals.stats.intervals.over_problems`). `problems` have a value in every
    training seed, `excluded` do not; `samples` counts the values in the mean.
    """

    value: float
    interval: Interval | None
    problems: int
    excluded: int
    samples: int


def mean_over_problems(values: pd.DataFrame, column: str, *, bounds: Bounds) -> Mean | None:
    """The mean of a column; None if no problem has a value in every training seed.

    Args:
        values: one row per response: `problem_id`, `train_seed` (if there are several), and the column; missing values
            are excluded.
        bounds: the least and the greatest value possible; None: without limits.
    """
    frame = values if "train_seed" in values else values.assign(train_seed=0)
    measured = frame[frame[column].notna()]
    per_problem = measured.assign(value=measured[column].astype(float)).pivot_table(
        index="train_seed", columns="problem_id", values="value", aggfunc="mean"
    )
    matrix = per_problem.reindex(frame["train_seed"].unique()).dropna(axis="columns")
    if matrix.empty:
        return None
    kept = measured["problem_id"].isin(matrix.columns)
    return Mean(
        value=float(matrix.to_numpy().mean()),
        interval=estimate([matrix.to_numpy()], bounds=bounds).interval(),
        problems=matrix.shape[1],
        excluded=frame["problem_id"].nunique() - matrix.shape[1],
        samples=int(kept.sum()),
    )


# column of `response_table` -> the printed name of its mean
MEASURES = {
    "boxed": "Fmt (has a box)",
    "truncated": "truncated",
    "redundancy": "3-gram redundancy",
    "format_violation": "not exactly one box",
    "irrelevant": "repetitive or garbled",
    "judged_irrelevant": "irrelevant (judge)",
    "language_mixing": "mixes languages",
}


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def response_table(
    table: pd.DataFrame, *, judge: Judge | None = None, problems: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """One row per response: `problem_id`, `train_seed`, `sample`, `verdict`, `tokens`, and the columns of MEASURES.

    `truncated`: the length limit stopped it (`finish_reason` "length"), missing if the reason is unknown;
    `redundancy` is 1 - distinct / all 3-grams of words; the flags are those of
    `evals.analysis.quality.flags`. With a judge also `judged_irrelevant` (missing if unknown).

    Args:
        judge: asked about every response; `problems` (problem_id -> its text) is then needed.
    Raises:
        ValueError: the table has no texts, or a judged problem no text.
    """
    import pandas as pd

    if "response" not in table:
        raise ValueError("the verdict table lacks the column response")
    seeded = table if "train_seed" in table else table.assign(train_seed=0)
    columns = ["problem_id", "train_seed", "sample", "verdict", "tokens", "boxed"]
    measured = seeded[columns].reset_index(drop=True)
    reason = seeded["finish_reason"].reset_index(drop=True)
    measured["truncated"] = (reason == "length").astype(float).where(reason.notna())
    texts = seeded["response"].tolist()
    measured["redundancy"] = [redundancy(text, "not_distinct") for text in texts]
    measured = pd.concat([measured, pd.DataFrame([asdict(flags(text)) for text in texts])], axis="columns")
    if judge is not None:
        questions = problems or {}
        if unknown := sorted(set(measured["problem_id"]) - set(questions)):
            raise ValueError(f"judge: expected the text of every problem, got none for {unknown[0]!r}")
        answers = judge(texts, [questions[problem] for problem in measured["problem_id"]])
        irrelevant = [np.nan if answer is None else float(answer) for answer in answers]
        measured["judged_irrelevant"] = pd.Series(irrelevant, measured.index)
    return measured


def shares(responses: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per model and measure: `model`, `measure`, `value`, `low`, `high` (fractions; 95 %), `problems`,
    `samples`.

    Args:
        responses: model -> its `response_table`. Measures without any value are excluded.
    """
    import pandas as pd

    rows = []
    for name, table in responses.items():
        for measure in (measure for measure in MEASURES if measure in table):
            mean = mean_over_problems(table, measure, bounds=(0.0, 1.0))
            if mean is not None:
                ends = (None, None) if mean.interval is None else (mean.interval.low, mean.interval.high)
                rows.append((name, measure, mean.value, *ends, mean.problems, mean.samples))
    columns = ["model", "measure", "value", "low", "high", "problems", "samples"]
    return pd.DataFrame(rows, columns=columns).astype({"low": float, "high": float})


def lengths(responses: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per model and outcome ("all", "correct", "incorrect"). Columns: `samples`; `mean`, `low`, `high`,
    `q05`..`q95` (tokens).

    Quantiles are over responses; the mean and its 95 % interval over the problems that have such a response. Unscored
    responses are in "all" only. Responses of unknown length are excluded, and so is an outcome without responses.
    """
    import pandas as pd

    rows = []
    for name, table in responses.items():
        correct = table["verdict"] == Verdict.CORRECT
        outcomes = {
            "all": correct | ~correct,
            "correct": correct,
            "incorrect": ~correct & (table["verdict"] != Verdict.UNSCORED),
        }
        for outcome, chosen in outcomes.items():
            with_length = table[chosen & table["tokens"].notna()]
            mean = mean_over_problems(with_length, "tokens", bounds=None) if len(with_length) else None
            if mean is not None:
                ends = (None, None) if mean.interval is None else (mean.interval.low, mean.interval.high)
                quantiles = with_length["tokens"].astype(float).quantile(list(QUANTILES))
                rows.append((name, outcome, len(with_length), mean.value, *ends, *quantiles))
    columns = ["model", "outcome", "samples", "mean", "low", "high", *(f"q{round(100 * q):02d}" for q in QUANTILES)]
    return pd.DataFrame(rows, columns=columns).astype({"low": float, "high": float})


def response_length(responses: Mapping[str, pd.DataFrame], benchmark: str) -> Plot:
    """Length of correct and of incorrect responses (arXiv 2506.14758, section 6.2; arXiv 2506.01939, Table 2)."""
    names = list(responses)
    numbers = lengths(responses).assign(benchmark=benchmark)
    outcomes = {"correct": -0.17, "incorrect": 0.17}

    def render(figure: Any) -> None:
        axis = figure.subplots()
        for row in numbers[numbers["outcome"].isin(outcomes)].to_dict("records"):
            place = names.index(str(row["model"]))
            y, colour = place + outcomes[str(row["outcome"])], look(place)["color"]
            axis.plot([row["q05"], row["q95"]], [y, y], color=colour, linewidth=0.9)
            axis.plot([row["q25"], row["q75"]], [y, y], color=colour, linewidth=3.5, solid_capstyle="butt")
            axis.plot([row["q50"]], [y], **point_look(place, hollow=row["outcome"] != "correct"))
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
        f"{_sizes(responses)} Filled: correct; hollow: incorrect, unanswered or truncated (unscored responses are in "
        "neither). Marker: median of the responses; thick line: middle half; thin line: 5 to 95 %. Mean of all "
        f"responses over problems, with its 95 % interval: {means}."
    )
    if unknown:
        caption += f" {unknown} responses of unknown length are excluded."
    return Plot(
        f"response_length_{benchmark}",
        f"Length of responses on {benchmark}",
        caption,
        f"{ENTROPY_ADVANTAGE}, section 6.2",
        numbers,
        render,
        (WIDTH, 0.8 + 0.55 * len(names)),
    )


def _judged(responses: Mapping[str, pd.DataFrame], name: str) -> str:
    """How irrelevant content is detected, for a caption."""
    if not name:
        return "These are rules; the paper asks a 32B language model whether content is irrelevant."
    unknown = sum(int(table["judged_irrelevant"].isna().sum()) for table in responses.values())
    return f"Irrelevant (judge): as {name} answers our question; {unknown} responses without a yes or no are excluded."


def response_form(responses: Mapping[str, pd.DataFrame], benchmark: str, judge_name: str = "") -> Plot:
    """Fmt, truncation, repetition and quality flags (arXiv 2508.07534, Fig. 3d; arXiv 2603.28204, Fmt of Table 1)."""
    names = list(responses)
    numbers = shares(responses).assign(benchmark=benchmark)
    for column in ("value", "low", "high"):
        numbers[column] = 100 * numbers[column]
    numbers = numbers.rename(columns={"value": "value (%)", "low": "low (%)", "high": "high (%)"})
    measures = [measure for measure in MEASURES if (numbers["measure"] == measure).any()]

    def render(figure: Any) -> None:
        axis = figure.subplots()
        labels = {measure: MEASURES[measure] for measure in measures}
        handles, _ = dots(axis, numbers, names, "measure", labels, ("low (%)", "value (%)", "high (%)"))
        axis.set_xlim(-2, 102)
        axis.set_xlabel("mean of the responses (%)")
        for y in range(1, len(measures)):
            axis.axhline(y - 0.5, color="black", linewidth=0.3, alpha=0.3)
        legend_below(figure, handles, names)

    caption = (
        f"{_sizes(responses)} 95 % intervals over problems (and training seeds, where there are several; one problem "
        "has none). Shares of responses; 3-gram redundancy is the mean of 1 - distinct / all 3-grams of words. "
        f"Repetitive: redundancy above {REDUNDANT_ABOVE:g}; garbled: characters that no writing uses; mixes languages: "
        f"a Chinese character. {_judged(responses, judge_name)} Unscored responses count."
    )
    if "truncated" not in measures:
        caption += " Truncation is not known."
    return Plot(
        f"response_form_{benchmark}",
        f"Form of responses on {benchmark}",
        caption,
        f"{TRIAL_AND_ERROR}, Fig. 3d; {ERPO}, Table 1 (Fmt)",
        numbers,
        render,
        (WIDTH, 0.7 + len(measures) * (0.2 + 0.12 * len(names)) + legend_height(names)),
    )


def _sizes(responses: Mapping[str, pd.DataFrame]) -> str:
    problems = set().union(*(table["problem_id"] for table in responses.values()))
    return sizes(responses, len(problems))


def plot_verdicts(
    tables: Mapping[str, pd.DataFrame], benchmark: str, *, judge: Judge | None = None, problems: Mapping[str, str]
) -> list[Plot]:
    """Every figure of the verdicts and texts of one benchmark.

    Args:
        tables: run -> its verdict table with responses, the base model first.
        judge, problems: see `response_table`; without a judge rules alone decide whether a response is irrelevant.
    Raises:
        ValueError: as `response_table` and `pass_at_k`.
    """
    responses = {name: response_table(table, judge=judge, problems=problems) for name, table in tables.items()}
    plots = [pass_at_k(tables, benchmark), answer_diversity(tables, benchmark)]
    if any(table["tokens"].notna().any() for table in responses.values()):  # a server may not report it
        plots.append(response_length(responses, benchmark))
    return [*plots, response_form(responses, benchmark, judge.name if judge else "")]
