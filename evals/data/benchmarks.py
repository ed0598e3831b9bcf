"""Benchmarks: pinned lists of problems with their gold answers.

A benchmark is an lm-eval task, `tasks/<name>/<name>.yaml`, which names the dataset on the hub and, under `metadata`,
pins its content: the number of rows and a hash of them. Rows come from a local file (`data_dir`) or from the hub, and
must match the pin in both cases, so that "MATH500" always means the same 500 problems.

Keys under `metadata`, most of them for this module:

    rows         the number of problems
    sha256       `content_hash` of them, or null if we had no copy to hash. Then `file_sha256` is checked instead
    file_sha256  SHA-256 of the publisher's own file, as public sources state it. A copy of the same rows in another
                 form counts as changed, and is refused unless changed data is allowed. Rows from the hub are those of
                 `dataset_kwargs.revision`, a git commit, which pins them as well
    columns      the hub's names for our columns (id, problem, answer, choices). Our id, problem and answer work too.
                 `program`, for code: the names for its prompt, tests and entry_point, which make up the answer
    prompt       the benchmark's own prompt, a name in `evals.data.prompts` (default: one that asks for a box)
    reader       for rows of another form: a function of `evals.data.program_rows`
    answer_after  the answer is what stands after the last of these marks in the column of the answer.
                 A cell without the mark is the answer itself
    files        further file names (without suffix) to look for in `data_dir`, after `<name>`
    published    the month when the last problem became public ("2025-02"), or never
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.convert import refuse_converted
from evals.data.copies import plain, plain_answer, two_golds
from evals.data.hub import check_hub
from evals.data.problem_file import ProblemFile
from evals.data.program_rows import READERS
from evals.data.rows import is_nothing, read_rows
from evals.errors import UsageError
from evals.paths import ABSENT, jq, reach, refuse_mixed
from evals.suggest import expected, nearest

if TYPE_CHECKING:
    import yaml

TASKS = Path(__file__).parent / "tasks"
SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet", ".csv", ".json")
LETTERS = "ABCDEFGHIJ"
USUAL = {
    "problem": ("question", "prompt", "query"),
    "answer": ("label", "gold", "target", "solution"),
}  # the column names of others


@dataclass(frozen=True)
class Problem:
    """One question. `choices` are the offered answers in the order shown. `answer` is then the correct letter."""

    id: str
    problem: str
    answer: str
    choices: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Benchmark:
    """The problems in the dataset's order.

    `sha256` is the hash of the rows read. `changed`: they differ from the pinned ones, and the caller allowed it.
    `choice_seed` ordered the choices, or None without choices.
    """

    name: str
    problems: tuple[Problem, ...]
    sha256: str
    source: str
    changed: bool = False
    choice_seed: int | None = None

    def first(self, rows: int | None) -> Benchmark:
        """The first `rows` problems (all of them for None).

        Raises:
            UsageError: there are fewer, or `rows` < 1.
        """
        if rows is None:
            return self
        if not 1 <= rows <= len(self.problems):
            raise UsageError(f"rows={rows} for {self.name}: expected 1 to {len(self.problems)}, the problems it has")
        return replace(self, problems=self.problems[:rows])


COLUMNS = ("id", "problem_id", "problem", "answer")  # which a user's file may have under other names


class OwnBenchmark(str):
    """The name of a user's file as a benchmark, and the file. The name is text wherever no file is needed.

    It is `fractions` for `fractions.jsonl`, and for `fractions.jsonl?problem=question&answer=gold`, whose columns have
    other names than ours.
    """

    file: ProblemFile

    def __new__(cls, file: ProblemFile) -> OwnBenchmark:
        """Raises UsageError if the file's name makes no name, or makes that of a benchmark of ours."""
        name = super().__new__(cls, re.sub(r"\W", "_", Path(file.path).name.partition(".")[0].lower(), flags=re.ASCII))
        if not re.search("[a-z0-9]", name):
            raise UsageError(f"benchmark {file.path}: expected a file with a letter or a digit before its first point")
        if name in names():
            raise UsageError(f"benchmark {file.path}: expected a file of another name, {str(name)!r} is taken")
        name.file = file
        return name

    def __getnewargs__(self) -> tuple[ProblemFile]:  # type: ignore[override]  # a str would give its text
        return (self.file,)

    @classmethod
    def parse(cls, text: str | Path) -> OwnBenchmark:
        """The benchmark of a file, `FILE?problem=question`.

        Raises:
            UsageError: also for a column of ours that there is not.
        """
        given = ProblemFile.parse(str(text), COLUMNS)
        columns = {"id" if column == "problem_id" else column: source for column, source in given.columns.items()}
        return cls(ProblemFile(str(Path(given.path).resolve()), columns))


