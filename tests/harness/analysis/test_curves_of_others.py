"""Training curves of other tools: runs beside ours."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pandas as pd
import pytest

from harness.analysis.families import plot_all
from harness.analysis.material import Material
from harness.analysis.runs import read_runs
from harness.record.run import Run
from rlvr.cli import main
from tests.harness.analysis.test_analyze import job

VERL = "(pid) step:0 - val/acc:0.25\n" + "".join(
    f"step:{step} - critic/score/mean:{step / 100} - actor/entropy:1.5 - perf/mfu:0.3\n" for step in (10, 20)
)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


def test_curves_are_runs_with_our_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verl, trl = tmp_path / "a.log", tmp_path / "trainer_state.json"
    verl.write_text(VERL)
    trl.write_text(json.dumps({"log_history": [{"step": 5, "reward": 0.5, "loss": 1.0}]}))
    command = ["curves", str(verl), str(trl), "name=theirs", "columns=curve/gsm8k/avg_at_1:val/acc"]
    assert main(command) == 2  # the second file has no such score
    assert "no metric 'val/acc'. It has reward, loss" in capsys.readouterr().err
    assert main(["curves", str(verl), "name=verl", command[-1]]) == 0
    assert main(["curves", str(trl), "name=trl"]) == 0
    first, second = (Run(tmp_path / "home" / "curves" / f"{name}-seed0") for name in ("verl", "trl"))
    # steps between are not missing: the log has every tenth
    assert first.curve[10] == {"train/reward": 0.1, "train/entropy": 1.5} and first.curve[0] == {
        "curve/gsm8k/avg_at_1": 0.25
    }
    assert second.curve == {5: {"train/reward": 0.5}} and second.name == "trl" and not second.damage()
    assert main(["curves", str(trl), "name=trl", "columns=train/kl:loss"]) == 0  # a corrected one replaces it
    output = capsys.readouterr().out
    assert "imported again: train/reward from reward, train/kl from loss" in output and "in place of" not in output
    assert main(["curves", str(verl), "name=trl"]) == 0
    assert f"in place of {trl}, which had this name; name=NAME keeps both" in capsys.readouterr().out


def test_the_printed_command_draws_the_curves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.log").write_text("".join(f"step:{n} - critic/score/mean:0.{n}\n" for n in range(1, 5)))
    (tmp_path / "b.log").write_text((tmp_path / "b.log").read_text() + "step:5 - critic/score/mean:0.5\n")
    assert main(["curves", str(tmp_path / "a.log"), str(tmp_path / "b.log"), "name=two"]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("draw them: ")]
    rlvr, *typed = shlex.split(line.removeprefix("draw them: "))
    assert rlvr == "rlvr" and main(typed) == 0
    assert ".html: " in capsys.readouterr().out


def test_of_files_with_other_columns_each_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, metric in (("a", "critic/score/mean"), ("b", "actor/entropy")):
        (tmp_path / f"{name}.log").write_text(f"step:1 - {metric}:0.5 - val/{name}:0.25\n")
    assert main(["curves", str(tmp_path / "a.log"), str(tmp_path / "b.log")]) == 0
    out = capsys.readouterr().out
    assert f"{tmp_path / 'b.log'}:\n  imported: train/entropy from actor/entropy\n  left out" in out and "val/b" in out
    (tmp_path / "c.log").write_text("step:1 - critic/score/mean:0.75 - val/a:0.25\n")
    assert main(["curves", str(tmp_path / "a.log"), str(tmp_path / "c.log"), "name=alike"]) == 0
    assert capsys.readouterr().out.count("left out") == 1


def test_verls_reward_after_its_penalty_is_taken_where_the_score_is_not_logged(tmp_path: Path) -> None:
    for name, rows in (
        ("alone", "critic/rewards/mean:0.25"),
        ("both", "critic/rewards/mean:0.25 - critic/score/mean:0.5"),
    ):
        (tmp_path / f"{name}.log").write_text(f"step:1 - {rows}\nstep:2 - {rows}\n")
        assert main(["curves", str(tmp_path / f"{name}.log")]) == 0
    alone, both = (Run(tmp_path / "home" / "curves" / f"{name}-seed0").curve for name in ("alone", "both"))
    assert (alone[1]["train/reward"], both[1]["train/reward"]) == (0.25, 0.5)


def test_names_of_trackers_own_steps_and_wrong_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "wandb.jsonl"
    rows = [{"_step": s, "iter": 2 * s, "train/reward": 0.5, "train/kl": 0.1, "step_time": 3, "x": 1} for s in (1, 2)]
    file.write_text("\n".join(map(json.dumps, rows)))
    assert main(["curves", str(file), "columns=step:iter"]) == 0
    assert "left out (columns=OURS:THEIRS takes them): _step, x" in capsys.readouterr().out
    curve = {"train/reward": 0.5, "train/kl": 0.1, "train/step_seconds": 3.0}
    assert Run(tmp_path / "home" / "curves" / "wandb-seed0").curve == {2: curve, 4: curve}
    (tmp_path / "responses.parquet").write_bytes(b"PAR1")
    for command, error in (
        ([str(file), "columns=train/rewards:x"], "columns=train/rewards: Did you mean 'train/reward'?"),
        ([str(file), "columns=step:it"], "no column of steps. Expected one of it, got _step"),
        ([str(tmp_path / "responses.parquet")], "For responses, type rlvr grade"),
    ):
        assert main(["curves", *command]) == 2 and error in capsys.readouterr().err


def test_a_curve_goes_into_another_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.log").write_text(VERL)
    packed = str(tmp_path / "a.tar.xz")
    assert main(["curves", str(tmp_path / "a.log")]) == main(["export", "a-seed0", f"out={packed}"]) == 0
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "another"))
    assert main(["import", packed]) == main(["import", packed]) == main(["show", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out.rpartition("runs added: 0; there already: 1\n")[2])
    assert (
        run["name"] == "a-seed0" and Run(tmp_path / "another" / "curves" / "a-seed0").curve[10]["train/reward"] == 0.1
    )


def test_the_caption_of_every_figure_of_training_names_a_known_fault(tmp_path: Path) -> None:
    # a paper's own figures draw the entropy of imported curves, too
    rows = [
        f"step:{step} - critic/score/mean:{0.9 - 0.8 / step} - actor/entropy:{1 / step} - val/acc:{0.5 - 0.1 / step}\n"
        for step in range(1, 20)
    ]
    for name, day in (("spring", "2025-05-03"), ("autumn", "2025-10-03")):
        (tmp_path / f"{name}.log").write_text(f"{day} 10:00:00\n{''.join(rows)}")
        assert main(["curves", str(tmp_path / f"{name}.log"), "columns=curve/gsm8k/avg_at_1:val/acc"]) == 0
    captions = {}
    for names in (["spring", "autumn"], ["autumn"]):
        folders = [str(tmp_path / "home" / "curves" / f"{name}-seed0") for name in names]
        made, _ = plot_all(Material(read_runs(folders, names, data_dir=None), [], tmp_path), ["training", "evaluation"])
        captions[len(names)] = {plot.name: plot.caption for plots in made.values() for plot in plots}
    named = "A known fault of spring: veRL wrote a wrong actor/entropy from 17 April to 10 June 2025"
    assert {"training_dynamics", "sigmoid_fit", "training_entropy_reward"} < set(captions[2]) and len(captions[2]) > 3
    assert all(caption.count(named) == 1 and "pull/1100" in caption for caption in captions[2].values())
    assert not any("known fault" in caption for caption in captions[1].values())


@pytest.mark.slow
def test_others_curves_are_drawn_beside_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_folder = job(tmp_path / "ours", "grpo", 3)
    (tmp_path / "a.log").write_text(VERL)
    assert main(["curves", str(tmp_path / "a.log")]) == 0
    runs = f"runs=[{run_folder},{tmp_path / 'home' / 'curves' / 'a-seed0'}]"
    capsys.readouterr()
    assert main(["analyze", runs, "only=training,verdicts", f"out={tmp_path / 'out'}", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["benchmarks"] == ["b"] and not any(text.startswith("verdicts") for text in document["skipped"])
    numbers = pd.read_csv(tmp_path / "out" / "training" / "training_dynamics.csv")
    rewards = numbers[numbers["panel"] == "train/reward"].groupby("model")["step"].agg(list)
    assert rewards.to_dict() == {"grpo": [1, 2], "a": [10, 20]}
    verdicts = pd.read_csv(tmp_path / "out" / "verdicts" / "pass_at_k_b.csv")
    assert set(verdicts["model"]) == {"grpo"}  # a curve has no responses
    beside = [f"runs={run_folder}", f"curves={tmp_path / 'home' / 'curves' / 'a-seed*'}", "tokens=false"]
    assert main(["page", *beside, f"out={tmp_path / 'page.html'}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"] > 0
    caption = "Steps and training seeds: a 2, 1, grpo 2, 1."
    assert caption in (tmp_path / "page.html").read_text()
    assert main(["page", beside[0], "tokens=false", "only=none", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"] == 0
    assert main(["page", f"runs={run_folder}", f"curves={run_folder}"]) == 2
    assert "curves: grpo: expected a name that no other run has" in capsys.readouterr().err


def test_percentages_are_shares_a_new_import_is_whole_and_show_has_the_curve(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / f"{name}.csv" for name in "abc"]
    for first, file in zip((38.0, 39.0, 40.0), reversed(files), strict=True):
        file.write_text(f"step,acc\n1,{first}\n2,63.75\n")
    command = ["name=theirs", "columns=curve/math500/avg_at_1:acc"]
    assert main(["curves", *map(str, files), *command]) == 0
    assert "in percent in the file, kept as shares: acc" in capsys.readouterr().out
    third = Run(tmp_path / "home" / "curves" / "theirs-seed2")
    assert third.metrics("curve/math500/avg_at_1") == [(1, 0.38), (2, 0.6375)]
    assert main(["curves", str(files[0]), *command]) == 0
    assert "deleted: 2 more seeds of an earlier import" in capsys.readouterr().out
    assert [folder.name for folder in (tmp_path / "home" / "curves").iterdir()] == ["theirs-seed0"]
    assert main(["show", "theirs-seed0"]) == 0
    assert "theirs-seed0  curve/math500/avg_at_1        2      0.4  0.6375" in capsys.readouterr().out


def test_a_score_has_one_unit_in_the_files_of_all_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / f"{name}.csv" for name in "ab"]
    files[0].write_text("step,acc\n1,0.5\n2,1.0\n")  # a seed that collapsed, in percent too
    files[1].write_text("step,acc\n1,0.5\n2,30.0\n")
    command = ["name=theirs", "columns=curve/math500/avg_at_1:acc"]
    assert main(["curves", *map(str, files), *command]) == 0
    assert "in percent in the file, kept as shares: acc" in capsys.readouterr().out
    runs = [Run(tmp_path / "home" / "curves" / f"theirs-seed{seed}") for seed in (0, 1)]
    assert [run.metrics("curve/math500/avg_at_1") for run in runs] == [[(1, 0.005), (2, 0.01)], [(1, 0.005), (2, 0.3)]]
    assert main(["curves", str(files[0]), *command]) == 0  # alone, nothing tells it from shares
    assert Run(runs[0].folder).metrics("curve/math500/avg_at_1") == [(1, 0.5), (2, 1.0)]


def test_steps_that_are_no_whole_numbers_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "epochs.csv"
    file.write_text("step,reward\n0.25,0.1\n0.5,0.2\n1,0.3\n")
    assert main(["curves", str(file)]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "step: expected whole numbers, got 0.25" in error and "columns=step:row" in error
    assert not (tmp_path / "home" / "curves").exists()
    assert main(["curves", str(file), "columns=step:row"]) == 0
    curve = Run(tmp_path / "home" / "curves" / "epochs-seed0").metrics("train/reward")
    assert curve == [(1, 0.1), (2, 0.2), (3, 0.3)]


def test_a_download_of_tensorboard_is_a_curve(tmp_path: Path) -> None:
    """Its JSON has lists: wall time, step, value."""
    (tmp_path / "tb.json").write_text("[[1.7e9, 10, 0.5], [1.8e9, 20, 0.75]]")
    assert main(["curves", str(tmp_path / "tb.json"), "columns=curve/x/avg_at_1:Value"]) == 0
    assert Run(tmp_path / "home" / "curves" / "tb-seed0").metrics("curve/x/avg_at_1") == [(10, 0.5), (20, 0.75)]


COUNTED_IN_EPOCHS = "".join(
    f"Epoch:[1/1]({n}/40), Reward: {-2 - n / 100}, Actor Loss: 0.0\n"
    + (
        f"[DEBUG] step={n}, sample[0]\nThe sum is x = {n}\nSo the result of the whole sum is: {n}\n[DEBUG] reward={n}\n"
        if n % 10 == 0
        else ""
    )
    for n in range(1, 41)
)


def test_the_step_of_an_epoch_is_counted_in_it_and_printed_responses_are_no_metrics(tmp_path: Path) -> None:
    file = tmp_path / "grpo.log"
    file.write_text(COUNTED_IN_EPOCHS.replace("Epoch:[1/1](3/40)", "Epoch [1/1] [3/40]"))
    assert main(["curves", str(file), "columns=train/reward:Reward"]) == 0
    run = Run(tmp_path / "home" / "curves" / "grpo-seed0")
    assert run.curve == {n: {"train/reward": -2 - n / 100} for n in range(1, 41)}
    assert run.record["source"]["left"] == ["Actor Loss"]


def test_steps_in_a_printed_solution_are_no_steps_of_the_training(tmp_path: Path) -> None:
    """Two lines of the training among nine heads of a solution: 2 steps, though most lines that count are heads."""
    file = tmp_path / "sft.log"
    solution = "".join(f"**Step {n}: Calculate the distance**\nDistance = {n} km\n" for n in range(1, 10))
    file.write_text(f"[step 25] avg_loss=-0.1 acc=0.06\n{solution}[step 50] avg_loss=-0.2 acc=0.01\n")
    assert main(["curves", str(file), "columns=train/reward:acc"]) == 0
    assert Run(tmp_path / "home" / "curves" / "sft-seed0").curve == {
        25: {"train/reward": 0.06},
        50: {"train/reward": 0.01},
    }


def test_bare_heads_of_steps_stay_steps_beside_lines_of_epochs(tmp_path: Path) -> None:
    """Two lines have values of one name, and four heads have theirs below: no head is dropped."""
    file = tmp_path / "heads.log"
    heads = [f"--- STEP {n} ---\nreward: {n}\n" for n in range(1, 5)]
    file.write_text(f"{heads[0]}{heads[1]}Epoch 8: loss=0.5\n{heads[2]}{heads[3]}Epoch 9: loss=0.4\n")
    assert main(["curves", str(file)]) == 0
    curve = Run(tmp_path / "home" / "curves" / "heads-seed0").curve
    assert {n: curve[n] for n in range(1, 5)} == {n: {"train/reward": n} for n in range(1, 5)}


def test_rows_that_a_later_row_of_their_step_replaces_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A training that began again twice: step 1 has three rows and step 2 two, so 3 rows are replaced. The last row
    repeats step 2 with a metric of its own, which replaces nothing."""
    file = tmp_path / "history.jsonl"
    steps = [
        (1, {"reward": 0.1}),
        (1, {"reward": 0.2}),
        (2, {"reward": 0.3}),
        (1, {"reward": 0.4}),
        (2, {"reward": 0.5}),
        (3, {"reward": 0.6}),
    ]
    rows = [*steps, (2, {"lr": 0.01})]
    file.write_text("".join(json.dumps({"step": step} | values) + "\n" for step, values in rows))
    assert main(["curves", str(file)]) == 0
    assert "3 rows are not kept, because a later row of their step has other values. Step 1 has 3 rows." in " ".join(
        capsys.readouterr().out.split()
    )
    file.write_text("".join(json.dumps({"step": step} | values) + "\n" for step, values in rows[3:]))
    assert main(["curves", str(file)]) == 0
    assert "not kept" not in capsys.readouterr().out


