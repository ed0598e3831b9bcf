"""Training the real model with TRL whose rollouts vLLM samples, and the saved model in vLLM."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from evals.files import read_jsonl
from evals.sampling.engines.transformers import TransformersEngine
from rlvr.cli import main
from tests.real.conftest import by_vllm, requests
from tests.real.test_sampling import EQUAL, check_greedy
from tests.real.training import GRPO, UPDATES, Update, check_description, check_updates, recorded, words

pytestmark = pytest.mark.slow
pytest.importorskip("vllm", reason="vLLM is not installed here: nox -s real")
RUN = (*GRPO, f"updates_per_rollout={UPDATES}", f"max_steps={UPDATES}", "hardware.rollouts=vllm_colocate")


@pytest.fixture(scope="module")
def trained(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Update]]:
    """The folder of a run of one rollout and two updates, and these."""
    from vllm.model_executor.layers import utils

    def repack(*_: object) -> None:
        raise AssertionError("new weights have no place in a repacked layer")

    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, recorded() as updates:
        patch.setenv("RLVR_HOME", str(home))
        patch.setattr(utils, "dispatch_cpu_unquantized_gemm", repack)  # which a test with veRL may have replaced
        assert main(words(model, home, *RUN)) == 0
    (run,) = (path.parent for path in home.glob("egsw/small/*/run.json"))
    return run, updates


def test_each_update_equals_a_separate_computation(model: Path, trained: tuple[Path, list[Update]]) -> None:
    check_updates(model, *trained)
    check_description(model, trained[0] / "train" / "final")


def test_sampler_and_trainer_agree_on_the_log_probabilities(trained: tuple[Path, list[Update]]) -> None:
    gaps = [row["metrics"].get("train/mismatch_max_logp_gap") for row in read_jsonl(trained[0] / "metrics.jsonl")]
    assert len(gaps) == UPDATES  # the responses of each update
    assert all(0 < gap < 0.2 for gap in gaps)  # vLLM samples in bfloat16 here, the trainer is in float32


def test_the_saved_model_samples_in_vllm_as_in_transformers(trained: tuple[Path, list[Update]]) -> None:
    final = trained[0] / "train" / "final"
    engine = TransformersEngine(str(final), device="cpu")
    all_requests = requests(engine.tokenizer)
    responses = by_vllm(final, all_requests)
    for request in all_requests:
        completion, output = responses[request.key[0]]
        plain = check_greedy(engine, request, completion, list(output.token_ids))
        vllm_logp = [at[token].logprob for at, token in zip(output.logprobs, output.token_ids, strict=True)]
        torch.testing.assert_close(plain, torch.tensor(vllm_logp), rtol=0, atol=EQUAL)
