"""The advice where a file is of no known format, or a row lacks its gold: the row's paths, for a person to name.

A whole line is proposed only where one path alone has an exact name for each, and the program has read the whole file
with it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from evals.answer_files.labels import is_label, says_correct
from evals.answer_files.listing import listing, paths_of
from evals.answer_files.names import (
    BENCHMARKS,
    GOLDS,
    MODELS,
    OWN_TOO,
    PROBLEM_IDS,
    PROBLEMS,
    RESPONSES,
    ROW_IDS,
    UNSURE_GOLDS,
    UNSURE_RESPONSES,
    VERDICTS,
    named,
)
from evals.answer_files.sample import Sample
from evals.answer_files.told import may_be_the_models
from evals.data.rows import is_nothing
from evals.paths import ABSENT, reach, row_filter

FEW_WORDS = 6  # a column of statuses has no more: pass, fail, timeout, error, ...
Objects = Sequence[Mapping[str, object]]
Columns = Mapping[str, str]  # our name -> a path
_NO_PAIR = re.compile(r"[^\w ./@*?%+-]|\s$|^\s")
Reads = Callable[[Columns], Sequence[Sample] | None]  # the samples, where the whole file can be read with columns


def columns_to_name(rows: Objects, reads: Reads, gold_apart: bool = False) -> str:
    """The paths of the first row and what is needed of them; the line to type, where it is certain.

    Args:
        gold_apart: the golds are in a file of their own.
    """
    paths = paths_of(rows[0])
    apart = _told_apart(rows)
    columns = None if apart else _certain(rows, paths, gold_apart)
    needed = "response, and problem_id or problem" if gold_apart else "answer (the gold) and response"
    sentences = [
        f"Name them with columns=OURS:PATH,OURS:PATH. Needed: {needed}. Row 1 has these paths:",
        listing(rows[0]),
        "problem_id (or problem) says which rows are samples of one problem. expected is the authors' verdict.",
    ]
    samples = None if columns is None else reads(columns)
    if columns is not None and samples and not _may_be_the_models(rows, samples, columns):
        sentences.append(f"These columns read the whole file: {argument(columns)}")
    else:
        golds, texts = named(paths, GOLDS, UNSURE_GOLDS), named(paths, RESPONSES, UNSURE_RESPONSES)
        sentences += [f"These have names of golds: {', '.join(golds)}."] if golds and not gold_apart else []
        sentences += [f"These have names of responses: {', '.join(texts)}."] if texts else []
        sentences += _no_responses(rows, paths) if not texts else []
        sentences += apart
    if not gold_apart:
        sentences.append("If the gold answers are in another file, type gold=FILE and columns= without answer.")
    return "\n".join(sentences)


def _no_responses(rows: Objects, paths: Sequence[str]) -> list[str]:
    """The advice for a file that may have no responses: verdicts alone, or scores."""
    if verdicts := [path for path in named(paths, VERDICTS) if all(_may_be_label(reach(row, path)) for row in rows)]:
        key = _key(rows, paths)
        typed = argument({"id": key[1] if key else "PATH", "correct": verdicts[0]})
        return [
            f"These have names of verdicts: {', '.join(verdicts)}. To check a score by verdicts alone, type rlvr audit "
            f"FILE printed=SCORE {typed}. id:row says that each row is a problem of its own."
        ]
    if named(paths, GOLDS, UNSURE_GOLDS):
        return []
    return [
        "No path has the name of a gold, a response or a verdict. If these are scores, give the file that has the "
        "responses or the verdicts of each problem."
    ]


def _may_be_label(value: object) -> bool:
    """Whether a value is a verdict, nothing, or a list of them. A score such as 0.42 is none."""
    return all(map(_may_be_label, value)) if isinstance(value, list) else value is ABSENT or is_label(value)


def _may_be_the_models(rows: Objects, samples: Sequence[Sample], columns: Columns) -> bool:
    """Whether the golds have a name that the model's own answers have too, and values that may be these."""
    gold = columns.get("answer")
    unsure = gold is not None and bool(named([gold], OWN_TOO))
    return unsure and may_be_the_models(rows, samples, gold or "", columns["response"])


def verdicts_to_name(rows: Objects, reads: Callable[[Columns], bool]) -> str:
    """The line to type for a table of verdicts: each that reads it, where the id is certain."""
    paths = paths_of(rows[0])
    verdicts, key = named(paths, VERDICTS), _key(rows, paths)
    if key and len(verdicts) < 2 and not _told_apart(rows):
        ways = [{"id": key[1], "correct": verdict} for verdict in verdicts or _verdicts_by_words(rows)]
        if readable := [argument(columns) for columns in ways if reads(columns)]:
            return " or ".join(readable)
    return (
        "columns=id:PATH,correct:PATH (correct:PATH?WORD, if WORD says correct. id:row, if each row is a problem of "
        "its own)"
    )


def _verdicts_by_words(rows: Objects) -> list[str]:
    """`NAME?WORD` of each column of words, one of which says correct: evalplus has `pass`, `fail` and `timeout`."""
    words_by_name = {name: {row.get(name) for row in rows} for name in rows[0] if isinstance(rows[0][name], str)}
    return [
        f"{name}?{word}"
        for name, words in words_by_name.items()
        for word in sorted(word for word in words if isinstance(word, str) and says_correct(word))
        if len(words) <= FEW_WORDS
    ]


