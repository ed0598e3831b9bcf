"""Prompts: how a problem is presented to a model, and the expected form of the answer.

A prompt is part of a paper's measurement, like its temperature, so each has a name, a source, and the rule that
extracts its answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.code_execution.programs import POLICIES as PROGRAMS
from evals.data.benchmarks import LETTERS, Problem, task
from evals.grading.extraction import POLICIES
from evals.suggest import expected

WRITTEN = "boxed_suffix"  # of benchmarks that name no prompt


@dataclass(frozen=True)
class Prompt:
    """A template; `{problem}` in `user` is replaced by the problem (and its choices).

    `chat` prompts go through the model's own chat template, with `system` as the system message where there is one
    (None leaves it to the chat template's default). Others are given to the model verbatim. `prefix` is how every
    response begins: it is given with the prompt, and is no part of the response. `policy` names the extraction rule
    (`evals.grading.extraction`, for code `evals.code_execution.programs`).
    """

    name: str
    user: str
    policy: str
    source: str
    system: str | None = None
    chat: bool = True
    prefix: str = ""

    @property
    def asks_for(self) -> str:
        """The kind of answer: a program, a letter, or a written one (in a box, after `####`, on an answer line): all
        of the last kind are read by the policy that goes with the prompt."""
        return kind(self.policy)


def kind(policy: str) -> str:
    """The kind of answer that an extraction policy reads."""
    return "a program" if policy in PROGRAMS else "a letter" if policy == "letter" else "a written answer"


def of(benchmark: str) -> Prompt:
    """A benchmark's own prompt: that of its task file, else `WRITTEN`.

    Raises:
        ValueError: no such benchmark.
    """
    return PROMPTS[task(benchmark)["metadata"].get("prompt", WRITTEN)]


def get(name: str) -> Prompt:
    """The prompt of that name, or in that YAML file (`read`).

    Raises:
        ValueError: there is none (the nearest name is given).
    """
    if isinstance(name, str) and name.endswith((".yaml", ".yml")):
        return read(name)
    if not isinstance(name, str) or name not in PROMPTS:
        raise ValueError(f"prompt: got {name!r}, {expected(name, PROMPTS)}")
    return PROMPTS[name]


def read(path: str | Path) -> Prompt:
    """A prompt of your own from a YAML file.

        user: "{problem}\n\nAnswer with a fraction in \\boxed{}."
        system: You are careful.     # optional
        chat: true                   # through the model's chat template (default), or as it stands
        policy: boxed_last           # how its answers are extracted (default)
        prefix: "<think>\\n"          # how every response begins (optional)

    Raises:
        ValueError: no such file, no YAML mapping, an unknown field, or a value that does not fit.
    """
    return _prompt(str(path), _yaml(Path(path)), f"yours, in {Path(path).name}")


def _yaml(path: Path) -> Any:
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"prompt={path}: cannot be read ({error})") from error


def _prompt(name: str, values: Any, source: str = "") -> Prompt:
    if not isinstance(values, dict):
        raise ValueError(f"prompt={name}: expected a mapping of fields, got {type(values).__name__}")
    kinds = {"user": str, "system": str, "chat": bool, "policy": str, "source": str, "prefix": str}
    for key, value in values.items():
        if key not in kinds:
            raise ValueError(f"prompt={name}: no field {key!r}; {expected(str(key), kinds)}")
        if not isinstance(value, kinds[key]):
            raise ValueError(f"prompt={name}: {key}: expected {kinds[key].__name__}, got {type(value).__name__}")
    if "{problem}" not in values.get("user", ""):
        raise ValueError(f"prompt={name}: user: expected a text with {{problem}} in it, got {values.get('user')!r}")
    policies = (*POLICIES, *PROGRAMS)
    if (policy := values.get("policy", "boxed_last")) not in policies:
        raise ValueError(f"prompt={name}: policy: no policy {policy!r}; {expected(policy, policies)}")
    return Prompt(name=name, **{"policy": "boxed_last", "source": source, **values})


PROMPTS = {name: _prompt(name, values) for name, values in _yaml(Path(__file__).with_suffix(".yaml")).items()}


def question(problem: Problem) -> str:
    """The problem's text, followed by its lettered choices, if any."""
    if problem.choices is None:
        return problem.problem.strip()
    offered = "\n".join(f"{letter}) {choice}" for letter, choice in zip(LETTERS, problem.choices, strict=False))
    return f"{problem.problem}\n\n{offered}"


def messages(prompt: Prompt, problem: Problem) -> list[dict[str, str]]:
    """The conversation that a chat prompt starts; a prefix of the response is its last message."""
    system = [{"role": "system", "content": prompt.system}] if prompt.system is not None else []
    prefix = [{"role": "assistant", "content": prompt.prefix}] if prompt.prefix else []
    return [*system, {"role": "user", "content": prompt.user.replace("{problem}", question(problem))}, *prefix]


def render(prompt: Prompt, problem: Problem, tokenizer: Any) -> str:
    """The exact text that the model continues.

    Raises:
        ValueError: a chat prompt, but the tokenizer has no chat template.
    """
    if not prompt.chat:
        return prompt.user.replace("{problem}", question(problem)) + prompt.prefix
    if not tokenizer.chat_template:
        raise ValueError(
            f"prompt {prompt.name!r} is a chat prompt, but the model's tokenizer has no chat template; "
            f"expected one, or a plain prompt ({', '.join(p.name for p in PROMPTS.values() if not p.chat)})"
        )
    from jinja2 import TemplateError

    asked = [message for message in messages(prompt, problem) if message["role"] != "assistant"]
    try:
        text: str = tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True)
    except TemplateError as error:
        roles = ", ".join(message["role"] for message in asked)
        raise ValueError(
            f"prompt {prompt.name!r}: the chat template of {tokenizer.name_or_path!r} fails on a conversation of "
            f"{roles} ({error}); expected another prompt, such as plain, or a template that takes these roles"
        ) from error
    return text + prompt.prefix
