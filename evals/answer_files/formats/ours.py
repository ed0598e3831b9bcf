"""Our own rows: verdicts of this project, and rows with a gold and a response, which anyone can write."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import field_validator

from evals.answer_files.formats.schema import About, Format, Gold, Id
from evals.answer_files.sample import Sample
from evals.answer_files.values import golds_of, responses_of, text_of
from evals.errors import UsageError
from evals.grading.verdicts import Verdict

ENDED = ("stop", "length", None)  # finish reasons of an evaluation's responses that can be graded


class Verdicts(Format):
    """A row of an evaluation's verdicts, or of what `rlvr grade out=` wrote."""

    about = About(
        "verdicts",
        "rlvr",
        "the folder of an evaluation, `verdicts.parquet`, what `rlvr grade out=` wrote",
        "the verdict that we gave when the file was written",
        golds="any",
    )

    problem_id: Id
    gold: Gold
    response: str | None
    verdict: str
    golds: list[str] | None = None
    problem: object = None
    benchmark: object = None
    finish_reason: str | None = None
    sampling_error: str | None = None
    reason: str | None = None
    tokens: object = None
    graded_by: str | None = None
    thought_begun: bool | None = None

    def samples(self) -> list[Sample]:
        known = [verdict.value for verdict in Verdict]
        if self.verdict not in known:
            raise UsageError(f"verdict is {self.verdict!r}. Expected one of {', '.join(known)}")
        answered = self.more.get("extracted" if "extracted" in self.more else "answer")
        return [
            Sample(
                str(self.problem_id),
                tuple(self.golds or ()) or golds_of(self.gold),
                self.response or "",
                problem=text_of(self.problem) if self.problem else None,
                benchmark=self.benchmark if isinstance(self.benchmark, str) and self.benchmark else None,
                finish_reason=self.finish_reason,
                sampling_error=self._error(),
                labels={"verdict": None if self.verdict == Verdict.UNSCORED else self.verdict == Verdict.CORRECT},
                their_answer=answered if isinstance(answered, str) else None,
                tokens=self.tokens if isinstance(self.tokens, int) else None,
                graded_by=self.graded_by,
                thought_begun=self.thought_begun,
            )
        ]

    def _error(self) -> str | None:
        if self.sampling_error:  # written by `rlvr grade out=`
            return self.sampling_error
        if "extracted" not in self.more and self.finish_reason not in ENDED:  # an evaluation: a server withheld it
            return self.reason or f"server: no response ({self.finish_reason})"
        return None


class Rows(Format):
    """A row by our own names. `evals.answer_files.columns` reads it."""

    about = About(
        "rows",
        "anyone",
        "JSON Lines, JSON, CSV, Parquet with `gold` (or `answer`) and `response`; `problem_id` where a problem has "
        "several samples",
        "`expected`",
    )

    response: object

    @classmethod
    def named_like(cls, row: Mapping[str, object]) -> bool:
        return "response" in row and bool({"gold", "answer"} & row.keys())

    @field_validator("response")
    @classmethod
    def _readable(cls, value: object) -> object:
        responses_of(value)
        return value


class Columns(Rows):
    """A row of a table whose columns the user names."""

    about = About("columns", "", "")