def names() -> tuple[str, ...]:
    """Every benchmark that `load` knows, sorted."""
    return _names(TASKS)


@cache
def _names(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in folder.glob("*/*.yaml") if path.stem == path.parent.name))


def task(name: str) -> dict[str, Any]:
    """The task file of a benchmark with its includes merged, as lm-eval merges them (local keys win).

    Raises:
        UsageError: no such benchmark (the nearest name is given).
    """
    check_name(name)
    if isinstance(name, OwnBenchmark):
        return {"tag": ["own"], "task": name, "metadata": {"columns": dict(name.file.columns)}}
    return deepcopy(_read_yaml(TASKS / name / f"{name}.yaml"))


def count(name: str) -> int:
    """How many problems a benchmark has. Those of a user's own file are counted.

    Raises:
        UsageError: no such benchmark, or a file that cannot be used.
    """
    rows: int | None = task(name)["metadata"].get("rows")
    return len(load(name).problems) if rows is None else rows


def check_name(name: str) -> None:
    """Raises ValueError, with the nearest name, if there is no such benchmark."""
    if isinstance(name, OwnBenchmark) or name in names():
        return
    if Path(name).is_file():
        refuse_converted(Path(name))
        raise UsageError(f"benchmark {name}: expected a file ending in {', '.join(SUFFIXES)}")
    raise UsageError(
        f"unknown benchmark {name!r}: {expected(name, names())}, or a file of problems ({', '.join(SUFFIXES)})"
    )


def load(
    name: str,
    *,
    data_dir: str | Path | None = None,
    allow_changed_data: bool = False,
    choice_seed: int | None = 0,
) -> Benchmark:
    """Read a benchmark from `data_dir/<name>.jsonl` (or another of `SUFFIXES`) if it is given, else from the hub.

    Args:
        data_dir: a folder with files of the hub's columns or of ours (id, problem, answer).
        allow_changed_data: accept other rows than the pinned ones (a subset, another version). Sets `changed`.
        choice_seed: orders the choices of a multiple-choice benchmark, separately for each problem. None keeps the
            file's order, the correct answer first.
    Raises:
        UsageError: unknown name, no file, missing column, empty value, repeated id, wrong row count or wrong content.
    """
    config = task(name)
    metadata = config["metadata"]
    if user_file := name.file if isinstance(name, OwnBenchmark) else None:
        file: Path | None = Path(user_file.path)
    else:
        file = None if data_dir is None else _find(name, metadata, Path(data_dir))
    rows, source = _read_hub(config) if file is None else (list(read_rows(file)), str(file))
    if reader := metadata.get("reader"):
        rows = [_read_as(reader, row, f"{name}, row {number} of {source}") for number, row in enumerate(rows, 1)]
    if user_file:
        refuse_mixed(Path(source), rows, user_file.columns, in_part=False)
        rows = [_as_named(row, user_file.columns, f"{name}, row {n} of {source}") for n, row in enumerate(rows, 1)]
    problems = _problems(name, rows, metadata.get("columns") or {}, source, metadata.get("answer_after"))
    if user_file:
        _refuse_hidden_choices(rows, problems, f"{name}, row 1 of {source}")
        _refuse_choices_beside(rows, problems, f"{name}, row 1 of {source}")
        # with choices, one question can have an answer for each set of choices
        if conflict := two_golds((problem.problem, problem.answer) for problem in problems if not problem.choices):
            raise UsageError(f"{name} from {source}, {conflict}. Delete or mend a row.")
    sha256 = content_hash(problems)
    wrong = _mismatch(metadata, len(problems), sha256, file)
    if wrong and not allow_changed_data:
        raise UsageError(
            f"{name} from {source} is not the pinned version: {wrong}. "
            "With allow_changed_data=true `rlvr eval` uses it. The record and its scores are marked so."
        )
    shuffled = tuple(_shuffle(problem, choice_seed) for problem in problems)
    has_choices = any(problem.choices for problem in shuffled)
    return Benchmark(name, shuffled, sha256, source, bool(wrong), choice_seed if has_choices else None)


