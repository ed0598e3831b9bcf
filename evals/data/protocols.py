"""Protocols: each paper's benchmarks, number of samples, decoding, and k.

A score without its protocol cannot be compared, so every value states its source. Values that a paper does not state
are `assumed`, with the reason for the choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, TypeAlias, TypeGuard, TypeVar

from evals.code_execution.programs import POLICIES as PROGRAMS
from evals.code_execution.programs import reward_of
from evals.data import benchmarks, prompts
from evals.data.benchmarks import OwnBenchmark
from evals.data.problem_file import is_problem_file
from evals.data.prompts import Prompt
from evals.errors import Faults, UsageError
from evals.grading.extraction import POLICIES
from evals.grading.reasoning import READ
from evals.provenance import Origin, Sourced, assumed, code, paper
from evals.suggest import expected

T = TypeVar("T")
Each: TypeAlias = T | Mapping[str, T]  # a value, or one for each benchmark, with "default" for the others
OFF = assumed(None, "off, as in every protocol that does not state it")  # `Protocol.sourced` omits it
OF_A_REQUEST = frozenset(
    {
        "model",
        "messages",
        "prompt",
        "temperature",
        "top_p",
        "max_tokens",
        "seed",
        "n",
        "stream",
        "stop",
        "top_k",
        "min_p",
    }
    | {"repetition_penalty", "chat_template_kwargs", "reasoning_effort"}
)
"""Fields of a server's request that `extra_body` would silently replace."""
MAPPINGS = ("chat_template_kwargs", "extra_body")  # a mapping is such a value itself, for all benchmarks
_EXTRACTION = (
    "not stated: the form that the prompt asks for. Evaluators like Qwen2.5-Math's also take unboxed answers "
    "(extraction=qwen). `rlvr eval` prints how many verdicts this changes"
)
_REASONING = (
    "not stated: the thought before </think> is not the answer. Without this marker, the value has no effect. "
    "`rlvr eval` prints how many verdicts reasoning=whole changes"
)


