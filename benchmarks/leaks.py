"""Is it in the weights already? How often a model completes a problem that it was shown the beginning of.

    python -m benchmarks.leaks MODEL math500=FILE.jsonl aime_2026=FILE.jsonl out=rates.csv rows=100

Given the first 40, 60 and 80 % of a problem's words (arXiv 2507.10532, partial-prompt completion), is the greedy
continuation the rest, word for word, and does it reach the gold answer? Two controls on the same problems say what the
probe can see: `planted`, where the whole problem stands before its beginning, so that copying completes it, and
`clean`, the problem with other numbers, which no model has read, so that what is completed there is form.
A rate of the problem far above that of its clean twin, and of problems younger than the weights, is memory.
"""

from __future__ import annotations

import csv
import io
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from math import ceil
from pathlib import Path

from evals.data.benchmarks import Problem
from evals.data.rows import read_rows
from evals.files import write_text
from evals.grading import Grader
from evals.grading.verdicts import Verdict
from evals.outputs import check
from evals.sampling.engines import Decoding, Engine, Request, create

SHARES = (0.4, 0.6, 0.8)
CONDITIONS = ("as it is", "clean", "planted")
FEWEST = 5  # words that must be left: a shorter rest is often all that fits


@dataclass(frozen=True)
class Rate:
    """How often one thing happened, with Wilson's 95 % interval. A clean twin has no gold, and so no rate of right
    answers."""

    benchmark: str
    condition: str
    share: float
    what: str
    hits: int
    problems: int
    low: float
    high: float


@dataclass(frozen=True)
class Prefix:
    """One prompt: the beginning of a problem, and the rest."""

    benchmark: str
    condition: str
    share: float
    problem_id: str
    prompt: str
    rest: str
    gold: str


def cut(text: str, share: float) -> tuple[str, str] | None:
    """(the first `share` of the words, the rest), or None where fewer than `FEWEST` are left.

    Raises:
        ValueError: share outside (0, 1).
    """
    if not 0 < share < 1:
        raise ValueError(f"share: expected a number between 0 and 1, got {share}")
    words = re.findall(r"\S+\s*", text.strip())
    at = ceil(share * len(words))
    return None if at < 1 or len(words) - at < FEWEST else ("".join(words[:at]).rstrip(), "".join(words[at:]).strip())


def renumbered(text: str, seed: str) -> str:
    """The text with every number replaced by another with as many digits, from an explicit seed."""
    rng = random.Random(seed)

    def replacement(match: re.Match[str]) -> str:
        digits = "".join(rng.choice("0123456789") for _ in match.group()[1:])
        first = rng.choice([d for d in "123456789" if d != match.group()[0]])
        return first + digits

    return re.sub(r"\d+", replacement, text)


def completed(text: str, rest: str, whole: bool) -> bool:
    """Whether a continuation is the rest, word for word, as far as both go.

    Args:
        whole: the model ended the text itself, so that it must hold all of the rest, else its last word may be cut.
    """
    words, wanted = text.split(), rest.split()
    if not whole and len(words) <= len(wanted):
        words, wanted = words[:-1], wanted[: max(len(words) - 1, 0)]
    return len(words) >= len(wanted) >= FEWEST - 1 and words[: len(wanted)] == wanted


def questions(benchmark: str, problems: Sequence[Problem], shares: Sequence[float] = SHARES) -> Iterator[Prefix]:
    """Every problem at every share under every condition. A problem without numbers has no clean twin."""
    for problem in problems:
        twin = renumbered(problem.problem, f"leaks {benchmark} {problem.id}")
        for condition, text in zip(CONDITIONS, (problem.problem, twin, problem.problem), strict=True):
            if condition == "clean" and text == problem.problem:
                continue
            for share in shares:
                if (parts := cut(text, share)) is not None:
                    prompt = f"{text.strip()}\n\n{parts[0]}" if condition == "planted" else parts[0]
                    yield Prefix(benchmark, condition, share, problem.id, prompt, parts[1], problem.answer)


def probe(
    engine: Engine,
    benchmarks: Mapping[str, Sequence[Problem]],
    *,
    shares: Sequence[float] = SHARES,
    max_tokens: int = 64,
) -> list[Rate]:
    """The rates of every benchmark, condition and share: "completed" and, where the gold is the text's, "answer"."""
    from scipy.stats import binomtest

    prefixes = [q for name, problems in benchmarks.items() for q in questions(name, problems, shares)]
    requests = [Request((str(i), 0), q.prompt, seed=0) for i, q in enumerate(prefixes)]
    completions = {c.key[0]: c for batch in engine.generate(requests, Decoding(0.0, 1.0, max_tokens)) for c in batch}
    hits: dict[tuple[str, str, float, str], list[bool]] = {}
    rows = [(q.gold, completions[str(i)].text, completions[str(i)].finish_reason) for i, q in enumerate(prefixes)]
    grades = Grader().grade_responses(rows, "qwen")
    for i, (q, grade) in enumerate(zip(prefixes, grades, strict=True)):
        whole = completions[str(i)].finish_reason == "stop"
        key = (q.benchmark, q.condition, q.share)
        hits.setdefault((*key, "completed"), []).append(completed(completions[str(i)].text, q.rest, whole))
        if q.condition != "clean" and grade.verdict is not Verdict.UNSCORED:
            hits.setdefault((*key, "answer"), []).append(grade.verdict is Verdict.CORRECT)
    intervals = {k: binomtest(sum(v), len(v)).proportion_ci(method="wilson") for k, v in hits.items()}
    return [Rate(*k, sum(v), len(v), float(intervals[k].low), float(intervals[k].high)) for k, v in hits.items()]


def read(path: Path, rows: int) -> list[Problem]:
    """The first problems of a file with `problem` or `question`, and `answer` (of GSM8K the text after `####`).

    Raises:
        ValueError: as `read_rows`. A row lacks one of them, or there is no row.
    """
    problems = []
    for number, row in enumerate(islice(read_rows(path), rows)):
        text = row.get("problem") or row.get("question")
        if text is None or row.get("answer") is None:
            has = ", ".join(row)
            raise ValueError(f"{path}, row {number + 1}: expected problem or question, and answer. It has {has}")
        problems.append(Problem(str(number), str(text), str(row["answer"]).rpartition("####")[2].strip()))
    if not problems:
        raise ValueError(f"{path}: expected one problem or more, got none")
    return problems


def main(words: Sequence[str]) -> None:
    given = dict(word.split("=", 1) for word in words[1:] if "=" in word)
    if len(words) < 3 or len(given) < len(words) - 1 or "=" in words[0] or "out" not in given:
        raise ValueError("expected MODEL BENCHMARK=FILE ... out=FILE.csv, and rows=, shares=, max_tokens=, engine=")
    model, out = words[0], Path(given.pop("out"))
    rows, engine = int(given.pop("rows", 100)), given.pop("engine", "transformers")
    shares = [float(text) for text in given.pop("shares", "0.4,0.6,0.8").split(",")]
    tokens = int(given.pop("max_tokens", 64))
    check({**given, "out": out})
    sets = {name: read(Path(path), rows) for name, path in given.items()}
    rates = [asdict(rate) for rate in probe(create(engine, model), sets, shares=shares, max_tokens=tokens)]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rates[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rates)
    write_text(out, text.getvalue())


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ValueError as error:
        raise SystemExit(f"error: {error}") from error
