"""The impact of a token: the change in accuracy when it is replaced (arXiv 2508.07534, Eq. 5-6).

    frame = measure_impact(subject, "aime24", tokens, decoding=Decoding(1.0, 1.0, 8192), k=8, folder=Path("out"))
    by_group(frame)    # evals.analysis.interventions.effects

Eq. 5 replaces token t by the most probable other one (`alternative_id` of the token table). Eq. 6 compares the accuracy
of k continuations of either prefix, sampled independently. The paper leaves k and the choice of tokens open.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from evals.analysis import TRIAL_AND_ERROR
from evals.analysis.interventions.continuation import (
    Branch,
    Selection,
    branch_id,
    look_up,
    ready,
    sample_continuations,
    select,
)
from evals.analysis.interventions.effects import (
    describe_accuracies,
    describe_counts,
    drops_by_run,
    effects,
    plot_groups,
)
from evals.analysis.subjects import Subject
from evals.analysis.tokens.token_table import need_columns, whole_responses
from evals.plots.plot import Plot
from evals.sampling.engines.base import Decoding, Engine

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


def replacement_branches(
    chosen: pd.DataFrame, table: pd.DataFrame, prompts: Mapping[str, str], golds: Mapping[str, str]
) -> list[Branch]:
    """The two prefixes of each chosen token, ending with the token (`o`) or its alternative (`r`), as token ids.

    Args:
        chosen: rows of `table`. table: the whole responses. prompts, golds: by problem.
    Raises:
        ValueError: a column, a prompt or a gold is missing.
    """
    need_columns(table, ("token_id", "alternative_id"))
    once = chosen.drop_duplicates(["problem_id", "sample", "position"])
    wanted = dict(list(once.groupby(["problem_id", "sample"])))
    branches = []
    for rows in whole_responses(table):
        key = (rows["problem_id"].iloc[0], rows["sample"].iloc[0])
        ids = tuple(rows["token_id"].tolist())
        part = wanted.get(key, rows.iloc[:0])
        for position, other in zip(part["position"].tolist(), part["alternative_id"].tolist(), strict=True):
            place, start = branch_id(*key, position), ids[:position]
            prompt, gold = look_up(prompts, "prompt", key[0]), look_up(golds, "gold", key[0])
            branches.append(Branch(f"{place}|o", prompt, (*start, ids[position]), gold))
            branches.append(Branch(f"{place}|r", prompt, (*start, other), gold))
    return branches


def measure_impact(
    subject: Subject,
    benchmark: str,
    tokens: pd.DataFrame,
    groups: Mapping[str, Selection] = GROUPS,
    *,
    decoding: Decoding,
    k: int,
    folder: Path,
    seed: int = 0,
    engine: Engine | None = None,
    policy: str = "boxed_last",
    workers: int = 2,
) -> pd.DataFrame:
    """I_t of the tokens of all groups; measures a token in two groups once.

    Args:
        subject: with model_path, the benchmark's prompts and its verdict table (for the golds).
        tokens: the subject's token table.
        decoding, k, folder, engine, policy: see `sample_continuations`; the engine defaults to transformers.
    Returns:
        one row for each group and token: group, problem_id, sample, position, length, token, entropy, and the columns
        of `effects`: `drop` is I_t.
    """
    import pandas as pd

    engine, model_path, prompts, golds = ready(subject, benchmark, engine)
    chosen = pd.concat(
        [select(tokens, selection, seed=seed).assign(group=group) for group, selection in groups.items()],
        ignore_index=True,
    )
    verdicts = sample_continuations(
        replacement_branches(chosen, tokens, prompts, golds),
        name=f"replacement-{benchmark}",
        engine=engine,
        model_path=model_path,
        decoding=decoding,
        k=k,
        seed=seed,
        folder=folder,
        policy=policy,
        workers=workers,
    )
    return impacts(chosen, verdicts)


def impacts(chosen: pd.DataFrame, verdicts: pd.DataFrame) -> pd.DataFrame:
    """`measure_impact`'s frame from the chosen tokens (with their group) and the verdicts of their branches."""
    columns = ["group", "problem_id", "sample", "position", "length", "token", "entropy"]
    frame = chosen[columns].reset_index(drop=True)
    places = [branch_id(*at) for at in zip(frame["problem_id"], frame["sample"], frame["position"], strict=True)]
    return frame.assign(**effects([(f"{place}|o", f"{place}|r") for place in places], verdicts))


REPLACEMENT_SOURCES = {
    "entropy": f"{TRIAL_AND_ERROR}, Eq. 6",
    "perplexity": f"{TRIAL_AND_ERROR}, Fig. 5b",
    "position": f"{TRIAL_AND_ERROR}, Fig. 6b",
}


def plot_replacement(frames: Mapping[str, pd.DataFrame], *, benchmark: str, by: str = "entropy") -> list[Plot]:
    """Accuracy lost by replacing a token, by group of tokens (arXiv 2508.07534, Eq. 6; by perplexity of the response
    Fig. 5b, by position of the token Fig. 6b).

    Args:
        frames: run -> `measure_impact`'s frame; all with the same groups.
        by: "entropy", "perplexity" or "position": how the groups differ.
    Raises:
        ValueError: no run, runs with other groups, or another `by`.
    """
    if by not in REPLACEMENT_SOURCES:
        raise ValueError(f"by={by!r}, expected one of: {', '.join(REPLACEMENT_SOURCES)}")
    numbers = drops_by_run(frames)
    caption = (
        "Impact I of a token (Eq. 6): accuracy of continuations of it minus that of continuations of its most probable "
        f"alternative; above 0 the token itself was the better choice. {describe_counts(numbers)} Mean over problems, "
        f"95 % intervals over problems. {describe_accuracies(numbers)}"
    )
    plot = plot_groups(
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
    return [plot]
