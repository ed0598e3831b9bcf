"""The responses of the report's viewer. If not all fit into the page, a sample is shown, even over problems and runs,
and the page says how many.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

BUDGET = 5_000_000  # characters of the page


@dataclass(frozen=True)
class Shown:
    """One response. `tokens` and `entropies` (nats) are of one length, or both None where no token pass was made."""

    run: str
    benchmark: str
    problem: str
    sample: int
    seed: int | None  # the training seed, where there are several
    verdict: str
    answer: str | None
    gold: str
    prompt: str | None
    text: str
    question: str | None = None
    tokens: tuple[str, ...] | None = None
    entropies: tuple[float, ...] | None = None
    length: int | None = None
    reason: str | None = None  # why it is unscored

    @property
    def cost(self) -> int:
        """Its approximate size in the page, in characters."""
        return 100 + (10 * len(self.tokens) if self.tokens is not None else len(self.text))


def keep(responses: Sequence[Shown], budget: int = BUDGET) -> list[Shown]:
    """As many responses as fit the budget: first one of each problem and run, then correct and incorrect ones in turn.

    Returns:
        in the order given.
    """
    rank = _ranks(responses)
    spent, kept = 0, []
    for i in sorted(range(len(responses)), key=lambda i: (rank[i], i)):
        if spent + responses[i].cost <= budget:
            spent += responses[i].cost
            kept.append(i)
    return [responses[i] for i in sorted(kept)]


def _ranks(responses: Sequence[Shown]) -> list[int]:
    """The turn of each response within its problem and run: a correct one and another one alternate."""
    last_ranks: dict[tuple[str, str, str, bool], int] = {}
    ranks = []
    for r in responses:
        correct = r.verdict == "correct"
        key = (r.run, r.benchmark, r.problem, correct)
        last_ranks[key] = last_ranks.get(key, -1) + 1
        ranks.append(2 * last_ranks[key] + (not correct))
    return ranks


def pack(
    responses: Sequence[Shown], forks: dict[str, float], *, total: int, differing: bool = False
) -> dict[str, object]:
    """The viewer's data, plain JSON. Entropies to 0.01 nats.

    Args:
        forks: run -> the entropy (nats) from which a token of that run is a fork. Runs without a token pass are absent.
        total: the number of all responses.
        differing: the page opens on the problems on which the first two runs differ, if there are some.
    """
    runs = list(dict.fromkeys(r.run for r in responses))
    problems = {(r.benchmark, r.problem): r for r in reversed(responses)}  # the first response to each
    order = {key: i for i, key in enumerate(dict.fromkeys((r.benchmark, r.problem) for r in responses))}
    strings = {text: i for i, text in enumerate(dict.fromkeys(t for r in responses for t in r.tokens or ()))}
    entropies = sorted(h for r in responses for h in r.entropies or ())
    return {
        "runs": [{"name": run, "fork": forks.get(run)} for run in runs],
        "problems": [
            {
                "benchmark": b,
                "id": p,
                **{name: getattr(problems[b, p], name) for name in ("gold", "prompt", "question")},
            }
            for b, p in order
        ],
        "differing": differing and len(runs) > 1,
        "strings": list(strings),
        "full_tint": entropies[int(0.99 * (len(entropies) - 1))] if entropies else 0.0,  # few are above
        "mathematics": has_mathematics(responses),
        "kept": len(responses),
        "of": total,
        "responses": [
            {
                "run": runs.index(r.run),
                "problem": order[r.benchmark, r.problem],
                **{name: getattr(r, name) for name in ("sample", "seed", "verdict", "answer", "length")},
                **({} if r.reason is None else {"reason": r.reason}),
                **_body(r, strings, forks.get(r.run, math.inf)),
            }
            for r in responses
        ],
    }


def has_mathematics(responses: Sequence[Shown]) -> bool:
    """Whether some text has a formula between marks that the viewer renders."""
    return any(_MARK.search(text) for r in responses for text in (r.text, r.gold, r.question or "", r.prompt or ""))


_MARK = re.compile(r"\$|\\[(\[a-zA-Z]")


def _body(r: Shown, strings: dict[str, int], fork: float) -> dict[str, object]:
    """Tokens by their numbers, entropies and the places of forks. The text where no token pass was made."""
    if r.tokens is None or r.entropies is None:
        return {"text": r.text}
    return {
        "tokens": [strings[t] for t in r.tokens],
        "entropies": [round(h, 2) for h in r.entropies],
        "forks": [i for i, h in enumerate(r.entropies) if h >= fork],
    }
