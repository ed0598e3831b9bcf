"""The prompts of a base model at hand, and where its responses end, for the plan. Reads its tokenizer, no weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evals.data import prompts
from evals.data.prompts import Prompt
from evals.errors import UsageError
from evals.sampling.engines.encode import load_tokenizer, model_stop_tokens
from harness.command.base_models import PROBLEM, prompts_of
from harness.spec.job import Job

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

RESPONSE = "3"  # a response, to see what the chat template writes after one


@dataclass(frozen=True)
class Question:
    """A prompt as the model reads it, with an example problem. `uses`: training, and benchmarks."""

    prompt: Prompt
    uses: tuple[str, ...]
    text: str

    def as_dict(self) -> dict[str, object]:
        prompt = self.prompt
        how = {"prompt": prompt.name, "for": list(self.uses), "chat": prompt.chat, "text": self.text}
        return {**how, "stop": list(prompt.stop), "policy": prompt.policy, "source": prompt.source}


@dataclass(frozen=True)
class ModelPrompts:
    """How one base model is asked.

    Args:
        ends: its end tokens, with their numbers. notes: where it is not asked as it was trained.
    """

    base_model: str
    ends: Mapping[str, int]
    questions: tuple[Question, ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        prompts = [question.as_dict() for question in self.questions]
        return {"base_model": self.base_model, "ends": dict(self.ends), "prompts": prompts, "notes": list(self.notes)}


def model_prompts(jobs: Iterable[Job]) -> list[ModelPrompts]:
    """One for each base model that is a folder here. Other models are not read."""
    uses: dict[str, dict[Prompt, dict[str, None]]] = {}
    for job in jobs:
        if Path(job.base_model.value).is_dir():
            uses_by_prompt = uses.setdefault(job.base_model.value, {})
            for use, prompt in prompts_of(job):
                uses_by_prompt.setdefault(prompt, {})[use] = None
    return [_of_model(base, by_prompt) for base, by_prompt in uses.items()]


def _of_model(base: str, by_prompt: Mapping[Prompt, Mapping[str, None]]) -> ModelPrompts:
    numbers: dict[str, int] = {}
    questions: list[Question] = []
    notes: dict[str, None] = {}
    try:
        tokenizer = load_tokenizer(base)
        ends = model_stop_tokens(base, tokenizer)
        numbers = {tokenizer.convert_ids_to_tokens(number): number for number in ends}
        for prompt, uses in by_prompt.items():
            text = prompts.render(prompt, PROBLEM, tokenizer)
            questions.append(Question(prompt, tuple(uses), text))
            if prompt.chat:
                notes |= dict.fromkeys(_end_of_turn(prompt, text, tokenizer, ends))
            elif tokenizer.chat_template:
                notes[f"prompt {prompt.name} is plain text: the model's chat template is not used"] = None
    except UsageError as error:  # also an error of the check of a machine, if this one is to run it
        notes[str(error)] = None
    return ModelPrompts(base, numbers, tuple(questions), tuple(notes))


def _end_of_turn(prompt: Prompt, text: str, tokenizer: PreTrainedTokenizerBase, ends: list[int]) -> list[str]:
    """A note if the chat template ends a response with a token that is none of the model's end tokens."""
    conversation = [*prompts.messages(prompt, PROBLEM), {"role": "assistant", "content": RESPONSE}]
    if prompt.prefix:  # its last message already is the beginning of the response
        return []
    whole: str = tokenizer.apply_chat_template(conversation, tokenize=False, **(prompt.variables or {}))
    _, marker, after = whole.removeprefix(text).partition(RESPONSE)
    first = tokenizer.encode(after, add_special_tokens=False)[:1] if marker else []
    if not first or first[0] in ends:
        return []
    end = tokenizer.convert_ids_to_tokens(first[0])
    return [
        f"the chat template ends a response with {end!r}, which is none of the model's end tokens: it may write on to "
        "the limit (add it to eos_token_id of generation_config.json, if it was trained to end there)"
    ]


def as_lines(models: Iterable[ModelPrompts]) -> list[str]:
    """As text, a few lines for each model."""
    lines = []
    for model in models:
        ends = ", ".join(f"{token} ({number})" for token, number in model.ends.items())
        lines += ["", f"what {model.base_model} reads, with an example problem" + (f"; it ends at {ends}" * bool(ends))]
        for question in model.questions:
            prompt = question.prompt
            how = "its chat template" if prompt.chat else "plain text"
            lines += [
                f"  {prompt.name} ({', '.join(question.uses)}), {how}: {question.text!r}",
                f"    the answer is read by {prompt.policy}; prompt: {prompt.source}",
            ]
            if prompt.stop:
                lines.append(f"    a response ends at {', '.join(map(repr, prompt.stop))}")
        lines += [f"  note: {note}" for note in model.notes]
    return lines
