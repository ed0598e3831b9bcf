"""Files of trainers and their environments: veRL, TRL, ms-swift, oat, SkyRL, verifiers, NeMo-Gym, OpenAI responses."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field, field_validator

from evals.answer_files.formats.harnesses import error_of
from evals.answer_files.formats.schema import About, Format, Gold, Id, Number, Part, spread
from evals.answer_files.sample import Sample
from evals.answer_files.values import as_str, golds_of, last_message, output_of, problem_text, replied, response_of
from evals.errors import UsageError
from evals.paths import ABSENT, reach


class Verl(Format):
    """A validation dump. Without ids, equal prompts are one problem."""

    about = About("verl", "veRL", "validation dumps", "`acc` or `score`", wanted=("acc", "score"))

    input: str | list[object]
    output: str | None
    gts: object
    score: object = None
    acc: object = None
    step: int | None = None
    pred: object = None

    def samples(self) -> list[Sample]:
        text, reason = replied(self.output)
        labels = {name: getattr(self, name) for name in self.about.wanted if name in self.model_fields_set}
        return [
            Sample(
                golds=golds_of(self.gts),
                response=text,
                problem=problem_text(self.input),
                finish_reason=reason,
                labels=labels,
                their_answer=as_str(self.pred),
                step=self.step,
            )
        ]


class RewardModel(Part):
    ground_truth: object


class VerlGeneration(Format):
    """A prompt with its responses."""

    about = About("verl_generation", "veRL's `main_generation`", "Parquet with `responses` and `reward_model`")

    prompt: str | list[object]
    reward_model: RewardModel
    responses: list[str | None]

    def samples(self) -> list[Sample]:
        base = Sample(golds=golds_of(self.reward_model.ground_truth), problem=problem_text(self.prompt))
        replies = map(replied, self.responses)
        return [replace(base, response=text, finish_reason=reason) for text, reason in replies]


class Message(Part):
    role: str
    content: object = None


class Trl(Format):
    """A completion. Without ids, equal prompts are one problem. Each column of numbers with a point is a reward."""

    about = About("trl", "TRL", "`completions_*.parquet`", "each reward")

    step: int | float
    prompt: str | list[Message]
    completion: str | list[Message] | None
    answer: object = None

    def samples(self) -> list[Sample]:
        row = self.model_dump()
        text, reason = replied(response_of(row["completion"]))
        rewards = {name: value for name, value in self.more.items() if isinstance(value, float) and name != "advantage"}
        return [
            Sample(
                golds=golds_of(self.answer),
                response=text,
                problem=problem_text(row["prompt"]),
                finish_reason=reason,
                labels=rewards,
                step=int(self.step),
            )
        ]


class Swift(Format):
    """The completions of a step: each column is a list with a value for each of them, the golds too."""

    about = About(
        "ms_swift",
        "ms-swift",
        "`completions.jsonl`; the golds are `solution` or `answer`",
        "each reward",
        columnar=True,
    )

    completion: list[str | None]
    prompt: list[object] | None = None
    messages: list[object] | None = None
    solution: list[object] | None = None
    answer: list[object] | None = None
    step: list[object] | None = None
    gen_step: list[object] | None = None

    @classmethod
    def named_like(cls, row: object) -> bool:
        names = row.keys() if isinstance(row, dict) else set()
        return "completion" in names and bool({"step", "gen_step"} & names) and bool({"prompt", "messages"} & names)

    def samples(self) -> list[Sample]:
        rewards = {
            name: values
            for name, values in self.more.items()
            if isinstance(values, list)
            and all(isinstance(value, int | float) for value in values)
            and name not in _NO_REWARDS
        }
        steps = self.gen_step if self.step is None else self.step
        samples = []
        for sample in spread(
            completion=self.completion,
            prompt=self.messages if self.prompt is None else self.prompt,
            solution=self.answer if self.solution is None else self.solution,
            step=steps,
            **rewards,
        ):
            text, reason = replied(sample["completion"])
            step = sample.get("step")
            samples.append(
                Sample(
                    golds=golds_of(sample.get("solution")),
                    response=text,
                    problem=problem_text(sample.get("prompt")),
                    finish_reason=reason,
                    labels={name: sample[name] for name in rewards},
                    step=step if isinstance(step, str | int) else None,
                )
            )
        return samples


_NO_REWARDS = ("advantages", "entropy", "num_turns", "truncated")


class Oat(Format):
    """A problem with its responses, or one. Without ids, equal prompts are one problem."""

    about = About(
        "oat", "oat", "evaluation results with `input`, `output`, `scores`, `reference`", "`scores`", golds="any"
    )

    input: str | list[object]
    output: list[str | None] | str
    scores: list[object] | Number | bool
    reference: Gold

    def samples(self) -> list[Sample]:
        outputs = self.output if isinstance(self.output, list) else [self.output]
        scores = self.scores if isinstance(self.scores, list) else [self.scores]
        base = Sample(golds=golds_of(self.reference), problem=problem_text(self.input))
        samples = []
        for sample in spread(output=outputs, scores=scores):
            text, reason = replied(sample["output"])
            samples.append(replace(base, response=text, finish_reason=reason, labels={"scores": sample["scores"]}))
        return samples


class SkyRL(Format):
    """A response. Without ids, equal prompts are one problem."""

    about = About("skyrl", "SkyRL", "`dumped_evals/*/*.jsonl`", "`score`")

    input_prompt: str | list[object]
    output_response: str | None
    env_extras: dict[str, object]
    score: Number | list[Number]
    stop_reason: str | None = None
    data_source: str | None = None

    def samples(self) -> list[Sample]:
        gold = reach(self.env_extras, "reward_spec.ground_truth|reward_model.ground_truth")
        ended = self.stop_reason if self.stop_reason in ("stop", "length") else None
        text, reason = replied(self.output_response, ended)
        score = sum(self.score) if isinstance(self.score, list) else self.score  # a reward of each token, or of all
        return [
            Sample(
                golds=() if gold is ABSENT else golds_of(gold),
                response=text,
                problem=problem_text(self.input_prompt),
                benchmark=self.data_source,
                finish_reason=reason,
                labels={"score": score},
            )
        ]


class Verifiers(Format):
    """A rollout. Some environments keep the gold elsewhere, and write an empty one."""

    about = About("verifiers", "verifiers, prime-rl", "`results.jsonl`", "`reward`, each metric", wanted=("reward",))

    example_id: Id
    prompt: str | list[object] | None
    completion: str | list[object] | None
    reward: Number | None
    answer: object = None
    metrics: dict[str, object] | None = None
    is_truncated: bool | None = None
    error: object = None

    def samples(self) -> list[Sample]:
        error = error_of(self.error)
        response = response_of("" if error and self.completion is None else self.completion)
        text, reason = replied(response, "length" if self.is_truncated else None)
        return [
            Sample(
                str(self.example_id),
                golds_of(self.answer),
                text,
                problem=problem_text(self.prompt),
                finish_reason=reason,
                sampling_error=error,
                labels={"reward": self.reward, **(self.metrics or {})},
            )
        ]


class Incomplete(Part):
    reason: str | None = None


class Usage(Part):
    output_tokens: int | None = None


class Response(Part):
    """An OpenAI response: the answer is the text of its last message."""

    output: list[dict[str, object]]
    status: str | None = None
    incomplete_details: Incomplete | None = None
    usage: Usage | None = None

    @field_validator("output")
    @classmethod
    def _items(cls, items: list[dict[str, object]]) -> list[dict[str, object]]:
        if not all(isinstance(item.get("type"), str) for item in items):
            raise ValueError("expected items with a type, such as message")
        return items

    def reply(self) -> tuple[str, str | None]:
        """(text, finish reason). Without a message no response came, or it was cut before it."""
        why = self.incomplete_details.reason if self.incomplete_details else None
        ended = {"max_output_tokens": "length", "content_filter": "content_filter"}.get(str(why))
        ended = ended or ("stop" if self.status == "completed" else None)
        output = output_of(self.output)
        return replied(None if output is None else last_message(output), ended)

    @property
    def tokens(self) -> int | None:
        """How many tokens it has."""
        return self.usage.output_tokens if self.usage else None


class Parameters(Part):
    input: str | list[object]


class NemoGym(Format):
    """A rollout. Those of one task are samples of one problem."""

    about = About(
        "nemo_gym",
        "NeMo-Gym",
        "rollouts, JSON Lines with `responses_create_params` and `response`",
        "`reward`, `library_reward`",
        wanted=("reward",),
    )

    responses_create_params: Parameters
    response: Response
    reward: Number
    expected_answer: Gold = None
    extracted_answer: object = None
    library_reward: Number | None = None
    task: Id | None = Field(default=None, alias="_ng_task_index")

    def samples(self) -> list[Sample]:
        text, reason = self.response.reply()
        library = {} if self.library_reward is None else {"library_reward": self.library_reward}
        return [
            Sample(
                "" if self.task is None else str(self.task),
                golds_of(self.expected_answer),
                text,
                problem=problem_text(self.responses_create_params.input),
                finish_reason=reason,
                labels={"reward": self.reward, **library},
                their_answer=as_str(self.extracted_answer),
                tokens=self.response.tokens,
            )
        ]


class OpenAIResponses(Format, Response):
    """A response with its gold beside it."""

    about = About(
        "openai_responses",
        "OpenAI's Responses",
        "objects whose `output` has a `type: message`; `gold` or `answer` beside it, or `gold=FILE`",
    )

    gold: Gold = None
    answer: Gold = None
    problem_id: Id | None = None
    problem: str | None = None

    @field_validator("output")
    @classmethod
    def _message(cls, items: list[dict[str, object]]) -> list[dict[str, object]]:
        if output_of(items) is None:
            raise ValueError("expected a message among the items")
        return items

    def samples(self) -> list[Sample]:
        if self.gold is not None and self.answer is not None and str(self.gold) != str(self.answer):
            raise UsageError(
                "both gold and answer, and they differ: columns=answer:gold or columns=answer:answer says which"
            )
        text, reason = self.reply()
        return [
            Sample(
                "" if self.problem_id is None else str(self.problem_id),
                golds_of(self.answer if self.gold is None else self.gold),
                text,
                problem=self.problem,
                finish_reason=reason,
                tokens=self.tokens,
            )
        ]
