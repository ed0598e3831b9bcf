"""How often does the grader agree with labels of others? `python -m benchmarks.agreement DATA [--write]`.

DATA holds `grader/*.jsonl` (the triples), `benchmarks/` and `fresh/` (golds), as ../shared/data does; with --heldout
also other projects' tests are read. Prints a Markdown document: agreement by source and tier beside math-verify alone
(gold and answer boxed, a response or a string with delimiters as it is) and beside earlier verdicts
(agreement_before.txt, a sign for each row: + correct, - not, ? unscored); rewrites and mutations of golds; false
accepts; extraction policies; speed. --write puts it into results/grader.md.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import heldout_fifth, heldout_fourth, rewrites, seen_reasons, unseen_reasons
from benchmarks.grading_speed import speed
from benchmarks.heldout_sources import REASONS
from evals.grading import Grade, Grader
from evals.grading.verdicts import Verdict, policy_effects
from harness.cli.columns import columns
from harness.runs.record import environment

ROOT = Path(__file__).resolve().parents[1]
Row = dict[str, Any]
HALVES = {
    "development": "first set, development",
    "heldout": "first set, once held out",
    "second": "second set, today (at its first scoring 93.55 %)",
    "third": "third set, today (at its first scoring 68.57 %)",
    "fourth_development": "fourth set, development",
    "fourth": "fourth set, today (at its first scoring 83.12 %)",
    "fifth_development": "fifth set, development",
    "fifth": "fifth set, today (at its first scoring 90.12 %, of labels about value 94.67 %)",
    "sixth": "sixth set, today (at its first scoring 85.00 %, of labels about value 92.44 %)",
}
LONGEST_SHOWN = 300  # characters of a response
PATIENCE_S = 45  # by the clock, for math-verify: its own 5 s are over early on a busy machine


def main() -> int:
    parser = argparse.ArgumentParser(prog="agreement", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true", help="write results/grader.md as well")
    parser.add_argument(
        "--size", type=int, default=3000, help="changed golds of each kind; pairs and timings in proportion"
    )
    parser.add_argument("--ours-only", action="store_true", help="leave math-verify out of the agreement (it is slow)")
    parser.add_argument("--heldout", type=Path, help="a folder of `python -m benchmarks.heldout`")
    parser.add_argument("--only-heldout", action="store_true", help="that part alone, for results/grader_heldout.md")
    parser.add_argument("--sets", nargs="+", choices=HALVES, default=list(HALVES), help="which of its sets")
    parser.add_argument("--only-golds", action="store_true", help="false accepts of its golds, for grader_golds.md")
    parser.add_argument("--only-seen", action="store_true", help="disagreements with DATA's labels, for grader_seen.md")
    asked = parser.parse_args()
    if asked.heldout is None and (asked.only_heldout or asked.only_golds):
        parser.error("--only-heldout and --only-golds need --heldout FOLDER")
    if asked.only_golds:
        sets = rewrites.golds(asked.heldout, asked.heldout / "golds")
        text = "\n".join([heading(), *accepts(sets, asked.size // 10)])
        return finish(text, asked.write and "grader_golds.md")
    if asked.only_heldout:
        return finish(heading() + "\n" + unseen(asked.heldout, asked.sets), asked.write and "grader_heldout.md")
    sources = {path.stem: read(path) for path in sorted((asked.data / "grader").glob("*.jsonl"))}
    if not sources:
        parser.error(f"data: expected .jsonl files in {asked.data / 'grader'}, found none")
    rows = [row for own in sources.values() for row in own]
    if asked.only_seen:
        return finish(heading() + "\n" + seen(sources), asked.write and "grader_seen.md")
    with ProcessPoolExecutor(4) as processes:  # the sections are independent
        later: list[Future[Any]] = [processes.submit(theirs, [] if asked.ours_only else rows)]
        later += [processes.submit(changes, asked.data, asked.size, asked.heldout)]
        later += [processes.submit(policies, sources), processes.submit(unseen, asked.heldout, asked.sets)]
        given = [pair(row) for row in rows if row["kind"] != "response"]
        later += [processes.submit(speed, asked.data, given, asked.size)]
        mine = ours(rows)
        alone, *sections = (each.result() for each in later)
    signs = (Path(__file__).parent / "agreement_before.txt").read_text(encoding="utf-8").strip()
    before = [{"+": True, "-": False, "?": None}[sign] for sign in signs]
    if len(before) != len(rows):
        parser.error(f"data: expected the {len(before)} rows of agreement_before.txt, found {len(rows)}")
    parts = [heading(), agreement(sources, mine, alone or None, before), *sections]
    return finish("\n".join(parts), asked.write and "grader.md")


def finish(text: str, page: str | bool) -> int:
    print(text)
    if page:
        (ROOT / "results" / str(page)).write_text(text, encoding="utf-8")
    return 0


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def ours(rows: list[Row]) -> list[bool | None]:
    """Correct or not; None is unscored."""
    grades: dict[int, Grade] = {}
    kinds = [None if row["kind"] != "response" else row.get("policy", "boxed_last") for row in rows]
    with Grader() as grader:
        for policy in dict.fromkeys(kinds):
            own = [i for i, kind in enumerate(kinds) if kind == policy]
            if policy is None:
                graded = grader.grade_answers([pair(rows[i]) for i in own])
            else:
                asked = [(*pair(rows[i]), rows[i].get("finish_reason")) for i in own]
                graded = grader.grade_responses(asked, policy)
            grades |= zip(own, graded, strict=True)
    verdicts = [grades[i].verdict for i in range(len(rows))]
    return [None if verdict is Verdict.UNSCORED else verdict is Verdict.CORRECT for verdict in verdicts]


def theirs(rows: list[Row]) -> list[bool | None]:
    """math-verify alone; it gives no reasons, and what it cannot read is not correct."""
    from math_verify import parse, verify

    verdicts: list[bool | None] = []
    for row in rows:
        gold, prediction = pair(row)
        as_written = row["kind"] == "string" and re.search(r"\$|\\boxed|\\\(|\\\[", gold)
        answer = prediction if row["kind"] == "response" or as_written else rf"\boxed{{{prediction}}}"
        sides = [
            parse(one, parsing_timeout=PATIENCE_S) for one in (gold if as_written else rf"\boxed{{{gold}}}", answer)
        ]
        verdicts.append(bool(verify(*sides, timeout_seconds=PATIENCE_S)))
    return verdicts


def pair(row: Row) -> tuple[str, str]:
    return str(row["gold"]), str(row["prediction"])


def matrix(rows: list[Row], verdicts: list[bool | None]) -> Counter[tuple[bool, bool | None]]:
    """(label, verdict) -> how many."""
    return Counter((row["expected"], verdict) for row, verdict in zip(rows, verdicts, strict=True))


def heading() -> str:
    e = environment()
    commit = str(e["commit"])[:10] + (" with uncommitted changes" if e["uncommitted_changes"] else "")
    return (
        "# The grader against labels of others\n\n"
        f"Written by `python -m benchmarks.agreement {' '.join(sys.argv[1:])}` on {time.strftime('%Y-%m-%d')}, "
        f"commit {commit}, math-verify {version('math-verify')}; not edited by hand.\n"
    )


def agreement(
    sources: dict[str, list[Row]],
    mine: list[bool | None],
    alone: list[bool | None] | None,
    before: list[bool | None] | None,
) -> str:
    """By source and by tier: three graders on the same rows."""
    groups: dict[str, list[int]] = {}
    at = 0
    for name, own in sources.items():
        groups[name] = list(range(at, at + len(own)))
        at += len(own)
    rows = [row for own in sources.values() for row in own]
    for tier in sorted({row["tier"] for row in rows}):
        groups[f"tier {tier}"] = [i for i, row in enumerate(rows) if row["tier"] == tier]
    groups["all"] = list(range(len(rows)))
    graders = {"math-verify": alone, "before": before, "ours": mine}
    given = {name: verdicts for name, verdicts in graders.items() if verdicts is not None}
    header = ("source", "rows", *(f"{name} %" for name in given), *(f"{name} {what}" for name in given
              for what in ("wrong accepted", "right refused")), "unscored")  # fmt: skip
    cells = []
    for name, where in groups.items():
        own = [rows[i] for i in where]
        counts = [matrix(own, [verdicts[i] for i in where]) for verdicts in given.values()]
        cells.append(line(name, *counts))
    return (
        "## Agreement\n\nShare of rows on which a verdict agrees with the source's own label. Not all labels are "
        "right, and some follow another rounding policy than ours. Tier A: labelled by a person or by a test's author; "
        'B: by an exact rule; C: loosely. "Before": at the commit before relations, prose golds and random points '
        "(7e53800).\n\n" + columns(header, cells, left=1) + "\n"
    )


def line(name: str, *counts: Counter[tuple[bool, bool | None]]) -> tuple[str, ...]:
    """One row: agreement of each grader, its errors, and what the last one leaves unscored."""

    def rate(own: Counter[tuple[bool, bool | None]]) -> str:
        return f"{100 * (own[True, True] + own[False, False]) / own.total():.2f}"

    errors = [own[key] for own in counts for key in ((False, True), (True, False))]
    unscored = counts[-1][True, None] + counts[-1][False, None]
    return (name, str(counts[-1].total()), *map(rate, counts), *map(str, errors), str(unscored))


def unseen(folder: Path | None, sets: Sequence[str]) -> str:
    """Triples that were not in DATA."""
    if folder is None:
        return ""
    parts = [
        "## Other projects' tests\n\nPairs that are not among the triples above, most labelled by a test's author, "
        "read from tests and released outputs of other projects (`python -m benchmarks.heldout`). In the first set the "
        "hash of a gold decides its half. Rules were written with the development half in view; the other half was "
        "scored once, on 2026-11-22 (grader_heldout_first_look.md keeps that page), and is development material since. "
        "The second set, of other projects, was read before our grader saw any of it and scored once, after the rules "
        "of that day, which were written for the first set alone (their author had read the pairs of the second, to "
        "check that the tests were read rightly). The third set was fixed by its hash after that, unread, and scored "
        "once. The fourth set was split by hash before it was read; rules were written with its development half in "
        "view, and the other half was scored once, after the last of them. Rules for the disagreements in all of these "
        "were written since, so what is shown for them is today's score (grader_heldout_second_look.md and "
        "grader_heldout_fourth_look.md keep the first ones). The fifth set was collected by somebody who wrote no "
        "rule and ran no grader, and split by the hash of the project: rules were written with one half in view, and "
        "the other was scored once, after the last of them. The sixth set, of yet other projects, was collected in "
        "the same way while rules for the fifth were written, and scored once after them. Rules for both were written "
        "since (grader_heldout_fifth_look.md and grader_heldout_sixth_look.md keep the first scorings). Their "
        "collectors said of each label, before the scoring, whether it is about equality in value; the others hang on "
        "a form, a tolerance or the problem's text. Their projects read responses in different ways, so ours reads "
        "each by the policy that its form asks for: `letter` where the gold is one, else the last box, else (in the "
        "sixth) the tag `<answer>`, else the line `Answer:`, else `qwen`. math-verify gets a string as it is where it "
        "was written to be parsed so, else in a box.\n"
    ]
    for half in sets:
        rows = read(folder / f"{half}.jsonl")
        mine, alone = ours(rows), theirs(rows)
        projects = [row["source"].partition(":")[0] for row in rows]
        groups = {name: [i for i, own in enumerate(projects) if own == name] for name in sorted(set(projects))}
        for tier in sorted({row["tier"] for row in rows}):
            groups[f"tier {tier}"] = [i for i, row in enumerate(rows) if row["tier"] == tier]
        if any("value" in row for row in rows):
            groups["all whose label is about value"] = [i for i, row in enumerate(rows) if row["value"]]
        groups["all"] = list(range(len(rows)))
        licences = dict(zip(projects, (row["licence"] for row in rows), strict=True))
        cells = []
        for name, where in groups.items():
            own = [rows[i] for i in where]
            counts = [matrix(own, [verdicts[i] for i in where]) for verdicts in (alone, mine)]
            cells.append((*line(name, *counts), licences.get(name, "")))
        both = [f"{name} {what}" for name in ("math-verify", "ours") for what in ("wrong accepted", "right refused")]
        header = (HALVES[half], "rows", "math-verify %", "ours %", *both, "unscored", "licence")
        parts += [columns(header, cells, left=1), ""]
        if half in ("second", "third", "fourth", "fifth", "sixth"):
            parts += [
                "Where ours disagrees with the label, and why, as read by hand after the scoring:\n",
                *disagreements(rows, mine),
                "",
            ]
    return "\n".join(parts)


def disagreements(rows: list[Row], mine: list[bool | None]) -> list[str]:
    verdicts = {True: "correct", False: "not correct", None: "unscored"}
    why = REASONS | heldout_fourth.REASONS

    def reason(row: Row) -> str:
        read = why.get(pair(row)) or unseen_reasons.READ.get(heldout_fifth.digest(*pair(row))[:12])
        return read or row.get("why") or "Not read yet"

    def short(text: str) -> str:
        return text if len(text) <= LONGEST_SHOWN else f"... {text[-LONGEST_SHOWN:]}".replace("\n", " ")

    return [
        f"- `{short(row['gold'])}` | `{short(row['prediction'])}`: label {verdicts[row['expected']]}, "
        f"ours {verdicts[own]} ({row['source'].partition(':')[0]}). {reason(row)}"
        for row, own in zip(rows, mine, strict=True)
        if own is not row["expected"]
    ]


def seen(sources: dict[str, list[Row]]) -> str:
    """Every disagreement with a label of DATA, and whose mistake it is."""
    verdicts = {True: "correct", False: "not correct", None: "unscored"}
    cells = [
        (source, row["tier"], seen_reasons.digest(row), verdicts[own], *seen_reasons.reason(row))
        for source, rows in sources.items()
        for row, own in zip(rows, ours(rows), strict=True)
        if own is not row["expected"]
    ]
    counts = Counter((verdict, whose) for *_, verdict, whose, _ in cells)
    summary = [
        (whose, *(str(counts[verdict, whose]) for verdict in ("correct", "not correct", "unscored")))
        for whose in dict.fromkeys(whose for _, whose in counts)
    ]
    return (
        f"## Disagreements with the labels of the seen set\n\n{len(cells)} of {sum(map(len, sources.values()))} rows, "
        "read by hand. Ours accepts what the label calls wrong (*correct*), or refuses what it calls right.\n\n"
        + columns(("whose", "ours accepts", "ours refuses", "unscored"), summary, left=1)
        + "\n\n"
        + columns(("source", "tier", "row", "ours", "whose", "why"), cells, left=6)
        + "\n"
    )


def changes(data: Path, size: int, more: Path | None = None) -> str:
    """Rewrites, mutations and false accepts."""
    sets = rewrites.golds(data)
    every = rewrites.golds(data, more and more / "golds")
    parts = [
        "## Real golds, changed\n\nThe golds of all benchmarks at hand, rewritten so that the value stays (must be "
        "correct) and mutated so that it does not (must be wrong).\n"
    ]
    with Grader() as grader:
        for change, expected in (("rewrites", Verdict.CORRECT), ("mutations", Verdict.WRONG)):
            lines, missed = rewrites.table(rewrites.changed(sets, change, size), grader, expected)
            parts += [columns((change, "graded", str(expected), "unscored"), lines, left=1), ""]
            parts += [f"Missed: `{gold}` by {kind}: `{text}`  " for gold, kind, text in missed[:20]]
            parts += [""] * bool(missed)
    return "\n".join([*parts, *accepts(every, size // 10)])


def accepts(sets: dict[str, list[str]], pairs: int) -> list[str]:
    """False accepts: of empty statements, and of other golds of the same set."""
    with Grader() as grader:
        lines, accepted = rewrites.false_accepts(sets, grader, pairs)
    header = (
        "benchmark",
        "golds",
        *(f"accept {trick}" for trick in rewrites.TRICKS),
        "pairs",
        "accepted",
        "per 10,000",
    )
    return [
        "## False accepts\n\nGolds that accept an empty statement, and pairs of different golds of one benchmark or "
        "public problem set (at most 600 golds of each) of which one accepts the other.\n",
        columns(header, lines, left=1),
        "",
        *(f"Accepted in {name}: `{gold}` for `{answer}`  " for name, gold, answer in accepted),
        "",
    ]


def policies(sources: dict[str, list[Row]]) -> str:
    """What each extraction policy makes of the real responses."""
    rows = [row for own in sources.values() for row in own if row["kind"] == "response"]
    triples = [(*pair(row), row.get("finish_reason")) for row in rows]
    with Grader() as grader:
        grades = grader.grade_responses(triples)
        effects = policy_effects(triples, grades, grader, "", ("boxed_last", "boxed_first", *POLICIES_BESIDE))
        used = {effect.policy: effect for effect in effects}["boxed_last"].correct
    cells = [
        (e.policy, str(e.rows), str(e.correct), f"{100 * e.correct / e.rows:.2f}", f"+{e.gained}", f"-{e.lost}")
        for e in effects
    ]
    header = ("policy", "responses", "correct", "%", "gained", "lost")
    return (
        f"## Extraction policies\n\nThe same {len(rows)} real responses of a 7B model, which all end in a box; "
        f"boxed_last ({used} correct) is the default.\n\n" + columns(header, cells, left=1) + "\n"
    )


POLICIES_BESIDE = ("boxed_strict", "answer_line", "answer_tag", "qwen", "letter")


if __name__ == "__main__":
    sys.exit(main())
