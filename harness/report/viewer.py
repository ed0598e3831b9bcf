"""The responses of the report's viewer, compressed: a dictionary of tokens, and one character per entropy.

A response of n tokens takes 3 n or 4 n characters. If not all fit, a sample is shown, even over problems and runs, and
the page says how many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Printable characters that neither JSON nor HTML has to escape: 45 levels of entropy, each a fork or not
ALPHABET = "".join(chr(c) for c in range(32, 127) if chr(c) not in '"\\<>&')
LEVELS = len(ALPHABET) // 2
BUDGET = 2_600_000  # characters of the page


@dataclass(frozen=True)
class Shown:
    """One response. `tokens` and `entropies` (nats) are of one length, or both None where no token pass was made."""

    run: str
    benchmark: str
    problem: str
    sample: int
    seed: int | None  # of the training, where there are several
    verdict: str
    answer: str | None
    gold: str
    prompt: str | None
    text: str
    tokens: tuple[str, ...] | None = None
    entropies: tuple[float, ...] | None = None
    length: int | None = None

    @property
    def cost(self) -> int:
        """Its approximate size in the page, in characters."""
        return 60 + (4 * len(self.tokens) if self.tokens is not None else len(self.text))


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
    seen: dict[tuple[str, str, str, bool], int] = {}
    ranks = []
    for r in responses:
        correct = r.verdict == "correct"
        key = (r.run, r.benchmark, r.problem, correct)
        seen[key] = seen.get(key, -1) + 1
        ranks.append(2 * seen[key] + (not correct))
    return ranks


def pack(responses: Sequence[Shown], forks: dict[str, float], *, of: int) -> dict[str, Any]:
    """The viewer's data, plain JSON.

    Args:
        forks: run -> the entropy (nats) from which a token of that run is a fork; runs without a token pass are absent.
        of: the total number of responses.
    Raises:
        ValueError: tokens and entropies of a response differ in number, or an entropy is negative or not finite.
    """
    for r in responses:
        _check(r)
    runs = list(dict.fromkeys(r.run for r in responses))
    problems = list(dict.fromkeys((r.benchmark, r.problem) for r in responses))
    first = {(r.benchmark, r.problem): r for r in reversed(responses)}
    strings = list(dict.fromkeys(t for r in responses for t in r.tokens or ()))
    number = {text: i for i, text in enumerate(strings)}
    width = _width(len(strings))
    place = {problem: i for i, problem in enumerate(problems)}
    entropies = sorted(h for r in responses for h in r.entropies or ())
    top = entropies[-1] if entropies else 0.0
    return {
        "runs": [{"name": run, "fork": forks.get(run)} for run in runs],
        "problems": [
            {"benchmark": b, "id": p, "gold": first[b, p].gold, "prompt": first[b, p].prompt} for b, p in problems
        ],
        "strings": strings,
        "width": width,
        "top": top,
        "full_tint": entropies[int(0.99 * (len(entropies) - 1))] if entropies else 0.0,  # few are above
        "levels": LEVELS,
        "alphabet": ALPHABET,
        "kept": len(responses),
        "of": of,
        "responses": {
            "run": [runs.index(r.run) for r in responses],
            "problem": [place[r.benchmark, r.problem] for r in responses],
            **{
                name: [getattr(r, name) for r in responses]
                for name in ("sample", "seed", "verdict", "answer", "length")
            },
            **_packed(responses, number, width, top, forks),
        },
    }


def _check(r: Shown) -> None:
    where = f"{r.run}, {r.problem}, sample {r.sample}"
    if (r.tokens is None) != (r.entropies is None) or len(r.tokens or ()) != len(r.entropies or ()):
        raise ValueError(f"{where}: expected as many entropies as tokens")
    if strange := [h for h in r.entropies or () if not 0 <= h < math.inf]:
        raise ValueError(f"{where}: entropy: expected a number >= 0, got {strange[0]}")


def _packed(
    responses: Sequence[Shown], number: dict[str, int], width: int, top: float, forks: dict[str, float]
) -> dict[str, list[Any]]:
    """Tokens and entropies, or the text, of each response; the missing one is null."""
    packed: dict[str, list[Any]] = {"tokens": [], "entropy": [], "text": []}
    for r in responses:
        read = r.tokens is not None and r.entropies is not None
        fork = forks.get(r.run, math.inf)
        packed["tokens"].append("".join(digits(number[t], width) for t in r.tokens or ()) if read else None)
        packed["entropy"].append(
            "".join(ALPHABET[2 * level(h, top) + (h >= fork)] for h in r.entropies or ()) if read else None
        )
        packed["text"].append(None if read else r.text)
    return packed


def digits(value: int, width: int) -> str:
    """A whole number in the alphabet's base, most significant digit first."""
    text = ""
    for _ in range(width):
        value, digit = divmod(value, len(ALPHABET))
        text = ALPHABET[digit] + text
    return text


def level(entropy: float, top: float) -> int:
    """The step of an entropy, 0 to LEVELS - 1: even steps of its square root, so that low ones stay distinct."""
    return round((LEVELS - 1) * math.sqrt(entropy / top)) if top > 0 else 0


def _width(count: int) -> int:
    width = 1
    while len(ALPHABET) ** width < count:
        width += 1
    return width
