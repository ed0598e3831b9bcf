"""The form of responses, from a verdict table with texts: length, format, repetition, quality flags.

No measure needs a verdict, so unscored responses count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from evals.analysis import ENTROPY_ADVANTAGE, ERPO, TRIAL_AND_ERROR
from evals.analysis.curves_over_k import answer_diversity, pass_at_k
from evals.analysis.quality import REDUNDANT_ABOVE, flags, redundancy
from evals.analysis.token_table import TITLES, outcomes
from evals.grading.verdicts import WITHHELD
from evals.plots.figures import band_lines, point_rows
from evals.plots.parts import sizes
from evals.plots.plot import Plot
from evals.stats.intervals import Bounds, estimate

if TYPE_CHECKING:
    import pandas as pd

# column of `response_table` -> the printed name of its mean
MEASURES = {
    "boxed": "Fmt (has a box)",
    "truncated": "truncated",
    "redundancy": "3-gram redundancy",
    "format_violation": "not exactly one box",
    "irrelevant": "repetitive or garbled",
    "language_mixing": "mixes languages",
}
FLAGS = ("format_violation", "irrelevant", "language_mixing")
RULES = (
    f"Repetitive: 3-gram redundancy above {REDUNDANT_ABOVE:g}; garbled: characters that no writing uses; mixes "
    "languages: a Chinese character. The paper asks a 32B language model whether content is irrelevant."
)
INTERVALS = "95 % intervals over problems (and training seeds, where there are several; one problem has none)."


def mean_over_problems(values: pd.DataFrame, column: str, *, bounds: Bounds) -> dict[str, float] | None:
    """The mean of a column over problems (each counts once) and training seeds, or None if no problem has a value in
    every training seed.

    Args:
        values: one row per response: `problem_id`, `train_seed` (if there are several), and the column. Missing values
            are excluded.
        bounds: the least and the greatest value possible. None: without limits.
    Returns:
        `low`, `mean`, `high` (95 %, NaN if no spread is known). `problems` with a value in every seed, `excluded` ones,
        and `samples`, the values in the mean.
    """
    frame = values if "train_seed" in values else values.assign(train_seed=0)
    measured = frame[frame[column].notna()]
    per_problem = measured.assign(value=measured[column].astype(float)).pivot_table(
        index="train_seed", columns="problem_id", values="value", aggfunc="mean"
    )
    matrix = per_problem.reindex(frame["train_seed"].unique()).dropna(axis="columns")
    if matrix.empty:
        return None
    interval = estimate([matrix.to_numpy()], bounds=bounds).interval()
    low, high = (np.nan, np.nan) if interval is None else (interval.low, interval.high)
    counts = {"problems": matrix.shape[1], "excluded": frame["problem_id"].nunique() - matrix.shape[1]}
    samples = int(measured["problem_id"].isin(matrix.columns).sum())
    return {"low": low, "mean": float(matrix.to_numpy().mean()), "high": high, **counts, "samples": samples}


def response_table(table: pd.DataFrame) -> pd.DataFrame:
    """One row per response: `problem_id`, `train_seed`, `sample`, `verdict`, `tokens`, and the columns of MEASURES.

    `truncated`: the length limit stopped it (`finish_reason` "length"), missing if the reason is unknown. `redundancy`
    is 1 - distinct / all 3-grams of words. The flags are those of `evals.analysis.quality.flags`. Columns about the
    text are missing where a server withheld it.

    Raises:
        ValueError: the table has no texts.
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
    measures = pd.concat([measured, pd.DataFrame([asdict(flags(text)) for text in texts])], axis="columns")
    if (withheld := reason.isin(WITHHELD)).any():  # no text came
        of_text = ["boxed", "redundancy", *FLAGS]
        measures[of_text] = measures[of_text].astype(float).mask(withheld)
    return measures


