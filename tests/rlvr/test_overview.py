"""`rlvr show`, the summary of a run, and the default folder of an evaluation."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.files import locked
from evals.notebook import as_text
from harness.errors import UsageError
from harness.record.find import places
from harness.record.models import label
from harness.record.run import Run
from harness.record.state import job_states
from harness.record.write import Recorder
from harness.report.data import choose_arms, document
from harness.report.page import render
from harness.spec import Arm, Claim
from harness.spec.catalogue import load
from harness.tables.summary import summarise
from harness.tables.tabulate import report
from rlvr.cli import main
from rlvr.completion import candidates
from rlvr.run_summary import blocks
from tests.evals.stats.runs import save_run
from tests.harness.record.folders import started


def test_a_star_in_a_name_stands_for_the_seeds_of_an_arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    seeds = [started(tmp_path / "home", arm="grpo", seed=seed).folder for seed in (0, 1)]
    other = started(tmp_path / "home", arm="egsw").folder
    assert places("tiny-grpo*") == places("tiny-grpo-*seed*") == seeds and places("tiny-e*") == [other]
    evaluated = seeds[0].with_name(f"{seeds[0].name}-sampled-seed0")  # it belongs to that run. Its name begins alike.
    shutil.copytree(seeds[0], evaluated)
    short = f"{seeds[0].name[:12]}…{seeds[0].name[-8:]}"  # as rlvr show prints it on a narrow screen
    assert places(short) == places(seeds[0].name) == [seeds[0]]
    shutil.rmtree(evaluated)
    with pytest.raises(UsageError, match="2 names of runs begin so"):
        places("tiny-grpo")
    with pytest.raises(UsageError, match="expected a run's folder"):
        places("tiny-erpo*")


def save_job(
    home: Path,
    arm: str,
    problems: dict[str, str],
    *,
    seed: int = 0,
    curve: Sequence[dict[str, float]] = (),
    **more: Any,
) -> Path:
    """A finished job of EGSW with verdicts on two benchmarks, tiny_short first in its protocol."""
    stated = {"value": ["tiny_short", "tiny_long"], "origin": "assumed", "note": "a test", "was": None}
    sizes = {"protocol.ks": {**stated, "value": [1]}, "protocol.n": {**stated, "value": 2}}
    settings = {"protocol.benchmarks": stated, **sizes, **({} if arm == "base" else {"max_steps": stated})}
    label = "tiny scale: 2M"
    recorder = started(
        home, arm=arm, seed=seed, settings=settings, scale_label=label, overrides={"max_steps": 2}, digest="00000000"
    )
    folder = recorder.folder
    for benchmark in ("tiny_long", "tiny_short"):
        save_run(folder / "eval", benchmark, problems)
    for step, metrics in enumerate(curve, 1):
        recorder.metrics(step, metrics)
    kept = [path for path in (folder / "metrics.jsonl", *(folder / "eval").rglob("*")) if path.is_file()]
    files = recorder.hashes(kept)
    scores: dict[str, Any] = {"tiny_long": {}, "tiny_short": {}}
    recorder.update(state="finished", finished="2026-01-01T00:00:00Z", files=files, scores=scores, **more)
    return folder


HALF, ALL = {f"p{i}": "+a" for i in range(12)}, {f"p{i}": "++" for i in range(12)}


def test_the_summary_fits_the_terminal_and_explains_its_numbers(tmp_path: Path):
    folders = [save_job(tmp_path, "base", HALF), save_job(tmp_path, "grpo", HALF), save_job(tmp_path, "egsw", ALL)]
    text = as_text(blocks(summarise(load("egsw"), [Run(folder) for folder in folders])))
    lines = text.splitlines()
    assert lines[0] == "egsw at tiny scale: 3 runs finished" and "under 2M parameters" in lines[1]
    (header,) = [line for line in lines if line.startswith("arm")]
    assert "tiny_short avg@2, %" in header  # the protocol's first, not the first by name
    assert [line.split()[:3] for line in lines if line.startswith(("base", "grpo", "egsw "))][1:] == [
        ["base", "1", "50.0"], ["grpo", "1", "50.0"], ["egsw", "1", "100.0"],
    ]  # fmt: skip
    # twelve differences of 1/2: all of one sign, so resolved, for the one checkpoint of each
    words = " ".join(text.split())
    assert "Does egsw score higher than grpo on tiny_short? Yes, of these checkpoints: +50.0 points" in words
    assert "train three seeds of each" in words
    assert "other training seeds" in " ".join(text.split()) and "next: rlvr tables paper=egsw" in text


def test_a_training_without_a_signal_is_said_first_wherever_its_numbers_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    equal, cut = "train/zero_variance_groups", "train/truncated_fraction"
    dead = [{equal: 0.9, cut: 0.0}, {equal: 1.0, cut: 0.5}, {equal: 1.0, cut: 0.5}]  # means 0.967 and 0.333
    alive = [{equal: 0.25, cut: 0.1}, {equal: 0.37, cut: 0.1}]
    folders = [save_job(tmp_path, "grpo", HALF, curve=dead), save_job(tmp_path, "egsw", ALL, curve=alive)]
    runs = [Run(folder) for folder in folders]
    constant = "all rewards were equal in 97 % of the groups, all from step 2 on"
    truncated = "33 % of the responses were truncated in training, at least 30 % from step 2 on"
    words = " ".join(as_text(blocks(summarise(load("egsw"), runs))).split())
    assert words.startswith(f"Warning, math-7b/grpo: {constant}") and words.count("Warning") == 2 and truncated in words
    assert (
        "learns nothing: math-7b/grpo 97 % of the groups, all from step 2 on; math-7b/egsw 31 % of the groups." in words
    )
    for folder, first in ((folders[0], f"Warning: {constant}"), (folders[1], str(folders[1]))):
        assert main(["show", str(folder)]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert shown.startswith(first) and "equal rewards:" in shown
    title, first, *_ = [line for line in report("egsw", runs).markdown().splitlines() if line]
    assert title.startswith("# ") and first.startswith("**Warning, math-7b/grpo") and f"tiny scale: {constant}" in first
    chosen = choose_arms(load("egsw"), runs, scale=None, model=None, arms=None)
    page = render(document(load("egsw"), chosen, [], {}, [], tokens=None))
    header = page.split("<header>")[1].split("</header>")[0]
    assert header.index(constant) < header.index("<h1>") and truncated in header and "math-7b/egsw" not in header


def test_an_unresolved_difference_names_the_seeds_that_would_resolve_it(tmp_path: Path):
    from evals.stats.power import chance, default_spread, measured_spread
    from harness.record.find import together

    def job(arm: str, seed: int, right: int) -> Path:
        """12 problems with two samples each, of which the first `right` are solved once and the others never."""
        return save_job(tmp_path, arm, {f"p{i}": "+a" if i < right else "aa" for i in range(12)}, seed=seed)

    folders = [job("grpo", seed, right) for seed, right in enumerate((2, 6, 10))]
    folders += [job("egsw", seed, right) for seed, right in enumerate((4, 8, 12))]
    summary = summarise(load("egsw"), [Run(folder) for folder in folders])
    # 24 and 18 of 72 samples are correct: 8.3 points. The seeds of both spread alike
    (difference,) = summary.differences
    assert difference.line.difference == pytest.approx(6 / 72)
    egsw, grpo = (together([Run(f) for f in part], "x").tables["tiny_short"] for part in (folders[3:], folders[:3]))
    fallback = default_spread("tiny_short")
    spreads = [measured_spread(a, "x", fallback=fallback, second=b) for a, b in ((egsw, grpo), (grpo, egsw))]
    spread = max(spreads, key=lambda s: s.seed_sd.value)  # the seeds of the less stable method
    needed = difference.needed
    assert needed is not None and needed > 3
    less, enough = (chance(6 / 72, spread, problems=12, samples=2, seeds=seeds) for seeds in (needed - 1, needed))
    assert less < 0.8 <= enough
    text = as_text(blocks(summary))
    assert f"needs about {needed} training seeds of each:" in " ".join(text.split())
    (line,) = [line for line in text.splitlines() if line.startswith("rlvr power difference=0.0833333 ")]
    assert main(shlex.split(line)[1:]) == 0
    nothing = replace(difference, line=replace(difference.line, difference=0.0))
    assert "needs" not in as_text(blocks(replace(summary, differences=(nothing,))))
    claims = tuple(Claim("", "", arm="egsw", than=than) for than in ("base", "grpo", "placebo"))
    arms = (*load("egsw").arms, Arm("placebo", "math-7b", "", None))
    folders += [job("placebo", 0, 2), job("base", 0, 2)]
    difference = summarise(
        replace(load("egsw"), arms=arms, claims=claims), [Run(folder) for folder in folders]
    ).differences
    assert [(d.arm, d.than) for d in difference] == [("egsw", "base"), ("egsw", "placebo")]


def test_show_prints_values_and_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    folder = save_job(tmp_path, "egsw", ALL)
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    assert main(["show", folder.name[:12]]) == 0 and capsys.readouterr().out.splitlines()[0] == folder.name
    assert main(["show", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "arm:       egsw" in text and "max_steps=2" in text and "Tiny scale: 2M." in text
    assert main(["show", str(folder / "eval"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["scores"]["tiny_short"][0]["value"] == 1.0 and document["arm"] == "egsw"
    changed = save_run(tmp_path / "b", "x", ALL, data={"sha256": "dd", "changed": True, "choice_seed": 0})
    assert main(["show", str(changed)]) == 0 and "x (changed data)  pass@2" in capsys.readouterr().out
    assert main(["show", str(tmp_path / "nowhere")]) == 2


def test_status_distinguishes_running_finished_failed_and_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    finished = save_job(tmp_path, "base", HALF)
    failed, stopped, running = (finished.with_name(f"math-7b-{name}-0-0-seed0") for name in ("bad", "cut", "now"))
    for folder in (failed, stopped, running):
        folder.mkdir()
        Recorder(folder).start()
    (failed / "error.json").write_text(json.dumps({"error": "RuntimeError: no space", "when": "now"}))
    kept = [{"step": step, "metrics": {"train/reward": step / 10}} for step in (1, 2)]
    (stopped / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept) + '{"step": 3, "me')
    with locked(running):
        assert main(["show", "--json"]) == 0
    states = {Path(s["folder"]): s for s in json.loads(capsys.readouterr().out)}
    assert {path: s["state"] for path, s in states.items()} == {
        finished: "finished", failed: "failed", stopped: "stopped", running: "running",
    }  # fmt: skip
    assert (states[stopped]["step"], states[stopped]["reward"]) == (2, 0.2)  # the line that was cut is no step
    os.utime(stopped / "metrics.jsonl", (0, 0))
    os.utime(stopped / "run.json", (60, 60))
    (stopped / "mlflow.json").write_text("{}")  # by rlvr sync: no sign of the run
    with (running / "metrics.jsonl").open("w") as log:
        log.write('{"step": 4, "metrics": {"train/reward": 0.5}}\n{"step": 4, "metrics": {"curve/b/avg_at_1": 0.1}}\n')
    state_of = {state.folder: state for state in job_states(tmp_path)}
    assert state_of[stopped].idle_s > time.time() - 61
    assert (state_of[running].step, state_of[running].reward) == (4, 0.5)  # beside an evaluation of that step
    assert main(["show", "paper=egsw"]) == 0
    text = capsys.readouterr().out
    assert "RuntimeError: no space" in text
    assert main(["show", "paper=egws"]) == 2


def test_two_final_models_get_two_folders(tmp_path: Path):
    places = [tmp_path / name / "final" for name in ("a-seed0", "b-seed0")]
    for place in places:
        place.mkdir(parents=True)
    labels = [label(str(place)) for place in places]
    assert len(set(labels)) == 2 and all(label.startswith("final-") for label in labels)
    assert label("Qwen/Qwen2.5-7B") == "Qwen2.5-7B"  # a hub id


def test_a_used_port_is_an_error_at_once(capsys: pytest.CaptureFixture[str]):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        assert main(["ui", f"port={server.getsockname()[1]}"]) == 2
    assert "expected a free port on 127.0.0.1" in capsys.readouterr().err


def test_the_shell_completes_names_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    names = {started(tmp_path, arm="grpo", seed=seed).folder.name for seed in (0, 1)}

    def completed(command: str, prefix: str) -> set[str]:
        return {word for word in candidates(prefix, Namespace(command=command)) if word.startswith(prefix)}

    assert completed("show", "tiny-g") == names == completed("compare", "tiny-g")
    assert completed("report", "runs=tiny-g") == {f"runs={name}" for name in names}
    assert completed("list", "tiny-g") == set()  # it takes no run


def test_a_name_that_is_in_a_list_is_not_offered_again() -> None:
    offered = candidates("arm=grpo,", Namespace(command="run", words=["paper=egsw"]))
    assert "arm=grpo,egsw" in offered and "arm=grpo,grpo" not in offered


def test_a_training_without_scores_shows_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    folder = started(tmp_path, arm="grpo").folder
    (folder / "metrics.jsonl").write_text('{"step": 7, "metrics": {"train/reward": 0.25}}\n')
    (folder / "error.json").write_text(json.dumps({"error": "no space", "when": "now"}))
    assert main(["show", "tiny-grpo", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["state"], shown["error"]) == ("failed after step 7, training reward 0.250", "no space")
    assert (shown["arm"], shown["values"], shown["scores"]) == ("grpo", {"scale": 1, "assumed": 3, "paper": 1}, {})
    assert main(["compare", "tiny-grpo", "tiny-grpo"]) == 2
    assert "no verdicts yet (failed after step 7, training reward 0.250)" in capsys.readouterr().err


def test_power_says_that_runs_without_a_spread_measure_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong, right, varied = (
        str(save_run(tmp_path / name, "x", {f"p{i}": letters for i in range(4)}))
        for name, letters in (("wrong", "aa"), ("right", "++"), ("varied", "+a"))
    )
    assert main(["power", "difference=0.1", f"runs=[{wrong},{right}]"]) == 0
    out = capsys.readouterr().out
    assert f"Nothing could be measured on {wrong} and {right}: the samples of each problem are all correct" in out
    assert main(["power", "difference=0.1", f"runs=[{wrong},{varied}]", "--json"]) == 0
    within = json.loads(capsys.readouterr().out)["model"]["within_sd"]
    assert within["value"] == pytest.approx(0.5) and "measured on" in within["note"]  # (0 + 2 * 1/4) / 2 = 1/4
    other = save_run(tmp_path / "other", "x", {f"q{i}": "+a" for i in range(5)})
    assert main(["power", "difference=0.1", f"runs=[{varied},{other}]"]) == 2
    assert "got 0; of 4 and 5 ids, 0 are in both" in capsys.readouterr().err