def content_hash(problems: Iterable[Problem]) -> str:
    """SHA-256 of the problems in order: canonical JSON of [problem, answer, *other choices] for each.

    Only questions and answers count, not ids (copies number their rows differently). Text is in Unicode NFC with each
    run of white space as one space. Answers also lose surrounding dollar signs, and whole numbers are normalised
    (`025`, `25`, `25.0` are one answer), because copies of one dataset differ in these ways.
    """
    rows = [[plain(p.problem), plain_answer(p.answer), *map(plain, p.choices or ())] for p in problems]
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _mismatch(metadata: Mapping[str, object], rows: int, sha256: str, file: Path | None) -> str | None:
    """The differences from the pin, in words, or None without any."""
    pinned = metadata.get("sha256")
    if rows != metadata.get("rows", rows):
        return f"it has {rows} rows, expected {metadata['rows']} (content {sha256}, pinned {pinned})"
    if pinned is not None and sha256 != metadata["sha256"]:
        return f"its content hashes to {sha256}, pinned is {pinned}"
    published = metadata.get("file_sha256")
    if pinned is None and published is None and "sha256" in metadata and file is not None:
        return "its rows could not be pinned; only the hub's commit is"
    if pinned is None and published is not None and file is not None:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        if digest != published:
            return f"the file hashes to {digest}, the publisher's own to {published}, and its rows' hash is not known"
    return None


def _shuffle(problem: Problem, seed: int | None) -> Problem:
    """Shuffle the choices (the correct one is first) by a seed, and set `answer` to the correct one's letter."""
    if problem.choices is None:
        return problem
    order = list(range(len(problem.choices) + 1))
    if seed is not None:
        random.Random(f"{seed}:{problem.id}").shuffle(order)
    offered = (problem.answer, *problem.choices)
    return replace(problem, answer=LETTERS[order.index(0)], choices=tuple(offered[i] for i in order))


def _problems(
    name: str, rows: Sequence[Mapping[str, object]], columns: Mapping[str, Any], source: str, mark: str | None = None
) -> list[Problem]:
    """Rows to problems. The choices, if any, still without the correct answer and in the file's order. `mark`: see
    `answer_after`."""
    width = len(str(max(len(rows) - 1, 0)))
    problems = []
    ids = [str(row.get("id")) for row in rows]
    own_ids = (
        not isinstance(name, OwnBenchmark) or "id" in columns or len({*ids}) == len(ids)
    )  # else they name something else
    for index, row in enumerate(rows):
        where = f"{name}, row {index + 1} of {source}"
        numbered = f"{name}-{index:0{width}d}"
        identifier = _cell(row, "id", columns, where, default=numbered) if own_ids else numbered
        _check_columns(name, row, columns, where)
        wrong_choices = tuple(_text(row, column, where) for column in columns.get("choices", ())) or None
        answer = _program(row, columns, where) or _cell(row, "answer", columns, where)
        if mark is not None and mark in answer:
            answer = answer.rpartition(mark)[2].strip()
            if not answer:
                raise UsageError(f"{where}: expected an answer after {mark!r}")
        text = _cell(row, "problem", columns, where, as_written="program" in columns)
        problems.append(Problem(identifier, text, answer, wrong_choices))
    repeated = [identifier for identifier, count in Counter(p.id for p in problems).items() if count > 1]
    if repeated:
        raise UsageError(f"{name} from {source}: column 'id' repeats {repeated[0]!r}, expected one row for each id")
    return problems


