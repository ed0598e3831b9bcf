"""Leak probes: does a model know a benchmark's problems better than problems of the same kind that it cannot have seen?

Each probe asks the model a question that only memory can answer, on the benchmark and on a control set, and compares
the shares of solved problems:

    completion@S   the model continues the first S of a problem's text: is the continuation the rest, word for word
                   (arXiv 2507.10532, partial-prompt completion)?
    answer@S       does that continuation reach the gold answer?
    no_question    the last sentence, the question, is removed (multiple choice: the choices alone): is the answer
                   correct?
    choice_order   multiple choice: is the answer correct in the given order of the choices and not in another?
    own_numbers    is the text more likely than with other numbers in it (`renumbered`)? For an engine whose model is in
    this process (transformers)

Decoding is greedy, one sample a problem. A probe's p-value is Fisher's exact test, one-sided; Holm's correction covers
all probes, so a clean model gets the verdict leak with probability at most 5 %. Intervals are Wilson's for shares and
Newcombe's for differences.

The verdict is only as good as the control: problems of the same kind, source and difficulty, newer than the model.

own_numbers: several copies of the text have every number replaced by a random one with as many digits; the text counts
    as preferred if the model gives it a higher probability than each copy. A problem is compared with itself, so
    neither its wording nor its subject matters. Real problems have rounder numbers than random ones, but so does the
    control.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any, Literal

from evals.data import prompts
from evals.data.benchmarks import Problem
from evals.grading import Grader
from evals.sampling.engines import Decoding, Engine, Request
from evals.stats.differences import holm

if TYPE_CHECKING:
    from torch import Tensor

COPIES = 9  # an unmemorised text is the most likely of ten with a probability of about 10 %
ROWS = 64  # texts read at once
_NUMBER = re.compile(r"\d+")


def renumbered(text: str, *, seed: str, copies: int = COPIES) -> list[str]:
    """Different texts with other numbers; [] if the text has too few numbers for `copies` of them."""
    rng, texts = random.Random(seed), dict[str, None]()
    for _ in range(20 * copies):
        texts.setdefault(_NUMBER.sub(lambda number: _other(number.group(), rng), text))
        if len(texts) > copies:
            break
    texts.pop(text, None)
    return list(texts)[:copies] if len(texts) >= copies else []


def _other(number: str, rng: random.Random) -> str:
    first = rng.choice("123456789" if len(number) > 1 or number != "0" else "0123456789")
    return first + "".join(rng.choice("0123456789") for _ in number[1:])


def preferred(engine: Any, problems: Sequence[Problem]) -> dict[str, bool]:
    """Problem -> whether its text is more likely than every copy; problems without copies are excluded.

    Args:
        engine: with `model` and `tokenizer` in this process, as engine transformers has.
    """
    asked = {problem.id: [problem.problem, *copies] for problem in problems if (copies := _copies(problem))}
    logps = iter(text_logps(engine, [text for texts in asked.values() for text in texts]))
    preferences = {}
    for key, texts in asked.items():
        own, *others = [next(logps) for _ in texts]
        preferences[key] = own > max(others)
    return preferences


def _copies(problem: Problem) -> list[str]:
    return renumbered(problem.problem, seed=f"renumbered {problem.id}")


def text_logps(engine: Any, texts: Sequence[str]) -> list[float]:
    """Sum of the log-probabilities of each text's tokens after the first, nats."""
    import torch

    ids = [engine.tokenizer(text, add_special_tokens=True).input_ids for text in texts]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    scores = [0.0] * len(ids)
    for start in range(0, len(order), ROWS):
        rows = order[start : start + ROWS]
        width = max(len(ids[i]) for i in rows)
        batch = torch.tensor([ids[i] + [0] * (width - len(ids[i])) for i in rows], device=engine.model.device)
        mask = torch.tensor([[1] * len(ids[i]) + [0] * (width - len(ids[i])) for i in rows], device=batch.device)
        with torch.inference_mode():
            logits = engine.model(input_ids=batch, attention_mask=mask).logits
        for i, value in zip(rows, _sums(logits, batch, mask).tolist(), strict=True):
            scores[i] = value
    return scores


