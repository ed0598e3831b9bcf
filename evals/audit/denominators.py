"""The denominator of a score: problems that are missing, unequal or repeated, and responses that do not count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evals.audit.evidence import Evidence

TRUNCATED = 0.05
SILENT = 0.2  # a base model often answers nothing. Above this share a limit that the file does not state is likelier
RUN = 10  # responses in a row, to golds that are not all one, that stand in the file again: a copied block
OTHER_IDS = 1.5  # times as many problems in all as in one part: the parts have ids of their own
FEW = 20  # problems: fewer that are each solved always or never say little
UNLIKELY = 1e-4
SHOWN = 5  # models that are named


def missing(evidence: Evidence, unit: float) -> Iterator[str]:
    """Problems that the last checkpoints lack, of the benchmark's number or of what other checkpoints and seeds have,
    and problems with fewer samples than others: how many, and what the score may be.

    Args:
        unit: one of the printed score's last digit, as a share.
    """
    if evidence.samples is None:
        return
    every = evidence.samples.groupby(["seed", "checkpoint"])["problem_id"].nunique()
    samples = pd.concat([evidence.at(row) for _, row in evidence.last.iterrows()])
    by_seed = samples.groupby("seed")["problem_id"].nunique()
    union = evidence.samples["problem_id"].nunique()  # larger than any part where each lacks other problems
    total = evidence.stated or (union if union <= OTHER_IDS * every.max() else int(every.max()))
    counts = " and ".join(str(count) for count in dict.fromkeys(by_seed))
    if by_seed.max() > total:
        yield f"{counts} problems are in the file, and the benchmark has {total}"
    elif by_seed.min() < total:
        scores = samples.groupby(["seed", "problem_id"])["label"].mean().groupby(level="seed").sum()
        low, high = (100 * float(((scores + lost) / total).mean()) for lost in (0 * by_seed, total - by_seed))
        yield f"{counts} of {total} problems are in the file; over all {total} it is {low:.1f} to {high:.1f}"
    elif every.min() < total:
        yield f"the score is over {total} problems, that of another checkpoint over {every.min()}"
    by_problem = samples.groupby(["seed", "problem_id"])["label"]
    sizes, most = by_problem.size(), int(by_problem.size().max())
    means = 100 * float(by_problem.mean().mean()), 100 * float(samples["label"].mean())
    if abs(means[0] - means[1]) >= 100 * unit / 2 or sizes.mean() < (1 - TRUNCATED) * most:
        labelled = by_problem.count()
        uneven = f"{sizes.min()} to {most} samples"
        if sizes.min() == most:
            uneven = f"{labelled.min()} to {labelled.max()} labelled samples of {most}"
        yield f"problems have {uneven}; avg is {means[0]:.1f} over problems, {means[1]:.1f} over samples"


def repeated(samples: pd.DataFrame) -> Iterator[str]:
    """Rows of one checkpoint that were written twice, or problems under two ids.

    Copies are long responses that are there again, to the same gold (`exchange`), and a row of short ones that is there
    again in the same order under other ids. Problems of one text under two ids. Without responses: all verdicts in the
    same order under other ids. And problems with several verdicts each, of which none has two different ones.
    """
    copied = int(copies(samples).sum())
    if copied > TRUNCATED * len(samples):
        yield f"{copied} of {len(samples)} responses are copies of others to the same gold: rows or problems twice"
        return
    if "problem" in samples:
        texts = samples.groupby("problem_id")["problem"].first()
        twice = int(texts.duplicated().sum())
        if TRUNCATED * len(texts) < twice <= len(texts) / 2:  # one text of all is no question
            yield f"{twice} of {len(texts)} problems have the text of another: problems twice under other ids"
            return
    by_problem = samples.groupby("problem_id", sort=False)["label"].agg(["size", "mean"])
    n, rate = int(by_problem["size"].min()), float(samples["label"].mean())
    alike = by_problem["mean"].isin([0.0, 1.0]).all() and n > 1 and len(by_problem) >= FEW
    if alike and (rate**n + (1 - rate) ** n) ** len(by_problem) < UNLIKELY:
        each = f"each of the {len(by_problem)} problems is there {n} times with one verdict"
        different = "exchange" in samples and samples.groupby("problem_id")["exchange"].nunique().mean() > n / 2
        if different:
            yield f"{each} on different responses: one verdict was written to all of them"
        else:
            yield f"{each}: rows that were repeated"
    times = 1 if "exchange" in samples or len(by_problem) < len(samples) else _blocks(samples["label"].to_list(), rate)
    if times > 1:
        yield f"the verdicts of {len(samples) // times} problems are there {times} times in the same order: other ids"


def pooled_models(samples: pd.DataFrame) -> Iterator[str]:
    """The models of a column `model`, where a score is over the samples of several."""
    if "model" not in samples or samples["model"].nunique() < 2:
        return
    of_problem = samples.groupby(["model", "problem_id"])["label"].mean().groupby(level="model").mean()
    each = ", ".join(f"{model} {100 * value:.1f}" for model, value in [*of_problem.items()][:SHOWN])
    yield f"the score is over {len(of_problem)} models, which the column model names: {each}"


def copies(samples: pd.DataFrame) -> NDArray[np.bool_]:
    """For each row, whether its response to its gold is there before it, as `repeated` says."""
    if "exchange" not in samples:
        return np.zeros(len(samples), dtype=bool)
    long = (samples["long"] & samples["exchange"].duplicated()).to_numpy(dtype=bool)
    return long | _runs(samples["exchange"].to_list(), samples["problem_id"].to_list())


def _runs(exchanges: Sequence[str], ids: Sequence[str]) -> NDArray[np.bool_]:
    """The elements of runs of `RUN` that are there before, in the same order under other ids."""
    again = np.zeros(len(exchanges), dtype=bool)
    first: dict[tuple[str, ...], int] = {}
    for at in range(len(exchanges) - RUN + 1):
        run = tuple(exchanges[at : at + RUN])
        before = first.setdefault(run, at)
        if (
            at - before >= RUN
            and len(set(run)) >= RUN // 2
            and not {*ids[at : at + RUN]} & {*ids[before : before + RUN]}
        ):
            again[at : at + RUN] = True
    return again


def _blocks(labels: Sequence[float], rate: float) -> int:
    """How many times the same sequence of verdicts stands one after another, if that is no accident, else 1."""
    for times in range(2, len(labels) // FEW + 1):
        size, rest = divmod(len(labels), times)
        blocks = {tuple(labels[at : at + size]) for at in range(0, len(labels), size)}
        if not rest and len(blocks) == 1 and (rate**2 + (1 - rate) ** 2) ** size < UNLIKELY:
            return times
    return 1


def not_counted(samples: pd.DataFrame) -> Iterable[str]:
    """Samples that were truncated or have no verdict, and those without an answer, where nothing says why they ended:
    a limit that the file does not state is then likelier than a model that stopped."""
    lost = samples["label"].isna()
    if "truncated" in samples:
        lost |= samples["truncated"] == 1
    silent = ~lost & samples["silent"] if "silent" in samples else ~lost & False
    parts = ((lost, TRUNCATED, "truncated or unscored"), (silent, SILENT, "without an answer"))
    return [
        f"{is_excluded.mean():.1%} of the samples are {text}"
        for is_excluded, most, text in parts
        if is_excluded.mean() > most
    ]


def known_size(names: Iterable[str]) -> int | None:
    """The number of problems of the benchmark that is named in one of these texts, such as a file's name, or None if
    none is, or if they name several."""
    from evals.data import benchmarks

    def plain(text: str) -> str:
        return "".join(filter(str.isalnum, text.lower())).replace("aime20", "aime").replace("amc20", "amc")

    texts = [plain(name) for name in names]
    names_found = {name for name in benchmarks.names() if any(plain(name) in text for text in texts)}
    longest = [name for name in names_found if not any(plain(name) in plain(longer) for longer in names_found - {name})]
    sizes = Counter(benchmarks.task(name)["metadata"]["rows"] for name in longest)
    return next(iter(sizes)) if len(sizes) == 1 else None
