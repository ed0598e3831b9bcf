r"""The grader and math-verify on labelled pairs of answers: `nox -s grader -- [--texts FOLDER ...] [--write]`.

`grader_pairs.csv.gz` holds the labels (`grader_pairs.md` is its data card). Most pairs are other projects' and are
kept as hashes. Their texts are read from `--texts`: .jsonl files with `gold` and `prediction`, or clones of the
sources as `<owner>+<name>/repo`. Rows without a text are counted and left out. The pairs of this project's own tests
need no folder. math-verify takes most of the time: --kept FILE keeps its verdicts. --write makes results/grader.md and
grader.svg.
"""

from __future__ import annotations

import argparse
import ast
import csv
import gzip
import hashlib
import json
import math
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from benchmarks.pages import made_by, write
from evals.files import json_lines
from evals.grading import Grader
from evals.grading.equivalence import DEFAULT, UnscorableError, compared
from evals.grading.expression import parse, symbols
from evals.grading.extraction import extract, locate
from evals.grading.grader import outcome
from evals.grading.rules import RULES
from evals.grading.spelling import clean
from evals.grading.verdicts import Verdict
from evals.notebook import markdown_table
from evals.plots.figures import ENDS, point_rows
from evals.plots.plot import Plot, save
from evals.stats.intervals import over_problems

ROOT = Path(__file__).resolve().parents[1]
PAIRS = Path(__file__).with_name("grader_pairs.csv.gz")
OUR_SETS = {  # sets of our own, texts included
    "own": ROOT / "tests" / "evals" / "grading" / "answers.txt",
    "families": ROOT / "tests" / "evals" / "grading" / "families.txt",
    "fresh": Path(__file__).with_name("grader_fresh.txt"),
    "pairs": ROOT / "tests" / "evals" / "grading" / "pairs.jsonl",
    "pairs_held_out": ROOT / "tests" / "evals" / "grading" / "pairs.jsonl",
}


class First(NamedTuple):
    """How often verdicts agreed with the labels when a set was first scored, %."""

    rlvr: float
    math_verify: float
    when: str


HELD_OUT = "held out, scored once; development since"
FRESH = First(94.10, 78.72, "4519a0f6, 2026-11-27")
PAIRS_FIRST = First(62.00, 65.00, "fa6b9c17, 2026-11-28")
HELD_FIRST = First(55.00, 64.00, "fa6b9c17, 2026-11-28")
SETS = {  # name -> (how it was used, its first scoring)
    "own": ("development: pairs of our tests", None),
    "families": ("development: equal spellings and false friends of our tests, by family", None),
    "fresh": ("ours, written before the grader saw them, scored once; development since", FRESH),
    "pairs": ("ours, labelled before the grader saw them, scored once; development since", PAIRS_FIRST),
    "pairs_held_out": (
        "a third of these, held out while the rules of 2026-11-28 were written (96 right then)",
        HELD_FIRST,
    ),
    "shared": ("development since the start", None),
    "first_development": ("development", None),
    "first": (HELD_OUT, First(98.54, 96.89, "dc6e890, 2026-11-22")),
    "second": (HELD_OUT, First(93.55, 77.96, "2eb63c3, 2026-11-22")),
    "third": (HELD_OUT, First(68.57, 57.14, "5637bd4, 2026-11-22")),
    "fourth_development": ("development", None),
    "fourth": (HELD_OUT, First(83.12, 71.43, "964eee0, 2026-11-22")),
    "fifth_development": ("development", None),
    "fifth": (HELD_OUT, First(90.12, 82.84, "298b1c5, 2026-11-23")),
    "sixth": (HELD_OUT, First(85.00, 74.25, "f273d1b, 2026-11-23")),
}
MATH_VERIFY_S = 45  # seconds of the clock per side, because its default of 5 s is over early on a busy machine
TIMED = 300  # pairs of a class
SHOWN = 100  # characters of a text on the page


