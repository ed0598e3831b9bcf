"""Tables from a store that holds runs at paper scale (made-up verdicts, logged as a run logs them)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from evals.stats.score import p_text
from harness.command.resolve import resolve
from harness.record import write
from harness.record.find import runs
from harness.spec import catalogue
from harness.tables.elsewhere import elsewhere_grid
from harness.tables.measured import Measured, comparable, gather, other_versions
from harness.tables.published import published_grids
from harness.tables.tabulate import PaperTables, contributions, report
from rlvr.cli import main
from tests.harness.record import folders
from tests.harness.record.folders import SETTINGS, finished

BENCHMARKS = {"math500": 500, "aime24": 30, "aime25": 30, "gpqa_diamond": 198}


def log_arm(home: Path, arm: str, seed: int, right: dict[str, int], unscored: int = 0) -> None:
    """One finished run: of each benchmark the first `right` problems are correct."""
    finished(home, right, problems=BENCHMARKS, unscored=unscored, arm=arm, seed=seed, scale="paper")


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs end at one time, so that no order depends on how fast the machine is."""
    for module in (folders, write):
        monkeypatch.setattr(module, "now", lambda: "2026-01-01T00:00:00Z")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs of `made` lie."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def made(store: Path) -> PaperTables:
    home = store
    patch = pytest.MonkeyPatch()
    patch.setenv("RLVR_HOME", str(home))
    base = {"math500": 262, "aime24": 4, "aime25": 0, "gpqa_diamond": 59}
    log_arm(home, "base", 0, base)
    log_arm(home, "grpo", 0, {"math500": 480, "aime24": 6, "aime25": 3, "gpqa_diamond": 65})
    log_arm(home, "grpo", 1, {"math500": 482, "aime24": 6, "aime25": 3, "gpqa_diamond": 66}, unscored=2)
    log_arm(home, "grpo", 2, {"math500": 481, "aime24": 6, "aime25": 3, "gpqa_diamond": 64})
    result = report("egsw", runs())
    patch.undo()
    return result


def rows(made: PaperTables, name: str) -> dict[str, dict[str, str]]:
    """The measured cells of one method of Table 1, by column."""
    grid = next(g for g in made.grids if g.caption == "egsw Table 1, measured")
    return {r[1]: dict(zip(grid.header, r, strict=True)) for r in grid.rows if r[0] == name}


def test_published_beside_measured(made: PaperTables) -> None:
    printed = made.grids[0]
    assert printed.header == ("method", "Math-500", "AIME24", "AIME25", "GPQA Diamond")
    assert printed.rows[0] == ("Qwen2.5-Math-7B", "52.4", "13.3", "0.0", "29.8")
    base = rows(made, "Qwen2.5-Math-7B")
    # 262/500 = 52.4 %, 4/30 = 13.3 %, 0/30, 59/198 = 29.8 %: what the paper printed. One sample: the variance of a
    # run is at most m (1 - m) / P on either side. For Math-500 1.645 sqrt(2 * 0.25 / 500) = 5.2 points, below half of
    # the 20.6 that GRPO gains
    assert base["Math-500"]["measured [95 %]"].startswith("52.4 [")
    assert (base["Math-500"]["answer"], base["Math-500"]["margin"]) == ("comes back", "10.30 (grpo − base)")
    assert base["AIME24"]["answer"].startswith("cannot tell: the noise")  # thirty problems, and a gain of two of them
    assert base["Math-500"]["n x seeds"] == "1 x 1"
    grpo = rows(made, "GRPO")
    # 480/500 and 482/498 scored: far above the published 73.0 on 500 problems
    # 1,443 of the 1,500 samples of three seeds are correct, or 1,445 with the two unscored ones
    assert grpo["Math-500"]["measured [95 %]"].endswith("(2 unscored: 96.2 to 96.3 if graded)")
    assert grpo["Math-500"]["answer"] == "does not come back"
    assert grpo["Math-500"]["n x seeds"] == "1 x 3"
    assert rows(made, "GRPO + EGSW") == {}
    assert "Not measured: GRPO + EGSW." in next(g for g in made.grids if "measured" in g.caption).notes