def _sums(logits: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    """[B]: the sums over the masked-in tokens but the first."""
    logp = logits[:, :-1].double().log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return (logp * mask[:, 1:]).sum(1)


SHARES = (0.4, 0.6, 0.8)
ALPHA = 0.05
RESOLVABLE = 0.10  # "no sign" needs every completion probe to exclude a difference as large as this
SUBJECT = "(The question is not shown.)"
Verdict = Literal["leak", "no sign", "cannot tell"]


@dataclass(frozen=True)
class Rate:
    """How many problems a probe solved, with Wilson's 95 % interval."""

    hits: int
    problems: int

    @property
    def value(self) -> float | None:
        return self.hits / self.problems if self.problems else None

    @property
    def interval(self) -> tuple[float, float] | None:
        if not self.problems:
            return None
        from statsmodels.stats.proportion import proportion_confint

        low, high = proportion_confint(self.hits, self.problems, method="wilson")
        return float(low), float(high)


@dataclass(frozen=True)
class Probe:
    """One probe on the benchmark and on the control; `difference` is benchmark minus control."""

    name: str
    benchmark: Rate
    control: Rate
    difference: float | None
    low: float | None
    high: float | None
    p_value: float
    p_holm: float = 1.0


@dataclass(frozen=True)
class LeakReport:
    """All probes and the verdict."""

    model: str
    benchmark: str
    control: str
    probes: tuple[Probe, ...]
    verdict: Verdict
    why: str

    def as_dict(self) -> dict[str, Any]:
        """One JSON document."""
        document = asdict(self)
        for own, probe in zip(document["probes"], self.probes, strict=True):
            for side in ("benchmark", "control"):
                rate: Rate = getattr(probe, side)
                own[side] |= {"value": rate.value, "interval": rate.interval}
        return document


@dataclass(frozen=True)
class Question:
    """One prompt of a probe. `rest` completes it word for word (None: not asked); `gold` is the correct answer."""

    probe: str
    problem_id: str
    prompt: str
    gold: str
    rest: str | None = None


def completions_of(problems: Sequence[Problem], share: float) -> list[Question]:
    """The first `share` of each problem's words, for the model to continue; problems of one word are excluded.

    Raises:
        ValueError: share outside (0, 1).
    """
    if not 0 < share < 1:
        raise ValueError(f"shares: expected numbers between 0 and 1, got {share}")
    questions = []
    for problem in problems:
        words = re.findall(r"\S+\s*", problem.problem)
        cut = min(ceil(share * len(words)), len(words) - 1)
        if cut >= 1:
            prefix, rest = "".join(words[:cut]).rstrip(), "".join(words[cut:]).strip()
            questions.append(Question(f"completion@{share:g}", problem.id, prefix, problem.answer, rest))
    return questions


def without_question(problems: Sequence[Problem]) -> list[Question]:
    """Each problem without its question (one sentence: its first half); multiple choice: the choices alone."""
    questions = []
    for problem in problems:
        if problem.choices:
            shown = replace(problem, problem=SUBJECT)
            text = _choice_prompt(shown)
        else:
            sentences = re.split(r"(?<=[.?!])\s+", problem.problem.strip())
            words = problem.problem.split()
            text = " ".join(sentences[:-1]) if len(sentences) > 1 else " ".join(words[: len(words) // 2])
        if text:
            questions.append(Question("no_question", problem.id, text, problem.answer))
    return questions


def probe(
    model: str,
    engine: Engine,
    benchmark: tuple[str, Sequence[Problem]],
    control: tuple[str, Sequence[Problem]],
    *,
    shares: Sequence[float] = SHARES,
    max_tokens: int = 512,
    shuffled: Mapping[str, Sequence[Problem]] | None = None,
    workers: int = 2,
    grader: Grader | None = None,
) -> LeakReport:
    """Run every probe on both sets.

    Args:
        model: its name, for the report. engine: samples greedily.
        benchmark, control: (name, problems).
        shuffled: name -> the same problems with their choices in another order, for choice_order.
        shares: of the text that a completion starts from.
        max_tokens: of a continuation. grader: an open grader; None opens one with `workers` processes.
    Raises:
        ValueError: a share outside (0, 1), a set without problems, or prompts that do not fit the model's context.
    """
    hits: dict[str, dict[str, dict[str, bool]]] = {}
    with nullcontext(grader) if grader is not None else Grader(workers=workers) as grader:
        for side, problems in (benchmark, control):
            if not problems:
                raise ValueError(f"{side}: expected at least one problem, got none")
            questions = [q for share in shares for q in completions_of(problems, share)]
            questions += without_question(problems)
            answered = _ask(engine, questions, max_tokens)
            hits[side] = _hits(questions, answered, grader, choices=any(p.choices for p in problems))
            if shuffled and side in shuffled:
                hits[side]["choice_order"] = _order(engine, problems, shuffled[side], max_tokens, grader)
            if hasattr(engine, "model") and engine.tokenizer is not None:
                hits[side]["own_numbers"] = preferred(engine, problems)
    names = [name for name in hits[benchmark[0]] if name in hits[control[0]]]
    compared = [_compared(name, hits[benchmark[0]][name], hits[control[0]][name]) for name in names]
    adjusted = holm([p.p_value for p in compared])
    probes = tuple(
        replace(p, p_holm=1.0 if value is None else value) for p, value in zip(compared, adjusted, strict=True)
    )
    verdict, why = judge(probes)
    return LeakReport(model, benchmark[0], control[0], probes, verdict, why)


def judge(probes: Sequence[Probe]) -> tuple[Verdict, str]:
    """The verdict on corrected probes, and why."""
    resolved = [p for p in probes if p.p_holm <= ALPHA]
    if resolved:
        strongest = min(resolved, key=lambda p: p.p_holm)
        return "leak", f"{strongest.name}: {_percent(strongest)}, p (Holm) {strongest.p_holm:.2g}"
    completions = [p for p in probes if p.name.startswith("completion@")]
    wide = [p for p in completions if p.high is None or p.high >= RESOLVABLE]
    if wide or not completions:
        first = wide[0] if wide else None
        why = "no completion probe" if first is None else f"{first.name}: {_percent(first)}"
        return "cannot tell", f"{why}; too few problems to exclude a difference of {100 * RESOLVABLE:.0f} points"
    return "no sign", f"every completion probe excludes a difference of {100 * RESOLVABLE:.0f} points"


def _percent(p: Probe) -> str:
    if p.difference is None or p.low is None or p.high is None:
        return "no problem to compare"
    return f"{100 * p.difference:+.1f} points over the control [{100 * p.low:+.1f}, {100 * p.high:+.1f}]"


def _ask(engine: Engine, questions: Sequence[Question], max_tokens: int) -> dict[tuple[str, str], str]:
    """(probe, problem) -> the greedy continuation."""
    decoding = Decoding(0.0, 1.0, max_tokens)
    requests = [Request((f"{q.probe}|{q.problem_id}", 0), q.prompt, seed=0) for q in questions]
    texts: dict[str, str] = {}
    for start in range(0, len(requests), engine.chunk_rows):
        for batch in engine.generate(requests[start : start + engine.chunk_rows], decoding):
            texts |= {c.key[0]: c.text for c in batch}
    return {(q.probe, q.problem_id): texts[f"{q.probe}|{q.problem_id}"] for q in questions}


def _hits(
    questions: Sequence[Question], answered: Mapping[tuple[str, str], str], grader: Grader, *, choices: bool
) -> dict[str, dict[str, bool]]:
    """Probe -> problem -> whether the model solved it; an answer that could not be graded is excluded."""
    policy = "letter" if choices else "qwen"
    # grade a completion together with the continued problem: the answer may come anywhere after it
    start = "Answer:" if choices else ""  # the end of a multiple-choice prompt
    triples = [(q.gold, start + answered[q.probe, q.problem_id], None) for q in questions]
    grades = grader.grade_responses(triples, policy)
    hits: dict[str, dict[str, bool]] = {}
    for question, grade in zip(questions, grades, strict=True):
        text = answered[question.probe, question.problem_id]
        name = question.probe
        if question.rest is not None:
            hits.setdefault(name, {})[question.problem_id] = _plain(text).startswith(_plain(question.rest))
            name = name.replace("completion@", "answer@")
        if str(grade.verdict) != "unscored":
            hits.setdefault(name, {})[question.problem_id] = str(grade.verdict) == "correct"
    return hits


def _order(
    engine: Engine, problems: Sequence[Problem], shuffled: Sequence[Problem], max_tokens: int, grader: Grader
) -> dict[str, bool]:
    """Whether each problem is answered correctly in the given order of its choices and not in the shuffled one."""
    correct = []
    for name, own in (("given", problems), ("shuffled", shuffled)):
        asked = [Question(name, p.id, _choice_prompt(p), p.answer) for p in own]
        hits = _hits(asked, _ask(engine, asked, max_tokens), grader, choices=True)
        correct.append(hits.get(name, {}))
    return {p: solved and not correct[1][p] for p, solved in correct[0].items() if p in correct[1]}


def _choice_prompt(problem: Problem) -> str:
    """A multiple-choice question as plain text, which a base model continues with a letter."""
    return f"{prompts.question(problem)}\n\nAnswer:"


def _plain(text: str) -> str:
    return " ".join(text.split())


def _compared(name: str, ours: Mapping[str, bool], theirs: Mapping[str, bool]) -> Probe:
    from scipy.stats import fisher_exact
    from statsmodels.stats.proportion import confint_proportions_2indep

    a, b = Rate(sum(ours.values()), len(ours)), Rate(sum(theirs.values()), len(theirs))
    if not a.problems or not b.problems:
        return Probe(name, a, b, None, None, None, 1.0)
    table = [[a.hits, a.problems - a.hits], [b.hits, b.problems - b.hits]]
    p = float(fisher_exact(table, alternative="greater").pvalue)
    low, high = confint_proportions_2indep(a.hits, a.problems, b.hits, b.problems, method="newcomb")
    return Probe(name, a, b, a.hits / a.problems - b.hits / b.problems, float(low), float(high), p)
