r"""`rlvr grade FILE`: verdicts and scores for answers that somebody already has, as JSON Lines.

Rows hold `problem_id`, `answer` (the gold) and `response`; several rows with one `problem_id` are its samples. With
`answers=True` they hold `gold` and `prediction`, bare answers. A `finish_reason` ("stop", "length" or null) is used; an
`expected` (true or false) is compared with our verdicts, per `source` where rows name one. Other columns are kept.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.grading import LIMIT_S, Grade, Grader, Progress
from evals.intervals import ROUGH
from evals.verdicts import Verdict

if TYPE_CHECKING:
    from evals.score import Score

Row = dict[str, Any]

_OURS = (
    "verdict",
    "extracted",
    "reason",
)  # the columns that we add; an input column of that name is kept as NAME_in_file
_COMMON_KS = tuple(2**power for power in range(11))


@dataclass(frozen=True)
class Agreement:
    """Our verdicts against the file's `expected`, over the rows that have one.

    `accepted` and `refused` rows are those that we call correct and those that we do not; unscored rows are in neither.
    """

    true_accepted: int
    true_refused: int
    false_accepted: int
    false_refused: int
    unscored: int

    @property
    def rows(self) -> int:
        return self.true_accepted + self.true_refused + self.false_accepted + self.false_refused + self.unscored

    @property
    def rate(self) -> float:
        """Share of all rows, unscored ones included, on which we agree with the file."""
        return (self.true_accepted + self.false_refused) / self.rows


@dataclass(frozen=True)
class Report:
    """What a file holds and what the grader says of it."""

    file: str
    rows: int
    problems: int | None
    samples: tuple[int, int] | None  # fewest and most samples of a problem
    verdicts: dict[str, int]
    unscored_reasons: dict[str, int]  # by kind: time, memory, size, crash, error
    scores: list[Score]
    agreement: dict[str, Agreement]  # by source; "all" where rows name none or several
    out: str | None

    def as_dict(self) -> dict[str, Any]:
        """One JSON document."""
        document = asdict(self)
        for score, filled in zip(self.scores, document["scores"], strict=True):
            filled["name"] = score.name
        for source, agreement in self.agreement.items():
            document["agreement"][source] |= {"rows": agreement.rows, "rate": agreement.rate}
        return document

    def as_text(self) -> str:
        """A short summary for people."""
        lines = [f"{self.file}: {self.rows} rows"]
        if self.problems is not None and self.samples is not None:
            low, high = self.samples
            lines[0] += f", {self.problems} problems, {low if low == high else f'{low} to {high}'} samples each"
        lines.append("  " + ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items()))
        lines += [f"  unscored: {count} x {reason}" for reason, count in self.unscored_reasons.items()]
        lines += [_score_line(score) for score in self.scores]
        if any(score.interval and score.interval.rough for score in self.scores):
            lines.append(f"  {ROUGH}")
        lines += [_agreement_line(source, agreement) for source, agreement in self.agreement.items()]
        return "\n".join(lines + ([f"  written: {self.out}"] if self.out else []))


def grade_file(
    path: str | os.PathLike[str],
    *,
    answers: bool = False,
    out: str | os.PathLike[str] | None = None,
    ks: Sequence[int] | None = None,
    policy: str = "last_box",
    workers: int = 2,
    limit_s: float = LIMIT_S,
    progress: Progress | None = None,
) -> Report:
    """Grade a JSON Lines file.

    Args:
        path: the file. answers: rows are pairs of bare answers instead of responses.
        out: where to write the rows with `verdict`, `extracted` and `reason`, in input order: .jsonl or .parquet.
        ks: the k of pass@k and maj@k; by default the powers of two up to the fewest samples of a problem.
        policy: see `evals.grading.extraction`. workers, limit_s: see `evals.grading.Grader`.
        progress: told (done, all) comparisons.
    Raises:
        ValueError: a bad line (named by number and field), a suffix of `out` that is not known, or an impossible k; all
            before anything is graded.
        OSError: the file cannot be read, or `out` cannot be written.
    """
    path = Path(path)
    rows = _checked(path, read(path), answers)
    target = None if out is None else _target(Path(out))
    columns = _columns(path, rows) if target and target.suffix == ".parquet" else None
    wanted = [] if answers else _ks(rows, ks)
    with Grader(workers=workers, limit_s=limit_s) as grader:
        if answers:
            grades = grader.grade_answers([(_text(row["gold"]), _text(row["prediction"])) for row in rows], progress)
            scores = []
        else:
            triples = [(_text(row["answer"]), row["response"], row.get("finish_reason")) for row in rows]
            grades = grader.grade_responses(triples, policy, progress)
            scores = _scores(rows, grades, grader, wanted)
    if target is not None:
        _write(target, rows, grades, columns)
    samples = None if answers else Counter(str(row["problem_id"]) for row in rows)
    reasons = Counter(grade.reason.split(":")[0] for grade in grades if grade.reason)
    return Report(
        file=str(path),
        rows=len(rows),
        problems=len(samples) if samples else None,
        samples=(min(samples.values()), max(samples.values())) if samples else None,
        verdicts=dict(sorted(Counter(str(grade.verdict) for grade in grades).items())),
        unscored_reasons=dict(reasons),
        scores=scores,
        agreement=_agreements(rows, grades),
        out=None if target is None else str(target),
    )


def read(path: Path) -> list[tuple[int, Row]]:
    """The objects of a JSON Lines file with their line numbers; blank lines are skipped.

    Raises:
        ValueError: a line is not UTF-8 or not a JSON object, or there is none.
    """
    rows: list[tuple[int, Row]] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except (UnicodeDecodeError, json.JSONDecodeError) as error:
                raise ValueError(f"{path}, line {number}: not JSON ({error})") from error
            if not isinstance(row, dict):
                raise ValueError(f"{path}, line {number}: {_short(row)} is not an object {{...}}")
            rows.append((number, row))
    if not rows:
        raise ValueError(f"{path} holds no rows")
    return rows


# ---- checks before grading -----------------------------------------------------------------------------------------


def _checked(path: Path, numbered: list[tuple[int, Row]], answers: bool) -> list[Row]:
    texts = ("gold", "prediction") if answers else ("answer",)
    golds: dict[str, tuple[str, int]] = {}
    for number, row in numbered:
        for field in texts if answers else ("problem_id", "answer", "response"):
            if field not in row:
                raise ValueError(f"{path}, line {number}: no field {field!r}; the line has {', '.join(row) or 'none'}")
        for field in texts:
            _require(path, number, row, field, (str, int, float), "a string or a number")
        if not answers:
            _require(path, number, row, "problem_id", (str, int), "a string or a whole number")
            _require(path, number, row, "response", (str,), "a string")
            gold, first = golds.setdefault(str(row["problem_id"]), (_text(row["answer"]), number))
            if gold != _text(row["answer"]):
                raise ValueError(
                    f"{path}, line {number}: problem_id {row['problem_id']!r} has the answer {_short(row['answer'])}, "
                    f"but line {first} says {_short(gold)}"
                )
        if "finish_reason" in row and row["finish_reason"] is not None:
            _require(path, number, row, "finish_reason", (str,), "a string or null")
        if "expected" in row and not isinstance(row["expected"], bool | None):
            raise ValueError(
                f"{path}, line {number}: expected is {_short(row['expected'])}; expected true, false or null"
            )
    return [row for _, row in numbered]


def _require(path: Path, number: int, row: Row, field: str, kinds: tuple[type, ...], what: str) -> None:
    value = row[field]
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise ValueError(f"{path}, line {number}: {field} is {_short(value)}; expected {what}")


def _target(out: Path) -> Path:
    if out.suffix not in (".jsonl", ".parquet"):
        raise ValueError(f"out is {str(out)!r}; expected a name that ends in .jsonl or .parquet")
    if not out.parent.is_dir():
        raise ValueError(f"out is {str(out)!r}, but there is no folder {str(out.parent)!r}")
    return out


def _columns(path: Path, rows: list[Row]) -> dict[str, Any]:
    """The input as Parquet columns, so that what Parquet cannot hold is found before grading."""
    import pyarrow as pa

    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if name in ("problem_id", "answer", "gold", "prediction") and len(set(map(type, values))) > 1:
            values = [
                None if value is None else _text(value) for value in values
            ]  # 7 beside "7": both are graded as text
        try:
            columns[_kept(name)] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(
                f"{path}: the column {name!r} mixes types, which Parquet cannot hold ({error}); use .jsonl"
            ) from error
    return columns


def _ks(rows: list[Row], ks: Sequence[int] | None) -> list[int]:
    fewest = min(Counter(str(row["problem_id"]) for row in rows).values())
    if ks is None:
        return [k for k in _COMMON_KS if k <= fewest]
    for k in ks:
        if not 1 <= k <= fewest:
            raise ValueError(f"k is {k}; expected 1 to {fewest}, the fewest samples of a problem in the file")
    return list(ks)


# ---- after grading -------------------------------------------------------------------------------------------------


def _scores(rows: list[Row], grades: list[Grade], grader: Grader, ks: list[int]) -> list[Score]:
    import pandas as pd

    from evals.score import score

    by_problem: dict[str, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        by_problem[str(row["problem_id"])].append(index)
    table = []
    for problem, indices in by_problem.items():
        own = [grades[index] for index in indices]
        classes = grader.answer_classes([grade.answer for grade in own], own)
        for sample, (grade, answer_class) in enumerate(zip(own, classes, strict=True)):
            table.append((problem, sample, str(grade.verdict), answer_class, grade.boxed))
    frame = pd.DataFrame(table, columns=["problem_id", "sample", "verdict", "answer_class", "boxed"])
    return score(frame.astype({"answer_class": "Int64"}), ks=ks)


def _agreements(rows: list[Row], grades: list[Grade]) -> dict[str, Agreement]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row, grade in zip(rows, grades, strict=True):
        if row.get("expected") is None:
            continue
        if grade.verdict is Verdict.UNSCORED:
            kind = "unscored"
        else:
            kind = f"{str(row['expected']).lower()}_{'accepted' if grade.verdict is Verdict.CORRECT else 'refused'}"
        for source in {"all", str(row.get("source") or "all")}:
            counts[source][kind] += 1
    if len(counts) == 2:  # one source: the same figures twice
        counts.pop("all")
    fields = Agreement.__dataclass_fields__
    return {source: Agreement(**{field: counts[source][field] for field in fields}) for source in sorted(counts)}


def _write(target: Path, rows: list[Row], grades: list[Grade], columns: dict[str, Any] | None) -> None:
    """Write beside the target and rename, so that nobody sees half a file."""
    ours = [(str(grade.verdict), grade.answer, grade.reason) for grade in grades]
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        if columns is None:
            with part.open("w", encoding="utf-8") as file:
                for row, own in zip(rows, ours, strict=True):
                    kept = {_kept(name): value for name, value in row.items()}
                    file.write(json.dumps(kept | dict(zip(_OURS, own, strict=True)), ensure_ascii=False) + "\n")
        else:
            import pyarrow as pa
            import pyarrow.parquet as pq

            own_columns = {
                name: pa.array(values, pa.string()) for name, values in zip(_OURS, zip(*ours, strict=True), strict=True)
            }
            pq.write_table(pa.table(columns | own_columns), part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _kept(name: str) -> str:
    return f"{name}_in_file" if name in _OURS else name


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else str(value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _score_line(score: Score) -> str:
    if score.value is None:
        return f"  {score.name:<10} -  ({score.why})"
    interval = f"  {score.interval.mark}[{score.interval.low:.4f}, {score.interval.high:.4f}]" if score.interval else ""
    return f"  {score.name:<10} {score.value:.4f}{interval}" + (
        f"  {score.excluded} problems left out" if score.excluded else ""
    )


def _agreement_line(source: str, found: Agreement) -> str:
    return (
        f"  {source}: {found.rate:.2%} of {found.rows} as expected"
        f" (right: {found.true_accepted} accepted, {found.true_refused} refused;"
        f" wrong: {found.false_refused} refused, {found.false_accepted} accepted; {found.unscored} unscored)"
    )