def test_missing_cells_say_why(made: PaperTables) -> None:
    cells = [c for c in made.rows if c["published"] is not None]
    assert len(cells) == 24
    missing = [c for c in cells if c["measured"] is None]
    assert len(missing) == 24 - 8 and all(c["why_missing"] for c in missing)
    assert {(c["model"], c["arm"]) for c in cells if c["measured"] is not None} == {
        ("math-7b", "base"),
        ("math-7b", "grpo"),
    }
    assert all(c["measured"] is None or 0 <= c["measured"] <= 1 for c in cells)


def test_differences_are_paired_and_named(made: PaperTables) -> None:
    grid = made.grids[-1]
    verdicts = {(r[0], r[3]): r[-1] for r in grid.rows}
    assert verdicts["grpo − base", "math500"] == "higher without collapses"  # three seeds of grpo, base needs none
    assert verdicts["grpo − base", "aime24"] == "not resolved"  # 2 of 30 problems
    assert "over the benchmarks of one difference on one model and scale" in grid.notes[0]


def test_two_seeds_decide_nothing_about_a_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 218 of 500 problems between them: a third seed is what the rule asks for, not a larger difference."""
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    log_arm(tmp_path, "base", 0, {"math500": 262})
    log_arm(tmp_path, "grpo", 0, {"math500": 480})
    log_arm(tmp_path, "grpo", 1, {"math500": 482})
    grid = report("egsw", runs()).grids[-1]
    assert [row[6] for row in grid.rows] == ["–"]
    assert "A dash for p: a trained arm has fewer than three" in grid.notes[1]
    assert not {"higher", "lower", "higher without collapses"} & set(grid.rows[0])


def test_the_page_begins_with_the_answer_and_a_picture(made: PaperTables, tmp_path: Path) -> None:
    """EGSW is not measured, so no claim is decided. GRPO's gain over benchmarks is the figure's one row:
    481 - 262, 2, 3 and 65 - 59 problems, without two of each benchmark that one seed has unscored: 16.3 points."""
    lines = made.markdown().splitlines()
    assert lines[2].startswith("## Printed numbers that are measured at paper scale: 8 (")  # two arms, four benchmarks
    assert "At paper scale 0 of " in lines[2] and lines[4].endswith("(egsw.svg)")
    assert "### egsw: claims" in lines
    assert sum(line.endswith("| not measured |") for line in lines) == len(catalogue.load("egsw").claims)
    assert made.picture is not None
    (row,) = made.picture.numbers.itertuples()
    assert row.difference == "grpo − base" and row.low < row.mean < row.high
    assert row.mean == pytest.approx(25 * (219 / 498 + 2 / 28 + 3 / 28 + 6 / 196))
    assert {path.name for path in made.write(tmp_path)} == {"tables.md", "tables.csv", "egsw.svg"}


def test_a_section_of_a_study_stays_at_the_end_of_the_page(made: PaperTables, tmp_path: Path) -> None:
    made.write(tmp_path)
    page = tmp_path / "tables.md"
    section = "<!-- The study writes this section: x -->\n\n| a |\n\n<!-- End of the section. -->"
    whole = f"{made.markdown()}\n{section}\n"
    assert page.read_text(encoding="utf-8") == made.markdown()
    for old in (whole, f"{section}\n# An old page\n"):
        page.write_text(old, encoding="utf-8")
        made.write(tmp_path)
        assert page.read_text(encoding="utf-8") == whole


def test_tables_and_compare_give_the_same_verdicts(
    made: PaperTables, store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(store))
    assert main(["compare", "paper=egsw", "arm=grpo,base", "scale=paper", "metrics=avg", "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)["lines"]
    compared = {line["benchmark"]: (p_text(line["p_holm"]), line["verdict"]) for line in lines}
    assert compared == {row[3]: row[6:8] for row in made.grids[-1].rows if row[0] == "grpo − base"}
    assert compared.keys() == set(BENCHMARKS)  # both are corrected over the four benchmarks
    assert {line["family"] for line in lines} == {"A - B, avg@1, aime24, aime25, gpqa_diamond, math500"}


def test_a_methods_own_value_is_compared_with_arms_that_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    common = {key: value for key, value in SETTINGS.items() if key != "alpha"}
    changed = [
        ("grpo", {}, common),
        *(("egsw", {"egsw.alpha": a}, {**common, "egsw.alpha": {**SETTINGS["alpha"], "value": a}}) for a in (1, 2)),
    ]
    for number, (arm, overrides, settings) in enumerate(changed):
        digest = f"{number:08x}"
        finished(tmp_path, {"b": 8 - number}, arm=arm, digest=digest, overrides=overrides, settings=settings)
    grid = report("egsw", runs()).grids[-1]
    assert {row[6] for row in grid.rows} == {"–"} and "A dash for p: a trained arm has fewer than" in grid.notes[1]
    named = [row[0] for row in grid.rows]
    assert [name for name in named if name.endswith("− grpo")] == [f"egsw [egsw.alpha={a}] − grpo" for a in (1, 2)]
    words = ["compare", "paper=egsw", "arm=egsw,grpo", "metrics=avg", "--json"]
    assert main(words) == 2 and "egsw.alpha=1; model=tiny egsw.alpha=2." in capsys.readouterr().err
    assert main([*words, "benchmark=b"]) == 2
    assert "benchmark=b: no option, and no value of these arms. Did you mean 'benchmarks'?" in capsys.readouterr().err
    assert main([*words, "egsw.alpha=2"]) == 0
    assert json.loads(capsys.readouterr().out)["lines"][0]["difference"] == -0.25


def test_seeds_of_two_machines_whose_files_lie_elsewhere_are_one_arm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    for seed, folder in enumerate(("/work", "/home/ada")):
        finished(tmp_path, {"b": 4 + seed}, seed=seed, overrides={"dataset": f"{folder}/train.jsonl"})
    finished(tmp_path, {"b": 8}, digest="11111111", overrides={"dataset": "/other/train.jsonl"})
    two, other = sorted(gather("egsw", runs()), key=lambda m: -len(m.seeds))
    assert two.seeds == (0, 1) and two.scores["b"]["avg_at_1"].value == 4.5 / 8
    assert other.seeds == (0,) and other.scores["b"]["avg_at_1"].value == 1


def test_of_two_versions_of_an_arm_that_of_the_declaration_as_it_stands_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a value or an equation was changed, run and changed back: the newest is then another's."""
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    (now,) = resolve("egsw", models=["math-7b"], arms=["grpo"], scale="tiny", seeds=[0])
    finished(tmp_path, {"b": 4}, digest=now.digest)
    changed = {"equation grpo": "0" * 64}
    finished(tmp_path, {"b": 8}, digest="ffffffff", own_files=changed)  # the later one, of equal times
    (measured,) = gather("egsw", runs())
    assert (measured.digest, measured.left_out) == (f"{now.digest}-00aabb", 1)
    assert measured.scores["b"]["avg_at_1"].value == 0.5
    assert "tiny/grpo: one run is left out, because values or code" in report("egsw", runs()).markdown()
    twice = {**SETTINGS, "protocol.n": {**SETTINGS["protocol.n"], "value": 2}}
    finished(tmp_path, {"b": 8}, digest="cccccccc", settings=twice)
    assert "(changed or new: protocol.n)" in report("egsw", runs()).markdown()
    finished(tmp_path, {"b": 8}, digest="eeeeeeee", overrides={"no.such": 1}, own_files=changed)
    finished(tmp_path, {"b": 2}, digest="dddddddd", overrides={"no.such": 1})
    (_, other) = sorted(gather("egsw", runs()), key=lambda m: m.overrides)
    assert (other.digest, other.left_out) == (
        "eeeeeeee-00aabb",
        1,
    )  # a value that the declaration has no longer: the newest