class Pair(NamedTuple):
    """A gold, an answer and their label. `gold` and `answer` are None where the texts are not at hand."""

    digest: str  # the hash of its texts by `digest`, or with a ~ in front by `joined_digest`
    set: str
    label: bool
    kind: str  # answer | string (as a test has it) | response (a model's, from which the answer is extracted)
    tier: str  # A: labelled by a person or a test's author. B: by an exact rule. C: loosely
    about: str  # value, or what else the label depends on
    policy: str  # how answers are extracted. Responses: boxed_last. form, form_tags: see `policy`.
    finish_reason: str | None
    source: str  # repository:path
    reason: str  # why the grader and the label disagreed, as read by hand
    gold: str | None = None
    answer: str | None = None

    @property
    def texts(self) -> tuple[str, str]:
        if self.gold is None or self.answer is None:
            raise ValueError(f"pair {self.digest}: its texts are not at hand")
        return self.gold, self.answer


def main() -> int:
    parser = argparse.ArgumentParser(prog="grader", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--texts", type=Path, nargs="+", default=[], metavar="FOLDER", help="the texts of others' pairs"
    )
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="only these sets")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="math-verify's verdicts, read and appended to")
    parser.add_argument("--write", action="store_true", help="write results/grader.md; needs a clean checkout")
    given = parser.parse_args()
    if missing := [str(folder) for folder in given.texts if not folder.is_dir()]:
        parser.error(f"--texts: expected folders, found none at {', '.join(missing)}")
    shown_command = "nox -s grader" + (" -- --texts FOLDER ..." if given.texts else "")
    heading = made_by(shown_command) if given.write else ""  # refuses before anything is graded
    own_set_pairs = [pair for name, path in OUR_SETS.items() for pair in own_pairs(name, path)]
    pairs = [pair for pair in (*own_set_pairs, *labelled_pairs()) if pair.set in given.sets]
    pairs = with_texts(pairs, given.texts)
    at_hand = [pair for pair in pairs if pair.gold is not None]
    our_verdicts, mv_verdicts = grade(at_hand), math_verify(at_hand, given.kept)
    plot = agreement(at_hand, our_verdicts, mv_verdicts)
    text = "\n".join(
        [
            "# How often the grader agrees with others' labels\n",
            answer(at_hand, our_verdicts, mv_verdicts),
            f"![{plot.title}]({plot.name}.svg)\n",
            f"{plot.caption}\n",
            f"{heading} math-verify {version('math-verify')}. The data card is `benchmarks/grader_pairs.md`.\n",
            accuracy(at_hand, our_verdicts, mv_verdicts),
            families(at_hand, our_verdicts, mv_verdicts),
            wrong_accepts(at_hand, our_verdicts),
            speed(at_hand),
            sets(pairs, at_hand),
            rules(at_hand),
            disagreements(at_hand, our_verdicts, mv_verdicts),
        ]
    )
    print(text)
    if given.write:
        write(ROOT / "results" / "grader.md", text)
        save(plot, ROOT / "results", ["svg"])
    return 0


def digest(gold: str, answer: str) -> str:
    return hashlib.sha256(f"{gold}\0{answer}".encode()).hexdigest()[:16]


def joined_digest(gold: str, answer: str) -> str:
    """The hash for rows whose texts were not at hand when the separator came in: two pairs may share it."""
    return "~" + hashlib.sha256(f"{gold}{answer}".encode()).hexdigest()[:16]


def labelled_pairs(path: Path = PAIRS) -> Iterator[Pair]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield Pair(
                row["pair"], row["set"], row["label"] == "1", row["kind"], row["tier"], row["about"], row["policy"],
                row["finish_reason"] or None, row["source"], row["reason"],
            )  # fmt: skip