def missing_gold(row: Mapping[str, object]) -> str:
    """That a row has no gold, and what to type."""
    verdicts = [name for name in named(row, VERDICTS) if is_label(row[name])]
    key = next(iter((*named(row, PROBLEM_IDS), *named(row, ROW_IDS))), "PATH")
    audited = (
        f"To check a score by {verdicts[0]} alone, type rlvr audit FILE printed=SCORE "
        f"{argument({'id': key, 'correct': verdicts[0]})}. "
        if verdicts
        else ""
    )
    return (
        "this row has no gold answer. If one of its paths leads to it, type columns=answer:PATH. If the gold answers "
        "are in another file, type gold=FILE. FILE needs problem_id or problem, and answer. For programs it is the "
        f"benchmark's own file of tasks, such as HumanEval.jsonl. {audited}The row has these paths:\n{listing(row)}"
    )


def no_verdict(row: Mapping[str, object]) -> str:
    """That a column of verdicts has another meaning, perhaps, and what to type."""
    return (
        "The column may have another meaning in this file. To say which paths hold what, type "
        f"columns=answer:PATH,response:PATH,expected:PATH. The row has these paths:\n{listing(row)}"
    )


def missing_response(row: Mapping[str, object]) -> str:
    """That a row has no response, and what to type."""
    return f"no field 'response'. Add response:PATH to columns=. The row has these paths:\n{listing(row)}"


def unread(objects: Objects, columns: Columns) -> tuple[str, ...]:
    """The columns that may be verdicts and are read as nothing else: of truth values, or of the names of verdicts with
    nothing but verdicts. A column of one value is none."""
    values_by_name = {name: [row.get(name) for row in objects] for name in objects[0] if name not in columns.values()}
    return tuple(
        name
        for name, values in values_by_name.items()
        if len({*map(str, values)}) > 1
        and (_are_truths(values) or (named([name], VERDICTS) and all(map(is_label, values))))
    )


def _are_truths(values: Sequence[object]) -> bool:
    """Whether values, also those in lists, are true or false, also as a CSV has them; some may be missing."""
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    texts = {str(item).lower() for item in flat if not is_nothing(item)}
    return bool(texts) and texts <= {"true", "false"}


def has_verdicts(rows: Objects) -> bool:
    """Whether rows have a column of verdicts by an exact name."""
    return any(all(is_label(row.get(name)) for row in rows) for name in named(rows[0], VERDICTS))


def argument(columns: Columns, names: Iterable[str] = ()) -> str:
    """`columns=OURS:PATH,...`, quoted where a shell would read it as something else. It is an object of JSON where a
    path, or another of the names, has signs that a pair cannot have."""
    plain = not any(_NO_PAIR.search(path) for path in (*columns.values(), *names))
    pairs = ",".join(f"{column}:{place}" for column, place in columns.items())
    return shlex.quote(f"columns={pairs if plain else json.dumps(dict(columns))}")


def _certain(rows: Objects, paths: Sequence[str], gold_apart: bool) -> Columns | None:
    """The columns by exact names, each of which one path has; None where there is none or several."""
    gold, response = _alone(paths, GOLDS, UNSURE_GOLDS), _alone(paths, RESPONSES, UNSURE_RESPONSES)
    key = _key(rows, paths)
    if response is None or (key if gold_apart else gold) is None:
        return None
    columns = {**dict([key] if key else []), "answer": None if gold_apart else gold, "response": response}
    return {column: path for column, path in columns.items() if path}


def _alone(paths: Sequence[str], names: Collection[str], unsure: Collection[str]) -> str | None:
    """The path with one of the names, where no other path has such a name or an unsure one. One that leads into each
    object of a list is none: its objects may be examples, or steps."""
    candidates = named(paths, names, unsure)
    return (
        candidates[0]
        if len(candidates) == 1 and named(candidates, names) and "*" not in candidates[0].split(".")[:-1]
        else None
    )


def _key(rows: Objects, paths: Sequence[str]) -> tuple[str, str] | None:
    """(our name, path) of what tells problems apart: an id of problems, else a problem's text, else an id of rows."""
    one_each = [path for path in paths if "*" not in path.split(".")]
    ids = [path for path in named(rows[0], ROW_IDS) if _evenly(str(row.get(path)) for row in rows)]
    ways = (("problem_id", named(one_each, PROBLEM_IDS)), ("problem", named(one_each, PROBLEMS)), ("problem_id", ids))
    return next(((column, candidates[0]) for column, candidates in ways if len(candidates) == 1), None)


def _evenly(values: Iterable[str]) -> bool:
    """Whether each value occurs equally often, as the id of a problem with samples; not one value in all of several
    rows, as a run's name."""
    counts = Counter(values)
    return len({*counts.values()}) == 1 and (len(counts) > 1 or counts.total() == 1)


def _told_apart(rows: Objects) -> list[str]:
    """The advice where several models or benchmarks stand in one file."""
    sentences = []
    for name in named(rows[0], MODELS, BENCHMARKS):
        values = list(dict.fromkeys(row.get(name) for row in rows if isinstance(row.get(name), str)))
        if len(values) > 1 and named([name], MODELS):
            kept = row_filter(name, values[0])
            sentences.append(f"{name} has {len(values)} values. To read the rows of one, type {kept}.")
        elif len(values) > 1:
            sentences.append(
                f"{name} has {len(values)} values. In rlvr grade, benchmark:{name} scores each by itself. To "
                f"read the rows of one, type {row_filter(name, values[0])}."
            )
    return sentences
