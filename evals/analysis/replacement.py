"""What a token decides: the change in accuracy when it is replaced  (arXiv 2508.07534, Eq. 5-6).

    frame = measure_impact(subject, "aime24", tokens, decoding=Decoding(1.0, 1.0, 8192), k=8, folder=Path("out"))
    by_group(frame)

Eq. 5 replaces token t by the most probable other one (`alternative_id` of the token table); Eq. 6 compares the accuracy
of k responses that go on from either, drawn independently. The paper leaves k and the choice of tokens open.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from evals.analysis.continuation import Branch, branch_id, go_on, looked_up, ready, rightness
from evals.analysis.selection import Selection, select
from evals.analysis.subjects import Subject
from evals.analysis.token_table import need_columns, whole_responses
from evals.engines.base import Decoding, Engine
from evals.intervals import Paired, Vector, over_problems, paired

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
BOUNDS = (-1.0, 1.0)


def impact(original: ArrayLike, replaced: ArrayLike) -> float:
    """I_t = mean(original) - mean(replaced)  (Eq. 6).

    Args:
        original, replaced: [k], 1 where the continuation is right, 0 where it is not, NaN where that is not known.
    Returns:
        in [-1, 1]; NaN where one of them has no known value.
    """
    return _known_mean(original) - _known_mean(replaced)


def squared_impact(original: ArrayLike, replaced: ArrayLike) -> float:
    """An estimate of the square of the true impact, without bias: the square of I_t less what k continuations add to it
    by chance. Impacts of opposite signs cancel in a mean; their squares do not. NaN below two known values of either.
    """
    noise = 0.0
    for values in (original, replaced):
        known = _known(values)
        if len(known) < 2:
            return float("nan")
        noise += float(known.var(ddof=1)) / len(known)
    return impact(original, replaced) ** 2 - noise


def replacement_branches(
    chosen: pd.DataFrame, table: pd.DataFrame, prompts: Mapping[str, str], golds: Mapping[str, str]
) -> list[Branch]:
    """The two beginnings of each chosen token, up to and with it (`o`) or its alternative (`r`), on token ids.

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
            prompt, gold = looked_up(prompts, "prompt", key[0]), looked_up(golds, "gold", key[0])
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
    policy: str = "last_box",
    workers: int = 2,
) -> pd.DataFrame:
    """I_t of the tokens that the groups take; a token of two groups is measured once.

    Args:
        subject: with model_path, the benchmark's prompts and its verdict table (for the golds).
        tokens: the subject's token table.
        decoding, k, folder, engine, policy: see `continuation.go_on`; the engine defaults to transformers.
    Returns:
        one row for each group and token: group, problem_id, sample, position, length, token, entropy, k_original and
        k_replaced (graded continuations), original and replaced (their accuracy), impact, squared_impact.
    """
    import pandas as pd

    engine, model_path, prompts, golds = ready(subject, benchmark, engine)
    chosen = pd.concat(
        [select(tokens, selection, seed=seed).assign(group=group) for group, selection in groups.items()],
        ignore_index=True,
    )
    verdicts = go_on(
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
    right = {branch: rightness(rows["verdict"].tolist()) for branch, rows in verdicts.groupby("problem_id")}
    columns = ["group", "problem_id", "sample", "position", "length", "token", "entropy"]
    frame = chosen[columns].reset_index(drop=True)
    places = [branch_id(*at) for at in zip(frame["problem_id"], frame["sample"], frame["position"], strict=True)]
    pairs = [(right[f"{place}|o"], right[f"{place}|r"]) for place in places]
    for column, index in (("original", 0), ("replaced", 1)):
        frame[f"k_{column}"] = [len(_known(pair[index])) for pair in pairs]
        frame[column] = [_known_mean(pair[index]) for pair in pairs]
    frame["impact"] = [impact(*pair) for pair in pairs]
    frame["squared_impact"] = [squared_impact(*pair) for pair in pairs]
    return frame


def by_group(frame: pd.DataFrame) -> pd.DataFrame:
    """The mean impact of each group, every problem counting once, with its 95 % interval over problems.

    Args:
        frame: as `measure_impact` returns it.
    Returns:
        group, impact, low, high, squared_impact, problems, tokens, unknown (tokens without an impact, left out), k (the
        fewest graded continuations of a branch that counts). A group without a value has NaN.
    """
    import pandas as pd

    rows = []
    for group, part in frame.groupby("group", sort=False):
        known = part[part["impact"].notna()]
        means = known.groupby("problem_id")["impact"].mean()
        interval = over_problems(means, bounds=BOUNDS) if len(means) else None
        rows.append(
            {
                "group": group,
                "impact": means.mean() if len(means) else np.nan,
                "low": interval.low if interval else np.nan,
                "high": interval.high if interval else np.nan,
                "squared_impact": known.groupby("problem_id")["squared_impact"].mean().mean(),
                "problems": len(means),
                "tokens": len(known),
                "unknown": len(part) - len(known),
                "k": int(known[["k_original", "k_replaced"]].to_numpy().min()) if len(known) else 0,
            }
        )
    return pd.DataFrame(rows)


def compare_groups(frame: pd.DataFrame, a: str, b: str, *, seed: int = 0) -> Paired:
    """Mean impact of group a minus that of group b, paired by problem.

    Raises:
        ValueError: no problem has an impact in both.
    """
    means = frame[frame["impact"].notna()].groupby(["group", "problem_id"])["impact"].mean()
    of = {group: means[group] if group in means.index.get_level_values(0) else means.iloc[:0] for group in (a, b)}
    common = sorted(set(of[a].index) & set(of[b].index))
    if not common:
        raise ValueError(f"no problem has an impact both in group {a!r} and in group {b!r}")
    return paired(of[a].loc[common], of[b].loc[common], seed, bounds=BOUNDS)


def _known(values: ArrayLike) -> Vector:
    array: Vector = np.asarray(values, dtype=float)
    known: Vector = array[~np.isnan(array)]
    return known


def _known_mean(values: ArrayLike) -> float:
    known = _known(values)
    return float(known.mean()) if len(known) else float("nan")
