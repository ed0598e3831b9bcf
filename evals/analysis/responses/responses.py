"""What the responses of a model look like, without a model: length, form, repetition, quality flags.

From a verdict table with its texts. None of it needs a verdict, so unscored responses count too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from evals.analysis.responses.means import mean_over_problems
from evals.analysis.responses.quality import NATIVE, REDUNDANT_ABOVE, flags
from evals.analysis.responses.repetition import redundancy
from evals.grading.verdicts import Verdict

if TYPE_CHECKING:
    import pandas as pd

# column of `response_table` -> what people call its mean
MEASURES = {
    "boxed": "Fmt (has a box)",
    "truncated": "truncated",
    "redundancy": "3-gram redundancy",
    "format_violation": "not exactly one box",
    "irrelevant": "repetitive or garbled",
    "language_mixing": "mixes languages",
}
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def response_table(
    table: pd.DataFrame, *, redundant_above: float = REDUNDANT_ABOVE, native: Collection[str] = NATIVE
) -> pd.DataFrame:
    """One row a response: `problem_id`, `train_seed`, `sample`, `verdict`, `tokens`, and the columns of MEASURES.

    `truncated` says that the length limit stopped it (`finish_reason` "length"), missing where the reason is unknown;
    `redundancy` is 1 - distinct / all 3-grams of words; the flags are those of
    `evals.analysis.responses.quality.flags`.

    Raises:
        ValueError: the table has no texts.
    """
    import pandas as pd

    if "response" not in table:
        raise ValueError("the verdict table lacks the column response")
    seeded = table if "train_seed" in table else table.assign(train_seed=0)
    made = seeded[["problem_id", "train_seed", "sample", "verdict", "tokens", "boxed"]].reset_index(drop=True)
    reason = seeded["finish_reason"].reset_index(drop=True)
    made["truncated"] = (reason == "length").astype(float).where(reason.notna())
    texts = seeded["response"].tolist()
    made["redundancy"] = [redundancy(text, "not_distinct") for text in texts]
    told = [asdict(flags(text, redundant_above=redundant_above, native=native)) for text in texts]
    return pd.concat([made, pd.DataFrame(told)], axis="columns")


def shares(responses: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row a model and measure: `model`, `measure`, `value`, `low`, `high` (fractions; 95 %), `problems`, `samples`.

    Args:
        responses: model -> its `response_table`. A measure that no response has a value for is left out.
    """
    import pandas as pd

    rows = []
    for name, table in responses.items():
        for measure in MEASURES:
            mean = mean_over_problems(table, measure, bounds=(0.0, 1.0))
            if mean is not None:
                ends = (None, None) if mean.interval is None else (mean.interval.low, mean.interval.high)
                rows.append((name, measure, mean.value, *ends, mean.problems, mean.samples))
    columns = ["model", "measure", "value", "low", "high", "problems", "samples"]
    return pd.DataFrame(rows, columns=columns).astype({"low": float, "high": float})


def lengths(responses: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A row a model and outcome ("all", "right", "not right"): `samples`; `mean`, `low`, `high`, `q05`..`q95` (tokens).

    Quantiles are over responses; the mean and its 95 % interval over the problems that have such a response. Unscored
    responses are in "all" only. Responses of unknown length are left out, and so is an outcome without responses.
    """
    import pandas as pd

    rows = []
    for name, table in responses.items():
        right = table["verdict"] == Verdict.CORRECT
        outcomes = {"all": right | ~right, "right": right, "not right": ~right & (table["verdict"] != Verdict.UNSCORED)}
        for outcome, chosen in outcomes.items():
            known = table[chosen & table["tokens"].notna()]
            mean = mean_over_problems(known, "tokens", bounds=None) if len(known) else None
            if mean is not None:
                ends = (None, None) if mean.interval is None else (mean.interval.low, mean.interval.high)
                quantiles = known["tokens"].astype(float).quantile(list(QUANTILES))
                rows.append((name, outcome, len(known), mean.value, *ends, *quantiles))
    columns = ["model", "outcome", "samples", "mean", "low", "high", *(f"q{round(100 * q):02d}" for q in QUANTILES)]
    return pd.DataFrame(rows, columns=columns).astype({"low": float, "high": float})
