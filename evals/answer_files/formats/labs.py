"""Files of labs: the evaluation of Qwen2.5-Math, NeMo-Skills, OpenR1, and nested rollouts."""

from __future__ import annotations

import re

from pydantic import model_validator

from evals.answer_files.formats.schema import About, Format, Gold, Id, Number, Part, spread
from evals.answer_files.sample import Sample
from evals.answer_files.values import as_str, golds_of, replied


class QwenMath(Format):
    """A problem with its responses."""

    about = About(
        "qwen_math",
        "Qwen2.5-Math, SimpleRL",
        "JSON Lines with `code`, `gt`, `pred`, `score`",
        "`score`",
        wanted=("score",),
        loses_golds=True,
    )

    idx: Id
    gt: Gold
    code: list[str | None]
    question: str | None = None
    pred: list[object] | None = None
    score: list[object] | None = None

    def samples(self) -> list[Sample]:
        samples = []
        for sample in spread(code=self.code, score=self.score, pred=self.pred):
            text, reason = replied(sample["code"])
            labels = {"score": sample["score"]} if "score" in sample else {}
            extracted = as_str(sample.get("pred"))
            samples.append(
                Sample(
                    str(self.idx),
                    golds_of(self.gt),
                    text,
                    self.question,
                    None,
                    reason,
                    labels=labels,
                    their_answer=extracted,
                )
            )
        return samples


_JUDGED = re.compile(r"judge?ment\W{0,6}(yes|no)\b", re.IGNORECASE)


class NemoSkills(Format):
    """A generation. Without an id, the problem's text is its id."""

    about = About(
        "nemo_skills",
        "NeMo-Skills",
        "`output*.jsonl`",
        "`symbolic_correct`, `is_correct`, `judgement`",
        wanted=("symbolic_correct", "is_correct", "judgement"),
    )

    expected_answer: Gold
    generation: str | None
    id: Id | None = None
    problem: str | None = None
    question: str | None = None
    predicted_answer: object = None
    num_generated_tokens: int | None = None
    finish_reason: str | None = None
    symbolic_correct: object = None
    is_correct: object = None
    judgement: str | None = None

    def samples(self) -> list[Sample]:
        labels = {name: getattr(self, name) for name in ("symbolic_correct", "is_correct") if self._has(name)}
        if self._has("judgement"):
            judged = _JUDGED.findall(self.judgement or "")
            labels["judgement"] = None if not judged else judged[-1].lower() == "yes"
        known = self.finish_reason if self.finish_reason in ("stop", "length") else None
        text, reason = replied(self.generation, known)
        return [
            Sample(
                "" if self.id is None else str(self.id),
                golds_of(self.expected_answer),
                text,
                problem=self.problem or self.question,
                finish_reason=reason,
                labels=labels,
                their_answer=as_str(self.predicted_answer),
                tokens=self.num_generated_tokens,
            )
        ]

    def _has(self, name: str) -> bool:
        return name in self.model_fields_set


class OpenR1(Format):
    """A problem with several generations."""

    about = About(
        "open_r1",
        "OpenR1 and its descendants",
        "tables with `generations`",
        "`correctness_math_verify`",
        wanted=("correctness_math_verify", "correctness_llama"),
    )

    generations: list[str | None]
    correctness_math_verify: list[object] | None
    correctness_llama: list[object] | None = None
    finish_reasons: list[str | None] | None = None
    answer: Gold = None
    uuid: Id | None = None
    problem: str | None = None

    def samples(self) -> list[Sample]:
        samples = []
        of_all = spread(
            generations=self.generations,
            correctness_math_verify=self.correctness_math_verify,
            correctness_llama=self.correctness_llama,
            finish_reasons=self.finish_reasons,
        )
        for generation in of_all:
            ended = generation.get("finish_reasons")
            text, reason = replied(generation["generations"], ended if ended in ("stop", "length") else None)
            samples.append(
                Sample(
                    "" if self.uuid is None else str(self.uuid),
                    golds_of(self.answer),
                    text,
                    problem=self.problem,
                    finish_reason=reason,
                    labels={name: generation[name] for name in self.about.wanted if name in generation},
                )
            )
        return samples


class Rollout(Part):
    """A response under one of four names."""

    text: str | None = None
    response: str | None = None
    output: str | None = None
    completion: str | None = None
    correct: bool | Number | str | None = None

    @model_validator(mode="after")
    def _named(self) -> Rollout:
        if not self.model_fields_set & {"text", "response", "output", "completion"}:
            names = ", ".join([*self.model_fields_set, *self.more])
            raise ValueError(f"expected text (or response) of each, got one with {names}")
        return self

    @property
    def reply(self) -> str | None:
        """Its text."""
        return next((t for t in (self.text, self.response, self.output, self.completion) if t is not None), None)


class Rollouts(Format):
    """A problem with nested rollouts."""

    about = About(
        "rollouts",
        "nested rollouts",
        "JSON Lines with `qid`, `gold`, `rollouts`, each with `text` or `response`",
        "`correct` of each",
    )

    qid: Id
    gold: Gold
    rollouts: list[Rollout]
    question: str | None = None

    def samples(self) -> list[Sample]:
        samples = []
        for rollout in self.rollouts:
            text, reason = replied(rollout.reply)
            labels = {"correct": rollout.correct}
            samples.append(
                Sample(
                    str(self.qid), golds_of(self.gold), text, problem=self.question, finish_reason=reason, labels=labels
                )
            )
        return samples
