"""`rlvr compare` and `rlvr power` from the command line: tables, JSON and refusals."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from evals.stats.intervals import BOTH
from rlvr import read_run
from rlvr.cli import main
from tests.evals.stats.runs import save_run
from tests.harness.record.folders import finished

CORRECT, WRONG = {f"p{i}": "++" for i in range(12)}, {f"p{i}": "aa" for i in range(12)}


@pytest.fixture
def sides(tmp_path: Path) -> tuple[str, str]:
    return str(save_run(tmp_path / "a", "x", CORRECT)), str(save_run(tmp_path / "b", "x", WRONG))


def test_compare_prints_a_table_or_json(sides: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *sides, "metrics=avg,unsolvable"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "x: 12 problems in both" in printed
    (line,) = [line for line in printed if line.startswith("avg@2 ") and "higher" in line]
    # twelve differences of 1: p = 2 / 2^12, one benchmark a family. The interval reaches down to
    # 1 - 2 (1 - 0.025^(1/12)). One seed a side
    assert re.split(r"  +", line) == ["avg@2", "100.0", "0.0", "+100.0", "[+47.1, +100.0]", "<0.001", "higher*"]
    saved = Path(sides[0]).with_name("table.md")
    assert main(["compare", *sides, "metrics=avg", "--json", f"out={saved}"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["a"], document["lines"][0]["verdict"]) == (sides[0], "checkpoint higher")
    assert (document["lines"][0]["difference"], document["lines"][0]["unit"]) == (1.0, "fraction")
    table, notes = saved.read_text().split("\n\n", 1)
    assert "- *: the measured checkpoints differ" in notes and "- Test of avg@2: t over problems, and McNemar" in notes
    header, _, row = (re.split(r" *\| *", text)[1:-1] for text in table.splitlines())
    assert header[1:5] == ["metric", "a", "b", "difference"] and row[1:5] == ["avg@2 (%)", "100.0", "0.0", "+100.0"]


def test_the_test_of_each_metric_is_named_with_its_benchmark_where_they_differ(
    sides: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """On x every difference is 1, so McNemar's test has its say. On y they are halves."""
    for side, letters in zip(sides, ("+a", "aa"), strict=True):
        save_run(Path(side), "y", {f"p{i}": letters if i % 2 else "aa" for i in range(12)})
    assert main(["compare", *sides, "metrics=avg,maj"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    tests = dict(re.findall(r"Test of (avg@2 of \w), maj@2 of \w: ([^.]*)", text))
    assert "McNemar" in tests["avg@2 of x"] and "McNemar" not in tests["avg@2 of y"]


def test_a_different_measurement_needs_the_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = save_run(tmp_path / "a", "x", CORRECT)
    b = save_run(tmp_path / "b", "x", WRONG, decoding={"temperature": 0.6, "top_p": 1.0, "max_tokens": 64})
    command = ["compare", str(a), str(b), f"out={tmp_path / 'f.svg'}"]
    assert main(command) == 2
    assert "decoding.temperature is 1.0 in A and 0.6 in B" in capsys.readouterr().err
    assert not (tmp_path / "f.svg").exists()
    assert main([*command, "allow_different=true"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "MEASURED DIFFERENTLY: x: decoding.temperature is 1.0 in A and 0.6 in B" in text
    assert "MEASURED DIFFERENTLY" in (tmp_path / "f.svg").read_text()


def test_an_audit_of_a_gain_says_that_its_sides_were_measured_differently(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = ({f"p{i}": letters for i in range(8)} for letters in ("++", "+a"))
    greedy = {"temperature": 0.0, "top_p": 1.0, "max_tokens": 64}
    a, b = save_run(tmp_path / "a", "x", right), save_run(tmp_path / "b", "x", wrong, decoding=greedy)
    assert main(["audit", str(a), f"base={b}", "metric=x"]) == 0
    assert "MEASURED DIFFERENTLY" in (out := capsys.readouterr().out)
    assert "decoding.temperature is 0.0 in the base, 1.0 here" in out
    same = save_run(tmp_path / "c", "x", wrong)
    assert main(["audit", str(a), f"base={same}"]) == 0  # it has one benchmark, which need not be named
    assert "MEASURED" not in capsys.readouterr().out


def test_an_audit_of_runs_is_of_seeds_of_one_arm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another arm is no other seed. The seeds solve 5, 6 and 7 of 8: over problems and seeds, as on pages."""
    runs = [str(finished(tmp_path, {"b": right}, seed=seed).folder) for seed, right in enumerate((5, 6, 7))]
    other = str(finished(tmp_path, {"b": 2}, arm="gspo").folder)
    assert main(["audit", runs[0], other]) == 2
    assert f"{other} is no other seed of {runs[0]}: their settings differ" in capsys.readouterr().err
    assert main(["audit", *runs, "--json"]) == 0
    interval = json.loads(capsys.readouterr().out)["interval"]
    (score,) = [s for s in read_run(*runs).scores(metrics=["avg"]) if s[0] == "b"]
    assert score[1].interval is not None and interval["covers"] == score[1].interval.covers == BOTH
    assert (interval["low"], interval["high"]) == pytest.approx((score[1].interval.low, score[1].interval.high))


def test_power_of_runs_that_were_measured_differently_says_so(
    sides: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    greedy = {"temperature": 0.6, "top_p": 1.0, "max_tokens": 64}
    unlike = save_run(tmp_path / "c", "x", {f"p{i}": "+a" for i in range(12)}, decoding=greedy)
    assert main(["power", "difference=0.05", f"runs=[{sides[0]},{unlike}]"]) == 0
    assert "MEASURED DIFFERENTLY" in (out := capsys.readouterr().out) and "temperature is 1.0 in A and 0.6 in B" in out
    assert main(["power", "difference=0.05", f"runs=[{sides[0]},{save_run(tmp_path / 'd', 'y', WRONG)}]"]) == 2
    assert "benchmark: missing. Expected one that both were measured on; they share none" in capsys.readouterr().err


def test_what_grade_wrote_can_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = {"a": ["4", "4"], "b": ["4", "5"]}  # two samples a problem. The gold is 4 everywhere
    for name, given_answers in answers.items():
        rows = [
            {
                "problem_id": problem,
                "answer": 4,
                "response": f"so \\boxed{{{answer}}}",
                "note": problem if name == "a" else problem or "mixed types",
            }
            for problem in range(3)
            for answer in given_answers
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert main(["grade", str(tmp_path / f"{name}.jsonl"), f"out={tmp_path / f'{name}-graded.jsonl'}"]) == 0
    capsys.readouterr()
    sides = [str(tmp_path / f"{name}-graded.jsonl") for name in answers]
    assert main(["compare", *sides, "metrics=avg,maj", "--json"]) == 0
    avg, maj = json.loads(capsys.readouterr().out)["lines"]
    # A: 2 of 2 correct on each of 3 problems. B: 1 of 2. maj@2 of B: one vote each, a tie, so 1/2
    assert (avg["benchmark"], avg["name"], avg["a"], avg["b"]) == ("answers", "avg@2", 1.0, 0.5)
    assert (maj["name"], maj["a"], maj["b"], maj["problems"]) == ("maj@2", 1.0, 0.5, 3)


def test_answers_that_were_read_by_other_policies_are_measured_differently(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"problem_id": p, "answer": "4", "response": f"{p} is no answer, the answer is 4"} for p in range(12)]
    (answers := tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    more = {"boxed": [], "qwen": ["policy=qwen"], "unit": ["policy=qwen", "missing_unit=false"]}
    for name, values in more.items():
        assert main(["grade", str(answers), f"out={tmp_path / name}.jsonl", *values]) == 0
    capsys.readouterr()
    boxed, qwen, unit = (str(tmp_path / f"{name}.jsonl") for name in more)
    assert main(["compare", boxed, qwen]) == 2
    refused = capsys.readouterr().err
    assert 'answers: grading is "policy boxed_last" in A and "policy qwen" in B' in refused
    assert main(["compare", boxed, qwen, "allow_different=true"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "MEASURED DIFFERENTLY: answers: grading is" in text
    assert "how A was sampled on answers is not known" in text
    assert main(["compare", unit, qwen]) == 2
    assert '"policy qwen, missing_unit=false" in A' in capsys.readouterr().err
    assert main(["compare", f"{boxed},{qwen}", unit]) == 2
    assert "no other seed of" in capsys.readouterr().err
    # rows that state no policy, as of before, are compared, and that it is not known is said
    graded = [json.loads(line) for line in Path(boxed).read_text().splitlines()]
    for row in graded:
        del row["graded_by"]
    Path(boxed).write_text("".join(json.dumps(row) + "\n" for row in graded))
    assert main(["compare", boxed, qwen]) == 0
    assert "how A was measured on answers is not known" in " ".join(capsys.readouterr().out.split())


def test_show_and_pages_know_the_policy_of_a_graded_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"problem_id": p, "answer": "4", "response": f"{p} is no answer, the answer is 4"} for p in range(3)]
    (answers := tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    graded, page = tmp_path / "graded.jsonl", tmp_path / "page.html"
    assert main(["grade", str(answers), f"out={graded}", "policy=qwen", "missing_unit=false"]) == 0
    capsys.readouterr()
    assert main(["show", str(graded)]) == 0
    assert "measured on answers by policy qwen, missing_unit=false" in " ".join(capsys.readouterr().out.split())
    assert main(["show", str(graded), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measured_by"] == {"answers": {"policy": "qwen, missing_unit=false"}}
    assert main(["page", str(graded), f"out={page}"]) == 0
    assert "<td>qwen, missing_unit=false</td>" in page.read_text()


def test_a_page_of_two_says_which_problems_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A: 4 of 6 are correct. B: 1 of 5, one reply was withheld. A has 3 of the 5 that both have, which is 60 %."""
    for name, right in (("a", (0, 1, 2, 3)), ("b", (0,))):
        rows: list[dict[str, Any]] = [
            {"problem_id": p, "answer": "4", "response": rf"\boxed{{{4 if p in right else 5}}}"} for p in range(6)
        ]
        if name == "b":
            rows[3]["finish_reason"] = "content_filter"
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert main(["grade", str(tmp_path / f"{name}.jsonl"), f"out={tmp_path / name}-graded.jsonl"]) == 0
    a, b, page = (str(tmp_path / name) for name in ("a-graded.jsonl", "b-graded.jsonl", "page.html"))
    assert main(["page", a, b, f"out={page}"]) == 0
    capsys.readouterr()
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", Path(page).read_text()))
    assert "a-graded 60.0 %, b-graded 20.0 % on the 5 problems with a value in both" in text
    # the letters and the difference are those of `rlvr compare a b`
    assert re.search(
        r"A: a-graded; B: b-graded benchmark metric A B A - B .*? answers avg@1 \(%\) 60\.0 20\.0 \+40\.0", text
    )
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    for form, named in (("csv", "A: a-graded; B: b-graded,"), ("md", "| b-graded |")):  # the two of a comparison
        assert main(["page", a, b, f"out={tmp_path / f'page.{form}'}"]) == 0
        assert named in re.sub(" +", " ", (tmp_path / f"page.{form}").read_text())
    assert "a-graded minus b-graded +40.0 points" in text
    assert "answers: 5 problems in both, up to 1 excluded (in one run only, or without a value)." in text
    assert f"{a} " in text and f"{b} " in text  # the files that it was made of, and no folder


def test_the_verdict_of_a_page_has_the_sign_of_its_difference(tmp_path: Path) -> None:
    """The first file has 2 of 40 right and the second has 40: A - B is -95 points, and A is lower."""
    for name, right in (("few", 2), ("all", 40)):
        rows = [{"problem_id": p, "answer": "4", "response": rf"\boxed{{{4 if p < right else 5}}}"} for p in range(40)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert main(["grade", str(tmp_path / f"{name}.jsonl"), f"out={tmp_path / name}-graded.jsonl"]) == 0
    for first, second, row in (
        ("few", "all", r"5\.0 100\.0 -95\.0 \[-[^]]*\] \S+ lower"),
        ("all", "few", r"100\.0 5\.0 \+95\.0 \[\+[^]]*\] \S+ higher"),
    ):
        page = tmp_path / f"{first}.html"
        assert main(["page", *(f"{tmp_path / name}-graded.jsonl" for name in (first, second)), f"out={page}"]) == 0
        table = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.read_text())).partition("A - B")[2]
        assert re.match(rf".*?avg@1 \(%\) {row}", table[:400]), table[:400]


def test_power_json_lists_samples_and_power_by_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["power", "difference=0.05", "benchmark=math500", "samples=[1,4]", "seeds=3", "seed_sd=0.01", "--json"]
    assert main([*command, f"out={tmp_path / 'p.csv'}"]) == 0
    assert (tmp_path / "p.csv").read_text().startswith("samples,3 seeds,seeds for 80%\n1,0.")
    document = json.loads(capsys.readouterr().out)
    assert (document["problems"], [row["samples"] for row in document["rows"]]) == (500, [1, 4])
    (single, four) = document["rows"]
    assert list(single["power_by_seeds"]) == ["3"]
    assert single["power_by_seeds"]["3"] < four["power_by_seeds"]["3"]
    seed = document["model"]["seed_sd"]
    assert (seed["value"], seed["origin"], seed["was"]["origin"]) == (0.01, "user", "assumed")
    assert document["model"]["within_sd"]["origin"] == "paper"


def test_a_papers_claims_are_planned_in_its_order_on_their_own_benchmarks(capsys: pytest.CaptureFixture[str]) -> None:
    from harness.spec import catalogue

    assert main(["seeds", "paper=erpo", "hardware.processes=4", "hardware.gpu=h200", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows, claims = document["claims"], [claim for claim in catalogue.load("erpo").claims if claim.arm]
    order = [claim.text for claim in claims]
    assert sorted(rows, key=lambda row: order.index(row["claim"])) == rows
    (at_3b,) = (row for row in rows if row["over"] == "each" and row["arm"] == "erpo")
    assert list(at_3b["printed"]) == ["amc23"] and at_3b["printed"]["amc23"] == pytest.approx(0.0469, abs=1e-4)
    assert at_3b["seeds"] is at_3b["gpu_hours"] is None  # 40 problems that differ by 15 points: 2.4 points of error
    first = next(row for row in rows if row["seeds"] is not None)
    assert (first["model"], first["arm"], first["than"]) == ("qwen2.5-1.5b", "erpo", "sft")
    assert (
        f"arm=[sft,erpo]' 'protocol.benchmarks=[{','.join(first['printed'])}]' hardware.processes=4" in document["run"]
    )
    assert first["price"] == pytest.approx(first["gpu_hours"] * 3.5, rel=0.2)  # an H200's hour, all of them taken
    assert main(["seeds", "erpo", "hardware=rtx4090"]) == 0
    assert "does not fit: qwen2.5-7b/erpo: too large for these GPUs" in " ".join(capsys.readouterr().out.split())
    for words in ("seeds paper=egsw seeds=3", "seeds paper=egsw power=80", "seeds paper=baselines", "power paper=egsw"):
        assert main(words.split()) == 2


def test_a_run_is_not_compared_with_its_copy(
    sides: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, copy = sides[0], tmp_path / "copy"
    shutil.copytree(a, copy)
    for same in (["compare", a, str(copy)], ["compare", a, a], ["compare", sides[1], f"{a},{copy}"]):
        assert main(same) == 2
        assert "are the same verdicts: expected different runs" in capsys.readouterr().err


def test_a_page_says_under_each_table_how_many_tests_and_what_each_seed_has(tmp_path: Path) -> None:
    # grpo has 5 of 8 with every seed, egsw 7, 7 and 1 on b: its third seed collapsed
    arms = {"grpo": ((5, 4), (5, 4), (5, 4)), "egsw": ((7, 4), (7, 4), (1, 4)), "gspo": ((4, 4), (4, 4), (4, 4))}
    sides = [
        ",".join(
            str(finished(tmp_path, {"b": b, "c": c}, arm=arm, seed=seed, steps=0).folder)
            for seed, (b, c) in enumerate(each)
        )
        for arm, each in arms.items()
    ]
    page = tmp_path / "page.html"
    assert main(["page", *sides, "tokens=false", "only=none", f"out={page}"]) == 0
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.read_text()))
    first, second = text.index("B: egsw"), text.index("B: gspo")
    assert text.count("Holm&#39;s correction is over the benchmarks of one metric") == 2
    assert first < text.index("Tests in this table: 2.") < second < text.rindex("Tests in this table: 2.")
    assert "Each seed on b, avg@1: A 62.5, 62.5, 62.5; B 87.5, 87.5, 12.5." in text[first:second]
    assert "B: 1 of 3 seeds collapsed: the mean of all is 62.5, of the others 87.5." in text[first:second]
    # two families of two tests: 1 - 0.95^2
    assert "All 2 tables: Suppose that no arm differs from another. Each of the 2 differences then has a false" in text
    assert "At least one difference has a false verdict in up to 10 % of such tables." in text
    assert "collapsed" not in text[second:]


def test_power_prints_the_test_of_two_checkpoints_apart(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["power", "difference=0.02", "benchmark=math500", "samples=1", "seeds=[1,3,5]"]
    assert main(command) == 0
    text = capsys.readouterr().out
    methods, apart = text.split("Another test, with fewer than 3 seeds:")
    assert re.search(r"samples +3 seeds +5 seeds +seeds for 80%", methods) and "1 seed" not in methods
    assert re.search(r"samples +1 seed\n", apart) and "3 seeds" not in apart.split("Standard deviations")[0]
    assert main([*command[:-1], "seeds=[3,5]"]) == 0
    assert "Another test" not in capsys.readouterr().out


def test_runs_that_mean_nothing_are_compared_with_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    overlap = {"b": {"shared": 8, "problems": 8, "other_golds": 0}}
    still = str(finished(tmp_path, {"b": 5}, arm="grpo", unmoved=True, overlap=overlap).folder)
    other = str(finished(tmp_path, {"b": 7}, arm="egsw").folder)
    page = tmp_path / "page.html"
    unmoved = "seed 0 trained nothing: every weight equals the base model's."
    seen = "8 of the 8 problems of b are training problems."
    assert main(["show", still]) == 0
    assert "weights: trained nothing: all 8 weights equal those of the base model" in " ".join(
        capsys.readouterr().out.split()
    )
    assert main(["compare", other, still]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.count("Warning, ") == 2 and unmoved in printed and seen in printed
    assert main(["page", other, still, "tokens=false", "only=none", f"out={page}"]) == 0
    text = html.unescape(re.sub(r"<[^>]+>", " ", page.read_text()))
    assert unmoved in text and seen in text
