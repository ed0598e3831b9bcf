"""`nox -s grader`: labels by hash, their texts from clones and files, counts, and classes of speed."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from benchmarks import grader, pages
from benchmarks.grader import Pair


def pair(gold: str, answer: str, label: bool, kind: str = "answer", policy: str = "", source: str = "o/n:t.py") -> Pair:
    return Pair(grader.digest(gold, answer), "second", label, kind, "A", "value", policy, None, source, "")


def test_agreed_wrong_accepts_and_wrong_rejects() -> None:
    # one of each kind, and an unscored one, which agrees with no label
    labels, verdicts = [True, True, True, False, False], [True, False, None, True, False]
    assert grader.errors(labels, verdicts) == (2, 1, 1)


def test_texts_come_back_by_hash_from_a_clone_and_from_a_file(tmp_path: Path) -> None:
    test = "HALF = '1/2'\ndef test():\n    assert same('0.5', HALF)\n    assert same('so ' + HALF, '3')\n"
    clone = tmp_path / "clones" / "o+n" / "repo"
    clone.mkdir(parents=True)
    (clone / "t.py").write_text(test)
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "t"]):
        subprocess.run(["git", "-C", str(clone), *command], check=True)
    files = tmp_path / "files"
    files.mkdir()
    (files / "x.jsonl").write_text(json.dumps({"gold": "7", "prediction": "8"}) + "\n")
    pairs = [pair("1/2", "0.5", True), pair("3", "so 1/2", False), pair("7", "8", False), pair("not", "there", True)]
    with_text = grader.with_texts(pairs, [tmp_path / "clones", files])
    assert [(p.gold, p.answer) for p in with_text] == [("1/2", "0.5"), ("3", "so 1/2"), ("7", "8"), (None, None)]
    assert [(p.digest, p.label) for p in with_text] == [(p.digest, p.label) for p in pairs]


def test_answers_and_responses_are_read_as_such() -> None:
    rows = [
        pair("1/2", "0.5", True)._replace(gold="1/2", answer="0.5"),
        *(
            pair("7", text, label, "response", "boxed_last")._replace(gold="7", answer=text)
            for text, label in ((r"3 + 4 is \boxed{7}", True), (r"3 + 4 is \boxed{8}", False))
        ),
    ]
    assert grader.grade(rows) == grader.math_verify(rows) == [True, True, False]


def test_the_rule_that_decides_a_pair_is_counted() -> None:
    texts = [
        ("5", "5.0", True),
        ("5", "6", True),
        ("5 m", "500 cm", True),
        ("5", "so", False),
    ]  # the second label is wrong
    rows = [pair(gold, answer, label)._replace(gold=gold, answer=answer) for gold, answer, label in texts]
    assert [grader.decider(row) for row in rows[:3]] == [
        ("plain_number", True),
        ("plain_number", False),
        ("quantity", True),
    ]
    lines = {line.split()[1]: line.split()[-4:-1] for line in grader.rules(rows).splitlines() if line.startswith("| ")}
    assert lines["plain_number"] == ["2", "|", "1"] and lines["quantity"] == ["1", "|", "0"]


def test_the_committed_pairs_are_whole() -> None:
    pairs = list(grader.labelled_pairs())
    assert len(pairs) == 10_088 and {p.set for p in pairs} | set(grader.OUR_SETS) == set(grader.SETS)
    assert all(len(p.digest.lstrip("~")) == 16 and p.source for p in pairs)
    assert {p.kind for p in pairs} == {"answer", "string", "response"}
    for name, path in grader.OUR_SETS.items():
        read = list(grader.own_pairs(name, path))
        assert {p.label for p in read} == {True, False} and all(p.digest == grader.digest(*p.texts) for p in read)


def test_the_fresh_pairs_are_those_that_were_scored_first() -> None:
    text = grader.OUR_SETS["fresh"].read_bytes()
    assert hashlib.sha256(text).hexdigest() == "e9abc78e58c7a349681ea783f5498d6d13961900f104b4ffd66de2b6d0b3dc85"
    fresh = list(grader.own_pairs("fresh", grader.OUR_SETS["fresh"]))
    assert len(fresh) == 390 and sum(p.label for p in fresh) == 195
    verdicts = grader.grade(fresh)
    rejected = [p.texts for p, verdict in zip(fresh, verdicts, strict=True) if verdict is not p.label]
    assert rejected == [  # not read, and the box alone is the answer
        (r"10^{2024}-1", r"\underbrace{99\ldots9}_{2024}"),
        (r"\frac{n(n+1)}{2}", r"1+2+\cdots+n"),
        (r"\langle 1,-2,2\rangle", r"\mathbf{i}-2\mathbf{j}+2\mathbf{k}"),
        ("36", r"\boxed{36}^2"),
    ]


def test_families_are_counted_for_both_graders() -> None:
    rows = [pair("5", text, label)._replace(set="families", source="f.txt:words", gold="5", answer=text)
            for text, label in (("five", True), ("5.0", True), ("6", False))]  # fmt: skip
    table = grader.families(rows, [True, None, True], [True, False, False])
    # ours accepts one right and one wrong answer. math-verify rejects one right answer
    assert "| families | words" in table
    assert [cell.strip() for cell in table.strip().splitlines()[-1].split("|")][3:-1] == [*"21110201"]


@pytest.mark.parametrize(
    ("gold", "answer", "name"),
    [("12", "12.5", "plain"), (r"\frac{1}{2}", "0.5", "latex"), (r"2\sqrt{3}", r"\sqrt{12}", "latex"),
     (r"x^2+1", "1+x^2", "symbolic"), (r"\sin 2", r"2\sin 1\cos 1", "symbolic")],
)  # fmt: skip
def test_classes_of_speed(gold: str, answer: str, name: str) -> None:
    assert grader.class_of(gold, answer) == name


def test_a_page_is_not_made_with_uncommitted_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    (tmp_path / "f").write_text("1")
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "t"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    assert "nox -s x --write" in pages.made_by("nox -s x")
    (tmp_path / "f").write_text("2")
    with pytest.raises(RuntimeError, match="uncommitted changes in 1 files"):
        pages.made_by("nox -s x")