def own_pairs(name: str, path: Path) -> Iterator[Pair]:
    """Pairs of our own: `[family]`, then in a line a gold and answers that are the same (==) and that are not (!=), or
    in .jsonl a row per pair, of which a third is `held_out`."""
    family = ""
    if path.suffix == ".jsonl":
        for row in map(json.loads, json_lines(path)):
            if row["held_out"] == name.endswith("held_out"):
                both = row["gold"], row["response"]
                kind, name_of_policy = ("response", row["policy"]) if row["policy"] else ("answer", "")
                source = f"{path.relative_to(ROOT)}:{row['family']}"
                about = (kind, "A", "value", name_of_policy, None, source, row["why"])
                yield Pair(digest(*both), name, row["right"], *about, *both)
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        gold, *rest = re.split(r"\s+(==|!=)\s+", line)
        family = line.strip("[]") if not rest else family
        for sign, answer in zip(rest[::2], rest[1::2], strict=True):
            pair = (digest(gold, answer), name, sign == "==", "answer", "A", "value", "", None)
            reason = f"`{gold}` and `{answer}`".replace("|", "\\|")
            yield Pair(*pair, f"{path.relative_to(ROOT)}:{family}", reason, gold, answer)


def with_texts(pairs: Sequence[Pair], folders: Sequence[Path]) -> list[Pair]:
    """The pairs with their texts, where one of the folders has them."""
    texts: dict[str, tuple[str, str]] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.jsonl")):
            for line in json_lines(path):
                row = json.loads(line)
                both = str(row["gold"]), str(row["prediction"])
                texts[digest(*both)] = both  # not the joined one: in files of many sources it meets other pairs
    by_source: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        if pair.gold is None and pair.digest not in texts:
            by_source[pair.source].add(pair.digest)
    for source, digests in by_source.items():
        repository, _, name = source.partition(":")
        for folder in folders:
            if content := committed_file(folder / repository.replace("/", "+") / "repo", name):
                texts |= matching(candidates(name, content), digests)
    return [p._replace(gold=texts[p.digest][0], answer=texts[p.digest][1]) if p.digest in texts else p for p in pairs]


def matching(records: Iterable[tuple[list[str], list[str]]], digests: set[str]) -> dict[str, tuple[str, str]]:
    """The pairs of a record's golds and answers whose digests are asked for."""
    joined = {key for key in digests if key.startswith("~")}
    kinds = [digest] * (joined != digests) + [joined_digest] * bool(joined)
    return {
        key: (gold, answer)
        for golds, answers in records
        for gold in golds
        for answer in answers
        for kind in kinds
        if (key := kind(gold, answer)) in digests
    }


def committed_file(clone: Path, path: str) -> str:
    """A file of a clone's newest commit. Empty where there is no such clone or file."""
    if not clone.is_dir():
        return ""
    done = subprocess.run(["git", "-C", str(clone), "show", f"HEAD:{path}"], capture_output=True)
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


# how tests wrap an answer that stands in a list
WRAPS = (
    "%s",
    r"\boxed{%s}",
    "Final answer: %s",
    r"so \boxed{%s}",
    "After solving, we get %s",
    r"\boxed{\begin{pmatrix} %s",
)
QUOTED = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'")


def candidates(path: str, text: str) -> Iterator[tuple[list[str], list[str]]]:
    """(texts that may be golds, texts that may be answers) of each record of a file. A test file is one record."""
    if path.endswith((".json", ".jsonl")):
        cases = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.split("\n") if line]
        records = [[*leaves(case)] for case in cases]
    elif path.endswith(".py"):
        records = [[*constants(ast.parse(text))]]
    else:
        records = [[re.sub(r"\\(.)", r"\1", match[1] or match[2] or "") for match in QUOTED.finditer(text)]]
    for record in records:
        ends = [
            entry.rpartition(mark)[2].strip()
            for entry in record
            for mark in ("####", "A:", "# Answer")
            if mark in entry
        ]
        golds = list(dict.fromkeys([*record, *ends]))
        wrapped = [wrap % entry for entry in record for wrap in WRAPS] if path.endswith(".py") else []
        yield golds, list(dict.fromkeys([*golds, *wrapped]))


def leaves(case: object) -> Iterator[str]:
    if isinstance(case, dict | list):
        for each in case.values() if isinstance(case, dict) else case:
            yield from leaves(each)
    elif case is not None:
        yield str(case)


