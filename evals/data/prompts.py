"""Prompts: how a problem is presented to a model, and the expected form of the answer.

A prompt is part of a paper's measurement, like its temperature, so each has a name, a source, and the rule that
extracts its answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.code_execution.programs import POLICIES as PROGRAMS
from evals.data.benchmarks import LETTERS, Problem
from evals.grading.extraction import POLICIES
from evals.suggest import expected


@dataclass(frozen=True)
class Prompt:
    """A template; `{problem}` in `user` is replaced by the problem (and its choices).

    `chat` prompts go through the model's own chat template, with `system` as the system message where there is one
    (None leaves it to the chat template's default). Others are given to the model verbatim. `policy` names the
    extraction rule (`evals.grading.extraction`, for code `evals.code_execution.programs`).
    """

    name: str
    user: str
    policy: str
    source: str
    system: str | None = None
    chat: bool = True


_ALL = (
    Prompt(
        name="plain",
        user="{problem}",
        policy="boxed_last",
        source="ours: the tiny models are taught on bare problems",
    ),
    Prompt(
        name="boxed_suffix",
        user="{problem}\nPlease reason step by step, and put your final answer within \\boxed{}.",
        policy="boxed_last",
        source="arXiv 2506.14758, appendix B (Qwen2.5-Math); the suffix that Qwen's model cards give",
    ),
    Prompt(
        name="boxed_system",
        system="Please reason step by step, and put your final answer within \\boxed{}.",
        user="{problem}",
        policy="boxed_last",
        source="model card of Qwen2.5-Math-7B-Instruct: chain-of-thought prompt, as the system message",
    ),
    Prompt(
        name="dapo",
        user=(
            "Solve the following math problem step by step. The last line of your response should be of the form "
            "Answer: $Answer (without quotes) where $Answer is the answer to the problem.\n\n{problem}\n\n"
            'Remember to put your answer on its own line after "Answer:".'
        ),
        policy="answer_line",
        source="DAPO (arXiv 2503.14476) training data; named in arXiv 2506.14758, appendix B (Qwen2.5-Base)",
    ),
    Prompt(
        name="forking_tokens",
        user=(
            "User:\n{problem}\nPlease reason step by step, and put your final answer within \\boxed{}.\n\nAssistant:\n"
        ),
        policy="boxed_last",
        chat=False,
        source="arXiv 2506.01939, v2 and its code: plain text, no chat template",
    ),
    Prompt(
        name="open_r1",
        system=(
            "A conversation between User and Assistant. The user asks a question, and the Assistant solves it. "
            "The assistant first thinks about the reasoning process in the mind and then provides the user with the "
            "answer. The reasoning process and answer are enclosed within <think> </think> and <answer> </answer> "
            "tags, respectively, i.e., <think> reasoning process here </think><answer> answer here </answer>"
        ),
        user="{problem}",
        policy="boxed_last",
        source="huggingface/open-r1, src/open_r1/grpo.py, SYSTEM_PROMPT (commit 013b054c7e69)",
    ),
    Prompt(
        name="gpqa",
        user=(
            "Answer the following multiple choice question. The last line of your response should be of the following "
            "format: 'Answer: $LETTER' (without quotes) where LETTER is one of ABCD. Think step by step before "
            "answering.\n\n{problem}"
        ),
        policy="letter",
        source="openai/simple-evals, common.py, as used in huggingface/open-r1, src/open_r1/evaluate.py",
    ),
    Prompt(
        name="gsm8k",
        user='{problem} Let\'s think step by step and output the final answer after "####".',
        policy="hashes",
        source="volcengine/verl, examples/data_preprocess/gsm8k.py (commit b178a3cd5), instruction_following",
    ),
    Prompt(
        name="reasoning_from_scratch",
        user=(
            "You are a helpful math assistant.\nAnswer the question and write the final result on a new line as:\n"
            "\\boxed{ANSWER}\n\nQuestion:\n{problem}\n\nAnswer:"
        ),
        policy="boxed_last",
        chat=False,
        source="rasbt/reasoning-from-scratch, reasoning_from_scratch/ch03.py (commit f79c9cd), render_prompt",
    ),
    Prompt(
        name="humaneval",
        user=(
            "Complete the following Python function. Think step by step, then give the whole function, with its "
            "imports, in one ```python code block.\n\n```python\n{problem}\n```"
        ),
        policy="program",
        source="ours: no paper gives the prompt it used",
    ),
)
PROMPTS = {prompt.name: prompt for prompt in _ALL}


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

    Raises:
        ValueError: no such file, no YAML mapping, an unknown field, or a value that does not fit.
    """
    import yaml

    path = Path(path)
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"prompt={path}: cannot be read ({error})") from error
    if not isinstance(values, dict):
        raise ValueError(f"prompt={path}: expected a mapping of fields, got {type(values).__name__}")
    kinds = {"user": str, "system": str, "chat": bool, "policy": str, "source": str}
    for key, value in values.items():
        if key not in kinds:
            raise ValueError(f"prompt={path}: no field {key!r}; {expected(str(key), kinds)}")
        if not isinstance(value, kinds[key]):
            raise ValueError(f"prompt={path}: {key}: expected {kinds[key].__name__}, got {value!r}")
    if "{problem}" not in values.get("user", ""):
        raise ValueError(f"prompt={path}: user: expected a text with {{problem}} in it, got {values.get('user')!r}")
    policies = (*POLICIES, *PROGRAMS)
    if (policy := values.get("policy", "boxed_last")) not in policies:
        raise ValueError(f"prompt={path}: policy: no policy {policy!r}; {expected(policy, policies)}")
    return Prompt(name=str(path), **{"policy": "boxed_last", "source": f"yours, in {path.name}", **values})


def question(problem: Problem) -> str:
    """The problem's text, followed by its lettered choices, if any."""
    if problem.choices is None:
        return problem.problem.strip()
    offered = "\n".join(f"{letter}) {choice}" for letter, choice in zip(LETTERS, problem.choices, strict=False))
    return f"{problem.problem}\n\n{offered}"


def messages(prompt: Prompt, problem: Problem) -> list[dict[str, str]]:
    """The conversation that a chat prompt starts."""
    system = [{"role": "system", "content": prompt.system}] if prompt.system is not None else []
    return [*system, {"role": "user", "content": prompt.user.replace("{problem}", question(problem))}]


def render(prompt: Prompt, problem: Problem, tokenizer: Any) -> str:
    """The exact text that the model continues.

    Raises:
        ValueError: a chat prompt, but the tokenizer has no chat template.
    """
    if not prompt.chat:
        return prompt.user.replace("{problem}", question(problem))
    if not tokenizer.chat_template:
        raise ValueError(
            f"prompt {prompt.name!r} is a chat prompt, but the model's tokenizer has no chat template; "
            f"expected one, or a plain prompt ({', '.join(p.name for p in _ALL if not p.chat)})"
        )
    from jinja2 import TemplateError

    try:
        text: str = tokenizer.apply_chat_template(messages(prompt, problem), tokenize=False, add_generation_prompt=True)
    except TemplateError as error:
        roles = ", ".join(message["role"] for message in messages(prompt, problem))
        raise ValueError(
            f"prompt {prompt.name!r}: the chat template of {tokenizer.name_or_path!r} fails on a conversation of "
            f"{roles} ({error}); expected another prompt, or a template that takes these roles"
        ) from error
    return text
