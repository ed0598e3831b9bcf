"""Training the real model with TRL: each update equals a separate computation; what is saved is the base model with
other weights, in every file. A killed training ends with the weights of one that was not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from evals.sampling.engines.encode import prompt_tokens
from evals.sampling.engines.transformers import TransformersEngine
from harness.backends.checkpoints import WHOLE
from rlvr.cli import main
from tests.real.conftest import GREEDY, requests
from tests.real.training import GRPO, Update, check_description, check_updates, recorded, without_time, words

STEPS = 4
RUN = (*GRPO, "updates_per_rollout=2", f"max_steps={STEPS}")  # one checkpoint, at the end: 2.4 GB of disk, not 6


@pytest.fixture(scope="module")
def trained(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Update]]:
    """The folder of a run, and its updates."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, recorded() as updates:
        patch.setenv("RLVR_HOME", str(home))
        assert main(words(model, home, *RUN)) == 0
    (run,) = (path.parent for path in home.glob("egsw/small/*/run.json"))
    return run, updates


def test_each_update_equals_a_separate_computation(model: Path, trained: tuple[Path, list[Update]]) -> None:
    check_updates(model, *trained)


def test_what_is_saved_is_the_base_model_with_other_weights(model: Path, trained: tuple[Path, list[Update]]) -> None:
    check_description(model, trained[0] / "train" / "final")


def test_a_saved_model_samples_as_it_does_in_plain_transformers(trained: tuple[Path, list[Update]]) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    final = trained[0] / "train" / "final"
    engine = TransformersEngine(str(final), device="cpu")
    plain, tokenizer = AutoModelForCausalLM.from_pretrained(final), AutoTokenizer.from_pretrained(final)
    first_requests = requests(engine.tokenizer)[:3]
    done = {c.key: c for batch in engine.generate(first_requests, GREEDY) for c in batch}
    for request in first_requests:
        ids = torch.tensor([prompt_tokens(tokenizer, request.prompt_text)])
        out = plain.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=GREEDY.max_tokens
        )
        text = tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)
        assert done[request.key].text == text


@pytest.mark.slow
def test_a_killed_training_ends_with_the_same_weights(
    model: Path, trained: tuple[Path, list[Update]], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "rlvr", *words(model, trained[0].parents[2], *RUN, "hardware.save_every=1")]
    environment = {**os.environ, "RLVR_HOME": str(tmp_path)}
    process = subprocess.Popen(command, env=environment)
    while not any(tmp_path.glob(f"egsw/small/*/train/checkpoint-2/{WHOLE}")):
        assert process.poll() is None, "the run ended before it saved"
        time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not any(tmp_path.glob("egsw/small/*/train/final"))
    subprocess.run(command, env=environment, check=True)
    (again,) = (path.parent for path in tmp_path.glob("egsw/small/*/run.json"))
    first = "train/final/model.safetensors"
    assert (again / first).read_bytes() == (trained[0] / first).read_bytes()
    assert [without_time(again)] == [without_time(trained[0])]