def test_seeds_of_before_a_value_was_added_are_of_the_same_arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older records lack values that the runs had all the same. One that did something else is another version."""
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    (now,) = resolve("egsw", models=["math-7b"], arms=["grpo"], scale="tiny", seeds=[0])
    added = {"protocol.extraction": "prompt", "unscored": "skip", "egsw.micro_batch": None}
    values = {**SETTINGS, **{key: {**SETTINGS["alpha"], "value": value} for key, value in added.items()}}
    for seed in (1, 2, 3):
        finished(tmp_path, {"b": 4}, seed=seed, digest="00000000")  # at equal times the newer
    finished(tmp_path, {"b": 8}, seed=0, digest=now.digest, settings=values)
    finished(tmp_path, {"b": 8}, seed=1, digest=now.digest, settings=values, by="Ada, Uni X")
    (measured,) = gather("egsw", runs())
    assert (measured.seeds, measured.left_out, measured.twice) == ((0, 1, 2, 3), 0, (1,))
    assert other_versions([measured]) == ["tiny/grpo: several runs of seed 1 exist. The newest counts."]
    assert [run.by for run in measured.runs.values()] == ["", "Ada, Uni X", "", ""]
    (line,) = contributions([measured])
    assert line.startswith("Measured by Ada, Uni X on ") and line.endswith(": tiny/grpo, seed 1, at tiny scale.")
    assert measured.scores["b"]["avg_at_1"].value == 6 / 8  # seeds 0 and 1 have 8 of 8, 2 and 3 have 4
    other = {**values, "unscored": {**SETTINGS["alpha"], "value": "incorrect"}}
    finished(tmp_path, {"b": 8}, seed=4, digest="1fffffff", settings=other)
    (measured,) = gather("egsw", runs())
    assert (measured.seeds, measured.left_out) == ((0, 1, 2, 3), 1)


def test_an_equation_that_has_changed_since_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    finished(tmp_path, own_files={"equation grpo": "0" * 64, "dataset d": "1" * 64})
    (measured,) = gather("egsw", runs())
    monkeypatch.setattr("harness.tables.measured.own_code", lambda function: "0" * 64)
    assert other_versions([measured]) == []
    monkeypatch.setattr("harness.tables.measured.own_code", lambda function: "2" * 64)
    assert other_versions([measured]) == [
        "tiny/grpo: its equation has changed since these runs. rlvr run trains the present one."
    ]


def test_arms_of_different_own_code_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    finished(tmp_path)
    (measured,) = gather("egsw", runs())

    def with_code(equation: str, data: str) -> Measured:
        files = {"equation mine": equation, "dataset d": data}
        return replace(measured, runs={0: SimpleNamespace(settings={}, record={"own_files": files})})  # type: ignore[dict-item]

    assert comparable(with_code("1", "1"), with_code("1", "2")) and not comparable(
        with_code("1", "1"), with_code("2", "1")
    )
    assert comparable(with_code("1", "1"), measured)  # which has no equation of that name


@pytest.mark.parametrize("paper", ["erpo", "forking_tokens", "entropy_advantage", "trial_and_error", "egsw"])
def test_every_published_cell_is_shown_once(paper: str) -> None:
    shown = [cell for grid in published_grids(paper, []) for row in grid.rows for cell in row[1:] if cell]
    assert sorted(shown) == sorted(cell.printed for cell in catalogue.published(paper))


def test_others_measurements_of_untrained_models_stand_apart() -> None:
    grid = elsewhere_grid(catalogue.load("erpo"))
    assert grid is not None and "Qwen2.5-7B | Minerva Acc | 4.38 | 21.4 ± 1.9 | bethgelab/sober" in grid.markdown()
    assert not any("GRPO" in row[0] for row in grid.rows)  # trained arms are nobody else's
    assert elsewhere_grid(catalogue.load("baselines")) is None


def test_nothing_published_and_nothing_measured_is_an_empty_report(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    made = report("baselines", runs())
    assert made.grids == () and made.rows == () and made.csv() == ""
    assert "Baselines" in made.markdown() and len(made.write(tmp_path / "out")) == 2
