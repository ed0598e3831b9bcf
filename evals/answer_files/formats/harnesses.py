"""Files of evaluation harnesses: lm-eval, inspect, Every Eval Ever, OpenCompass, evalscope."""

from __future__ import annotations

from dataclasses import replace

from evals.answer_files.formats.programs import is_program, test_of
from evals.answer_files.formats.schema import About, Format, Gold, Id, Part, Texts
from evals.answer_files.sample import Sample
from evals.answer_files.values import as_str, golds_of, problem_text, replied, response_of, text_of
from evals.errors import UsageError
from evals.paths import reach


class LmEval(Format):
    """A doc under one filter."""

    about = About("lm_eval", "lm-evaluation-harness", "`samples_*.jsonl`", "each metric under each filter", golds="any")

    doc_id: Id
    target: object
    resps: list[object]
    doc: object = None
    filter: str | None = None
    filtered_resps: list[object] | None = None
    metrics: list[str] | None = None

    def samples(self) -> list[Sample]:
        responses = [r for group in self.resps for r in (group if isinstance(group, list) else [group])]
        if any(isinstance(response, list) for response in responses):
            raise UsageError(
                "resps holds log-likelihoods of choices and no response, so nothing can be graded. `rlvr audit` takes "
                "its verdicts: columns=id:doc_id,correct:acc"
            )
        doc = self.doc if isinstance(self.doc, dict) else {}
        golds = golds_of(test_of(doc) if is_program(doc) else self.target)
        base = Sample(str(self.doc_id), golds, problem=as_str(reach(doc, "problem|question")))
        replies = [replied(response_of(response)) for response in responses]
        samples = [replace(base, response=text, finish_reason=reason) for text, reason in replies]
        if len(samples) != 1:  # a metric of all samples is not a verdict on one
            return samples
        names = [name for name in self.metrics or ("exact_match",) if name in self.more]
        labels = {f"{name},{self.filter or 'none'}": self.more[name] for name in names}
        extracted = (self.filtered_resps or [None])[0]
        answers = dict.fromkeys(labels, extracted) if isinstance(extracted, str) else {}
        return [replace(samples[0], labels=labels, answers=answers)]


class InspectMessage(Part):
    content: str | list[object] | None = None


class InspectChoice(Part):
    message: InspectMessage
    stop_reason: str | None = None


class InspectUsage(Part):
    output_tokens: int | None = None


class InspectOutput(Part):
    choices: list[InspectChoice]
    completion: str | None = None
    usage: InspectUsage | None = None


class InspectScore(Part):
    value: object = None
    answer: str | None = None


class Inspect(Format):
    """A sample of a log."""

    about = About("inspect", "inspect_ai", "logs, `.eval` or `.json`", "each scorer", golds="any")

    id: Id
    target: str | list[str]
    output: InspectOutput
    input: str | list[object] | None = None
    scores: dict[str, InspectScore] | None = None
    error: object = None

    def samples(self) -> list[Sample]:
        choice = self.output.choices[0] if self.output.choices else None
        reply = self.output.completion
        if reply is None and choice is not None and choice.message.content is not None:
            reply = text_of(choice.message.content)
        stop = None if choice is None else choice.stop_reason
        error = error_of(self.error)
        reason = {"stop": "stop", "max_tokens": "length", "content_filter": "content_filter"}.get(str(stop))
        text, reason = replied("" if error and reply is None else reply, reason)
        scores = self.scores or {}
        question = self.input if isinstance(self.input, str) else text_of((self.input or [])[-1:])
        answers = [score.answer for score in scores.values()]
        return [
            Sample(
                str(self.id),
                golds_of(self.target),
                text,
                problem=question,
                finish_reason=reason,
                sampling_error=error,
                labels={name: score.value for name, score in scores.items()},
                their_answer=answers[0] if len(answers) == 1 else None,
                tokens=self.output.usage.output_tokens if self.output.usage else None,
            )
        ]


def error_of(error: object) -> str | None:
    """The text of an error of a sample."""
    return None if error is None else f"error: {error.get('message', error) if isinstance(error, dict) else error}"


class EeeInput(Part):
    raw: object
    reference: Gold


class EeeOutput(Part):
    raw: list[str | None]


class EeeEvaluation(Part):
    is_correct: object = None


