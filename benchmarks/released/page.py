"""results/released.md, from the judged cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.released import checkout
from benchmarks.released.cases import Case
from benchmarks.released.measure import Comparison
from benchmarks.released.papers import Paper
from benchmarks.released.processes import CaseResult
from benchmarks.released.verdicts import Judged
from benchmarks.released.verl_actor import VerlActor
from evals.notebook import markdown_table

INTRODUCTION = (
    "Does the released code of a paper compute the equation that the paper prints? For each row, we import the "
    "code at one commit, and run its own update step on the batches below. Then we compare two gradients: the "
    "gradient of the released loss, and the gradient of our equation. Both are over the log-probabilities of "
    "the sampled tokens. A verdict is about the code at this commit, with this script. It says nothing about "
    "the code that produced the paper's numbers."
)

READING = """\
- *equation*: the place of the paper's equation in this repository.
- *presence*: ⟨r − b, m − b⟩ / |m − b|². Here r is the released gradient, m the method's gradient, and b the gradient of
  the method's baseline. If presence is 1, the released code has the method's whole change. If it is 0, the released
  code has no part of the change. The table has the value farthest from 1.
- *residual*: |r − m| / |m − b|. It is 0 if the gradients are equal. The table has the largest value of all batches.
- *cosine* and *norm ratio* compare r with m. The table has the smallest cosine, and the norm ratio of the same batch. A
  cosine alone cannot show every fault. If a factor near 1 is missing, the cosine is still 0.9999.
- *two passes* compares two released gradients of one optimiser step. One computes the step in two forward passes, the
  other in one pass (on oat: in one pass per response). The table has the smallest cosine. If it is below 1, the result
  depends on how a step is divided.
- A residual below 0.00001 counts as equal. veRL adds 1e-8 to a denominator, and oat computes in float32."""

LIMITS = """\
We do not run the workers, the sharding, dynamic batches, the advantage estimators (except on oat), or bfloat16. We read
the scripts, and never run them. If a package is not installed, a stub replaces it. No update step called a stub.

Do you read a row differently? Open an issue. We add your answer below the row."""


@dataclass(frozen=True)
class Row:
    """One case with what was found."""

    case: Case
    paper: Paper
    measured: CaseResult
    judged: Judged


def worst(judged: Judged, badness: Callable[[Comparison], float]) -> Comparison:
    return max(judged.comparisons.values(), key=badness)


def numbers(judged: Judged) -> list[str]:
    """presence, residual, cosine, norm ratio, largest difference, two passes."""
    if not judged.comparisons:
        return ["–"] * 6
    farthest = worst(judged, lambda c: abs(c.presence - 1))
    turned = worst(judged, lambda c: -c.cosine)
    return [
        f"{farthest.presence:.3f}".replace("-0.000", "0.000"),
        _small(worst(judged, lambda c: c.residual).residual),
        f"{turned.cosine:.5f}",
        f"{turned.norm_ratio:.4f}",
        f"{worst(judged, lambda c: c.largest).largest:.0e}",
        "–" if judged.passes is None else f"{judged.passes:.4f}",
    ]


def _small(value: float) -> str:
    return f"{value:.0e}" if value < 0.001 else f"{value:.3f}"


def table(rows: Mapping[str, Row]) -> str:
    header = ["row", "method and script", "paper", "code", "equation", "verdict"]
    header += ["presence", "residual", "cosine", "norm ratio", "largest difference", "two passes"]
    body = []
    for key, row in rows.items():
        case = row.case
        paper = f"[{case.arxiv}](https://arxiv.org/abs/{case.arxiv})"
        code = f"{case.repository} @ {case.commit}"
        body.append([key, case.title, paper, code, row.paper.source, row.judged.verdict, *numbers(row.judged)])
    return markdown_table(header, body, left=6)


def details(key: str, row: Row, folder: Path) -> str:
    """One section: where the code is, what reached the loss, what differs, and the authors' answer."""
    case, measured, judged = row.case, row.measured, row.judged
    where = checkout.root(case, folder)
    lines = [f"### {key}", "", f"- Code: {_places(case, where)}. Licence: {case.licence}."]
    if measured.values:
        lines.append(
            "- Reached the loss: " + ", ".join(f"`{name}={value}`" for name, value in measured.values.items()) + "."
        )
    if isinstance(case.driver, VerlActor) and case.driver.overrides:
        lines.append(f"- Added to the script's arguments: {_code(case.driver.overrides)}.")
    if isinstance(case.driver, VerlActor) and case.driver.left_out:
        lines.append(f"- Left out of the script's arguments: {_code(case.driver.left_out)}.")
    if judged.difference:
        lines.append(f"- What differs: {judged.difference.says} ({_line(judged, where)}).")
    if case.arm:
        paper, arm = case.arm
        lines.append(f"- The arm that computes this: `rlvr run paper={paper} arm={arm}`.")
    if judged.blind:
        lines.append(f"- Batches on which the method's gradient is its baseline's: {', '.join(judged.blind)}.")
    lines.append(f"- Stubs: {', '.join(measured.stubs) or 'none'}.")
    if measured.refused:
        lines.append(f"- Refused, of the code or of a package it imports: {_code(sorted(set(measured.refused)))}.")
    lines += [f"- {note}" for note in (case.note,) if note]
    lines.append(f"- The authors' answer: {case.answer or 'none known to us.'}")
    return "\n".join(lines)


def _code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _places(case: Case, where: Path) -> str:
    if not where.is_dir():
        return ", ".join(f"`{place.path}`" for place in case.places)
    return ", ".join(f"`{checkout.line(place, where)}`" for place in case.places)


def _line(judged: Judged, where: Path) -> str:
    assert judged.difference is not None
    return f"`{checkout.line(judged.difference.place, where)}`"


def page(rows: Mapping[str, Row], folder: Path, batches: Mapping[str, str], made: str) -> str:
    """The whole page. `batches`: name -> what it is."""
    drawn = "\n".join(f"- *{name}*: {what}." for name, what in batches.items())
    bring = "\n".join(dict.fromkeys(f"    {checkout.commands(row.case)}" for row in rows.values()))
    return "\n\n".join(
        part
        for part in (
            "# Released code compared with the equation of its paper",
            made,
            INTRODUCTION,
            table(rows),
            "## How to read it",
            READING,
            "Every case gets these batches. Each batch is two optimiser steps:",
            drawn,
            LIMITS,
            "## Each row",
            *(details(key, row, folder) for key, row in rows.items()),
            "## Get the code",
            "These commands download the code. This repository contains none of it.",
            bring,
        )
        if part
    )