def shares(responses: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per model and measure: `model`, `measure`, and `mean_over_problems` (ends and mean in percent).

    Args:
        responses: model -> its `response_table`. Measures without any value are excluded.
    """
    import pandas as pd

    rows = []
    for name, table in responses.items():
        for measure in MEASURES:
            if (mean := mean_over_problems(table, measure, bounds=(0.0, 1.0))) is not None:
                rows.append({"model": name, "measure": measure, **mean})
    numbers = pd.DataFrame(rows)
    numbers[["low", "mean", "high"]] *= 100
    return numbers


def lengths(responses: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per model and outcome ("all", "correct", "incorrect"): `mean_over_problems` of the tokens of a response,
    over the problems that have such a response, and `median` over responses.

    Unscored responses are in "all" only. Responses of unknown length are excluded, and so is an outcome without
    responses.
    """
    import pandas as pd

    rows = []
    for name, table in responses.items():
        for outcome, chosen in outcomes(table).items():
            known = table[chosen & table["tokens"].notna()]
            mean = mean_over_problems(known, "tokens", bounds=None) if len(known) else None
            if mean is not None:
                median = float(known["tokens"].astype(float).median())
                rows.append({"model": name, "outcome": outcome, "median": median, **mean})
    return pd.DataFrame(rows)


def response_length(responses: Mapping[str, pd.DataFrame]) -> Plot:
    """Length of correct and of incorrect responses (arXiv 2506.14758, section 6.2, arXiv 2506.01939, Table 2)."""
    numbers = lengths(responses)
    unknown = sum(int(table["tokens"].isna().sum()) for table in responses.values())
    caption = (
        f"{sizes(responses)} Mean length over the problems that have such a response; incorrect: also unanswered or "
        f"truncated (unscored responses are in neither). {INTERVALS}"
        + (f" Responses of unknown length are excluded: {unknown}." if unknown else "")
    )
    return point_rows(
        "response_length",
        "Length of responses",
        caption,
        f"{ENTROPY_ADVANTAGE}, section 6.2",
        numbers,
        list(responses),
        by="outcome",
        labels=TITLES,
        unit="length of a response (tokens)",
        limits=(0.0, np.inf),
    )


def response_form(responses: Mapping[str, pd.DataFrame]) -> Plot:
    """Fmt, truncation, repetition and quality flags (arXiv 2508.07534, Fig. 3d, arXiv 2603.28204, Fmt of Table 1)."""
    numbers = shares(responses)
    measures = {measure: name for measure, name in MEASURES.items() if (numbers["measure"] == measure).any()}
    caption = (
        f"{sizes(responses)} {INTERVALS} Shares of responses; 3-gram redundancy is the mean of 1 - distinct / all "
        f"3-grams of words. {RULES} Unscored responses count."
        + ("" if "truncated" in measures else " Truncation is not known.")
    )
    return point_rows(
        "response_form",
        "Form of responses",
        caption,
        f"{TRIAL_AND_ERROR}, Fig. 3d; {ERPO}, Table 1 (Fmt)",
        numbers,
        list(responses),
        by="measure",
        labels=measures,
        unit="mean of the responses (%)",
        limits=(0.0, 100.0),
    )


def plot_verdicts(tables: Mapping[str, pd.DataFrame]) -> list[Plot]:
    """Every figure of the verdicts and texts of one benchmark.

    Args:
        tables: run -> its verdict table with responses, the base model first.
    Raises:
        ValueError: as `response_table` and `pass_at_k`.
    """
    responses = {name: response_table(table) for name, table in tables.items()}
    plots = [pass_at_k(tables), answer_diversity(tables)]
    if any(table["tokens"].notna().any() for table in responses.values()):  # a server may not report it
        plots.append(response_length(responses))
    return [*plots, response_form(responses)]


def form_over_steps(tables: Mapping[str, Mapping[int, pd.DataFrame]], names: Sequence[str]) -> Plot:
    """Shares of responses with each quality issue over steps, a panel an issue (arXiv 2508.07534, Fig. 3d).

    Args:
        tables: run -> step -> the verdict table of one benchmark, with responses. names: all runs.
    Raises:
        ValueError: no table, or as `response_table`.
    """
    import pandas as pd

    parts = [
        shares({name: response_table(table)}).assign(step=step)
        for name, steps in tables.items()
        for step, table in steps.items()
    ]
    if not parts:
        raise ValueError("tables: expected one run or more with evaluations while it trained, got none")
    numbers = pd.concat(parts, ignore_index=True)
    numbers = numbers[numbers["measure"].isin(FLAGS)].reset_index(drop=True)
    caption = f"Share of the responses of each step with the issue. {INTERVALS} {RULES}"
    return band_lines(
        "evaluation_form",
        "Form of responses over training",
        caption,
        f"{TRIAL_AND_ERROR}, Fig. 3d",
        numbers,
        names,
        x="step",
        xlabel="optimiser step",
        by="measure",
        panels={flag: MEASURES[flag] for flag in FLAGS},
        ylabel="responses (%)",
        limits=(0.0, 100.0),
    )