@dataclass(frozen=True)
class Protocol:
    """How a checkpoint is measured. Every field but `name` is a `Sourced` value.

    A value that differs by benchmark is a mapping from benchmark to value, with the key "default" for the others.
    `value(field, benchmark)` reads either form.

    Fields:
        benchmarks: names, in the order of the paper's table.
        n: samples for each problem.
        temperature, top_p, max_tokens: decoding. Temperature 0 is greedy. max_tokens counts response tokens.
        prompt: a name in `evals.data.prompts`, a file of your own, or "benchmark" for each benchmark's own.
        ks: the k of pass@k (and maj@k) to report. Each must be <= n.
        rows: the number of problems, from the start of the benchmark, or None for all.
        choice_seed: orders the choices of multiple-choice questions.
        extraction: how an answer is extracted from a response: a policy of `evals.grading.extraction` (boxed_last,
            boxed_strict, answer_line, hashes, qwen, letter, ...), or "prompt" for the form that the prompt asks for.
        reasoning: the part of a response with a thought in it that is graded: "after" the last marker that ends one
            (`</think>` or a template's other one), where an unclosed one is truncated, or the "whole".

    The others are off (null) unless they are stated:
        top_k, min_p, repetition_penalty: decoding (`evals.sampling.engines.base.Decoding`).
        stop: texts that end a response, in place of the prompt's, or () for none.
        system: the system message in place of the prompt's, or "" for none. examples: a file of few-shot examples
            (`prompts.read_examples`). chat_template_kwargs: variables of the chat template ({enable_thinking: false}).
        reasoning_effort, extra_body: fields of a server's request.
    """

    name: str
    benchmarks: Sourced[tuple[str, ...]]
    n: Sourced[Each[int]]
    temperature: Sourced[Each[float]]
    top_p: Sourced[Each[float]]
    max_tokens: Sourced[Each[int]]
    prompt: Sourced[Each[str]]
    ks: Sourced[Each[tuple[int, ...]]]
    rows: Sourced[Each[int | None]] = field(default=assumed(None, "all problems: no selection is stated"))
    choice_seed: Sourced[Each[int]] = field(default=assumed(0, "no paper states in which order it showed the choices"))
    extraction: Sourced[Each[str]] = field(default=assumed("prompt", _EXTRACTION))
    reasoning: Sourced[Each[str]] = field(default=assumed("after", _REASONING))
    top_k: Sourced[Each[int | None]] = field(default=OFF)
    min_p: Sourced[Each[float | None]] = field(default=OFF)
    repetition_penalty: Sourced[Each[float | None]] = field(default=OFF)
    stop: Sourced[Each[tuple[str, ...] | None]] = field(default=OFF)
    system: Sourced[Each[str | None]] = field(default=OFF)
    examples: Sourced[Each[str | None]] = field(default=OFF)
    chat_template_kwargs: Sourced[Mapping[str, object] | None] = field(default=OFF)
    reasoning_effort: Sourced[Each[str | None]] = field(default=OFF)
    extra_body: Sourced[Mapping[str, object] | None] = field(default=OFF)

    def __post_init__(self) -> None:
        check(self)

    def value(self, field_name: str, benchmark: str) -> Any:
        """The value of a field for one benchmark.

        Raises:
            UsageError: the field has values by benchmark, but none for this one and no "default".
        """
        stated = getattr(self, field_name).value
        if not self.has_value(field_name, benchmark):
            raise UsageError(
                f"protocol {self.name}: {field_name} has no value for {benchmark}, just for {', '.join(stated)}"
            )
        if not isinstance(stated, Mapping) or field_name in MAPPINGS:
            return stated
        return stated.get(benchmark, stated.get("default"))

    def has_value(self, field_name: str, benchmark: str) -> bool:
        """Whether a field has a value for one benchmark."""
        stated = getattr(self, field_name).value
        return not isinstance(stated, Mapping) or field_name in MAPPINGS or benchmark in stated or "default" in stated

    @property
    def longest(self) -> int:
        """Tokens of the longest response that it allows."""
        return max(int(self.value("max_tokens", name)) for name in self.benchmarks.value)

    def prompt_of(self, benchmark: str) -> Prompt:
        """The prompt for one benchmark, with the protocol's extraction policy."""
        name = self.value("prompt", benchmark)
        prompt = prompts.with_parts(
            prompts.of_benchmark(benchmark) if name == "benchmark" else prompts.get(name),
            system=self.value("system", benchmark),
            examples=self.value("examples", benchmark),
            variables=self.chat_template_kwargs.value,
        )
        extraction = self.value("extraction", benchmark)
        return prompt if extraction == "prompt" else replace(prompt, policy=extraction)

    def stop_of(self, benchmark: str) -> tuple[str, ...] | None:
        """The texts that end a response to one benchmark: its own, else its prompt's, or None for none."""
        stop_texts = self.value("stop", benchmark)
        return (self.prompt_of(benchmark).stop if stop_texts is None else stop_texts) or None

    def sourced(self) -> dict[str, Sourced[object]]:
        """Every value with its source, by field name. Without those that are off and that nobody has stated."""
        # `!=` and not `is not`: a job in another process has a copy of OFF
        return {key: value for key, value in self._all().items() if value != OFF}

    def _all(self) -> dict[str, Sourced[object]]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "name"}

    def override(self, values: Mapping[str, object], origin: Origin, note: str) -> Protocol:
        """The same protocol with other values. Each keeps the value that it replaces (`Sourced.was`).

        Raises:
            UsageError: an unknown field (the nearest name is given), or a value that does not fit.
        """
        sourced, faults = self._all(), Faults()
        new: dict[str, Any] = {}
        for key, value in values.items():
            with faults.gathered():
                if key not in sourced:
                    raise UsageError(f"protocol {self.name}: no field {key!r}. {expected(key, sourced)}")
                new[key] = sourced[key].replace(_given(key, value), origin, note)
        n = values.get("n")
        if isinstance(n, int) and "ks" not in values:  # only the ks that n allows
            ks = _cut(self.ks.value, n)
            why = f"those of {self.name} that n={n} allows ({note})"
            new["ks"] = self.ks if ks == self.ks.value else self.ks.replace(ks, Origin.ASSUMED, why)
        with faults.gathered():
            try:
                named = new["benchmarks"].value if "benchmarks" in new else ()
                for name in named if isinstance(named, tuple) else ():
                    if isinstance(name, str):  # the protocol's own check refuses any other value
                        benchmarks.check_name(name)
            except UsageError:
                del new["benchmarks"]  # the other values are checked by the protocol's own
                raise
        with faults.gathered():
            changed = replace(self, **new)
        faults.refuse()
        return changed


def get(name: str) -> Protocol:
    """The protocol of that name.

    Raises:
        UsageError: there is none (the nearest name is given).
    """
    if name not in PROTOCOLS:
        raise UsageError(f"unknown protocol {name!r}: {expected(name, PROTOCOLS)}")
    return PROTOCOLS[name]


def _cut(ks: Each[tuple[int, ...]], n: int) -> Each[tuple[int, ...]]:
    """The ks up to n, for each benchmark, and n itself where larger ones fall away."""

    def cut(ks: tuple[int, ...]) -> tuple[int, ...]:
        kept = tuple(k for k in ks if k <= n)
        return kept if len(kept) == len(ks) or n in kept else (*kept, n)

    return {name: cut(each) for name, each in ks.items()} if isinstance(ks, Mapping) else cut(ks)