class EveryEvalEver(Format):
    """An instance of one turn and one response."""

    about = About("every_eval_ever", "Every Eval Ever", "instances of one turn, JSON Lines", "`is_correct`")

    sample_id: Id
    input: EeeInput
    output: EeeOutput
    evaluation: EeeEvaluation
    answer_attribution: object = None
    token_usage: object = None
    evaluation_name: str | None = None

    def samples(self) -> list[Sample]:
        if len(self.output.raw) != 1:
            raise UsageError(
                f"output.raw: expected one response, which is_correct is about, got {len(self.output.raw)}"
            )
        text, reason = replied(self.output.raw[0])
        tokens = reach(self.token_usage, "output_tokens")
        return [
            Sample(
                str(self.sample_id),
                golds_of(self.input.reference),
                text,
                problem=problem_text(self.input.raw),
                benchmark=self.evaluation_name,
                finish_reason=reason,
                labels={"evaluation.is_correct": self.evaluation.is_correct},
                their_answer=as_str(reach(self.answer_attribution, "0.extracted_value")),
                tokens=tokens if isinstance(tokens, int) else None,
            )
        ]


class OpenCompass(Format):
    """A prediction."""

    about = About("opencompass", "OpenCompass", "`predictions/*.json`", "`correct`", golds="any")

    origin_prompt: str | list[object]
    prediction: Texts | None
    gold: Gold = None
    idx: Id | None = None
    problem_id: Id | None = None  # the key of an object of id -> row
    correct: object = None

    def samples(self) -> list[Sample]:
        return _opencompass(
            self.prediction, self.gold, _first(self.idx, self.problem_id), self.origin_prompt, self.correct, None
        )


class OpenCompassDetails(Format):
    """A prediction with its verdict."""

    about = About("opencompass_details", "OpenCompass", "`results/*.json` with details", "`correct`", golds="any")

    origin_prediction: Texts | None
    predictions: object
    references: Gold
    prompt: str | list[object] | None = None
    idx: Id | None = None
    problem_id: Id | None = None  # the key of an object of id -> row
    correct: object = None

    def samples(self) -> list[Sample]:
        return _opencompass(
            self.origin_prediction,
            self.references,
            _first(self.idx, self.problem_id),
            self.prompt,
            self.correct,
            as_str(self.predictions),
        )


def _first(*ids: Id | None) -> Id | None:
    return next((identifier for identifier in ids if identifier is not None), None)


def _opencompass(
    texts: Texts | None, gold: Gold, idx: Id | None, prompt: object, correct: object, extracted: str | None
) -> list[Sample]:
    verdict = correct[0] if isinstance(correct, list) and len(correct) == 1 else correct
    base = Sample(
        "" if idx is None else str(idx),
        golds_of(gold),
        problem=None if prompt is None else text_of(prompt),
        labels={} if verdict is None else {"correct": verdict},
        their_answer=extracted,
    )
    replies = [replied(text) for text in (texts if isinstance(texts, list) else [texts])]
    return [replace(base, response=text, finish_reason=reason) for text, reason in replies]


class EvalscopeScore(Part):
    value: dict[str, float | bool]
    extracted_prediction: str | None = None
    prediction: str | None


class EvalscopeSample(Part):
    score: EvalscopeScore
    group_id: Id | None = None


class Evalscope(Format):
    """A review. The repeats of a problem have one `group_id`."""

    about = About("evalscope", "evalscope", "`reviews/*/*.jsonl`", "each score")

    index: Id
    input: str | list[object]
    target: Gold
    sample_score: EvalscopeSample

    def samples(self) -> list[Sample]:
        score, group = self.sample_score.score, self.sample_score.group_id
        text, reason = replied(score.prediction)
        return [
            Sample(
                str(self.index if group is None else group),
                golds_of(self.target),
                text,
                problem=text_of(self.input),
                finish_reason=reason,
                labels=dict(score.value),
                their_answer=score.extracted_prediction,
            )
        ]


class EvalscopeReview(Part):
    gold: Gold
    pred: object
    result: object


class EvalscopeChoice(Part):
    message: InspectMessage
    review: EvalscopeReview


class EvalscopeBefore(Format):
    """A review with a response in each choice."""

    about = About("evalscope_before", "evalscope before version 1.0", "`reviews/*/*.jsonl`", "`result`")

    choices: list[EvalscopeChoice]
    index: Id | None = None
    raw_input: object = None

    def samples(self) -> list[Sample]:
        problem = as_str(reach(self.raw_input, "problem|question"))
        samples = []
        for choice in self.choices:
            content = choice.message.content
            text, reason = replied(None if content is None else text_of(content))
            samples.append(
                Sample(
                    "" if self.index is None else str(self.index),
                    golds_of(choice.review.gold),
                    text,
                    problem=problem,
                    finish_reason=reason,
                    labels={"result": choice.review.result},
                    their_answer=as_str(choice.review.pred),
                )
            )
        return samples