def constants(tree: ast.Module) -> Iterator[str]:
    """The strings and numbers of a file, also sums of constants and of names of constants."""
    assigned = [
        node for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    ]
    named = {node.targets[0].id: value for node in assigned if (value := folded(node.value, {})) is not None}  # type: ignore[attr-defined]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.BinOp | ast.UnaryOp) and (value := folded(node, named)) is not None:
            yield value


def folded(node: ast.expr, named: Mapping[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return named.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = folded(node.left, named), folded(node.right, named)
        return None if left is None or right is None else left + right
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def policy(pair: Pair) -> str | None:
    """The extraction policy of a pair, or None for a bare answer. The projects of the fifth and sixth set read
    responses in different ways, so there the form of gold and response alone decides."""
    if pair.kind != "response":
        return None
    if not pair.policy.startswith("form"):
        return pair.policy
    gold, answer = pair.texts
    if re.fullmatch(r"\(?[A-Z]\)?", gold.strip()):
        return "letter"
    if re.search(r"\\(?:boxed|fbox)", answer):
        return "boxed_last"
    if pair.policy == "form_tags" and "<answer>" in answer:
        return "answer_tag"
    return "answer_line" if re.search(r"(?im)^[\s>*#]*(?:final )?answer\s*(?:\*\*)?\s*:", answer) else "qwen"


def grade(pairs: Sequence[Pair]) -> list[bool | None]:
    """Whether our grader accepts. None is unscored."""
    verdicts: dict[int, Verdict] = {}
    policies = [policy(pair) for pair in pairs]
    grader = Grader()
    for name in dict.fromkeys(policies):
        rows = [i for i, policy_of_pair in enumerate(policies) if policy_of_pair == name]
        if name is None:
            grades = grader.grade_answers([pairs[i].texts for i in rows])
        else:
            grades = grader.grade_responses([(*pairs[i].texts, pairs[i].finish_reason) for i in rows], name)
        verdicts |= {i: given.verdict for i, given in zip(rows, grades, strict=True)}
    return [None if verdicts[i] is Verdict.UNSCORED else verdicts[i] is Verdict.CORRECT for i in range(len(pairs))]


def math_verify(pairs: Sequence[Pair], kept: Path | None = None) -> list[bool]:
    """math-verify alone: a bare side goes into a box (bare it is misread), a response or a marked string as it is.

    Args:
        kept: a file of its verdicts by version, time limit and pair. Each is added as it comes, so that an
            interrupted run goes on, and a change of our grader alone asks it nothing again.
    """
    about = f"{version('math-verify')} {MATH_VERIFY_S} s"
    rows = [(pair.kind, *pair.texts) for pair in pairs]
    keys = [f"{about} {kind} {digest(gold, answer)}" for kind, gold, answer in rows]
    known = dict(map(json.loads, json_lines(kept))) if kept and kept.exists() else {}
    unknown = {key: row for key, row in zip(keys, rows, strict=True) if key not in known}
    print(f"math-verify: {len(set(keys)) - len(unknown)} verdicts kept, {len(unknown)} to come", file=sys.stderr)
    with ExitStack() as stack:
        processes = stack.enter_context(ProcessPoolExecutor(os.cpu_count()))
        file = stack.enter_context(kept.open("a", encoding="utf-8")) if kept else None
        for key, verdict in zip(unknown, processes.map(_accepted, unknown.values(), chunksize=20), strict=True):
            known[key] = verdict
            if file:
                print(json.dumps([key, verdict]), file=file, flush=True)
    return [known[key] for key in keys]


def _accepted(row: tuple[str, str, str]) -> bool:
    from math_verify import parse, verify

    kind, gold, answer = row
    as_written = kind == "string" and re.search(r"\$|\\boxed|\\\(|\\\[", gold)
    sides = (
        gold if as_written else rf"\boxed{{{gold}}}",
        answer if as_written or kind == "response" else rf"\boxed{{{answer}}}",
    )
    return bool(verify(*(parse(side, parsing_timeout=MATH_VERIFY_S) for side in sides), timeout_seconds=MATH_VERIFY_S))


def _percents(rates: First) -> tuple[str, str]:
    return f"{rates.rlvr:.1f}", f"{rates.math_verify:.1f}"


def answer(pairs: Sequence[Pair], our_verdicts: Sequence[bool | None], mv_verdicts: Sequence[bool | None]) -> str:
    """The page's answer, over all pairs of others at hand."""
    labels, our_labels, mv_labels = zip(
        *((p.label, *both) for p, *both in zip(pairs, our_verdicts, mv_verdicts, strict=True) if p.set not in OUR_SETS),
        strict=True,
    )
    (right, accepts, rejects), (their_right, *their_errors) = errors(labels, our_labels), errors(labels, mv_labels)
    first = [published for name, (_, published) in SETS.items() if published and name not in OUR_SETS]
    ends = [(min(shares), max(shares)) for shares in zip(*((f.rlvr, f.math_verify) for f in first), strict=True)]
    fresh = sum(p.set == "fresh" for p in pairs)
    at_first = [
        (f"{len(first)} of the sets, unseen", *(f"{low:.1f} to {high:.1f}" for low, high in ends)),
        (f"{fresh:,} pairs of our own, written before the first scoring", *_percents(FRESH)),
        ("200 more pairs of our own", *_percents(PAIRS_FIRST)),
    ]
    return (
        f"**On {len(labels):,} pairs that others labelled, the grader agrees with {100 * right / len(labels):.1f} % of "
        f"the labels. math-verify agrees with {100 * their_right / len(labels):.1f} %.** The grader accepts "
        f"{accepts} pairs "
        f"with the label incorrect, and rejects {rejects} pairs with the label correct. math-verify accepts "
        f"{their_errors[0]} and rejects {their_errors[1]}.\n\n"
        "We wrote the rules of the grader while we saw these pairs. This table shows the agreement before we saw them:"
        "\n\n"
        + markdown_table(("first scoring", "grader %", "math-verify %"), at_first, left=1)
        + "\n\nSome labels are wrong, and some follow another convention. The last table gives the reason of each "
        "disagreement.\n"
    )


def by_set(pairs: Sequence[Pair]) -> dict[str, list[int]]:
    """Set -> its pairs. Where only some of its labels are about the value, these alone once more."""
    indices_by_set: dict[str, list[int]] = {}
    for name in SETS:
        chosen = [i for i, pair in enumerate(pairs) if pair.set == name]
        about_value = [i for i in chosen if pairs[i].about == "value"]
        indices_by_set |= {name: chosen} if chosen else {}
        indices_by_set |= {f"{name}, labels about value": about_value} if 0 < len(about_value) < len(chosen) else {}
    return indices_by_set


def agreement(pairs: Sequence[Pair], our_verdicts: Sequence[bool | None], mv_verdicts: Sequence[bool | None]) -> Plot:
    """The shares of labels that each grader agrees with, by set of others' pairs."""
    import pandas as pd

    labels, rows = {}, []
    for name, chosen in by_set(pairs).items():
        if name not in SETS or name in OUR_SETS:
            continue
        labels[name] = f"{name.replace('_', ' ')} ({len(chosen):,})"
        for grader, verdicts in (("ours", our_verdicts), ("math-verify", mv_verdicts)):
            agreed = [verdicts[i] is pairs[i].label for i in chosen]
            interval = over_problems(agreed)
            ends = (math.nan, math.nan) if interval is None else (interval.low, interval.high)
            rows.append((grader, name, *(100 * v for v in (ends[0], sum(agreed) / len(chosen), ends[1]))))
        if first := SETS[name][1]:
            rows.append(("ours, first scoring", name, math.nan, first.rlvr, math.nan))
    return point_rows(
        "grader",
        "Share of labels that each grader agrees with, by set",
        "The lines are 95 % intervals over the pairs of a set. The number of pairs is in brackets. The first scoring "
        "covers all pairs of a set, before we wrote a rule for this set.",
        "",
        pd.DataFrame(rows, columns=["model", "set", *ENDS]),
        ["math-verify", "ours", "ours, first scoring"],
        by="set",
        labels=labels,
        unit="agrees with the label, %",
        limits=(0.0, 100.0),
    )


def accuracy(pairs: Sequence[Pair], our_verdicts: Sequence[bool | None], mv_verdicts: Sequence[bool | None]) -> str:
    """The table by set."""
    header = ("set", "pairs", "ours %", "math-verify %", "ours: wrong accepts", "wrong rejects", "unscored",
              "math-verify: wrong accepts", "wrong rejects")  # fmt: skip
    rows = []
    for name, chosen in by_set(pairs).items():
        labels = [pairs[i].label for i in chosen]
        our_labels, mv_labels = ([verdicts[i] for i in chosen] for verdicts in (our_verdicts, mv_verdicts))
        (right, *mistakes), (their_right, *their_mistakes) = errors(labels, our_labels), errors(labels, mv_labels)
        shares = [f"{100 * n / len(chosen):.2f}" for n in (right, their_right)]
        counts = [*mistakes, sum(verdict is None for verdict in our_labels), *their_mistakes]
        rows.append((name, str(len(chosen)), *shares, *map(str, counts)))
    return (
        "## Accuracy\n\nThe table shows the share of pairs for which the verdict equals the label. Wrong labels "
        "count too. A *wrong accept* is an accepted pair with the label incorrect. An unscored pair equals no "
        "label.\n\n" + markdown_table(header, rows, left=1) + "\n"
    )


def families(pairs: Sequence[Pair], our_verdicts: Sequence[bool | None], mv_verdicts: Sequence[bool | None]) -> str:
    """Our own spellings by family: how many each grader judges as mathematics does."""
    by_family: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, pair in enumerate(pairs):
        if pair.set in ("families", "fresh", "pairs", "pairs_held_out"):
            by_family[pair.set, pair.source.partition(":")[2]].append(i)
    rows = []
    for (name, family), chosen in by_family.items():
        labels = [pairs[i].label for i in chosen]
        counts = [errors(labels, [verdicts[i] for i in chosen]) for verdicts in (our_verdicts, mv_verdicts)]
        rows.append(
            (
                name,
                family,
                *map(str, (sum(labels), len(labels) - sum(labels))),
                *(str(n) for all_ in counts for n in all_),
            )
        )
    header = ("set", "family", "equal", "false friends", "ours: right", "wrong accepts", "wrong rejects",
              "math-verify: right", "wrong accepts", "wrong rejects")  # fmt: skip
    return (
        "## Families\n\nWe wrote these pairs. Some are equal answers with different spellings. A *false friend* "
        "looks equal, and is not. We saw `families` and `pairs` when we wrote the rules. `fresh` and both sets of "
        "`pairs` were written before their first scoring, which the section Sets shows.\n\n"
        + markdown_table(header, rows, left=2)
        + "\n"
    )


def sets(pairs: Sequence[Pair], at_hand: Sequence[Pair]) -> str:
    """How each set was used, and its first scoring."""
    labelled, graded = (Counter(pair.set for pair in group) for group in (pairs, at_hand))
    rows = []
    for name, (use, first) in SETS.items():
        scored = ("", "", "") if first is None else (first.when, f"{first.rlvr:.2f}", f"{first.math_verify:.2f}")
        rows.append((name, use, scored[0], *scored[1:], f"{labelled[name]:,}", f"{graded[name]:,}"))
    header = ("set", "use", "first scored at", "ours %", "math-verify %", "labelled", "graded now")
    return (
        "## Sets\n\nWe grade a pair only if we have its texts. By now, we have seen every set.\n\n"
        + markdown_table(header, [row for row in rows if labelled[row[0]]], left=3)
        + "\n"
    )


def errors(labels: Sequence[bool], verdicts: Sequence[bool | None]) -> tuple[int, int, int]:
    """(agreed, wrong accepts, wrong rejects)."""
    both = list(zip(labels, verdicts, strict=True))
    return sum(a is b for a, b in both), both.count((False, True)), both.count((True, False))


def disagreements(
    pairs: Sequence[Pair], our_verdicts: Sequence[bool | None], mv_verdicts: Sequence[bool | None]
) -> str:
    words, unread = {True: "accepts", False: "rejects", None: "unscored"}, {"value": "not read yet"}
    rows = [
        (p.set, p.digest, p.source, words[our_verdict], words[mv_verdict], p.reason or unread.get(p.about, p.about))
        for p, our_verdict, mv_verdict in zip(pairs, our_verdicts, mv_verdicts, strict=True)
        if our_verdict is not p.label
    ]
    return (
        f"## Disagreements\n\nOn these {len(rows)} pairs, our verdict differs from the label. A person read each "
        "pair, and gave the reason, unless it says *not read yet*. Some labels depend on more than the value, and the "
        "table says on what. We may not copy others' texts, so `pair` is the hash in the data file.\n\n"
        + markdown_table(("set", "pair", "source", "ours", "math-verify", "reason"), rows, left=6)
        + "\n"
    )


def wrong_accepts(pairs: Sequence[Pair], our_verdicts: Sequence[bool | None]) -> str:
    """How many wrong accepts have which reason, in short: the convention by its name, or whose mistake it is."""
    reasons = [p.reason or p.about for p, accepted in zip(pairs, our_verdicts, strict=True) if accepted and not p.label]
    counts = Counter(re.split(r": |; ", reason)[0] for reason in reasons)
    return (
        "## Wrong accepts\n\nThe grader accepts these pairs, and their label is incorrect. A person read each pair. "
        "The reason is a named convention, a wrong label, or a label that asks for more than the value.\n\n"
        "- `digits`, `decimal_comma` and `missing_unit` are switches (`evals.grading.Conventions`)\n"
        "- `value`: the value is equal, in any form\n"
        "- `boxed_last`: the last box is the answer\n"
        "- `words`: a number in words is that number\n"
        "- `letters`: `abc` means a times b times c\n"
        "- `sets`: an inequality equals its interval\n\n"
        + markdown_table(("reason", "pairs"), [(reason, str(n)) for reason, n in counts.most_common()], left=1)
        + "\n"
    )


def rules(pairs: Sequence[Pair]) -> str:
    """The table of rules, with how many pairs each decides, and how many of these verdicts are not the label."""
    decided, against = Counter[str](), Counter[str]()
    for pair in pairs:
        name, verdict = decider(pair)
        decided[name] += 1
        against[name] += verdict is not None and verdict is not pair.label
    rows = [
        (r.name, r.accepts, " and ".join(f"`{side}`" for side in r.example or ("nothing",)),
         " and ".join(f"`{side}`" for side in r.counter), str(decided.pop(r.name, 0)), str(against[r.name]))
        for r in RULES
    ]  # fmt: skip
    rows += [(name, "no rule applied", "", "", str(n), str(against[name])) for name, n in decided.items()]
    header = ("rule", "accepts", "example", "counter-example", "pairs", "against their label")
    return (
        "## Rules\n\nThe grader tries the rules in this order. The first rule that applies decides. `same_value` "
        "evaluates both sides at random points. If it cannot read a side, the sides are not equal.\n\n"
        + markdown_table(header, rows, left=4)
        + "\n"
    )


def decider(pair: Pair) -> tuple[str, bool | None]:
    """The rule that decides a pair, and the verdict, or None where it is unscored."""
    name = policy(pair)
    gold, text = pair.texts
    answer = locate(text) if name is None else extract(text, name).answer
    if not answer or not answer.strip():
        return "no answer", False
    if gold == answer:
        return "text", True
    try:
        *_, rule, verdict = compared(locate(gold), answer, DEFAULT).steps[-1]
    except UnscorableError:
        return "unscored", None
    return rule, verdict


def speed(pairs: Sequence[Pair]) -> str:
    """Milliseconds of the processor for one answer: both graders in turn, one at a time, golds read before."""
    distinct = {p.texts: p for p in pairs if p.kind == "answer" and p.gold != p.answer}
    by_class: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for texts in distinct:
        by_class[class_of(*texts)].append(texts)
    rows = []
    grader = Grader()
    for name in ("plain", "latex", "symbolic", "worked out"):
        chosen = random.Random(0).sample(by_class[name], min(TIMED, len(by_class[name])))
        for remembered in (outcome, clean, parse, symbols):
            remembered.cache_clear()
        grader.grade_answers([(gold, rf"{gold}+\zeta") for gold, _ in chosen])  # reads the golds
        our_seconds = quantiles([seconds(partial(grader.grade_answers, [t])) for t in chosen])
        mv_seconds = quantiles([_math_verify_seconds(*texts) for texts in chosen])
        ratios = [f"{mv_time / our_time:.1f}" for our_time, mv_time in zip(our_seconds, mv_seconds, strict=True)]
        rows.append((name, str(len(chosen)), *(f"{1000 * s:.2f}" for s in (*our_seconds, *mv_seconds)), *ratios))
    header = ("class", "pairs", "ours p50 ms", "p99 ms", "math-verify p50 ms", "p99 ms", "ratio of p50", "of p99")
    return (
        "## Speed\n\nA cell shows milliseconds of processor time per distinct answer. One process grades the answers "
        f"one by one. The golds are read before the timing starts. A class has at most {TIMED} pairs with different "
        "texts.\n\n"
        "- plain: numbers in digits\n"
        "- symbolic: with letters for variables or functions\n"
        "- worked out: limits, integrals, sums and products over an index\n"
        "- latex: all other answers\n\n" + markdown_table(header, rows, left=1) + f"\n\n{worst()}"
    )


def worst() -> str:
    """The text that takes our grader the most processor time, of those that the tests make to be slow."""
    from tests.evals.grading.test_hostile_text import all_parts, texts
    from tests.evals.grading.test_wrong_accepts import CHANGES

    made = [*CHANGES["arithmetic that costs much"], *(text for part in all_parts() for text in texts(part))]
    grader, took = Grader(), []
    for text in made:
        start = time.process_time()
        grader.grade_answers([("7", text)])
        took.append((time.process_time() - start, text))
    slowest, text = max(took)
    return (
        f"We made {len(made):,} slow texts with at most 2,000 characters (`tests/evals/grading`). The slowest takes "
        f"{slowest:.2f} s of processor time: `{text[:20]}`... .\n"
    )


# what stands in LaTeX without a letter for a variable or a function
NUMERIC = re.compile(
    r"""\\(?:text|mathrm|mbox)\s*\{[^{}]*\} | \\[dt]?frac | e(?=[-+]?\d)
    | \\(?:left|right|pi|cdot|times|sqrt|boxed|infty|circ|cup)(?![a-z])""",
    re.VERBOSE,
)


def class_of(gold: str, answer: str) -> str:
    if re.fullmatch(r"[-+$\s\d.,/%]+", gold + answer):
        return "plain"
    if re.search(r"\\(?:i?int|lim|sum|prod)(?![a-z])", gold + answer):
        return "worked out"
    bare = NUMERIC.sub(" ", f"{gold} {answer}")
    return "symbolic" if re.search(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])|\\[A-Za-z]+", bare) else "latex"


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _math_verify_seconds(gold: str, answer: str) -> float:
    from math_verify import parse, verify

    read = parse(rf"\boxed{{{gold}}}")
    return seconds(lambda: verify(read, parse(rf"\boxed{{{answer}}}")))


def quantiles(values: Sequence[float]) -> tuple[float, float]:
    """The median and the 99th percentile, as values that were measured."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]


if __name__ == "__main__":
    sys.exit(main())
