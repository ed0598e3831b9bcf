"""The parts that the backends share: the prompts that a training gets, and a state that is loaded to a numbered CPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from baselines.distillation import reverse_kl
from evals.provenance import Origin, assumed
from harness.backends import common
from harness.backends.trl.common import _know_numbered_cpus
from harness.data.tiny import family, tokenizer
from harness.errors import UsageError
from harness.record.write import Recorder
from harness.spec import use
from tests.experiments import GRPO, WHY, experiment


def test_a_state_is_loaded_to_a_numbered_cpu(tmp_path: Path) -> None:
    state = {"exp_avg": torch.arange(3.0), "step": torch.tensor(2.0)}
    torch.save(state, tmp_path / "optimizer.pt")
    _know_numbered_cpus()
    _know_numbered_cpus()  # a second training in this process: torch cannot sort two entries of one priority
    loaded = torch.load(tmp_path / "optimizer.pt", map_location=torch.device("cpu", 0), weights_only=True)
    assert loaded["exp_avg"].tolist() == [0.0, 1.0, 2.0]
    assert loaded["exp_avg"].device.type == "cpu"
    assert loaded["step"].item() == 2.0


@pytest.fixture(scope="module")
def words() -> Any:
    pytest.importorskip("transformers")
    return tokenizer.build_tokenizer(family("tiny").pieces())


def test_prompts_over_the_limit_are_dropped_and_counted(words: Any) -> None:
    every, dropped, _ = common.prompt_rows(experiment(), words, seed=5)
    lengths = [len(words.encode(row["prompt"])) for row in every]
    limit = replace(experiment(), max_prompt_tokens=assumed(min(lengths), WHY))
    short = [row for row, length in zip(every, lengths, strict=True) if length == min(lengths)]
    assert (len(every), dropped) == (4000, 0) and 0 < len(short) < 4000
    assert common.prompt_rows(limit, words, seed=5)[:2] == (short, 4000 - len(short))


def test_too_few_short_prompts_for_the_epochs_are_refused(words: Any) -> None:
    """4000 problems give 500 rollouts in half an epoch, and the shortest prompts alone none in a thousandth."""
    lengths = [len(words.encode(row["prompt"])) for row in common.prompt_rows(experiment(), words, seed=5)[0]]
    kept = lengths.count(min(lengths))
    epochs = {"max_prompt_tokens": min(lengths), "max_steps": None, "epochs": 3.9 / kept}
    with pytest.raises(UsageError, match=f"{kept} of 4000 prompts have at most .* which give no rollout"):
        common.prompt_rows(experiment().override(epochs, Origin.USER, WHY), words, seed=5)


def test_a_policy_that_teaches_itself_has_a_place_for_a_response_in_its_prompt(words: Any) -> None:
    method = replace(GRPO, advantage=use(reverse_kl))
    declared = replace(experiment(), method=method, reference_model=assumed("self", WHY))
    row = common.prompt_rows(declared, words, seed=5)[0][0]
    assert row["with_response"].replace(common.SHOWN, "") == row["prompt"] != row["with_response"]


def test_a_training_without_a_signal_is_said_once_while_it_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = common.metrics_reporter(Recorder(tmp_path))
    for step in range(1, 21):
        report(step, 20, {"train/reward": 0.0, "train/zero_variance_groups": 1.0, "train/truncated_fraction": 0.2})
    lines = capsys.readouterr().err.splitlines()
    (warned,) = [line for line in lines if "warning" in line]
    assert "so far, all rewards were equal in 100 % of the groups, all from step 1 on" in warned
    assert lines.index(warned) == 4  # steps 2, 4, 6 and 8 are printed before the tenth
    assert "equal rewards 100% of groups" in lines[0]


def test_a_printed_step_has_the_last_reward(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No response of an even step is scored, and each of the ten printed steps, 6, 12, ..., is even."""
    report = common.metrics_reporter(Recorder(tmp_path))
    for step in range(1, 61):
        report(step, 60, {"train/loss": 0.5} | ({"train/reward": step / 100} if step % 2 else {}))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "    step 6/60  reward 0.050  loss 0.500" and len(lines) == 10
    assert lines[-1] == "    step 60/60  reward 0.590  loss 0.500"
