"""veRL without Ray: our trainer's own code around one real veRL worker in this process, on a rollout that is given.

A dictionary does the work of Ray and the transfer queue between trainer and worker. The worker, its FSDP engine, the
loss and the optimiser are veRL's. In several processes each runs the same trainer, and its worker gets its share.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from tensordict import TensorDict
from transfer_queue import KVBatchMeta

from harness.backends.verl.hardware import VerlHardware
from harness.spec import Experiment
from harness.step.finite import nonfinite_weight


class Store:
    """The transfer queue as a dictionary: key -> field -> value."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}

    def kv_batch_get(self, *, keys: list[str], partition_id: str, select_fields: Iterable[str]) -> TensorDict:
        names = [name for name in select_fields if name in self.rows[keys[0]]]
        return nested([{name: self.rows[key][name] for name in names} for key in keys])

    def kv_batch_put(self, *, keys: list[str], partition_id: str, fields: TensorDict) -> KVBatchMeta:
        for name in list(fields.keys()):
            for key, value in zip(keys, fields[name].unbind(), strict=True):
                self.rows.setdefault(key, {})[name] = value
        return KVBatchMeta(keys=list(keys), tags=[{}] * len(keys), partition_id=partition_id)


def nested(rows: list[dict[str, Any]]) -> TensorDict:
    """Rows of tensors of different lengths, and of anything else, as veRL's workers get them."""
    from verl.utils import tensordict_utils as tu

    data = TensorDict({}, batch_size=len(rows))
    for name, value in rows[0].items():
        if isinstance(value, torch.Tensor):
            data[name] = torch.nested.as_nested_tensor([row[name] for row in rows], layout=torch.jagged)
        else:
            tu.assign_non_tensor_stack(data, name, [row[name] for row in rows])
    return data


class LocalWorkers:
    """One `TrainingWorker` instead of a worker group."""

    FIELDS = ("prompts", "responses", "input_ids", "position_ids", "response_mask", "loss_mask")

    def __init__(self, worker: Any, store: Store) -> None:
        self.worker, self.store = worker, store
        self.rank, self.processes = torch.distributed.get_rank(), torch.distributed.get_world_size()

    def _data(self, batch: KVBatchMeta, *more: str) -> TensorDict:
        from verl.utils import tensordict_utils as tu

        data = self.store.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=(*self.FIELDS, *more))
        tu.assign_non_tensor(data, **batch.extra_info)
        return data

    def compute_log_prob(self, batch: KVBatchMeta) -> None:
        values = self.worker.infer_batch(self._data(batch))
        for name in {"log_probs", "entropy", "sum_pi_squared"} & set(values.keys()):
            for key, value in zip(batch.keys, values[name].unbind(), strict=True):
                self.store.rows[key][name] = value

    def bad_weight(self) -> list[tuple[str, str] | None]:
        return [nonfinite_weight(self.worker.engine.module.named_parameters())]

    def update_actor(self, batch: KVBatchMeta) -> TensorDict:
        shaped = ("advantages", "weights", "gates", "penalties")
        each = len(batch) // self.processes
        part = batch.select_keys(batch.keys[self.rank * each : (self.rank + 1) * each])
        return self.worker.train_mini_batch(self._data(part, "old_log_probs", "ref_log_prob", *shaped))