def _as_named(row: Mapping[str, object], columns: Mapping[str, str], where: str) -> dict[str, object]:
    """A row of a user's file, with the columns that they named in place of those of our names that it has too."""
    values = {column: reach(row, source) for column, source in columns.items()}
    for column, source in columns.items():
        if values[column] is ABSENT:
            near = nearest(source, list(row))
            hint = f"Did you mean {near!r}? " if near else ""
            raise UsageError(
                f"{where}: no column {source!r} (columns={column}:{source}). {hint}It has {', '.join(map(repr, row))}"
            )
    return {**row, **values}


def _refuse_hidden_choices(rows: Sequence[Mapping[str, Any]], problems: Sequence[Problem], where: str) -> None:
    """Refuse a file of multiple choice whose problems do not show the choices, which stand in columns of their own.

    Raises:
        UsageError: it says how to put them into the problem.
    """
    if not all(re.fullmatch(r"\(?[A-J]\)?", problem.answer) for problem in problems):
        return
    row = rows[0]
    listed = next((name for name in ("options", "choices") if isinstance(row.get(name), list)), None)
    letters = [letter for letter in LETTERS if isinstance(row.get(letter), str)]
    if listed is None and len(letters) < 2:
        return
    shown = [str(choice) for choice in row[listed]] if listed else [row[letter] for letter in letters]
    if any(choice in problems[0].problem for choice in shown):
        return
    text = next((name for name, value in row.items() if value == row["problem"]), "problem")
    joined = f'(.{listed} | join("\\n"))' if listed else " + ".join(f'"\\n{name}. " + .{name}' for name in letters)
    shown_too = f'.problem = .{text} + "\\n" + {joined}'
    raise UsageError(
        f"{where}: the answers are letters, but no problem shows its choices. They stand in "
        f"{listed or ', '.join(letters)}. Put them into the problems: "
        f"{jq(shown_too)} > shown.jsonl. Then type columns=answer:COLUMN alone"
    )


_CHOICE = re.compile(r"(?:incorrect|wrong|distractor|choice|option)[ _]?(?:answer)?[ _]?(?:\d|[A-J])$", re.IGNORECASE)


def _refuse_choices_beside(rows: Sequence[Mapping[str, Any]], problems: Sequence[Problem], where: str) -> None:
    """Refuse a file whose answers are texts and whose other choices stand in columns that no problem shows, as GPQA's.

    Raises:
        UsageError: it names the columns.
    """
    row = rows[0]
    beside = [name for name, value in row.items() if isinstance(value, str) and _CHOICE.search(name)]
    if len(beside) < 2 or any(row[name] in problems[0].problem for name in beside):
        return
    raise UsageError(
        f"{where}: the columns {', '.join(beside)} hold choices, and no problem shows them. Write them into the "
        "problems, with the letter of the right one as the answer. To ask without choices, delete these columns"
    )


def _read_as(reader: str, row: Mapping[str, object], where: str) -> dict[str, object]:
    try:
        return dict(READERS[reader](row))
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error


def _program(row: Mapping[str, Any], columns: Mapping[str, Any], where: str) -> str | None:
    """The test of a program (`evals.code_execution.program_grader`), as one answer, or None for benchmarks of another
    kind, or if the row already has our column `answer`. The text is kept as written: white space counts in code."""
    if "program" not in columns or "answer" in row:
        return None
    parts = {field: (_text(row, column, where), str(row[column]))[1] for field, column in columns["program"].items()}
    return json.dumps(parts, ensure_ascii=False)