def recorded_value(manifest: Mapping[str, Any], field_name: str) -> Any:
    """A value of the protocol for the benchmark of a manifest, as its record has it, or None where it has none."""
    sourced = (manifest["record"].get("protocol") or {}).get(field_name)
    value = sourced.get("value") if isinstance(sourced, Mapping) else None
    benchmark = manifest["identity"].get("benchmark")
    return value.get(benchmark, value.get("default")) if isinstance(value, Mapping) else value


def beyond_n(manifest: Mapping[str, Any]) -> list[int]:
    """The k of the protocol that are not reported, because the user's n is smaller. None of a user's own ks."""
    at, ks = manifest["identity"].get("benchmark"), manifest["record"].get("protocol", {}).get("ks") or {}
    if ks.get("origin") == Origin.USER and not str(ks.get("note")).endswith(f"n={recorded_value(manifest, 'n')}"):
        return []
    was, n = (ks.get("was") or {}).get("value") or (), recorded_value(manifest, "n")
    was = was.get(at, was.get("default", ())) if isinstance(was, Mapping) else was
    return [int(k) for k in was if n is not None and k > n]


def recorded_policy(manifest: Mapping[str, Any]) -> str | None:
    """The extraction policy that decided the verdicts beside a manifest, or None where its prompt is not known here."""
    extraction = recorded_value(manifest, "extraction")
    if extraction not in (None, "prompt"):
        return str(extraction)
    name = recorded_value(manifest, "prompt")
    if name not in prompts.PROMPTS:  # "benchmark", or a file
        name = (manifest["identity"].get("prompt") or {}).get("name")
    return prompts.PROMPTS[name].policy if name in prompts.PROMPTS else None


def recorded_reasoning(manifest: Mapping[str, Any]) -> str:
    """The part of a response that the verdicts beside a manifest read (`evals.grading.reasoning`)."""
    return str(recorded_value(manifest, "reasoning") or "whole")  # as before there was a choice


def names() -> list[str]:
    """The fields of a protocol that a user may replace."""
    return [f.name for f in fields(Protocol) if f.name != "name"]


def _given(key: str, value: object) -> object:
    """A value in a protocol's form. The user's own benchmarks (files) become their names. In `stop`, a typed \\n or \\t
    is the character, as in JSON: no shell writes it otherwise with ease."""
    if key == "stop":
        value = [value] if isinstance(value, str) else value
        texts = value if isinstance(value, (list, tuple)) else ()
        value = [t.replace("\\n", "\n").replace("\\t", "\t") if isinstance(t, str) else t for t in texts] or value
    if key == "benchmarks" and isinstance(value, (list, tuple)):
        value = [OwnBenchmark.parse(v) if is_problem_file(str(v)) else v for v in value]
    return _frozen(value)


def check(protocol: Protocol) -> None:
    """Raises ValueError, naming field, value and what was expected, if a value does not fit."""
    names = protocol.benchmarks.value
    if not isinstance(names, tuple) or not names or not all(isinstance(name, str) for name in names):
        raise UsageError(f"benchmarks={protocol.benchmarks.value!r}: expected a list of one or more names")
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        files = {name.file.path: None for name in names if name == twice and isinstance(name, OwnBenchmark)}
        if len(files) > 1:
            raise UsageError(f"benchmarks: {' and '.join(files)} are both {str(twice)!r}. Rename one")
        raise UsageError(f"benchmarks={names!r}: expected each name once, got {twice} more than once")
    faults = Faults()
    misfits: dict[str, list[str]] = {}
    for name in names:
        with faults.gathered():
            if text := "; ".join(_checked(protocol, name)):
                misfits.setdefault(text, []).append(name)
    for text, affected in misfits.items():
        with faults.gathered():
            raise UsageError(f"protocol {protocol.name}, benchmark {', '.join(affected)}: {text}")
    faults.refuse()


def _checked(protocol: Protocol, name: str) -> list[str]:
    """The misfits of the values for one benchmark, which has all that there are, and a prompt and files that exist."""
    benchmarks.check_name(name)
    if missing := [key for key in protocol.sourced() if not protocol.has_value(key, name)]:
        known = ", ".join(getattr(protocol, missing[0]).value)
        raise UsageError(
            f"protocol {protocol.name}: {' and '.join(missing)} {'have' if len(missing) > 1 else 'has'} no value "
            f"for {name}, just for {known}. Expected {', '.join(f'{key}=...' for key in missing)} too"
        )
    prompt_name, problems = protocol.value("prompt", name), list(_misfits(protocol, name))
    try:
        if prompt_name != "benchmark":
            prompts.get(prompt_name)
    except UsageError as error:
        return [*problems, str(error)]
    problems += _prompt_misfits(protocol, name)
    if not problems:
        protocol.prompt_of(name)
    return problems