def _be_alone() -> None:
    """The environment of the only process, unless torchrun has set another one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    alone = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 1}
    for name, value in alone.items():
        os.environ.setdefault(name, str(value))


def make_worker(
    model: Path,
    *,
    packed: bool = False,
    fused: bool = False,
    tokens: int | None = None,
    passes: str = "fp32",
    rate: float = 0.0,
) -> Any:
    """A veRL worker on gloo, whose optimiser does not move by default. Alone unless torchrun says otherwise.

    Args:
        passes: type of the passes. Weights are float32. rate: of the optimiser.
        packed: no padding. fused: veRL's head and entropy in one kernel. tokens: forward passes cut by length.
    """
    from verl.trainer.config import CheckpointConfig
    from verl.workers.config import FSDPEngineConfig, FSDPOptimizerConfig, HFModelConfig, TrainingWorkerConfig
    from verl.workers.engine_workers import TrainingWorker

    _be_alone()
    worker = TrainingWorker(
        TrainingWorkerConfig(
            model_type="language_model",
            model_config=HFModelConfig(
                path=str(model),
                use_remove_padding=packed,
                use_fused_kernels=fused,
                fused_kernel_options={"impl_backend": "torch"},
                enable_gradient_checkpointing=False,
                override_config={"attn_implementation": "sdpa"},
            ),
            engine_config=FSDPEngineConfig(
                strategy="fsdp2",
                mixed_precision={"param_dtype": passes, "reduce_dtype": "fp32", "buffer_dtype": "fp32"},
                use_torch_compile=False,
                use_dynamic_bsz=tokens is not None,
                max_token_len_per_gpu=tokens,
                infer_max_token_len_per_gpu=tokens,
                micro_batch_size_per_gpu=1,
                infer_micro_batch_size_per_gpu=1,
            ),
            optimizer_config=FSDPOptimizerConfig(
                lr=rate, betas=(0.9, 0.999), lr_warmup_steps=0, weight_decay=0.0, clip_grad=1e9, total_training_steps=1
            ),
            checkpoint_config=CheckpointConfig(),
            profiler_config=None,
        )
    )
    worker.reset()
    engine = worker.engine
    engine.gradients = {}
    step_of_verl = engine.optimizer_step

    def optimizer_step() -> Any:
        """veRL forgets the gradients at the end of an update: keep them."""
        engine.gradients = {n: p.grad.full_tensor().clone() for n, p in engine.module.named_parameters()}
        return step_of_verl()

    engine.optimizer_step = optimizer_step
    return worker


def step(
    declared: Experiment,
    rows: dict[str, dict[str, Any]],
    worker: Any,
    model: Path,
    *,
    number: int,
    micro_batch: int | None,
    out: Path,
) -> dict[str, Any]:
    """One optimiser step by our trainer, the number-th of its rollout. Returns its line in the step file."""
    import json
    from functools import partial

    from transformers import AutoConfig

    from harness.backends.verl import STEPS, trainer
    from harness.backends.verl.loss import method_loss
    from harness.backends.verl.order import Order
    from harness.backends.verl.schema import compose
    from harness.backends.verl.translate import to_verl_config

    processes = torch.distributed.get_world_size()
    hardware = VerlHardware(device="cpu", micro_batch=micro_batch, processes=processes)
    vocabulary = AutoConfig.from_pretrained(model).vocab_size
    order = Order(declared, str(model), out, hardware, 0, 100, "boxed_last", vocabulary, (0,))
    values = to_verl_config(order)
    store = Store()
    store.rows = rows
    trainer.tq, kept = store, trainer.tq  # type: ignore[assignment]
    try:
        method_trainer = trainer.MethodTrainer.__new__(trainer.MethodTrainer)
        method_trainer.order = order
        method_trainer.config = compose(values)
        method_trainer.actor_rollout_wg = LocalWorkers(worker, store)
        method_trainer.use_reference_policy, method_trainer.use_critic = True, False
        method_trainer.entropy_coefficient = declared.entropy_coefficient.value
        method_trainer.global_steps, method_trainer.total_training_steps, method_trainer._started = 1, 1, 0.0
        worker.engine_config.micro_batch_size_per_gpu = micro_batch or len(rows) // processes
        worker.engine_config.infer_micro_batch_size_per_gpu = micro_batch or len(rows) // processes
        worker.set_loss_fn(partial(method_loss, experiment=declared))
        batch = KVBatchMeta(keys=list(rows), tags=[{}] * len(rows), partition_id="train")
        if method_trainer._bypasses():
            batch = method_trainer._take_samplers(batch)
        method_trainer._update_policy(number, method_trainer._balance_batch(batch, {}), {})
    finally:
        trainer.tq = kept
    (line,) = (out / STEPS).read_text().splitlines()
    metrics: dict[str, Any] = json.loads(line)
    return metrics
