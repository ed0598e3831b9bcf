"""Training sets known by name: their location, columns, row selection, and required numbers of rows.

Written without access to these sets: all facts come from public code and pages. Each entry names its source. A value
without a source is None and not checked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evals.data import prompts
from evals.data.rows import read_rows
from harness.errors import UsageError

Row = dict[str, Any]
Rows = list[Row]


def file_rows(path: Path) -> Iterator[Row]:
    """The rows of a local file, in order. Raises ValueError as `read_rows`."""
    try:
        yield from read_rows(path)
    except UsageError as error:
        raise UsageError(f"dataset: {error}") from error


@dataclass(frozen=True)
class NamedSet:
    """Rows of a hub data set, or of a local file with the same columns.

    Args:
        hub: the data set's id on the hub.
        columns: our column -> theirs. "a.b" is column b within column a, and a list stands for its only element.
        split: in the syntax of `datasets`. "train+test" is both, in this order.
        file: which of the hub's files to read. None uses the set's own configuration.
        revision: commit of the hub's repository, which pins the content. None is the newest.
        problem: the text of their problem column -> the bare problem.
        select: all rows, with our columns -> the kept rows.
        read: required number of rows before `select`. None: not checked.
        rows: required number of kept rows. None: not known.
    """

    hub: str
    columns: Mapping[str, str]
    split: str = "train"
    file: str | None = None
    revision: str | None = None
    problem: Callable[[str], str] = str
    select: Callable[[Iterable[Row]], Rows] = list
    read: int | None = None
    rows: int | None = None

    def take(self, source: Iterable[Row]) -> Rows:
        """The set's rows -> our kept rows.

        Raises:
            UsageError: a row lacks a column or holds no text there (row and column are named), or the number of rows is
                not the required one.
        """
        count = 0

        def converted() -> Iterator[Row]:
            nonlocal count
            for row in source:
                yield self._converted(count, row)
                count += 1

        kept = self.select(converted())
        if self.read not in (None, count):
            raise UsageError(
                f"dataset: expected {self.read} rows in {self.hub} ({self.split}), got {count}. Is it another version?"
            )
        if self.rows not in (None, len(kept)):
            raise UsageError(
                f"dataset: expected to keep {self.rows} of the rows of {self.hub} ({self.split}), kept {len(kept)} of "
                f"{count}. Is it another version?"
            )
        return kept

    def _converted(self, number: int, row: Row) -> Row:
        try:
            values = {name: text_at(row, column) for name, column in self.columns.items()}
            return {**values, "problem": self.problem(values["problem"])}
        except UsageError as error:
            raise UsageError(f"dataset {self.hub!r}, row {number}: {error}") from error

    def load(self, path: Path | None = None) -> Rows:
        """Read from a local file with the same columns, or from the hub (or its cache)."""
        if path is not None:
            return self.take(file_rows(path))
        from datasets import load_dataset

        return self.take(load_dataset(self.hub, data_files=self.file, split=self.split, revision=self.revision))


def text_at(row: Row, column: str) -> str:
    """The text in a column. "a.b" is column b within column a, and a list stands for its only element.

    Raises:
        UsageError: no such column, a list without exactly one element, or a value that is no text.
    """
    value: object = row
    for name in column.split("."):
        if isinstance(value, list):
            if len(value) != 1:
                raise UsageError(f"expected one element before {name!r} in {column!r}, got {len(value)}")
            value = value[0]
        if not isinstance(value, dict) or name not in value:
            has = ", ".join(value) if isinstance(value, dict) else repr(value)
            raise UsageError(f"expected text in {column!r}, found no {name!r} (there is {has})")
        value = value[name]
    if not isinstance(value, str):
        raise UsageError(f"expected text in {column!r}, got {value!r}")
    return value


def bare_problem(text: str) -> str:
    """Remove DAPO's prompt around a problem: only the declared prompt is used. ValueError without that prompt."""
    head, tail = prompts.get("dapo").user.split("{problem}")
    text = text.strip()
    if not (text.startswith(head) and text.endswith(tail) and len(text) > len(head) + len(tail)):
        raise UsageError(f"expected a problem inside DAPO's prompt, got {text[:60]!r} ... {text[-60:]!r}")
    return text[len(head) : -len(tail)]


def distinct(rows: Iterable[Row]) -> Rows:
    """The first row of each problem, in order."""
    first: dict[str, Row] = {}
    for row in rows:
        first.setdefault(row["problem"], row)
    return list(first.values())


def answered(rows: Iterable[Row]) -> Rows:
    """Rows with a non-blank answer. Without one a response cannot be graded."""
    return [row for row in rows if row["answer"].strip()]


def at_levels(rows: Iterable[Row], levels: tuple[int, ...]) -> Rows:
    """Rows of MATH whose `level` is one of these. "Level 3" is level 3, and "Level ?" is none."""
    names = {f"Level {level}" for level in levels}
    return [row for row in rows if row["level"] in names]


def without_math500(rows: Iterable[Row]) -> Rows:
    """Rows of MATH that are not among the 500 problems of MATH-500 (by `problem_digest`)."""
    excluded = frozenset((Path(__file__).parent / "math500_digests.txt").read_text().split())
    return [row for row in rows if problem_digest(row["problem"]) not in excluded]