def _misfits(protocol: Protocol, benchmark: str) -> Iterator[str]:
    at = partial(protocol.value, benchmark=benchmark)
    yield from _misfits_alone(at)
    if at("reasoning") not in READ:
        yield f"reasoning={at('reasoning')!r}. Expected one of {', '.join(READ)}"
    policies = ("prompt", *POLICIES, *PROGRAMS)
    if isinstance(at("extraction"), str) and ":" in at("extraction"):
        reward_of(at("extraction"))
    elif at("extraction") not in policies:
        yield f"extraction={at('extraction')!r}. Expected one of {', '.join(policies)}"
    ks = at("ks")
    if not _count(at("n")):
        return  # ks are judged by n
    if not isinstance(ks, tuple) or not ks or not all(_whole(k) and 1 <= k <= at("n") for k in ks):
        yield f"ks={ks!r}, expected one or more whole numbers from 1 to n={at('n')!r} (pass@k needs n >= k samples)"
    if at("temperature") == 0 and at("n") != 1:
        yield f"n={at('n')!r} at temperature 0, expected n=1 (greedy samples are all the same), or temperature=0.6 too"


def _prompt_misfits(protocol: Protocol, benchmark: str) -> Iterator[str]:
    """The benchmark decides what is asked for (a program, a letter, a written answer): a prompt that asks for something
    else does not fit, unless the protocol names it for this benchmark. A program is only ever read as one."""
    default, prompt = prompts.of_benchmark(benchmark), protocol.value("prompt", benchmark)
    policy = protocol.value("extraction", benchmark)
    if policy not in ("prompt", *POLICIES, *PROGRAMS) and not (isinstance(policy, str) and ":" in policy):
        return  # `_misfits` says so
    used = prompts.get(prompt) if prompt != "benchmark" else default
    named = isinstance(protocol.prompt.value, Mapping) and benchmark in protocol.prompt.value
    read = used.policy if policy == "prompt" else policy
    if (
        used.asks_for != default.asks_for
        and not named
        and not (isinstance(benchmark, OwnBenchmark) and used.asks_for != "a program")
    ):
        yield (
            f"prompt={prompt!r} asks for {used.asks_for} ({used.policy}), and {benchmark} wants "
            f"{default.asks_for} ({default.policy}). Expected its own, "
            f"prompt=benchmark (which is {default.name}), or this one named for it: "
            f'prompt={{"{benchmark}":"{prompt}","default":"benchmark"}}'
        )
    elif ":" not in read and "a program" in (kinds := {prompts.kind(read), default.asks_for}) and len(kinds) == 2:
        given = (
            f"prompt={prompt!r}, whose answers are extracted by {read}"
            if policy == "prompt"
            else f"extraction={read!r}"
        )
        yield f"{given}, but {benchmark} wants {default.asks_for}. Expected a policy for that, as {default.policy}"


def _misfits_alone(at: Callable[[str], object]) -> Iterator[str]:
    """The faults of the values that are judged without others."""
    needed = ("n", "max_tokens", "temperature", "top_p", "choice_seed")  # the others may be null
    fits: dict[str, tuple[Callable[[object], bool], str]] = {
        "n": (_count, "a whole number >= 1"),
        "max_tokens": (_count, "a whole number >= 1"),
        "rows": (_count, "a whole number >= 1"),
        "temperature": (lambda v: _number(v) and v >= 0, "a number >= 0"),
        "top_p": (lambda v: _number(v) and 0 < v <= 1, "a number in (0, 1]"),
        "top_k": (_count, "a whole number >= 1, or null for all tokens"),
        "min_p": (lambda v: _number(v) and 0 <= v <= 1, "a number in [0, 1]"),
        "repetition_penalty": (lambda v: _number(v) and v > 0, "a number > 0 (1 is off)"),
        "stop": (
            lambda v: isinstance(v, tuple) and all(isinstance(text, str) and text for text in v),
            "a list of texts ([] for none, null for those of the prompt)",
        ),
        "system": (lambda v: isinstance(v, str), 'a text ("" for no system message)'),
        "examples": (lambda v: isinstance(v, str), "a file of few-shot examples"),
        "chat_template_kwargs": (lambda v: isinstance(v, Mapping), "pairs, as {enable_thinking: false}"),
        "reasoning_effort": (lambda v: isinstance(v, str), "a text, as low, medium or high"),
        "extra_body": (
            lambda v: isinstance(v, Mapping) and not OF_A_REQUEST & v.keys(),
            f"pairs, as {{FIELD: VALUE}}, of fields that no option has: not {', '.join(sorted(OF_A_REQUEST))}",
        ),
        "choice_seed": (_whole, "a whole number"),
    }
    for name, (check_one, wanted) in fits.items():
        value = at(name)
        if (value is not None or name in needed) and not check_one(value):
            yield f"{name}={value!r}, expected {wanted}"


