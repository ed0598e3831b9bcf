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
    "Does the code that a paper's authors released compute the equation that the paper prints? Each row imports the "
    "code at one commit and drives its own update step with drawn batches. It compares the gradient of the loss with "
    "respect to the log-probabilities of the sampled tokens with that of our equation. A verdict is about the code at "
    "that commit, with that script. It says nothing about which code produced a paper's numbers."
)

READING = """\
- *equation* says where the paper's equation is declared in this repository.
- *presence* is ⟨r − b, m − b⟩ / |m − b|², with r the released gradient, m the method's, and b its baseline's.
  It is 1 if the method's own change is all there, and 0 if none of it is. The table has the value farthest from 1.
- *residual* is |r − m| / |m − b|: 0 if the gradients are equal. The table has the largest of all batches.
- *cosine* and *norm ratio* compare r with m. The table has the smallest cosine, and the norm ratio of that batch.
  A cosine alone is blind: a factor near 1 that is never applied leaves it at 0.9999.
- *two passes* compares released gradients of one optimiser step, cut into two forward passes and into one (on oat:
  into one per response). The table has the smallest cosine. Below 1, the result depends on how a step is cut.
- A residual below 0.00001 counts as equal: veRL adds 1e-8 to a denominator, and oat computes in float32."""

LIMITS = """\
What is not run: the workers, the sharding, dynamic batches, the advantage estimators (except on oat), and bfloat16.
The scripts are read and never run. Stubs stand for packages that are not installed. No update step called one.
Do you read a row differently? Say so in an issue, and your answer goes below the row."""


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
            "# Released code beside its paper's equation",
            made,
            INTRODUCTION,
            table(rows),
            "## How to read it",
            READING,
            "Every case gets these batches, as two optimiser steps each:",
            drawn,
            LIMITS,
            "## Each row",
            *(details(key, row, folder) for key, row in rows.items()),
            "## Bring the code",
            "These commands bring the code. None of it is part of this repository.",
            bring,
        )
        if part
    )
