"""The impact of a token: the change in accuracy when it is replaced (arXiv 2508.07534, Eq. 5-6).

    frame = measure_impact(subject, "aime24", tokens, Sampling(Decoding(1.0, 1.0, 8192), n=8, folder=Path("out")))
    evals.analysis.effects.by_group(frame)

Eq. 5 replaces token t by the most probable other one (`alternative_id` of the token table). Eq. 6 compares the accuracy
of n continuations of either prefix, sampled independently. The paper leaves n and the choice of tokens open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.effects import plot_groups
from evals.analysis.interventions import Plan, Prefix, Sampling, Selection, measure_drops, select
from evals.analysis.subjects import Subject
from evals.analysis.token_table import need_columns, whole_responses
from evals.plots.plot import Plot

if TYPE_CHECKING:
    import pandas as pd

GROUPS = {
    "top": Selection("top", count=4),
    "bottom": Selection("bottom", count=4),
    "random": Selection("random", count=4),
}
POSITIONS = {  # Fig. 6b: high-entropy tokens of the first and of the last fifth
    "first 20 %": Selection("top", count=4, within=(0.0, 0.2)),
    "last 20 %": Selection("top", count=4, within=(0.8, 1.0)),
}
PERPLEXITY = {  # Fig. 5b: high-entropy tokens of the responses of lowest and of highest perplexity
    "low PPL": Selection("top", count=4, perplexity=(0.0, 0.2)),
    "high PPL": Selection("top", count=4, perplexity=(0.8, 1.0)),
}


def replacements(tokens: pd.DataFrame, groups: Mapping[str, Selection] = GROUPS, *, seed: int = 0) -> Plan:
    """The prefixes that end with a chosen token (`o`) and with its alternative (`r`). A token in two groups once.

    Args:
        tokens: the token table of whole responses. seed: of "random" selections.
    Returns:
        one row for each group and token: group, problem_id, sample, position, length, token, entropy.
    Raises:
        ValueError: a column is missing, or as `select`.
    """
    import pandas as pd

    need_columns(tokens, ("token_id", "alternative_id"))
    chosen = pd.concat(
        [select(tokens, selection, seed=seed).assign(group=group) for group, selection in groups.items()],
        ignore_index=True,
    )
    once = chosen.drop_duplicates(["problem_id", "sample", "position"])
    of_response = dict(list(once.groupby(["problem_id", "sample"])))
    prefixes = []
    for rows in whole_responses(tokens):
        problem, sample = rows["problem_id"].iloc[0], rows["sample"].iloc[0]
        ids = tuple(rows["token_id"].tolist())
        part = of_response.get((problem, sample), rows.iloc[:0])
        for position, alternative in zip(part["position"].tolist(), part["alternative_id"].tolist(), strict=True):
            place = f"{problem}|{sample}|{position}"
            prefixes.append(Prefix(f"{place}|o", problem, ids[: position + 1]))
            prefixes.append(Prefix(f"{place}|r", problem, (*ids[:position], alternative)))
    rows = chosen[["group", "problem_id", "sample", "position", "length", "token", "entropy"]]
    places = [f"{p}|{s}|{at}" for p, s, at in zip(rows["problem_id"], rows["sample"], rows["position"], strict=True)]
    ends = {name: [f"{place}|{end}" for place in places] for name, end in (("original", "o"), ("altered", "r"))}
    return Plan(rows.assign(**ends), prefixes)


def measure_impact(
    subject: Subject,
    benchmark: str,
    tokens: pd.DataFrame,
    sampling: Sampling,
    groups: Mapping[str, Selection] = GROUPS,
) -> pd.DataFrame:
    """I_t of the tokens of all groups: `replacements`' rows with the columns of `effects`. `drop` is I_t.

    Args:
        subject: as `measure`. tokens: the subject's token table.
    """
    plan = replacements(tokens, groups, seed=sampling.seed)
    return measure_drops(subject, benchmark, plan, sampling, name="replacement")


GROUPINGS = {  # how the groups differ -> the groups, and the paper's place
    "entropy": (GROUPS, "Eq. 6"),
    "position": (POSITIONS, "Fig. 6b"),
    "perplexity": (PERPLEXITY, "Fig. 5b"),
}
LABELS = {
    "top": "highest entropy",
    "bottom": "lowest entropy",
    "random": "random tokens",
    "low PPL": "responses of lowest perplexity",
    "high PPL": "responses of highest perplexity",
}


def plot_replacement(frames: Mapping[str, pd.DataFrame], names: Sequence[str], *, by: str = "entropy") -> Plot:
    """Accuracy lost by replacing a token, by group of tokens.

    Args:
        frames: run -> `measure_impact`'s frame. names: all runs. by: of `GROUPINGS`.
    """
    caption = (
        "Impact I of a token (Eq. 6): accuracy of continuations of it minus that of continuations of its most probable "
        "alternative; above 0 the token itself was the better choice."
    )
    return plot_groups(
        f"replacement_by_{by}",
        "Accuracy lost by replacing a token",
        caption,
        f"{TRIAL_AND_ERROR}, {GROUPINGS[by][1]}",
        frames,
        names,
        LABELS,
        "accuracy lost by the replacement (percentage points)",
    )
