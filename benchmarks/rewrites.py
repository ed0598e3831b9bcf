r"""Change real golds and grade the result: rewrites that keep the value must be correct, mutations must be wrong.

Also the false-accept rate: golds against other golds of the same benchmark, and against `1=2`, `0=0` and an empty box.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from evals.grading import Grader
from evals.grading.collection import collection
from evals.grading.expression import UnsupportedError, parse
from evals.grading.extraction import locate
from evals.grading.numbers import is_relation, literal, number, split
from evals.grading.spelling import clean
from evals.grading.verdicts import Verdict

SEED = 20_261_122
MOST = 600
TRICKS = ("1=2", "0=0", "2=2", "x=x", r"\boxed{}")
Changed = tuple[str, str, str]  # gold, its kind of change, the changed gold


def golds(folder: Path, more: Path | None = None) -> dict[str, list[str]]:
    """The distinct golds of every benchmark file, by benchmark; `more` holds further files, at most MOST golds each."""
    by_benchmark: dict[str, list[str]] = {}
    files = sorted([*(folder / "benchmarks").glob("*.jsonl"), *(folder / "fresh").glob("*.jsonl")])
    for path in [*files, *(sorted(more.glob("*.jsonl")) if more else ())]:
        rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        own = list(dict.fromkeys(str(row["answer"]).strip() for row in rows if row.get("answer")))
        by_benchmark[path.stem] = random.Random(SEED).sample(own, min(MOST, len(own))) if path.parent == more else own
    return by_benchmark


def rewrites(gold: str) -> Iterator[tuple[str, str]]:
    """(kind, text): the same value, written in another way."""
    yield "in a box", rf"$\boxed{{ {gold.strip('$')} }}$"
    yield "fractions", gold.replace(r"\frac", r"\dfrac") if r"\frac" in gold else f" {gold} "
    if re.search(r"(?<![\\a-z])\(", gold) and gold.count("(") == gold.count(")"):
        yield "brackets", re.sub(r"\)", r"\\right)", re.sub(r"(?<!\\left)(?<!\\right)\(", r"\\left(", gold))
    text = clean(gold)
    if value(text):
        yield "plus 0", f"0+({text})"
        yield "1 more, 1 less", f"({text})+1-1"
        yield "over 1", rf"\frac{{{text}}}{{1}}"
        yield "doubled and halved", rf"\frac{{2({text})}}{{2}}"
        yield "shifted by pi", rf"({text}+\pi)-\pi"
        yield "named", f"w={text}"
        if not text.startswith("-"):
            yield "negated twice", f"-(-({text}))"
    elif number(text) is None and not is_relation(text) and len(items := split(text, ",;")) > 1 and r"\pm" not in text:
        yield "reversed", ", ".join(reversed(items))
        yield "as a set", rf"\{{{text}\}}"


def mutations(gold: str) -> Iterator[tuple[str, str]]:
    """(kind, text): another value."""
    text = clean(gold)
    if re.search(r"[A-Za-z]{3}", re.sub(r"\\[A-Za-z]+", "", text)):
        return  # words: a changed digit may be no part of the answer
    if digit := re.search(r"(?<![\d._])[1-8](?!\d*,\d{3})", text):
        yield "another digit", text[: digit.start()] + str(int(digit[0]) + 1) + text[digit.end() :]
    if value(text):
        yield "plus 1", f"({text})+1"
        yield "times 3, plus 2", f"3({text})+2" if number(text) is None or number(text).value != -1 else f"({text})+5"  # type: ignore[union-attr]
        yield "another symbol", f"({text})+q"
    items = collection(text)
    if items is not None and len(items.items) > 1 and items.kind in ("list", "set", "()"):
        opening, closing = (text[:2], text[-2:]) if text.startswith(r"\{") else (text[0], text[-1])
        if items.kind == "list":
            opening = closing = ""
        if r"\pm" not in text and not items.names:
            yield "an item less", f"{opening}{','.join(items.items[:-1])}{closing}" if len(items.items) > 2 else "97"
            yield "an item more", f"{opening}{','.join(items.items)},97{closing}"


def value(text: str) -> bool:
    """Whether a cleaned gold is one value that can be computed with."""
    try:
        parse(text)
    except UnsupportedError:
        return False
    return len(split(text, ",;=")) == 1 and not re.search(r"\d\s*\\frac", text)


def changed(sets: dict[str, list[str]], change: str, most: int) -> list[Changed]:
    """At most `most` changed golds, sampled over all benchmarks."""
    generator = random.Random(SEED)
    pool = sorted({gold for own in sets.values() for gold in own if locate(gold, numbers=False) == gold})
    generator.shuffle(pool)
    made = [
        (gold, kind, text)
        for gold in pool
        for kind, text in (rewrites(gold) if change == "rewrites" else mutations(gold))
        if change == "rewrites" or literal(clean(text)) != literal(clean(gold))
    ]
    return made[:most]


def table(made: Sequence[Changed], grader: Grader, expected: Verdict) -> tuple[list[tuple[str, ...]], list[Changed]]:
    """(kind, how many, verdict as expected, unscored) and the changes with another verdict."""
    grades = grader.grade_answers([(gold, text) for gold, _, text in made])
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    missed = []
    for change, grade in zip(made, grades, strict=True):
        for name in (change[1], "all"):
            counts[name]["all"] += 1
            counts[name]["expected"] += grade.verdict is expected
            counts[name]["unscored"] += grade.verdict is Verdict.UNSCORED
        if grade.verdict is not expected:
            missed.append(change)
    order = [*(name for name in counts if name != "all"), "all"]
    lines = [(n, str(counts[n]["all"]), str(counts[n]["expected"]), str(counts[n]["unscored"])) for n in order]
    return lines, missed


def false_accepts(
    sets: dict[str, list[str]], grader: Grader, pairs: int
) -> tuple[list[tuple[str, ...]], list[tuple[str, str, str]]]:
    """(benchmark, golds, accepted of each trick, pairs, accepted of them, per 10,000) and the accepted pairs."""
    generator = random.Random(SEED)
    lines, accepted = [], []
    for name, own in sets.items():
        tricks = [(gold, trick) for trick in TRICKS for gold in own]
        sampled = [(generator.choice(own), generator.choice(own)) for _ in range(pairs)] if len(own) > 1 else []
        different = [(a, b) for a, b in sampled if literal(clean(a)) != literal(clean(b))]
        of_tricks = Counter(
            trick
            for (_, trick), grade in zip(tricks, grader.grade_answers(tricks), strict=True)
            if grade.verdict is Verdict.CORRECT
        )
        hits = [
            pair
            for pair, grade in zip(different, grader.grade_answers(different), strict=True)
            if grade.verdict is Verdict.CORRECT
        ]
        accepted += [(name, *pair) for pair in dict.fromkeys(hits)]
        rate = f"{10_000 * len(hits) / len(different):.1f}" if different else "–"
        cells = (name, len(own), *(of_tricks[trick] for trick in TRICKS), len(different), len(hits), rate)
        lines.append(tuple(map(str, cells)))
    return lines, accepted