def _whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _count(value: object) -> bool:
    return _whole(value) and value >= 1


def _number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _frozen(value: object) -> object:
    """Lists to tuples, also inside mappings, so that an overridden value has the form of a declared one."""
    if isinstance(value, Mapping):
        return {key: _frozen(inner) for key, inner in value.items()}
    return tuple(value) if isinstance(value, list) else value


_QWEN_CONTEXT = "Qwen2.5-Math's context is 4096 tokens, and this leaves 1024 for the prompt"
_ENTROPY_LATER = "arXiv 2506.14758 v3, section 4 (our copy of v1 has a gap at this value)"
_LONGEST_PROGRAM = "their limit is 2048, but their context is 1536. A longer program is a loop that never ends"
_RELEASED = "github.com/RUCAIBox/Slow_Thinking_with_LLMs at 834e1b7, entropy2performance/scripts/low_ppl.sh"
_FORKING = (
    "github.com/Shenzhi-Wang/Beyond-the-80-20-Rule-RLVR at 6f5dda6, recipe/rlvr_with_high_entropy_tokens_only/"
    "run_only_top20_high_entropy_tokens_dapo_qwen3_14b.sh"
)

_SKYRL = "github.com/NovaSky-AI/SkyRL at a956457, "
_QWEN_CODER = "github.com/QwenLM/Qwen2.5-Coder at d5ead97, qwencoder-eval/instruct/eval_plus/"
_SMOLLM = "github.com/huggingface/smollm at a041759883ec, text/evaluation/smollm2/"
_RFS = "github.com/rasbt/reasoning-from-scratch at f79c9cd, "
_VERL_LOG = (
    "github.com/eric-haibin-lin/verl-data at f07af32, gsm8k/Qwen2.5-0.5B-bsz256_2-prompt1024-resp512-0.567.log: "
)