def test_blocks_below_bare_steps_stay_metrics_where_one_line_has_values(tmp_path: Path) -> None:
    file = tmp_path / "blocks.log"
    file.write_text("".join(f"--- STEP {n} ---\nreward: {n}\n" for n in (1, 2, 3)) + "Episode 9: loss=1\n")
    assert main(["curves", str(file)]) == 0
    assert Run(tmp_path / "home" / "curves" / "blocks-seed0").curve == {n: {"train/reward": n} for n in (1, 2, 3)}


def test_a_reward_outside_of_shares_cannot_be_audited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "grpo.log"
    file.write_text(COUNTED_IN_EPOCHS)
    assert main(["audit", str(file), "printed=-2.4", "metric=Reward"]) == 2
    error = capsys.readouterr().err
    assert "metric=Reward: its values are -2.4 to -2.01." in error and "cannot be audited" in error


@pytest.mark.parametrize(
    ("names", "advice"),
    [
        (["Loss", "Mean Reward"], "Type 'columns=train/reward:Mean Reward', or another"),
        (["Loss", "Val Accuracy"], "Type 'columns=train/reward:Val Accuracy', or another"),
        (["K", "IV"], "Type columns=train/reward:NAME. NAME"),
        (["Loss", "Bench (T3)"], """Type 'columns={"train/reward": "NAME"}'. NAME"""),
        (["Score (T3)", "Loss"], """Type 'columns={"train/reward": "Score (T3)"}', or another"""),
    ],
)
def test_only_a_name_of_a_reward_is_proposed_in_a_form_that_runs(
    names: list[str], advice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "theirs.jsonl"
    file.write_text("".join(json.dumps({"step": n, **dict.fromkeys(names, n)}) + "\n" for n in (1, 2)))
    assert main(["curves", str(file)]) == 2
    error = capsys.readouterr().err
    assert advice in error
    typed = advice.removeprefix("Type ").split(". NAME")[0].removesuffix(", or another").replace("NAME", names[1])
    assert main(["curves", str(file), *shlex.split(typed)]) == 0


def test_a_row_of_a_printed_table_is_no_metric(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "eval.log"
    step = "--- STEP {n} ---\nK=100\nMarket Maker                       15.348          10.694\n"
    file.write_text("".join(step.format(n=n) for n in (1, 2)))
    assert main(["curves", str(file)]) == 2
    assert "It has K. Type" in capsys.readouterr().err


def test_steps_that_begin_again_in_each_epoch_follow_those_of_the_epoch_before(tmp_path: Path) -> None:
    file = tmp_path / "epochs.log"
    for total in (False, True):  # counted in each epoch of 3 steps, or over both
        places = [(e, e * 3 * total + n, e * 3 + n) for e in range(2) for n in (1, 2, 3)]
        steps = 6 if total else 3
        file.write_text("".join(f"Epoch:[{e + 1}/2]({n}/{steps}), reward: {value}\n" for e, n, value in places))
        assert main(["curves", str(file)]) == 0
        run = Run(tmp_path / "home" / "curves" / "epochs-seed0")
        assert run.curve == {n: {"train/reward": n} for n in range(1, 7)}
