"""The notes of a report on how the rows of a plain table were read, where a reader may have meant something else."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import median

from evals.answer_files.listing import paths_of
from evals.answer_files.names import PROBLEM_IDS, ROW_IDS, named
from evals.answer_files.read import extracted
from evals.answer_files.sample import Sample
from evals.answer_files.values import is_number, responses_of
from evals.grading.equivalence import DEFAULT
from evals.grading.extraction import locate
from evals.grading.grader import outcome
from evals.paths import reach, row_filter

Objects = Sequence[Mapping[str, object]]
MOST = 200  # rows in which a gold is compared with other values
ECHO = 0.9  # if this share of the answers equals the gold, the gold may be the model's own answer
RIVAL = 0.2  # if this share of the rows has the gold's value in another column, that may be the gold
LONGEST_WORD = 40  # characters of a value that names a system
_WORD, _NO_NAME = re.compile(r"[^\W\d_]{2}"), re.compile(r"[\\\d]")  # words of aliases. A formula or a quantity is none


def file_notes(objects: Objects, samples: Sequence[tuple[int, Sample]], gold: str, response: str) -> list[str]:
    """Sentences without a full stop.

    Args:
        samples: each with the number of its row, from 1. gold, response: the paths of both.
    """
    values = [reach(row, response) for row in objects]
    listed = sum(isinstance(value, list) and len(responses_of(value)) == len(value) > 1 for value in values)
    numbers = sum(
        is_number(value_in_list)
        for value in values
        for value_in_list in (value if isinstance(value, list) else [value])
    )
    aliases = [sample.gold for _, sample in samples if _has_aliases(sample.gold)]
    sentences = []
    if numbers:
        sentences.append(f"responses that are numbers: {numbers}. Each is read as the file writes it")
    if listed:
        sentences.append(f"rows with a list of responses: {listed}. Each item of a list is a sample")
    if aliases:
        sentences.append(
            f"golds with / between words: {len(aliases)}, such as {aliases[0]!r}. They are compared as they stand. If "
            f"these are other names of one answer, type golds=any:/"
        )
    if (
        gold == "answer"
        and (rivals := _rivals(objects, gold, response))
        and _echoed([read_sample for _, read_sample in samples])
    ):
        sentences.append(
            f"answer may be the model's own, because it is the answer of nearly all responses, and {rivals[0]} often "
            f"has the same value. If that is the gold, type columns=answer:{rivals[0]},response:{response}"
        )
    return sentences + _one_text(objects, samples) + _systems(objects, samples)


def _one_text(objects: Objects, samples: Sequence[tuple[int, Sample]]) -> list[str]:
    """A column of ids that tells rows apart, where few rows share the text by which the problems are told apart."""
    rows_of = Counter(number for number, _ in samples)
    problems = Counter(sample.problem_id for _, sample in samples)
    shared = sum(count for count in problems.values() if count > 1)
    if set(rows_of.values()) != {1} or not 0 < 2 * shared <= len(samples):
        return []
    if any(sample.problem_id != sample.problem for _, sample in samples):
        return []
    ids = [
        name
        for name in named(objects[0], PROBLEM_IDS, ROW_IDS)
        if len({str(r.get(name)) for r in objects}) == len(objects)
    ]
    if not ids:
        return []
    return [
        f"rows whose problem has the text of another row's: {shared}. They count as samples of one problem. If each is "
        f"a problem of its own, type columns=problem_id:{ids[0]}"
    ]


def _has_aliases(gold: str) -> bool:
    names = gold.split("/")
    return len(names) > 1 and not _NO_NAME.search(gold) and all(map(_WORD.search, names))


def _systems(objects: Objects, samples: Sequence[tuple[int, Sample]]) -> list[str]:
    """A column of words whose values every problem has equally often: its samples may be of several systems."""
    rows_of: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, sample in samples:
        rows_of[sample.problem_of].append(number - 1)
    if len(rows_of) < 2 or len(rows_of) == len(samples):
        return []
    for name in objects[0]:
        words = [value if isinstance(value := row.get(name), str) else "" for row in objects]
        if not all(0 < len(word) <= LONGEST_WORD for word in words):
            continue
        counts = {frozenset(Counter(words[row] for row in rows).items()) for rows in rows_of.values()}
        if len(counts) == 1 and len(values := list(dict.fromkeys(words))) > 1:
            return [
                f"every problem has rows of {len(values)} values of {name} ({', '.join(values[:3])}), counted as its "
                f"samples. If these are different systems, type {row_filter(name, values[0])} to keep one"
            ]
    return []


def may_be_the_models(objects: Objects, samples: Sequence[Sample], gold: str, response: str) -> bool:
    """Whether what is read as golds may be the model's own answers: they are longer than the responses, another column
    often has the same values, or they equal the responses' answers in nearly all rows."""
    longer = median(len(sample.gold) for sample in samples) > median(len(sample.response) for sample in samples)
    return longer or bool(_rivals(objects, gold, response)) or _echoed(samples)


def _rivals(objects: Objects, gold: str, response: str) -> list[str]:
    """The other paths that have the gold's value in many rows."""
    objects = objects[:MOST]
    golds = [_text(reach(row, gold)) for row in objects]
    more_paths = [path for path in paths_of(objects[0]) if path not in (gold, response)]
    shared = {
        path: sum(text == _text(reach(row, path)) != "" for text, row in zip(golds, objects, strict=True))
        for path in more_paths
    }
    return [path for path, rows in shared.items() if rows > 1 and rows >= RIVAL * len(objects)]


def _text(value: object) -> str:
    return str(value).strip() if isinstance(value, str) or is_number(value) else ""


def _echoed(samples: Sequence[Sample]) -> bool:
    """Whether the golds equal the answers of nearly all responses that have one."""
    equal = []
    for sample in samples[:MOST]:
        if (answer := extracted(sample)) is not None:
            equal.append(any(outcome(locate(gold), answer, DEFAULT) is True for gold in sample.golds))
    return bool(equal) and sum(equal) >= ECHO * len(equal)