_PROTOCOLS = (
    Protocol(
        name="egsw",
        benchmarks=paper(("math500", "aime24", "aime25", "gpqa_diamond"), "arXiv 2503.22456, tables 1 and 2"),
        n=assumed(
            1,
            "not stated. The published scores fit one sample for each problem and training seed. The base model's 13.3 "
            "is 4/30, and 29.8 is 59/198. GRPO's 33.0 in table 1 is 196 of 3 x 198. GRPO's 32.82 in table 2 is 195 of "
            "3 x 198 (32.828), if the last digit was cut off and not rounded. EGSW's 25.0 and 34.09 are 15/60 and "
            "135/396, which are two runs. EGSW's 11.65 is the mean of two runs, 10.0 and 13.3, which were rounded "
            "before (7/60 is 11.67)",
        ),
        temperature=assumed(
            0.0,
            "not stated. The base model's 52.4 on MATH-500 is the number of SimpleRL, whose recipe the paper follows "
            "(hkust-nlp/simpleRL-reason, README, pass@1). SimpleRL's evaluation code decodes greedily by default",
        ),
        top_p=assumed(1.0, "no effect: decoding is greedy"),
        max_tokens=assumed(3072, "not stated. " + _QWEN_CONTEXT),
        prompt=assumed(
            {"default": "boxed_system", "gpqa_diamond": "gpqa"},
            "not stated. We use Qwen2.5-Math's own prompt. For GPQA, we use the prompt of open-r1's evaluation script, "
            "which has the same four benchmarks",
        ),
        ks=assumed((1,), "the tables give one accuracy for each benchmark"),
    ),
    Protocol(
        name="erpo",
        benchmarks=paper(("amc23", "minerva", "aime24", "aime25"), "arXiv 2603.28204, table 1"),
        n=paper(16, "appendix A.3"),
        temperature=paper(1.0, "appendix A.3"),
        top_p=paper(0.95, "appendix A.3"),
        max_tokens=paper(2048, "appendix A.3"),
        prompt=assumed(
            "boxed_suffix", "not stated. Table 1 reports the share of boxed answers, so the prompt asks for a box"
        ),
        ks=paper((2, 4, 8, 16), "table 2"),
        rows=paper({"minerva": 40, "default": None}, "appendix A.3: Minerva's first 40, all of the others"),
    ),
    Protocol(
        name="trial_and_error",
        benchmarks=assumed(
            ("aime24", "aime25", "amc23", "math500", "gpqa_diamond", "humaneval"),
            "arXiv 2508.07534, tables 4 and 6, HumanEval and GPQA in table 6 alone. The paper does not say which "
            "GPQA. Its eight values are counts of Diamond's 198 problems, to a hundredth, so it is Diamond",
        ),
        n=paper(
            {"default": 8, "humaneval": 4}, "table 4 has avg@8 and maj@8. Table 6 has pass@8, and pass@4 for HumanEval"
        ),
        temperature=code(0.6, _RELEASED + ", val_kwargs. Sections 2.4 and 4.4.1 have the same value"),
        top_p=code(0.95, _RELEASED + ", val_kwargs. Sections 2.4 and 4.4.1 have the same value"),
        top_k=code(None, _RELEASED + ", val_top_k=-1: all tokens"),
        max_tokens=code(8192, _RELEASED + ", max_response_length"),
        prompt=assumed(
            {"default": "boxed_suffix", "gpqa_diamond": "gpqa", "humaneval": "evalplus_chat"},
            "not stated. Section 3.2.2 counts unboxed answers as format violations, so the prompt asks for a box. "
            "Programs get evalplus's prompt for chat models behind a server, because it leaves room to reason",
        ),
        ks=paper({"default": (8,), "humaneval": (4,)}, "tables 4 and 6"),
    ),
    Protocol(
        name="trial_and_error_boundary",
        benchmarks=paper(("aime24", "aime25"), "arXiv 2508.07534, section 2.4: 60 questions"),
        n=paper(640, "section 2.4: 640 attempts"),
        temperature=paper(0.6, "section 2.4"),
        top_p=paper(0.95, "section 2.4"),
        max_tokens=paper(8192, "section 2.4 (16,384 with tools, section 2.5)"),
        prompt=assumed("boxed_suffix", "not stated. We use the prompt of the other tables of this paper"),
        ks=assumed((1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 640), "figure 1(a) is a curve. Its ticks are not stated"),
    ),
    Protocol(
        name="trial_and_error_rft",
        benchmarks=paper(("aime24", "amc23", "minerva"), "arXiv 2508.07534, table 3"),
        n=paper({"aime24": 128, "amc23": 64, "minerva": 64}, "section 4.4.1"),
        temperature=paper(0.6, "section 4.4.1"),
        top_p=paper(0.95, "section 4.4.1"),
        max_tokens=assumed(8192, "not stated for table 3. Section 2.4 has this value"),
        prompt=assumed("boxed_suffix", "not stated. The filter of table 3 keeps only boxed answers"),
        ks=assumed(
            {"aime24": (1, 128), "amc23": (1, 64), "minerva": (1, 64)},
            "table 3 has pass@1 and pass@k, and does not state k. The base model's 60.00 and 95.00 fit k = n",
        ),
    ),
    Protocol(
        name="entropy_advantage",
        benchmarks=paper(("aime25", "aime24", "amc23_83", "math500"), "arXiv 2506.14758, table 2. AMC has 83 problems"),
        n=assumed(
            {"aime25": 256, "aime24": 256, "amc23_83": 128, "math500": 16},
            "not stated: each dataset is evaluated 'multiple times'. This is the smallest n that gives the reported "
            "pass@k. 57.4 on 30 problems is impossible with n = 256, so the authors had more samples for some models",
        ),
        temperature=paper(0.6, _ENTROPY_LATER),
        top_p=paper(0.95, _ENTROPY_LATER),
        max_tokens=paper(8192, _ENTROPY_LATER + ": 8K tokens"),
        prompt=paper(
            "boxed_suffix", "appendix B, for Qwen2.5-Math. For Qwen2.5-Base, use the protocol entropy_advantage_dapo"
        ),
        ks=paper({"aime25": (256,), "aime24": (256,), "amc23_83": (128,), "math500": (16,)}, "table 2 and section 4"),
    ),
    Protocol(
        name="forking_tokens",
        benchmarks=paper(
            ("aime24", "aime25", "amc23", "math500", "minerva", "olympiadbench"),
            "arXiv 2506.01939 v2, table 2 (our text is a page about the paper, without its tables)",
        ),
        n=paper(
            16, "arXiv 2506.01939 v2, section 5.2 and table 2. README.md of the authors' repository has 32 on AIME24"
        ),
        temperature=code(1.0, _FORKING + ", val_kwargs.temperature. v2, section 5.2, has the value too"),
        top_p=assumed(
            1.0,
            "not stated: for its 16 responses, the paper gives temperature 1.0 and no top_p. The authors' script has "
            "0.7 (val_top_p) for another measurement, the validation during training, with 32 responses on AIME24",
        ),
        top_k=code(None, _FORKING + ", val_kwargs.top_k=-1: all tokens"),
        max_tokens=code(20480, _FORKING + ", max_response_length"),
        prompt=paper("forking_tokens", "arXiv 2506.01939 v2, section 5.2: the chat template of the training"),
        ks=assumed((1,), "table 2 gives accuracy@16, which is avg@16, and the mean length"),
        reasoning=code(
            "after",
            "github.com/Shenzhi-Wang/Beyond-the-80-20-Rule-RLVR at 097092a, verl/utils/reward_score/naive_dapo.py, "
            "match_answer: what follows the last </think>. If the thought is not closed, their code reads the whole "
            "response, and our grader says truncated",
        ),
    ),
    Protocol(
        name="anchor_math500",
        benchmarks=code(("math500",), _RFS + "ch06/02_rlvr_grpo_scripts_intro/README.md: the table's MATH-500 column"),
        n=code(1, _RFS + "ch03/02_math500-verifier-scripts/evaluate_math500.py"),
        temperature=code(0.0, _RFS + "the same script: greedy"),
        top_p=assumed(1.0, "no effect: decoding is greedy"),
        max_tokens=code(2048, _RFS + "ch06/02_rlvr_grpo_scripts_intro/README.md: up to 2048 generated tokens"),
        prompt=code("reasoning_from_scratch", _RFS + "reasoning_from_scratch/ch03.py: render_prompt"),
        ks=assumed((1,), "the table gives one accuracy"),
        reasoning=code(
            "whole",
            _RFS + "reasoning_from_scratch/ch03.py, extract_final_candidate: the last box of the whole response",
        ),
    ),
    Protocol(
        name="anchor_gsm8k",
        benchmarks=code(("gsm8k",), _VERL_LOG + "data.val_files"),
        n=code(1, _VERL_LOG + "one response per problem"),
        temperature=code(0.0, "github.com/volcengine/verl at 50ac725, ray_trainer.py: validation with do_sample=False"),
        top_p=assumed(1.0, "no effect: decoding is greedy"),
        max_tokens=code(512, _VERL_LOG + "data.max_response_length"),
        prompt=code("gsm8k", "github.com/volcengine/verl at b178a3c, examples/data_preprocess/gsm8k.py"),
        ks=assumed((1,), "the page gives one accuracy"),
        reasoning=code(
            "whole",
            "github.com/volcengine/verl at 945104d, verl/utils/reward_score/gsm8k.py, extract_solution: the first #### "
            "of the whole response",
        ),
    ),
    Protocol(
        name="anchor_gsm8k_5_shot",
        benchmarks=code(("gsm8k",), _SMOLLM + "tasks.py: its test split"),
        n=code(1, _SMOLLM + "tasks.py: one response per problem"),
        temperature=assumed(0.0, "not stated. lighteval's generations are greedy by default"),
        top_p=assumed(1.0, "no effect: decoding is greedy"),
        max_tokens=code(256, _SMOLLM + "tasks.py: generation_size"),
        stop=code(("Question",), _SMOLLM + "tasks.py: stop_sequence (Question: begins so)"),
        prompt=code(
            "lighteval_gsm8k", _SMOLLM + "tasks.py. Five examples from smollm2_instruct.txt, as turns of a chat"
        ),
        ks=assumed((1,), "the card gives one accuracy"),
        reasoning=code(
            "whole",
            "github.com/huggingface/lighteval at ea46419a93fb, metrics/normalizations.py, gsm8k_normalizer: the first "
            "#### of the whole response",
        ),
    ),
    Protocol(
        name="qwen_coder",
        benchmarks=paper(("humaneval", "humaneval_plus"), "arXiv 2409.12186, the table of its instruct models"),
        n=code(1, _QWEN_CODER + "test.sh: --greedy"),
        temperature=code(0.0, _QWEN_CODER + "test.sh: --greedy"),
        top_p=assumed(1.0, "no effect: decoding is greedy"),
        max_tokens=assumed(768, _LONGEST_PROGRAM),
        stop=code(prompts.get("qwen_coder").stop, _QWEN_CODER + "model.py: EOS, ChatML"),
        prompt=code("qwen_coder", _QWEN_CODER + "model.py: ChatML"),
        ks=assumed((1,), "the table gives one accuracy"),
    ),
    Protocol(
        name="sampled",
        benchmarks=assumed(("math500",), "our choice, for a checkpoint of your own"),
        n=assumed(4, "enough to see how much one sample varies"),
        temperature=assumed(0.6, "as most papers here sample"),
        top_p=assumed(0.95, "as most papers here sample"),
        max_tokens=assumed(3072, f"{_QWEN_CONTEXT}. A model that thinks at length needs more"),
        prompt=assumed(
            "benchmark", "each benchmark has its own prompt: it asks for a box, a letter, a program or the last line"
        ),
        ks=assumed((1, 4), "one sample, and all of them"),
    ),
    Protocol(
        name="small",
        benchmarks=assumed(("math500", "gsm8k"), "our choice: models of 0.5B to 1.7B solve a part of these problems"),
        n=assumed({"gsm8k": 1, "default": 4}, "2,000 and 1,319 responses: about ten minutes on one GPU"),
        temperature=assumed(1.0, "as in most trainings, so that we measure the diversity of training"),
        top_p=assumed(1.0, "the model's own distribution"),
        max_tokens=assumed(1024, "as in training at this scale"),
        prompt=assumed(
            {"math500": "boxed_suffix", "gsm8k": "boxed_suffix", "default": "benchmark"},
            "the prompt of training at this scale. Other benchmarks have their own prompt",
        ),
        ks=assumed({"gsm8k": (1,), "default": (1, 2, 4)}, "the pass@k curve that these samples allow"),
    ),
    Protocol(
        name="tiny",
        benchmarks=assumed(
            ("tiny_short", "tiny_long", "tiny_rare"), "our choice: the three benchmarks of the tiny scale"
        ),
        n=assumed(16, "enough for pass@16. RL should raise pass@1 towards pass@16"),
        temperature=assumed(1.0, "as in the tiny rollouts, so that we measure the diversity of training"),
        top_p=assumed(1.0, "the model's own distribution"),
        max_tokens=assumed(96, "longer than any correct solution of the tiny benchmarks"),
        prompt=assumed("plain", "the tiny models learn from bare problems in their chat template"),
        reasoning=assumed("whole", "the tiny models write no separate thoughts"),
        ks=assumed((1, 2, 4, 8, 16), "the whole pass@k curve that 16 samples allow"),
    ),
    Protocol(
        name="tiny_search",
        benchmarks=assumed(
            ("search_short", "search_long", "search_rare"), "our choice: the three benchmarks of the tiny search task"
        ),
        n=assumed(16, "enough for pass@16. RL should raise pass@1 towards pass@16"),
        temperature=assumed(1.0, "as in the tiny rollouts, so that we measure the diversity of training"),
        top_p=assumed(1.0, "the model's own distribution"),
        max_tokens=assumed(96, "room for eight tries: the slowest systematic search needs nine"),
        prompt=assumed("plain", "the tiny models learn from bare problems in their chat template"),
        reasoning=assumed("whole", "the tiny models write no separate thoughts"),
        ks=assumed((1, 2, 4, 8, 16), "the whole pass@k curve that 16 samples allow"),
    ),
)
_BY_NAME = {protocol.name: protocol for protocol in _PROTOCOLS}
PROTOCOLS: dict[str, Protocol] = {
    **_BY_NAME,
    "entropy_advantage_gpg": replace(
        _BY_NAME["entropy_advantage"],
        name="entropy_advantage_gpg",
        benchmarks=assumed(
            ("aime25", "aime24", "amc23", "math500"), "table 2: AMC23 65.0 is 26 of 40 problems, and 54 of 83 is 65.06"
        ),
        n=assumed({"aime25": 256, "aime24": 256, "amc23": 128, "math500": 16}, "as for the other models of the paper"),
        ks=paper({"aime25": (256,), "aime24": (256,), "amc23": (128,), "math500": (16,)}, "table 2 and section 4"),
    ),
    "forking_tokens_29k": replace(
        _BY_NAME["forking_tokens"],
        name="forking_tokens_29k",
        max_tokens=paper(29696, "arXiv 2506.01939 v2, section 5.4, figure 10: the response limit of this comparison"),
    ),
    "anchor_gsm8k_1024": replace(
        _BY_NAME["anchor_gsm8k"],
        name="anchor_gsm8k_1024",
        benchmarks=code(("gsm8k",), _SKYRL + "examples/train/gsm8k/gsm8k_dataset.py: its test split"),
        n=assumed(1, "greedy"),
        temperature=code(0.0, _SKYRL + "skyrl/train/config/config.py: eval_sampling_params"),
        max_tokens=code(1024, _SKYRL + "examples/train/gsm8k/run_gsm8k.sh"),
        prompt=code("gsm8k", _SKYRL + "examples/train/gsm8k/gsm8k_dataset.py"),
    ),
    "qwen_coder_mbpp": replace(
        _BY_NAME["qwen_coder"],
        name="qwen_coder_mbpp",
        benchmarks=paper(
            ("mbpp_399",), "arXiv 2409.12186, the table of its instruct models, with the tasks of test.sh"
        ),
    ),
    "entropy_advantage_dapo": replace(
        _BY_NAME["entropy_advantage"],
        name="entropy_advantage_dapo",
        prompt=paper("dapo", "appendix B, for Qwen2.5-Base: DAPO's prompt and its answer line"),
    ),
}
