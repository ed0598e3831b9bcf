from __future__ import annotations

from typing import Any

import pytest

from evals.code_execution import programs
from evals.data import benchmarks, prompts, protocols
from evals.data.benchmarks import Problem
from evals.data.protocols import PROTOCOLS
from evals.grading.extraction import POLICIES
from evals.provenance import Origin

QUESTION = Problem("1", "What is {x} in $\\frac{1}{2}$?", "2")
CHOICE = Problem("2", "Which?", "B", ("one", "two"))


class Tokenizer:
    """Shows the messages that it was given."""

    chat_template: str | None = "yes"

    def apply_chat_template(
        self, messages: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool
    ) -> str:
        assert not tokenize
        assert add_generation_prompt
        return "".join(f"[{m['role']}]{m['content']}" for m in messages) + "[assistant]"


@pytest.mark.parametrize(
    ("protocol", "benchmark", "expected"),
    [  # the table of measurements in the papers' README: n, temperature, top-p, tokens, k, rows
        ("erpo", "amc23", (16, 1.0, 0.95, 2048, (2, 4, 8, 16), None)),
        ("erpo", "minerva", (16, 1.0, 0.95, 2048, (2, 4, 8, 16), 40)),
        ("trial_and_error_boundary", "aime24", (640, 0.6, 0.95, 8192, None, None)),
        ("trial_and_error_rft", "aime24", (128, 0.6, 0.95, None, None, None)),
        ("trial_and_error_rft", "minerva", (64, 0.6, 0.95, None, None, None)),
        ("trial_and_error", "math500", (8, None, None, None, (8,), None)),
        ("entropy_advantage", "aime25", (None, 0.6, 0.95, 8192, (256,), None)),
        ("entropy_advantage", "amc23_83", (None, 0.6, 0.95, 8192, (128,), None)),
        ("entropy_advantage", "math500", (None, 0.6, 0.95, 8192, (16,), None)),
        ("forking_tokens", "olympiadbench", (16, 1.0, None, None, None, None)),
    ],
)
def test_values_that_the_papers_state(protocol: str, benchmark: str, expected: tuple[Any, ...]) -> None:
    for field, value in zip(("n", "temperature", "top_p", "max_tokens", "ks", "rows"), expected, strict=True):
        if value is not None:
            assert PROTOCOLS[protocol].value(field, benchmark) == value
            assert getattr(PROTOCOLS[protocol], field).origin is not Origin.ASSUMED


def test_override_keeps_what_it_replaced() -> None:
    small = PROTOCOLS["erpo"].override({"n": 4, "ks": [2, 4], "benchmarks": ["amc23"]}, Origin.USER, "command line")
    assert (small.n.value, small.ks.value, small.benchmarks.value) == (4, (2, 4), ("amc23",))
    assert small.n.origin is Origin.USER
    assert small.n.was == PROTOCOLS["erpo"].n
    assert small.temperature == PROTOCOLS["erpo"].temperature
    assert PROTOCOLS["erpo"].n.value == 16


def test_the_ks_follow_n() -> None:
    def cut(protocol: str, n: int) -> Any:
        return PROTOCOLS[protocol].override({"n": n}, Origin.USER, "command line").ks.value

    assert cut("erpo", 8) == (2, 4, 8)
    assert cut("erpo", 1) == (1,)  # none of 2, 4, 8, 16 is left
    assert cut("trial_and_error", 6) == {"default": (6,), "humaneval": (4,)}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n": 0}, r"erpo, benchmark amc23, minerva, aime24, aime25: n=0, expected a whole number >= 1"),
        ({"ks": []}, r"ks=\(\), expected one or more"),
        ({"benchmarks": ["amc23", "amc23"]}, "amc23 more than once"),
        ({"temperature": -1}, r"temperature=-1, expected a number >= 0"),
        ({"temperature": 0}, r"n=16 at temperature 0, expected n=1"),
        ({"top_p": 0}, r"top_p=0, expected a number in \(0, 1\]"),
        ({"max_tokens": 0}, r"max_tokens=0"),
        ({"rows": 0}, r"rows=0"),
        ({"prompt": "boxed_sufix"}, r"prompt: got 'boxed_sufix'. Did you mean 'boxed_suffix'"),
        ({"benchmarks": ["amc24"]}, r"unknown benchmark 'amc24': Did you mean 'amc23'"),
        ({"benchmarks": []}, r"expected a list of one or more names"),
        ({"n": {"amc23": 16}}, r"n has no value for minerva, just for amc23. Expected n=... too"),
        ({"temprature": 1}, r"no field 'temprature'. Did you mean 'temperature'"),
    ],
)
def test_values_that_do_not_fit_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PROTOCOLS["erpo"].override(values, Origin.USER, "command line")


@pytest.mark.parametrize("prompt", prompts.PROMPTS.values(), ids=prompts.PROMPTS)
def test_prompts_hold_the_problem_once_and_a_known_policy(prompt: prompts.Prompt) -> None:
    assert prompt.user.count("{problem}") == 1
    assert prompt.source
    assert prompt.policy in {*POLICIES, *programs.POLICIES}
    text = prompts.render(prompt, QUESTION, Tokenizer())
    assert text.count(QUESTION.problem) == 1, "braces in a problem stay as they are"


def test_each_prompt_renders_as_written_here() -> None:
    def seen(name: str, problem: Problem = QUESTION) -> str:
        return prompts.render(prompts.get(name), problem, Tokenizer())

    q = QUESTION.problem
    box = "Please reason step by step, and put your final answer within \\boxed{}."
    assert seen("plain") == f"[user]{q}[assistant]"
    assert seen("boxed_suffix") == f"[user]{q}\n{box}[assistant]"
    assert seen("boxed_system") == f"[system]{box}[user]{q}[assistant]"
    assert seen("forking_tokens") == f"User:\n{q}\n{box}\n\nAssistant:\n"
    assert seen("gpqa", CHOICE).endswith("before answering.\n\nWhich?\n\nA) one\nB) two[assistant]")