def _cell(
    row: Mapping[str, object],
    field: str,
    columns: Mapping[str, object],
    where: str,
    default: str = "",
    as_written: bool = False,
) -> str:
    """Our `field` of a row, under our name or the hub's. `as_written` keeps its white space, which counts in code."""
    for column in (field, str(columns.get(field, field))):
        if column in row:
            text = _text(row, column, where)
            return str(row[column]) if as_written else text
    return default


def _check_columns(name: str, row: Mapping[str, object], columns: Mapping[str, object], where: str) -> None:
    """Raise UsageError with all missing columns, and for a user's own file with the option that names theirs."""
    needed: tuple[str, ...] = ("problem",) if "program" in columns else ("problem", "answer")
    needed += ("id",) if isinstance(name, OwnBenchmark) and "id" in columns else ()
    missing = [
        (column, columns.get(column, column)) for column in needed if not {column, columns.get(column)} & row.keys()
    ]
    if missing:
        accepted = " and no column ".join(" or ".join(map(repr, dict.fromkeys(pair))) for pair in missing)
        usual = {column: (columns.get(column), *USUAL.get(column, ())) for column in needed if column not in row}
        sources = {column: next((c for c in row if c in names), "THEIRS") for column, names in usual.items()}
        give = f". Give {shlex.quote('columns=' + ','.join(map(':'.join, sources.items())))}"
        hint = give if isinstance(name, OwnBenchmark) else ""
        raise UsageError(f"{where}: no column {accepted}. It has {', '.join(map(repr, row))}{hint}")


def _text(row: Mapping[str, object], column: str, where: str) -> str:
    """A cell as text: strings as written, whole numbers without a decimal point, lists joined by commas."""
    if column not in row:
        raise UsageError(f"{where}: no column {column!r}. It has {', '.join(map(repr, row))}")
    value = row[column]
    if isinstance(value, (list, tuple)):
        value = ", ".join(map(str, value))
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = "" if is_nothing(value) else str(value).strip()
    if not text:
        raise UsageError(f"{where}: column {column!r} is empty")
    return text


def _find(name: str, metadata: Mapping[str, Any], data_dir: Path) -> Path:
    """The first existing file of the benchmark."""
    stems = (name, *metadata.get("files", ()))
    candidates = [data_dir / f"{stem}{suffix}" for stem in stems for suffix in SUFFIXES]
    for path in candidates:
        if path.is_file():
            return path
    looked = ", ".join(path.name for path in candidates)
    raise UsageError(f"data_dir={str(data_dir)!r} has no file for {name}: expected one of {looked}")


def _read_hub(config: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str]:
    path, split = config["dataset_path"], config["test_split"]
    if path is None:
        raise UsageError(f"{config['task']} is on no hub. Expected data_dir, a folder with {config['task']}.jsonl")
    revision = (config.get("dataset_kwargs") or {}).get("revision")
    try:
        if not Path(path).exists():
            check_hub("dataset", path)  # takes at most two seconds. `datasets` tries for half a minute
        from datasets import load_dataset

        table = load_dataset(path, config.get("dataset_name"), split=split, revision=revision)
    except (OSError, ValueError) as error:  # no network, no such dataset, no right to it
        name, example = config["task"], '{"problem": "1+1=?", "answer": "2"}'
        hint = f"give data_dir=FOLDER with a file for each benchmark, as {name}.jsonl with lines such as {example}"
        raise UsageError(f"{name}: {error}. Without the hub, {hint}") from error
    return [dict(row) for row in table], f"hub:{path}[{split}]" + (f"@{revision}" if revision else "")


def _function_name(_: object, node: yaml.ScalarNode) -> str:
    return str(node.value)


@cache
def _read_yaml(path: Path) -> dict[str, Any]:
    """A task file with its `include` merged. `!function` names stay names: only lm-eval calls them."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    Loader.add_constructor("!function", _function_name)
    task: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=Loader)  # noqa: S506  (a SafeLoader)
    include = task.pop("include", None)
    return {**_read_yaml(path.parent / include), **task} if include else task
