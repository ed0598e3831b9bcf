"""Settings that make veRL faster must not change what a method reads: log-probabilities and entropies, with and without
them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.needs_verl import need_verl

need_verl()

from transfer_queue import KVBatchMeta  # noqa: E402

from tests.harness.backends.test_trl_trainer import rollout  # noqa: E402
from tests.parity.local_verl import LocalWorkers, Store, make_worker  # noqa: E402
from tests.parity.rows import verl_rows  # noqa: E402

TEMPERATURES = (1.0, 0.6)


@pytest.fixture(scope="module")
def plain(random_model: Path) -> dict[float, dict[str, list[torch.Tensor]]]:
    """Temperature -> the signals of the ordinary forward pass."""
    worker = make_worker(random_model)
    return {temperature: signals(worker, vocabulary(random_model), temperature) for temperature in TEMPERATURES}


@pytest.fixture(autouse=True)
def own_forward(random_model: Path, plain: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the model's class its own forward back at the end: veRL's fused head replaces it for the whole process."""
    import transformers

    config = transformers.AutoConfig.from_pretrained(random_model)
    kind = getattr(transformers, config.architectures[0])
    monkeypatch.setattr(kind, "forward", kind.forward)


def vocabulary(random_model: Path) -> int:
    from transformers import AutoConfig

    return int(AutoConfig.from_pretrained(random_model).vocab_size)


def signals(worker: Any, vocab: int, temperature: float) -> dict[str, list[torch.Tensor]]:
    """Log-probabilities and entropies of the fixed rollout, one tensor a sequence."""
    store = Store()
    store.rows = verl_rows(rollout(vocab))
    worker.engine_config.infer_micro_batch_size_per_gpu = len(store.rows)
    batch = KVBatchMeta(keys=list(store.rows), tags=[{}] * len(store.rows), partition_id="train")
    batch.extra_info.update(calculate_entropy=True, compute_loss=False, temperature=temperature)
    LocalWorkers(worker, store).compute_log_prob(batch)
    return {name: [row[name] for row in store.rows.values()] for name in ("log_probs", "entropy")}


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize(
    "options",
    [{"packed": True}, {"packed": True, "tokens": 24}, {"packed": True, "fused": True}],
    ids=["packed", "by-length", "fused"],
)
def test_log_probabilities_and_entropies_stay_what_they_are(
    options: dict[str, Any], temperature: float, plain: dict[float, dict[str, list[torch.Tensor]]], random_model: Path
) -> None:
    vocab = vocabulary(random_model)
    fast = signals(make_worker(random_model, **options), vocab, temperature)
    for name, rows in plain[temperature].items():
        for want, got, row in zip(rows, fast[name], verl_rows(rollout(vocab)).values(), strict=True):
            last = len(row["responses"])  # only the response's positions of a sequence are read
            torch.testing.assert_close(got[-last - 1 : -1], want[-last - 1 : -1], rtol=1e-5, atol=1e-5)