def problem_digest(problem: str) -> str:
    """The first 12 hexadecimal digits of the SHA-256 of a problem without its white space."""
    return hashlib.sha256("".join(problem.split()).encode()).hexdigest()[:12]


def shortest_solutions(rows: Rows, n: int) -> Rows:
    """The `n` rows with the shortest solutions (in characters, ties go to the earlier row), in their original order."""
    ranked = sorted(range(len(rows)), key=lambda i: len(rows[i]["solution"]))[:n]
    return [rows[i] for i in sorted(ranked)]


def reasoned(rows: Iterable[Row], domain: str | None = None) -> Rows:
    """Rows of OpenThoughts (of one domain, or all). A solution is the reasoning between think tags, then the answer."""
    return [
        {**row, "solution": f"<think>\n{row['reasoning']}\n</think>\n\n{row['solution']}"}
        for row in rows
        if domain is None or row["domain"] == domain
    ]


def after_hashes(rows: Iterable[Row]) -> Rows:
    """Rows of GSM8K with the answer that ends their solution, after `####`."""
    return [{**row, "answer": row["solution"].rpartition("####")[2].strip()} for row in rows]


OPEN_THOUGHTS = NamedSet(
    hub="open-thoughts/OpenThoughts-114k",
    # the set's card: its configuration "metadata" is metadata/train-*, of 113,957 rows, with these columns
    file="metadata/train-*",
    columns={
        "problem": "problem",
        "solution": "deepseek_solution",
        "reasoning": "deepseek_reasoning",
        "domain": "domain",
    },
    select=reasoned,
    read=113957,
)
MATH = NamedSet(
    hub="DigitalLearningGmbH/MATH-lighteval",
    columns={"problem": "problem", "solution": "solution", "level": "level"},
    # The commit that public code pins (two repositories). MATH (arXiv 2103.03874) has 7,500 and 5,000 problems.
    revision="0530c78699ea5e8eb5530600900e1f328b48acad",
    read=7500,
)
ALL_OF_MATH = replace(MATH, split="train+test", read=12500)

SETS = {
    MATH.hub: MATH,
    # arXiv 2508.07534, section 2.4, does not say which OpenThoughts set, nor how its rows become solutions: think tags
    # are those of DeepSeek-R1, which wrote the rows.
    "openthoughts": OPEN_THOUGHTS,
    "openthoughts_math": replace(OPEN_THOUGHTS, select=lambda rows: reasoned(rows, "math")),
    # arXiv 2603.28204, appendix A.3: MATH at levels 3 to 5, without long solutions, 8,441 problems. The limit that it
    # states does not give that number (see reproductions/erpo/README.md). Any limit keeps the shortest solutions.
    "math_erpo": replace(
        ALL_OF_MATH, select=lambda rows: shortest_solutions(at_levels(rows, (3, 4, 5)), 8441), rows=8441
    ),
    # GSM8K (arXiv 2110.14168) has 7,473 training problems. github.com/openai/grade-school-math at 3101c7d has as many
    # lines in grade_school_math/data/train.jsonl, with these columns.
    "openai/gsm8k": NamedSet(
        hub="openai/gsm8k",
        file="main/train-*",
        columns={"problem": "question", "solution": "answer"},
        select=after_hashes,
        read=7473,
    ),
    # MATH without MATH-500: the training problems of rasbt/reasoning-from-scratch (math_full_minus_math500.json, its
    # README says 12,000). The digests are those of the pinned benchmark math500.
    "math_minus_math500": replace(ALL_OF_MATH, select=without_math500, rows=12000),
    # SimpleRL's 8K: MATH at levels 3 to 5. github.com/hkust-nlp/simpleRL-reason has the rows as train/data/
    # math_level3to5_data_processed_with_qwen_prompt.json, its authors' set on the hub as this file. Public code counts
    # 8,523 in both. `question` and `gt_answer` are columns of both (seen in a copy of the JSON; of the file, in code
    # that reads it). Two of the 8,523 rows have no answer in a copy of the file (train.parquet at bdc9f803, in pull
    # request 57 of that repository), hence `answered`. The number of kept rows is not checked: a copy may differ.
    "simplerl_8k": NamedSet(
        hub="hkust-nlp/SimpleRL-Zoo-Data",
        file="simplelr_qwen_level3to5/train.parquet",
        columns={"problem": "question", "answer": "gt_answer"},
        select=answered,
        read=8523,
    ),
    # The hub's file has each problem about a hundred times (1,791,700 rows). huggingface.co/datasets/open-r1/
    # DAPO-Math-17k-Processed drops the repeated prompts with its create_dataset.py and has 17,398 rows. A few of them
    # are there with two answers (17,405 pairs, says a discussion of the set). As in that script the first one stays.
    "BytedTsinghua-SIA/DAPO-Math-17k": NamedSet(
        hub="BytedTsinghua-SIA/DAPO-Math-17k",
        columns={"problem": "prompt.content", "answer": "reward_model.ground_truth"},
        revision="65877096c24ffa7abc4e4fa5edb95cf3413a5674",
        problem=bare_problem,
        select=distinct,
        rows=17398,
    ),
    # The columns are those that public code reads. Sources say 30K and 33K rows. None gives their number.
    "RUC-AIBOX/STILL-3-Preview-RL-Data": NamedSet(
        hub="RUC-AIBOX/STILL-3-Preview-RL-Data",
        columns={"problem": "question", "answer": "answer"},
    ),
}
