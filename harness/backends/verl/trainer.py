"""Our methods inside veRL's synchronous PPO trainer.

veRL samples, scores, and computes log-probabilities, entropies and values on its workers. The advantage, the shaping,
the weights and the loss are ours, from the same functions that every backend uses. A method gets the sequences of one
whole optimiser step, which is one call of veRL's update. With several updates per rollout, a pass without gradients
precedes each, so that entropies and log-probabilities are the current policy's.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import transfer_queue as tq
from omegaconf import open_dict
from tensordict import TensorDict
from torch import Tensor
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils import tensordict_utils as tu
from verl.workers.utils.padding import response_from_nested, response_to_nested

from evals.sampling.prompt_nats import first_rows, total
from harness.backends.children import STOP
from harness.backends.common import cut_update
from harness.backends.method_step import SHAPED, apply_method
from harness.backends.verl import PROMPT_NATS, STEPS, TRAINER
from harness.backends.verl.checkpoints import STATE
from harness.backends.verl.loss import COEFFICIENT, method_loss
from harness.backends.verl.metrics import CHECKED, critic_metrics, reward_extras, rollout_metrics, update_metrics
from harness.backends.verl.order import Order
from harness.backends.verl.reference import REFERENCE
from harness.backends.verl.rewards import ENDED, PART, UNEQUAL
from harness.backends.verl.rollout import READ, group_key
from harness.step.batch import SEQUENCE_SIGNALS, TokenBatch
from harness.step.finite import Diverged, check_metrics, leave_word
from harness.step.learning import UNEQUAL_BOXES
from harness.step.step_metrics import reward_metrics, with_rewards

CURRENT = ("logp", "entropies", "pi_squared", "old_entropies")  # what a pass before an update leaves, by our names


def register(order: Order) -> None:
    """Make veRL's `trainer.v1.trainer_mode=rlvr` train this in this process."""
    register_trainer(TRAINER)(type("OrderedTrainer", (MethodTrainer,), {"order": order}))


class Asking(dict[str, Any]):
    """A batch's extra information that asks the model's pass for the likeliest tokens (`loss.method_loss`).

    veRL's own update asks for none.
    """

    def update(self, *arguments: object, **named: object) -> None:
        super().update(*arguments, **named)
        self["distillation_use_topk"] = True


