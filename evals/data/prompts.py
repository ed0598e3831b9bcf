"""Prompts: how a problem is presented to a model, and the expected form of the answer.

A prompt is part of a paper's measurement, like its temperature, so each has a name, a source, and the rule that
extracts its answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.code_execution.programs import POLICIES as PROGRAMS
from evals.data.benchmarks import LETTERS, Problem, task
from evals.data.rows import read_rows
from evals.errors import UsageError
from evals.grading.extraction import POLICIES
from evals.suggest import expected

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

WRITTEN = "boxed_suffix"  # for benchmarks that name no prompt


@dataclass(frozen=True)
class Prompt:
    """A template. `{problem}` in `user` is replaced by the problem (and its choices).

    `chat` prompts go through the model's own chat template, with `system` as the system message where there is one
    (None leaves it to the chat template's default). Others are given to the model verbatim. `prefix` is how every
    response begins: it is given with the prompt, and is no part of the response. `policy` names the extraction rule
    (`evals.grading.extraction`, for code `evals.code_execution.programs`). `stop` are texts that end a response and are
    no part of it, in evaluations and in trainings. A protocol may state its own.

    `examples` are (problem, response) pairs that stand before the problem in the same template. A protocol may replace
    them, and add `variables` of the model's chat template.
    """

    name: str
    user: str
    policy: str
    source: str
    system: str | None = None
    chat: bool = True
    prefix: str = ""
    stop: tuple[str, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    variables: Mapping[str, object] | None = None
    own_system: bool = False  # whether a protocol has replaced the system message

    @property
    def asks_for(self) -> str:
        """The kind of answer: a program, a letter, or a written one (in a box, after `####`, on an answer line): all
        of the last kind are read by the policy that goes with the prompt."""
        return kind(self.policy)


def kind(policy: str) -> str:
    """The kind of answer that an extraction policy reads."""
    return "a program" if policy in PROGRAMS else "a letter" if policy == "letter" else "a written answer"


def of_benchmark(benchmark: str) -> Prompt:
    """A benchmark's own prompt: that of its task file, else `WRITTEN`.

    Raises:
        UsageError: no such benchmark.
    """
    return PROMPTS[task(benchmark)["metadata"].get("prompt", WRITTEN)]


def get(name: str) -> Prompt:
    """The prompt of that name, or in that YAML file (`read`).

    Raises:
        UsageError: there is none (the nearest name is given).
    """
    if isinstance(name, str) and name.endswith((".yaml", ".yml")):
        return read(name)
    if not isinstance(name, str) or name not in PROMPTS:
        raise UsageError(f"prompt: got {name!r}. {expected(name, PROMPTS)}")
    return PROMPTS[name]


def read(path: str | Path) -> Prompt:
    """A prompt of your own from a YAML file.

        user: "{problem}\n\nAnswer with a fraction in \\boxed{}."
        system: You are careful.     # optional
        chat: true                   # through the model's chat template (default), or as it stands
        policy: boxed_last           # how its answers are extracted (default)
        prefix: "<think>\\n"          # how every response begins (optional)
        stop: ["\\n\\n"]               # texts that end a response (optional)
        examples:                     # few-shot examples, which stand before the problem (optional)
          - {problem: "1/2 + 1/2", response: "\\\\boxed{1}"}

    Raises:
        UsageError: no such file, no YAML mapping, an unknown field, or a value that does not fit.
    """
    return _prompt(str(path), _yaml(Path(path)), f"yours, in {Path(path).name}")


def _yaml(path: Path) -> Any:
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"prompt={path}: cannot be read ({error})") from error


def _prompt(name: str, values: object, source: str = "") -> Prompt:
    if not isinstance(values, dict):
        raise UsageError(f"prompt={name}: expected a mapping of fields, got {type(values).__name__}")
    kinds = {"user": str, "system": str, "chat": bool, "policy": str, "source": str, "prefix": str}
    kinds |= {"stop": list, "examples": list}
    for key, value in values.items():
        if key not in kinds:
            raise UsageError(f"prompt={name}: no field {key!r}. {expected(str(key), kinds)}")
        if not isinstance(value, kinds[key]):
            raise UsageError(f"prompt={name}: {key}: expected {kinds[key].__name__}, got {type(value).__name__}")
    if "{problem}" not in values.get("user", ""):
        raise UsageError(f"prompt={name}: user: expected a text with {{problem}} in it, got {values.get('user')!r}")
    examples = values.get("examples", [])
    for number, row in enumerate(examples, 1):
        if not (
            isinstance(row, dict) and row.keys() == {"problem", "response"} and {*map(type, row.values())} == {str}
        ):
            raise UsageError(f"prompt={name}: examples, number {number}: expected problem and response, got {row!r}")
    stop = tuple(values.get("stop", ()))
    if not all(isinstance(text, str) and text for text in stop):
        raise UsageError(f"prompt={name}: stop lists {list(stop)}. Each entry must be a text of one character or more")
    policies = (*POLICIES, *PROGRAMS)
    if (policy := values.get("policy", "boxed_last")) not in policies:
        raise UsageError(f"prompt={name}: policy: no policy {policy!r}. {expected(policy, policies)}")
    pairs = tuple((row["problem"], row["response"]) for row in examples)
    return Prompt(name=name, **{"policy": "boxed_last", "source": source, **values, "stop": stop, "examples": pairs})


def with_parts(
    prompt: Prompt,
    system: str | None = None,
    examples: str | Path | None = None,
    variables: Mapping[str, object] | None = None,
) -> Prompt:
    """The prompt with a protocol's own parts. None leaves each as it is.

    Args:
        system: the system message, or "" for none. examples: a file, as `read_examples`. variables: of the chat
            template.
    Raises:
        UsageError: a plain prompt has no system message and no chat template, or as `read_examples`.
    """
    for name, value in (("system", system), ("chat_template_kwargs", variables)):
        if value is not None and not prompt.chat:
            raise UsageError(f"{name}={value!r}: prompt {prompt.name!r} is plain text, expected one with chat: true")
    if system is not None:
        prompt = replace(prompt, system=system or None, own_system=True)
    if examples is not None:
        prompt = replace(prompt, examples=read_examples(Path(examples)))
    return prompt if variables is None else replace(prompt, variables=dict(variables))


def read_examples(path: Path) -> tuple[tuple[str, str], ...]:
    """The few-shot examples of a file of rows (`evals.data.rows`): problem, and response, solution or answer.

    Raises:
        UsageError: it cannot be read, has no row, or a row lacks a text.
    """
    pairs = []
    for number, row in enumerate(read_rows(path), 1):
        response = next((row[key] for key in ("response", "solution", "answer") if row.get(key) is not None), None)
        if row.get("problem") is None or response is None:
            raise UsageError(
                f"examples={path}, row {number}: expected problem, and response, solution or answer. It has "
                f"{', '.join(map(str, row))}"
            )
        pairs.append((str(row["problem"]), str(response)))
    if not pairs:
        raise UsageError(f"examples={path}: expected one row or more, got none")
    return tuple(pairs)


def parts(prompt: Prompt) -> dict[str, object]:
    """The parts that a protocol may change in the prompt of its name (but not the template's variables), as a manifest
    has them: its own system message, and all examples. {} for none."""
    changed: dict[str, object] = {"system": prompt.system} if prompt.own_system else {}
    return changed | ({"examples": [list(pair) for pair in prompt.examples]} if prompt.examples else {})


def recorded(identity: Mapping[str, Any], decoding: Mapping[str, Any]) -> Prompt:
    """The prompt that a manifest describes by its `prompt` and `decoding`."""
    prompt = get(identity["name"])
    if "system" in identity:
        prompt = replace(prompt, system=identity["system"], own_system=True)
    examples = tuple((problem, response) for problem, response in identity.get("examples", ()))
    return replace(prompt, examples=examples, variables=decoding.get("chat_template_kwargs"))


PROMPTS = {name: _prompt(name, values) for name, values in _yaml(Path(__file__).with_suffix(".yaml")).items()}


def question(problem: Problem) -> str:
    """The problem's text, followed by its lettered choices, if any."""
    if problem.choices is None:
        return problem.problem.strip()
    offered = "\n".join(f"{letter}) {choice}" for letter, choice in zip(LETTERS, problem.choices, strict=False))
    return f"{problem.problem}\n\n{offered}"


def messages(prompt: Prompt, problem: Problem) -> list[dict[str, str]]:
    """The conversation that a chat prompt starts. A prefix of the response is its last message."""
    prefix = [{"role": "assistant", "content": prompt.prefix}] if prompt.prefix else []
    return [*_turns(prompt, problem), *prefix]


def _turns(prompt: Prompt, problem: Problem) -> list[dict[str, str]]:
    """The conversation without the prefix: the system message, the examples and the problem."""
    turns = [("system", prompt.system)] if prompt.system is not None else []
    for example_problem, response in prompt.examples:
        turns += [("user", prompt.user.replace("{problem}", example_problem)), ("assistant", response)]
    turns.append(("user", prompt.user.replace("{problem}", question(problem))))
    return [{"role": role, "content": content} for role, content in turns]


def _continued(text: str, response: str) -> str:
    """A response after the text that asks for it, with a blank between two words."""
    return f"{text}{response}" if text[-1:].isspace() or response[:1].isspace() else f"{text} {response}"


def render(prompt: Prompt, problem: Problem, tokenizer: PreTrainedTokenizerBase) -> str:
    """The exact text that the model continues.

    Raises:
        UsageError: a chat prompt, but the tokenizer has no chat template.
    """
    if not prompt.chat:
        before = [
            _continued(prompt.user.replace("{problem}", example), response) for example, response in prompt.examples
        ]
        return "\n\n".join([*before, prompt.user.replace("{problem}", question(problem))]) + prompt.prefix
    if not tokenizer.chat_template:
        raise UsageError(
            f"prompt {prompt.name!r} is a chat prompt, but the model's tokenizer has no chat template. "
            f"Expected one, or a plain prompt ({', '.join(p.name for p in PROMPTS.values() if not p.chat)})"
        )
    from jinja2 import TemplateError

    turns = _turns(prompt, problem)
    try:
        text: str = tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True, **(prompt.variables or {})
        )
    except TemplateError as error:
        roles = ", ".join(message["role"] for message in turns)
        raise UsageError(
            f"prompt {prompt.name!r}: the chat template of {tokenizer.name_or_path!r} fails on a conversation of "
            f"{roles} ({error}). Expected another prompt, such as plain, or a template that takes these roles"
        ) from error
    return text + prompt.prefix
