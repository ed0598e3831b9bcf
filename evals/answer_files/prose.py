"""Golds in prose: a value with a label before it or a remark after it, such as `A: 5` and `5 dollars (see above)`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from evals.answer_files.sample import Sample
from evals.answer_files.values import short

SHOWN = 3  # golds that a note shows
_LABEL = re.compile(r"\s*(?:[A-H]|(?i:ans|answer|final answer|result|solution))\s*:\s+(?=\S)|\s*#{1,4}\s+(?=[-\d$.])")
_FUNCTIONS = r"(?:mod|sin|cos|tan|cot|sec|csc|log|ln|exp|sqrt|max|min|gcd|lcm|det|arcsin|arccos|arctan)\b"
_UNIT = re.compile(r"\s*@@\s*(?=[A-Za-z%]|$)")  # SciBench's sign between a value and its unit
_REMARK = re.compile(rf"(?<=\S)\s+\((?!\s*{_FUNCTIONS})(?=[^()]*[A-Za-z]{{3}})[^()\\]*\)\s*$")
_VALUE = re.compile(
    r"(?P<number>[-+\u2212]?\s*\\?[$\u00a3\u20ac]?\s*(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:\s*/\s*\d+)?)\s*(?P<unit>%|[A-Za-z]+)?\.?"
)
_WORD = re.compile(r"[A-Za-z]{2,}")
SENTENCE = 4  # words that make a gold with a number a sentence


def value_in(gold: str) -> str | None:
    """The value in a gold with a label or a remark, with its unit if the grader knows it, or None for any other
    gold."""
    from evals.grading.quantity import UNITS

    last = gold.rstrip().rpartition("\n")[2]  # a solution ends with it: `A: 18`
    stated = last if _LABEL.match(last) else gold
    stated = _UNIT.sub(" ", stated)
    bare = _REMARK.sub("", _LABEL.sub("", stated, count=1) if _LABEL.match(stated) else stated).strip()
    value = _VALUE.fullmatch(bare)
    if bare == gold.strip() or value is None:
        return None
    return bare.rstrip(".") if value["unit"] in (None, "%", *UNITS) else value["number"].strip()


def read_prose(sample: Sample) -> Sample:
    """The sample whose golds in prose are right in both forms, as they stand and as their value."""
    values = [value for gold in sample.golds if (value := value_in(gold)) is not None]
    return replace(sample, golds=(*sample.golds, *values), read_gold=values[0]) if values else sample


def note(samples: Sequence[Sample]) -> str:
    """The note on golds in prose: which were read, and which were not, by their rows. It is empty where there are
    none."""
    rows = list(enumerate(samples, 1))
    read = [f"row {n}: {short(s.gold)} as {s.read_gold!r}" for n, s in rows if s.read_gold is not None]
    whole = [f"row {n}: {short(s.gold)}" for n, s in rows if s.read_gold is None and _is_sentence(s.gold)]
    sentences = []
    if read:
        sentences.append(f"{_counted(len(read))} right as the value too, {', '.join(read[:SHOWN])}")
    if whole:
        sentences.append(f"{_counted(len(whole))} compared word by word, {', '.join(whole[:SHOWN])}")
    return ". ".join(sentences)


def _counted(number: int) -> str:
    return "1 gold in prose is" if number == 1 else f"{number} golds in prose are"


def _is_sentence(gold: str) -> bool:
    from evals.grading.extraction import locate

    plain = not re.search(r"[\\$=\n]", gold) and re.search(r"\d", gold) is not None and len(gold) < 1000
    return plain and len(_WORD.findall(gold)) >= SENTENCE and locate(gold) == gold
