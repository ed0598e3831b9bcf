"""Comparisons of small runs by hand, and what is refused."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats

from evals.notebook import as_text
from evals.plots.comparison import differences
from evals.stats.compare import (
    CompareResult,
    Line,
    compare_average,
    compare_runs,
    corrected,
    problems_in_both,
    whole_table,
)
from evals.stats.differences import holm, paired
from evals.stats.measured_run import MeasuredRun
from harness.record.find import seeds_of, together
from rlvr.compare_text import blocks
from tests.evals.stats.runs import IDENTITY, save_run
from tests.harness.record.folders import started

# shares right: a 1, 1, 1/2, 1/2, 1 and b 0, 1/2, 0, 0, 0 on p, q, r, s, t
A = {"p": "++", "q": "++", "r": "+a", "s": "+a", "t": "++"}
B = {"p": "aa", "q": "+a", "r": "aa", "s": "ab", "t": "a-"}


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    a, b = tmp_path / "a", tmp_path / "b"
    for name in ("first", "second"):
        save_run(a, name, A)
        save_run(b, name, B)
    return a, b


def read_run(sources: list[Path]) -> MeasuredRun:
    """The runs in these folders or files, as the seeds of one method."""
    text = ",".join(map(str, sources))
    return together(seeds_of(text), text)


def compared(a: Path, b: Path, **options: object) -> CompareResult:
    return compare_runs(read_run([a]), read_run([b]), **options)  # type: ignore[arg-type]


def test_verdicts_in_any_folder_are_no_evaluation(tmp_path: Path) -> None:
    save_run(tmp_path, "first", A)
    assert read_run([tmp_path]).tables.keys() == {"first"}
    (tmp_path / "first").rename(tmp_path / "other")
    with pytest.raises(ValueError, match="expected a run's folder"):
        read_run([tmp_path])


def test_by_hand(runs: tuple[Path, Path]) -> None:
    result = compared(*runs, metrics=("avg", "unsolvable"), benchmarks=["second"])
    avg, unsolvable = result.lines
    assert (avg.benchmark, avg.name, avg.a, avg.b) == ("second", "avg@2", pytest.approx(0.8), pytest.approx(0.1))
    # differences 1, 0.5, 0.5, 0.5, 1: mean 0.7, variance (2 * 0.3^2 + 3 * 0.2^2) / 4 = 0.075, standard error
    # sqrt(0.075 / 5) = 0.122474. Half-width 2.776445 (t of 4 degrees of freedom at 0.975) * 0.122474 = 0.340043
    # Wilson's form on [0, 1], where -1..1 becomes 0..1: m = 0.85, h = 0.170022, k = h^2 / (m (1 - m)) = 0.226724,
    # (m + k / 2 -+ sqrt(k (m (1 - m) + k / 4))) / (1 + k) = 0.618732 and 0.951893
    assert (avg.difference, avg.level, avg.covers) == (pytest.approx(0.7), 0.95, "problems")
    assert (avg.low, avg.high) == (pytest.approx(0.237463, abs=1e-6), pytest.approx(0.903787, abs=1e-6))
    # its lower end is 0 (0.5 on [0, 1]) where (m - 0.5)^2 = k / 4: k = 0.49, half-width 2 sqrt(0.49 m (1 - m)) = 0.4999
    assert avg.p_value == pytest.approx(
        2 * stats.t.sf(2 * (0.49 * 0.85 * 0.15) ** 0.5 / (0.075 / 5) ** 0.5, 4), abs=1e-8
    )
    # none of a's problems is unsolvable with both samples, four of b's are: -4 problems
    assert unsolvable.name == "unsolvable@2"
    assert unsolvable.factor * (unsolvable.difference or 0) == pytest.approx(-4)
    # a family of one benchmark for each metric: nothing to correct
    assert [line.p_holm for line in result.lines] == [line.p_value for line in result.lines]
    assert [line.family for line in result.lines] == ["A - B, avg@2, second", "A - B, unsolvable@2, second"]


def test_holm_is_over_the_benchmarks_of_a_metric(runs: tuple[Path, Path]) -> None:
    result = compared(*runs)
    assert [(x.benchmark, x.name) for x in result.lines] == [
        (b, m) for b in ("first", "second") for m in ("avg@2", "pass@2", "maj@2")
    ]
    by_name = {(line.benchmark, line.name): line for line in result.lines}
    for name in ("avg@2", "pass@2", "maj@2"):
        pair = [by_name[b, name] for b in ("first", "second")]
        assert [line.p_holm for line in pair] == holm([line.p_value for line in pair])
        assert {line.family for line in pair} == {f"A - B, {name}, first, second"}
    # so the same question has the same answer independent of what else is asked
    assert compared(*runs, metrics=("avg",)).lines == tuple(x for x in result.lines if x.metric == "avg")


def test_a_clear_difference_is_resolved_and_has_a_sign(tmp_path: Path) -> None:
    right, wrong = {f"p{i}": "++" for i in range(12)}, {f"p{i}": "aa" for i in range(12)}
    a, b = save_run(tmp_path / "a", "x", right), save_run(tmp_path / "b", "x", wrong)
    (forward,), (back,) = (compared(*pair, metrics=("avg",)).lines for pair in ((a, b), (b, a)))
    assert (forward.verdict, back.verdict) == ("checkpoint higher", "checkpoint lower")  # one seed a side
    # all problems differ alike: the share u of others with (1 - u)^12 = p/2 reaches half, so p = 2 / 2^12
    assert forward.p_value == pytest.approx(2 / 2**12, rel=1e-4)
    # resolved by its interval alone, but not once corrected
    assert replace(forward, p_holm=0.051).verdict == "not resolved"
    assert replace(forward, seeds_covered=True).verdict == "higher"


def test_two_measurements_of_one_model_have_no_training_seeds(tmp_path: Path) -> None:
    right, wrong = {f"p{i}": "++" for i in range(12)}, {f"p{i}": "aa" for i in range(12)}
    greedy = {"temperature": 0.0, "top_p": 1.0, "max_tokens": 64}
    first_model, second_model = {"sha256": "11"}, {"sha256": "22"}
    a = save_run(tmp_path / "a", "x", right, model=first_model)
    same, other = (
        save_run(tmp_path / n, "x", wrong, model=m, decoding=greedy)
        for n, m in (("b", first_model), ("c", second_model))
    )
    result = compared(a, same, metrics=("avg",), allow_different=True)
    assert result.lines[0].verdict == "higher" and "A and B are one model" in result.notes[-1]
    result = compared(a, other, metrics=("avg",), allow_different=True)
    assert result.lines[0].verdict == "checkpoint higher" and not result.notes
    servers = [{"name": "openai", "model": "m", "url": f"http://127.0.0.1:{port}/v1"} for port in (1, 2)]
    x, y = (
        save_run(tmp_path / n, "x", rows, model={"served_as": "m"}, engine=server)
        for n, rows, server in (("d", right, servers[0]), ("e", wrong, servers[1]))
    )
    assert compared(x, y, metrics=("avg",)).lines[0].verdict == "checkpoint higher"  # a name at two servers


def rotated(rows: dict[str, str], by: int) -> dict[str, str]:
    """The same rows in another order: a file of its own, where equal files are refused as copies of one run."""
    return dict([*rows.items()][by:] + [*rows.items()][:by])


def test_a_margin_makes_equal_runs_equal(tmp_path: Path) -> None:
    same = {f"p{i}": "++" if i % 2 else "aa" for i in range(200)}
    moved = {**same, "p0": "++"}
    parts = [
        [save_run(tmp_path / f"{side}{s}", "x", rotated(rows, s)) for s in range(3)]
        for side, rows in (("a", same), ("b", moved))
    ]
    a, b = map(read_run, parts)
    (line,) = compare_runs(a, b, metrics=("avg",), margin=0.05).lines
    # equal for trainings like these. If 5 % of three trainings' successors collapsed, it would not be: (1 - r)^3 > 5 %
    assert (line.plain_verdict, line.verdict, line.margin) == ("equal", "equal without collapses", 0.05)
    assert compare_runs(a, b, metrics=("avg",), margin=0.001).lines[0].verdict == "not resolved"
    assert compare_runs(a, b, metrics=("avg",)).lines[0].p_equal is None


def test_another_extraction_of_the_same_prompt_is_measured_differently(tmp_path: Path) -> None:
    """`extraction=` can replace the policy of a prompt, which is then the same on both sides."""
    for name, policy in (("a", "boxed_last"), ("b", "qwen"), ("c", "boxed_last")):
        folder = save_run(tmp_path / name, "x", {f"p{i}": "++" for i in range(3)})
        manifest = json.loads((folder / "x" / "manifest.json").read_text())
        manifest["record"]["protocol"] = {"name": "tiny", "extraction": {"value": policy}}
        (folder / "x" / "manifest.json").write_text(json.dumps(manifest))
    a, b, c = (read_run([tmp_path / name]) for name in "abc")
    with pytest.raises(ValueError, match='x: grading is "policy boxed_last, reasoning whole" in A and "policy qwen'):
        compare_runs(a, b)
    (text,) = compare_runs(a, b, allow_different=True).different
    assert text.startswith("x: grading is ")
    assert compare_runs(a, c).different == ()


def test_a_base_model_needs_one_run(tmp_path: Path) -> None:
    right, wrong = {f"p{i}": "++" for i in range(12)}, {f"p{i}": "aa" for i in range(12)}
    seeds = [save_run(tmp_path / f"a{s}", "x", {**right, f"p{s}": "+a"}) for s in range(3)]
    recorder = started(tmp_path, arm="base", settings={"base_model": {}})
    base = save_run(recorder.folder / "eval", "x", wrong)
    files = recorder.hashes([base / "x" / name for name in ("verdicts.parquet", "manifest.json")])
    recorder.update(files=files, state="finished", scores={"x": {}})
    a, b = read_run(seeds), read_run([recorder.folder])
    assert (a.trained, b.trained) == (True, False)
    (line,) = compare_runs(a, b, metrics=("avg",)).lines
    assert (line.verdict, line.covers, line.seeds_b) == ("higher", "problems and seeds", 1)
    other = save_run(tmp_path / "b", "x", wrong)  # its origin is unknown: taken as trained once
    assert compare_runs(a, read_run([other]), metrics=("avg",)).lines[0].verdict == "checkpoint higher"


def test_problems_in_one_run_only_are_counted(tmp_path: Path) -> None:
    a = save_run(tmp_path / "a", "x", {**A, "u": "++", "v": "??"})
    b = save_run(tmp_path / "b", "x", {**B, "v": "aa", "w": "aa", "z": "aa"})
    result = compared(a, b, metrics=("avg",))
    (line,) = result.lines
    assert (line.problems, line.shared, line.only_a, line.only_b) == (5, 6, 1, 2)
    assert line.difference == pytest.approx(0.7)
    # A's means: 1, 1, 1/2, 1/2, 1, 1, and v without a verdict: 5/6 without v, 5/7 and 6/7 with it wrong or right
    assert result.notes == (
        "x: A has 2 unscored samples, which count neither as correct nor as incorrect: "
        "avg@2 is 83.3 without them, and 71.4 to 85.7 if graded",
    )


def test_seeds_are_parts_of_one_run(tmp_path: Path) -> None:
    parts = [save_run(tmp_path / f"a{s}", "x", rotated(rows, s)) for s, rows in enumerate((A, B, B))]
    other = [save_run(tmp_path / f"b{s}", "x", rotated(B, s)) for s in range(3)]
    (line,) = compare_runs(read_run(parts), read_run(other), metrics=("avg",)).lines
    a, b = [1, 1, 0.5, 0.5, 1], [0, 0.5, 0, 0, 0]
    expected = paired([a, b, b], [b, b, b])
    assert line.difference == pytest.approx(0.7 / 3)  # 0.7 in one of three seeds
    assert line.p_value == expected.p_value  # `paired` has its own tests: here, that it gets the seeds
    assert (line.seeds_a, line.seeds_b, line.covers) == (3, 3, "problems and seeds")


DIFFERENT = {
    "decoding.temperature is 1.0 in A and 0.6 in B": {"decoding": {**IDENTITY["decoding"], "temperature": 0.6}},
    'prompt.name is "plain" in A and "boxed" in B': {"prompt": {**IDENTITY["prompt"], "name": "boxed"}},
    'data.sha256 is "dd" in A and "ee" in B': {"data": {**IDENTITY["data"], "sha256": "ee"}},
}


@pytest.mark.parametrize("field", DIFFERENT)
def test_other_measurements_are_refused_unless_allowed(field: str, tmp_path: Path) -> None:
    a, b = save_run(tmp_path / "a", "x", A), save_run(tmp_path / "b", "x", B, **DIFFERENT[field])
    with pytest.raises(ValueError, match="measured in different ways") as refused:
        compared(a, b)
    assert f"x: {field}" in str(refused.value)
    assert compared(a, b, allow_different=True).different == (f"x: {field}",)
    with pytest.raises(ValueError, match="is no other seed of"):
        read_run([a, b])


def test_an_unknown_measurement_and_another_engine_are_noted(tmp_path: Path) -> None:
    a = save_run(tmp_path / "a", "x", A)
    b = save_run(tmp_path / "b", "x", B, engine={"name": "vllm", "dtype": "float32"})
    assert compared(a, b).notes == ('x: engine.name is "transformers" in A and "vllm" in B',)
    (b / "x" / "manifest.json").unlink()
    assert compared(a / "x", b / "x" / "verdicts.parquet").notes == (
        "how B was measured on x is not known: that both were measured alike was not checked",
    )


def test_runs_with_nothing_in_common_are_refused(tmp_path: Path) -> None:
    a, b = save_run(tmp_path / "a", "x", A), save_run(tmp_path / "b", "y", B)
    with pytest.raises(ValueError, match=r"benchmarks: expected some of x \(in both runs\), got 'third'"):
        compared(a, a, benchmarks=["third"])
    with pytest.raises(ValueError, match=r"no benchmark in common: .*a has x; .*b has y"):
        compared(a, b)
    with pytest.raises(
        ValueError, match=r"x: no problem in common \(5 in A, such as .*, 1 in B, .*columns=problem_id:problem"
    ):
        compared(a, save_run(tmp_path / "c", "x", {"other": "+a"}))
    with pytest.raises(ValueError, match="the gold of 5 problems differs, as of 'p': '1' in A, '2' in B"):
        compared(a, save_run(tmp_path / "d", "x", B, gold="2"))
    with pytest.raises(ValueError, match="nowhere"):
        read_run([tmp_path / "nowhere"])
    text = tmp_path / "text.parquet"
    text.write_text("no parquet")
    with pytest.raises(ValueError, match=r"text\.parquet"):
        read_run([text])


def test_a_figure_is_the_same_twice(runs: tuple[Path, Path]) -> None:
    result = compared(*runs, metrics=("avg", "mean_tokens", "unsolvable"))
    assert differences(result).rendered("png").startswith(b"\x89PNG")
    first = differences(result).rendered("svg")
    assert differences(result).rendered("svg") == first and ET.fromstring(first).tag.endswith("svg")
    # matplotlib keeps the words as comments: the table alone has tokens and counts
    assert b"avg@2" in first and b"tokens" not in first


def methods_line(a: tuple[float, ...], b: tuple[float, ...], benchmark: str = "x", p: float = 0.001) -> Line:
    """A line about two methods with these scores of their seeds."""
    means = [sum(side) / len(side) for side in (a, b)]
    return Line(
        benchmark=benchmark, name="avg@4", metric="avg", a=means[0], b=means[1], difference=means[0] - means[1],
        low=-0.5, high=0.5, p_value=p, p_holm=p, seeds_covered=True, problems=40, seeds_a=len(a), seeds_b=len(b),
        scores_a=a, scores_b=b,
    )  # fmt: skip


def test_a_verdict_says_which_trainings_it_is_about() -> None:
    close, far = methods_line((0.7, 0.71, 0.69), (0.65, 0.65, 0.65)), methods_line((0.7, 0.71, 0.69), (0.2, 0.2, 0.2))
    assert (close.plain_verdict, close.verdict) == ("higher", "higher without collapses")
    assert far.verdict == "higher"  # 5/7 of three trainings would have to collapse: (2/7)^3 = 0.023
    text = as_text(blocks(CompareResult("one", "two", (close,), (), ())))
    assert "higher†" in text
    joined = " ".join(text.split())
    assert "x avg@4 7.14 % of A's (41 seeds show one with 95 %)" in joined  # 0.05 / 0.7
    assert "Each seed" in joined  # B's seeds do not spread at all
    assert close.as_dict()["undone_by"]["seeds"] == 3


def test_collapses_are_a_result_of_their_own() -> None:
    line = methods_line((0.7, 0.71, 0.69, 0.2, 0.7), (0.6, 0.62, 0.61))
    text = " ".join(as_text(blocks(CompareResult("one", "two", (line,), (), ()))).split())
    assert "Each seed on x, avg@4: A 70.0, 71.0, 69.0, 20.0, 70.0; B 60.0, 62.0, 61.0." in text
    assert "A: 1 of 5 seeds collapsed: the mean of all is 60.0, of the others 70.0." in text


def test_the_number_of_problems_of_each_metric() -> None:
    avg = methods_line((0.5,) * 3, (0.5,) * 3)
    assert problems_in_both([avg]).startswith("40 problems in both")
    both = problems_in_both([avg, replace(avg, name="pass@4", problems=39)])
    assert both.startswith("39 (pass@4) or 40 (avg@4) problems in both")


def test_a_table_of_several_families_says_how_often_it_errs() -> None:
    # 1 - 0.95^2 = 9.75 %. Four p-values of 0.02: corrected over two each they are 0.04, over all four 0.08
    rows = [[methods_line((0.7,) * 3, (0.1,) * 3, name, 0.02) for name in ("x", "y")] for _ in range(2)]
    families = [corrected(lines, "own") for lines in rows]
    assert whole_table(families[:1]) == ""
    assert whole_table(families) == (
        "Suppose that no arm differs from another. Each of the 2 differences then has a false verdict in up to 5 % of "
        "such tables. At least one difference has a false verdict in up to 10 % of such tables. With one correction "
        "over all 4 comparisons, 0 of the 4 verdicts *higher* or *lower* remain."
    )


def test_an_average_takes_the_first_k_that_the_samples_allow(runs: tuple[Path, Path]) -> None:
    """Both runs have two samples per problem: of 4, 2 and 1 the first is too many, and the second is allowed."""
    line = compare_average(*(read_run([folder]) for folder in runs), ["first", "second"], "pass", ks=(4, 2, 1))
    assert (line.k, line.name) == (2, "pass@2")
    assert (line.a, line.b) == (pytest.approx(1.0), pytest.approx(0.2))  # solved with one of two samples, by hand


def test_equal_needs_both_one_sided_tests(runs: tuple[Path, Path]) -> None:
    line = compared(*runs, benchmarks=["first"]).lines[0]
    assert replace(line, p_not_lower=0.01, p_not_higher=0.2).p_equal == 0.2
    assert replace(line, p_not_lower=0.3, p_not_higher=0.02).p_equal == 0.3
    assert line.p_equal is None  # no margin was given