class MethodTrainer(PPOTrainerSync):  # type: ignore[misc]
    """PPOTrainerSync that trains `order.experiment.method`."""

    order: Order
    trainer_mode = property(lambda self: "sync", lambda self, value: None)  # read by the base class

    # -- set up --------------------------------------------------------------------------------------------------

    def _init_dataloader(self) -> None:
        super()._init_dataloader()
        # veRL's learning rate moves with each call of its update. One call is one optimiser step here
        with open_dict(self.config):
            self.config.actor_rollout_ref.actor.optim.total_training_steps = self.order.steps

    def on_init_end(self) -> None:
        self.entropy_coefficient = self.order.experiment.entropy_coefficient.value
        restore = self.config.trainer.resume_from_path
        self.reference_was_reset = False
        if restore and (state := Path(restore) / STATE).is_file():
            self.entropy_coefficient = json.loads(state.read_text())["entropy_coefficient"]
        if restore and (reference := Path(restore) / REFERENCE).is_dir():
            self.actor_rollout_wg.load_reference(str(reference))
            self.reference_was_reset = True
        self.actor_rollout_wg.set_loss_fn(partial(method_loss, experiment=self.order.experiment))
        super().on_init_end()

    def _fetch_one_gen_batch(self) -> TensorDict:
        """Prompts with names in their order, the same in every run."""
        if getattr(self, "_sampled_in", None) != self.global_steps:
            self._sampled_in, self._sampled = self.global_steps, 0
            self._started = time.monotonic()
        batch = super()._fetch_one_gen_batch()
        names = [group_key(self.global_steps, self._sampled + i) for i in range(len(batch))]
        self._sampled += len(batch)
        tu.assign_non_tensor_stack(batch, "uid", names)
        return batch

    # -- a rollout -----------------------------------------------------------------------------------------------

    def _balance_batch(self, batch: KVBatchMeta, metrics: object, *_: object, **__: object) -> KVBatchMeta:
        """Keep groups whole and in order instead of veRL's balancing by length: an update holds whole groups."""

        def place(key: str) -> tuple[str, int]:
            uid, sample, _ = key.rsplit("_", 2)
            return uid, int(sample)

        batch.reorder(sorted(range(len(batch)), key=lambda i: place(batch.keys[i])))
        e = self.order.experiment
        expected = e.prompts_per_rollout.value * e.group_size.value
        if len(batch) != expected:
            raise RuntimeError(f"a rollout came back with {len(batch)} responses, expected {expected}")
        return batch

    def _compute_advantage(self, batch: KVBatchMeta, metrics: object) -> KVBatchMeta:
        """Not used: each update computes its own, before its step."""
        return batch

    def _update_critic(self, batch: KVBatchMeta, metrics: dict[str, object]) -> KVBatchMeta:
        method = self.order.experiment.method
        whole = self._token_batch(batch, self._fetch(batch))
        whole = with_rewards(method, whole)
        batch = self._put(batch, {"returns": method.critic_target(whole)})
        return super()._update_critic(batch, metrics)

    def _update_actor(self, batch: KVBatchMeta, metrics: dict[str, object]) -> KVBatchMeta:
        updates = self.order.experiment.updates_per_rollout.value
        rollout = self._rollout_metrics(batch, metrics)
        if self._bypasses():
            batch = self._take_samplers(batch)
        left = self.order.steps - (self.global_steps - 1) * updates
        for number, part in enumerate(islice(_parts(batch, updates), left)):
            self._update_policy(number, part, {**rollout, **critic_metrics(metrics)})
        return batch

    def _update_policy(self, number: int, part: KVBatchMeta, rollout: dict[str, float]) -> None:
        """One optimiser step, the number-th of its rollout. `rollout` are metrics that go with it."""
        # what the method reads is in veRL's own pass after the rollout, but for pi_squared and what bypassing replaces
        fresh = number == 0 and not self._reads_pi_squared() and not self._bypasses()
        if not fresh and self._reads_policy():
            part = self._compute_current_policy(part)
        part, measured = self._apply_method(number, part, fresh=fresh)
        if self.order.experiment.method.likeliest:
            part.extra_info = Asking(part.extra_info)
        report: dict[str, object] = {}
        super()._update_actor(part, report)
        metrics = {**rollout, **measured, **update_metrics(report)}
        self._report(number, metrics)
        self._stop_at_nonfinite(number, metrics)
        every = self.order.experiment.reference_reset_every.value
        if every is not None and self._step_number(number) % every == 0:
            self.actor_rollout_wg.reset_reference()
            self.reference_was_reset = True

    def _stop_at_nonfinite(self, number: int, metrics: dict[str, float]) -> None:
        """Raise Diverged, and write it to a file for the launcher. veRL has skipped an update whose gradient is not
        finite."""
        step = self._step_number(number)
        try:
            check_metrics(metrics, CHECKED, step=step)
            for bad in self.actor_rollout_wg.bad_weight():
                if bad is not None:
                    raise Diverged(step, f"weight {bad[0]}", bad[1])
        except Diverged as error:
            leave_word(error, self.order.out_dir)
            raise

    def _save_checkpoint(self) -> None:
        super()._save_checkpoint()
        self._saved_step, self._saved_at = self.global_steps, time.monotonic()

    def on_train_begin(self) -> None:
        self._saved_step, self._saved_at = 0, time.monotonic()
        super().on_train_begin()

    def on_step_end(self) -> None:
        """Save by time, and save and stop when the launcher asks for it (`launch.run_driver`)."""
        stop = (self.order.out_dir / STOP).exists()
        due = time.monotonic() - self._saved_at > 60 * self.order.hardware.save_minutes
        due = due or self.order.snapshot_step(self.global_steps) is not None
        if (stop or due) and self._saved_step != self.global_steps:
            self._save_checkpoint()
        super().on_step_end()
        if stop:
            self.total_training_steps = self.global_steps  # veRL's loop ends after this one

    def _compute_metrics(self, batch: KVBatchMeta, metrics: dict[str, object], *_: object, **__: object) -> None:
        """Ours are written by `_report`. Those of a rollout that trains the critic alone are written here."""
        if self.config.trainer.critic_warmup > self.global_steps:
            last = self.order.experiment.updates_per_rollout.value - 1
            rewards = reward_metrics(self._token_batch(batch, self._fetch(batch)))
            values = {**self._rollout_metrics(batch, metrics), **rewards, **critic_metrics(metrics)}
            for number in range(last + 1):
                self._report(number, values)
            self._stop_at_nonfinite(last, values)

    # -- an optimiser step ---------------------------------------------------------------------------------------

    def _reads_policy(self) -> bool:
        e = self.order.experiment
        return bool(e.method.reads & {*CURRENT}) or e.entropy_search is not None

    def _reads_pi_squared(self) -> bool:
        return "pi_squared" in self.order.experiment.method.reads

    def _bypasses(self) -> bool:
        return bool(self.order.experiment.old_policy.value == "sampler")

    def _take_samplers(self, batch: KVBatchMeta) -> KVBatchMeta:
        """The sampler's log-probabilities as the old ones."""
        data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["rollout_log_probs"])
        fields = TensorDict({"old_log_probs": data["rollout_log_probs"]}, batch_size=len(batch))
        extra = dict(batch.extra_info)
        batch = tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=fields)
        batch.extra_info.update(extra)
        return batch

    def _compute_current_policy(self, part: KVBatchMeta) -> KVBatchMeta:
        """The current policy's log-probabilities and entropies, in addition to those of the policy that sampled."""
        fields: dict[str, Tensor] = {}
        if "old_entropies" in self.order.experiment.method.reads:  # which this pass overwrites
            selection = {"keys": part.keys, "partition_id": part.partition_id, "select_fields": ["entropy"]}
            fields["old_entropies"] = tq.kv_batch_get(**selection)["entropy"]
        part.extra_info.update(
            calculate_entropy=True,
            calculate_sum_pi_squared=self._reads_pi_squared(),
            compute_loss=False,
            temperature=self.config.actor_rollout_ref.rollout.temperature,
        )
        self.actor_rollout_wg.compute_log_prob(part)
        verl_names = {"logp": "log_probs", "entropies": "entropy"}
        verl_names |= {"pi_squared": "sum_pi_squared"} if self._reads_pi_squared() else {}
        names = [*verl_names.values(), "response_mask"]
        data = tq.kv_batch_get(keys=part.keys, partition_id=part.partition_id, select_fields=names)
        fields |= {
            signal: response_from_nested(data[name], data["response_mask"]) for signal, name in verl_names.items()
        }
        return tq.kv_batch_put(
            keys=part.keys, partition_id=part.partition_id, fields=TensorDict(fields, batch_size=len(part))
        )

    def _fetch(self, batch: KVBatchMeta, *extra: str) -> TensorDict:
        names = [
            "rm_scores",
            "response_mask",
            "old_log_probs",
            "rollout_log_probs",
            "entropy",
            "extra_fields",
            "responses",
            *extra,
        ]
        names += ["ref_log_prob"] if self.use_reference_policy else []
        names += ["values"] if self.use_critic else []
        return tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=names)

    def _token_batch(self, batch: KVBatchMeta, data: TensorDict, *, update: int = 0, fresh: bool = True) -> TokenBatch:
        """The signals of these sequences.

        Args:
            update: updates of this rollout before this one. fresh: none has followed the rollout, so the policy is
                still the one that sampled.
        """
        lengths = data["response_mask"].offsets().diff()
        mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(1)

        def padded(name: str) -> Tensor:
            values: Tensor = data[name].to_padded_tensor(0.0).float()
            return values

        at_rollout = {"logp": "old_log_probs", "entropies": "entropy", "old_entropies": "entropy"}
        current = at_rollout if fresh else {name: name for name in CURRENT}
        signals = {signal: padded(verl_name) for signal, verl_name in current.items() if verl_name in data}
        signals["old_logp"] = padded("old_log_probs")
        if "rollout_log_probs" in data:
            signals["rollout_logp"] = padded("rollout_log_probs")
        if self.use_reference_policy:
            signals["ref_logp"] = padded("ref_log_prob")
        if self.use_critic:
            signals["values"] = padded("values")
        names = [key.split("_")[0] for key in batch.keys]
        number = {name: i for i, name in enumerate(dict.fromkeys(names))}
        e = self.order.experiment
        extras = [reward_extras(fields) for fields in data["extra_fields"]]
        for name in SEQUENCE_SIGNALS:
            if name in extras[0]:
                signals[name] = torch.tensor([extra[name] for extra in extras])
        return TokenBatch(
            rewards=torch.stack([tokens[-1] for tokens in data["rm_scores"].unbind()]).float(),
            groups=torch.tensor([number[name] for name in names]),
            mask=mask,
            vocab_size=self.order.vocab_size,
            max_tokens=e.max_completion_tokens.value,
            step=self._step_number(update) - 1,
            seed=self.config.data.seed,
            reward_parts=torch.tensor([[extra[PART + name] for name in e.rewards.value] for extra in extras]),
            reward_weights=e.reward_weights.value,
            micro_batches=self._micro_batches(len(batch)),
            **signals,
        )

    def _micro_batches(self, rows: int) -> Tensor | None:
        """[B]: the forward pass of each sequence. The same number on every process, as on the other backend."""
        if self.order.hardware.tokens_per_gpu is not None:
            return None
        share, micro_batch = cut_update(rows, self.order.hardware)
        return (torch.arange(rows) % share) // micro_batch

    def _apply_method(self, number: int, part: KVBatchMeta, *, fresh: bool) -> tuple[KVBatchMeta, dict[str, float]]:
        """The method's output for this optimiser step, sent to the workers, and the metrics of the step."""
        optional = {"pi_squared", "old_entropies"} - self.order.experiment.method.reads
        current = () if fresh or not self._reads_policy() else (name for name in CURRENT if name not in optional)
        data = self._fetch(part, *current)
        tokens = self._token_batch(part, data, update=number, fresh=fresh)
        try:
            applied = apply_method(self.order.experiment, tokens, self.entropy_coefficient)
        except Diverged as error:
            leave_word(error, self.order.out_dir)
            raise
        self.entropy_coefficient = applied.next_coefficient
        shaped = {name: getattr(applied.shaped, name) for name in SHAPED}
        part = self._put(part, {name: values for name, values in shaped.items() if values is not None})
        part.extra_info[COEFFICIENT] = applied.coefficient
        extras = [reward_extras(fields) for fields in data["extra_fields"]]
        metrics = applied.metrics()
        metrics[UNEQUAL_BOXES] = sum(extra[UNEQUAL] for extra in extras) / len(extras)
        if self.order.experiment.entropy_search is not None:
            metrics["train/entropy_coefficient"] = applied.coefficient
        return part, metrics

    def _put(self, batch: KVBatchMeta, padded: dict[str, Tensor]) -> KVBatchMeta:
        """Add [B, T] fields to the sequences of a batch. The returned meta lists them."""
        mask = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["response_mask"])
        fields = {name: response_to_nested(values, mask["response_mask"]) for name, values in padded.items()}
        extra = dict(batch.extra_info)
        batch = tq.kv_batch_put(
            keys=batch.keys, partition_id=batch.partition_id, fields=TensorDict(fields, batch_size=len(batch))
        )
        batch.extra_info.update(extra)
        return batch

    # -- metrics -------------------------------------------------------------------------------------------------

    def _rollout_metrics(self, batch: KVBatchMeta, metrics: dict[str, object]) -> dict[str, float]:
        data = self._fetch(batch)
        tokens = self._token_batch(batch, data)
        responses, ends = data["responses"].unbind(), self.order.end_tokens
        extras = [getattr(fields, "data", fields) for fields in data["extra_fields"]]
        self._record_prompts([extra[READ] for extra in extras if READ in extra])
        by_text = [reward_extras(fields)[ENDED] for fields in extras]
        return rollout_metrics(tokens, responses, metrics, ends=ends, by_text=by_text)

    def _record_prompts(self, prompts: Sequence[tuple[list[int], float]]) -> None:
        """Write how well the base model predicts the first of these prompts, if there are any."""
        losses = {tuple(row): loss for row, loss in prompts}
        rows = first_rows(losses)
        read = total(rows, [losses[row] for row in rows], self.tokenizer, self.order.vocab_size)
        if read is not None:
            report = {"record": read.as_record(), "warning": read.warning, "token_ids": rows}
            (self.order.out_dir / PROMPT_NATS).write_text(json.dumps(report))

    def _step_number(self, update: int) -> int:
        """The number of an optimiser step, from 1. `update` counts those of this rollout from 0."""
        return int((self.global_steps - 1) * self.order.experiment.updates_per_rollout.value + update + 1)

    def _report(self, update: int, values: dict[str, float]) -> None:
        """One line of the metrics file: an optimiser step and its metrics."""
        now = time.monotonic()
        values["train/step_seconds"], self._started = now - self._started, now
        line = {
            "step": self._step_number(update),
            "total": self.order.steps,
            "metrics": {name: float(value) for name, value in values.items()},
        }
        with (self.order.out_dir / STEPS).open("a") as file:
            file.write(json.dumps(line) + "\n")


def _parts(batch: KVBatchMeta, count: int) -> Iterator[KVBatchMeta]:
    """Equal parts of a rollout, in order."""
    size = len(batch) // count
    for start in range(0, len(batch), size):
        yield batch.select_keys(batch.keys[start : start + size])