def test_a_prefix_is_given_with_the_prompt_and_ends_the_conversation() -> None:
    prompt = prompts.get("qwen_coder")
    user_text = f"Can you complete the following Python function?\n```python\n{QUESTION.problem}\n```\n"
    system = "You are an intelligent programming assistant to produce Python algorithmic solutions"
    assert prompts.render(prompt, QUESTION, Tokenizer()) == f"[system]{system}[user]{user_text}[assistant]```python\n"
    assert [m["role"] for m in prompts.messages(prompt, QUESTION)] == ["system", "user", "assistant"]
    assert prompts.messages(prompt, QUESTION)[-1]["content"] == "```python\n"


def test_the_five_examples_of_gsm8k_end_in_their_answers() -> None:
    """The first five answers of its training set are 72, 10, 5, 42 and 624. Each response has the form that is read."""
    prompt = prompts.get("lighteval_gsm8k")
    answers = [POLICIES[prompt.policy](response, []) for _, response in prompt.examples]
    assert answers == ["72", "10", "5", "42", "624"]
    assert [turn["role"] for turn in prompts.messages(prompt, QUESTION)] == ["user", "assistant"] * 5 + ["user"]


PROGRAMS = ("humaneval", "humaneval_plus", "mbpp", "mbpp_399", "mbpp_plus")


@pytest.mark.parametrize("name", benchmarks.names())
def test_the_default_protocol_asks_each_benchmark_for_its_own_form(name: str) -> None:
    kinds = {**dict.fromkeys(PROGRAMS, "a program"), "gpqa_diamond": "a letter"}
    policies = {**dict.fromkeys(PROGRAMS, "program"), "gpqa_diamond": "letter", "gsm8k": "hashes"}
    prompt = PROTOCOLS["sampled"].override({"benchmarks": [name]}, Origin.USER, "a test").prompt_of(name)
    assert prompt.policy == policies.get(name, "boxed_last")
    assert prompt.asks_for == kinds.get(name, "a written answer")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_ends_where_evalplus_ends_it(name: str) -> None:
    """The end tokens of evalplus's list are those of the model here. `print` after the function is a test of it."""
    sampled = PROTOCOLS["sampled"].override({"benchmarks": [name]}, Origin.USER, "a test")
    assert sampled.prompt_of(name).name == "evalplus"
    assert sampled.stop_of(name) == ("\nif __name__", "\ndef main(", "\nprint(", "\n```\n")
    assert PROTOCOLS["sampled"].stop_of("math500") is None


@pytest.mark.parametrize("benchmark", benchmarks.names())
@pytest.mark.parametrize("prompt", prompts.PROMPTS)
def test_a_prompt_that_asks_for_something_else_names_both(benchmark: str, prompt: str) -> None:
    """By kind, written down here: programs for programs, letters for letters, anything written for the rest."""
    programs = {"evalplus", "evalplus_chat", "program_steps", "qwen_coder"}
    asks = "a program" if prompt in programs else "a letter" if prompt == "gpqa" else "a written answer"
    wants = {**dict.fromkeys(PROGRAMS, "a program"), "gpqa_diamond": "a letter"}.get(benchmark, "a written answer")
    values = {"benchmarks": [benchmark], "prompt": prompt}
    named = {**values, "prompt": {benchmark: prompt, "default": "benchmark"}}
    if asks == wants:
        assert PROTOCOLS["sampled"].override(values, Origin.USER, "a test").prompt_of(benchmark).name == prompt
        return
    with pytest.raises(ValueError, match=f"prompt='{prompt}' asks for {asks} .*, and {benchmark} wants {wants}"):
        PROTOCOLS["sampled"].override(values, Origin.USER, "a test")
    if "a program" in (asks, wants):  # nothing else can be run, and a program is no number
        with pytest.raises(ValueError, match=f"{benchmark} wants {wants}. Expected a policy for that"):
            PROTOCOLS["sampled"].override(named, Origin.USER, "a test")
    else:
        assert PROTOCOLS["sampled"].override(named, Origin.USER, "a test").prompt_of(benchmark).name == prompt


def test_a_chat_prompt_needs_a_chat_template() -> None:
    bare = Tokenizer()
    bare.chat_template = None
    with pytest.raises(
        ValueError, match="prompt 'plain' is a chat prompt, but the model's tokenizer has no chat template"
    ):
        prompts.render(prompts.get("plain"), QUESTION, bare)
    assert prompts.render(prompts.get("forking_tokens"), QUESTION, bare)


def test_extraction_is_the_prompts_unless_it_is_set() -> None:
    protocol = protocols.get("egsw")
    assert protocol.prompt_of("math500").policy == "boxed_last"
    assert protocol.prompt_of("gpqa_diamond").policy == "letter"
    changed = protocol.override({"extraction": {"default": "qwen", "gpqa_diamond": "prompt"}}, Origin.USER, "test")
    assert changed.prompt_of("math500").policy == "qwen"
    assert changed.prompt_of("gpqa_diamond").policy == "letter"


def test_an_unknown_extraction_is_refused() -> None:
    with pytest.raises(ValueError, match=r"extraction='boxed'\. Expected one of prompt, boxed_last"):
        protocols.get("egsw").override({"extraction": "boxed"}, Origin.USER, "test")
    with pytest.raises(ValueError, match=r"extraction='qwen', but humaneval wants a program\. Expected a policy"):
        protocols.get("trial_and_error").override({"extraction": "qwen"}, Origin.USER, "test")
