"""Sampling in veRL: our prompts verbatim, a seed for each sample, and only whole groups."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import transfer_queue as tq
from transfer_queue import KVBatchMeta
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer
from verl.utils.profiler import simple_timer

from evals.sampling.engines.base import sample_seed
from evals.sampling.engines.encode import ended_after, prompt_tokens
from evals.sampling.prompt_nats import TOKENS
from harness.backends.verl import TRAINER

_POLL_S = 0.05
READ = "prompt_read"  # key of the first sample of a prompt in step 1: the prompt's tokens and nats


def group_key(step: int, number: int) -> str:
    """The name of the number-th prompt sampled in a step: names sort in sampling order."""
    return f"{step:08d}-{number:06d}"


FIRST_STEP = group_key(1, 0).removesuffix(f"{0:06d}")


class SampleLoop(AgentLoopBase):  # type: ignore[misc]
    """One response to one prompt. The prompt is used verbatim: it was rendered when the rows were written.

    The sample's seed is a hash of the run's seed, the prompt's name in the run and the sample's number: neither the
    order of generation nor a resumed run changes it.
    """

    async def run(self, sampling_params: dict[str, object], **fields: Any) -> AgentLoopOutput:
        prompt: str = fields["raw_prompt"]
        ids = prompt_tokens(self.tokenizer, prompt)
        seed = sample_seed(self.rollout_config.seed, TRAINER, (fields["uid"], int(fields["session_id"])))
        stop = list(self.config.reward.custom_reward_function.reward_kwargs.stop)
        metrics: dict[str, object] = {}
        with simple_timer("generate_sequences", metrics):
            output = await self.server_manager.generate(
                request_id=f"{fields['uid']}-{fields['session_id']}",
                prompt_ids=ids,
                sampling_params={**sampling_params, "seed": seed, **({"stop": stop} if stop else {})},
            )
        if not output.token_ids:
            raise RuntimeError(f"sample {fields['session_id']} of prompt {fields['uid']} came back empty")
        response = list(output.token_ids)
        response = response[: ended_after(self.tokenizer, response, stop)]
        if fields["uid"].startswith(FIRST_STEP) and int(fields["session_id"]) == 0:
            output.extra_fields[READ] = await self._read(ids, fields["uid"])
        return AgentLoopOutput(
            prompt_ids=ids,
            response_ids=response,
            response_mask=[1] * len(response),
            response_logprobs=output.log_probs[: len(response)] if output.log_probs else None,
            num_turns=2,
            metrics=AgentLoopMetrics(**metrics),
            extra_fields=output.extra_fields,
        )

    async def _read(self, ids: Sequence[int], name: str) -> tuple[list[int], float]:
        """The beginning of a prompt, and its nats under the policy (`evals.sampling.prompt_nats`)."""
        row = list(ids[:TOKENS])
        output = await self.server_manager.generate(
            request_id=f"{name}-{READ}",
            prompt_ids=row,
            sampling_params={"max_tokens": 1, "prompt_logprobs": 0, "temperature": 1.0, "seed": 0},
        )
        return row, -sum(logp for (logp,) in output.extra_fields["prompt_logprobs"])


class GroupBuffer(ReplayBuffer):  # type: ignore[misc]
    """Returns complete prompt groups, in the order in which their prompts were sampled.

    Dynamic sampling (arXiv 2503.14476, section 3.2) drops groups whose scored rewards are all equal and samples whole
    batches of prompts until enough groups remain. The first of them are taken. `sampler_kwargs`: dynamic (bool), rounds
    (int, the largest number of batches sampled for one step).

    Raises:
        RuntimeError: a sample failed, or `rounds` batches did not give enough groups (without dynamic sampling: the
            first batch).
    """

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[KVBatchMeta, dict[str, object]]:
        dynamic, limit = bool(self.sampler_kwargs["dynamic"]), int(self.sampler_kwargs["rounds"])
        rounds = 1
        while True:
            self._settle(partition_id)
            sampled = sorted(self.finished_keys[partition_id])
            usable = self._varied(partition_id, sampled) if dynamic else sampled
            if len(usable) >= batch_size:
                break
            if not dynamic:
                raise RuntimeError(f"step {global_steps}: {len(usable)} groups were sampled. Expected {batch_size}")
            if rounds == limit:
                raise RuntimeError(
                    f"step {global_steps}: {len(usable)} of {len(sampled)} groups sampled in {rounds} batches have "
                    f"rewards that differ. Expected {batch_size}. hardware.resampling_rounds={limit} bounds the search"
                )
            self.refill_fn(batch_size)
            rounds += 1
        chosen = usable[:batch_size]
        batch = self._materialize_batch(partition_id, chosen, dict(self.partitions[partition_id]))
        self._clear_groups(partition_id, set(sampled) - set(chosen))
        if not dynamic:
            return batch, {}
        return batch, {
            "train/resampling_rounds": float(rounds),
            "train/zero_variance_groups_drawn": 1 - len(usable) / len(sampled),
        }

    def _settle(self, partition_id: str) -> None:
        """Wait until no sample of a prompt is under way."""
        while True:
            self._sync_metadata_from_transfer_queue()
            if failed := sorted(self.failure_keys[partition_id]):
                raise RuntimeError(
                    f"sampling or scoring failed for {len(failed)} prompts ({failed[0]}, ...): see the log"
                )
            if not self.pending_keys[partition_id] and not self.running_keys[partition_id]:
                return
            time.sleep(_POLL_S)

    def _varied(self, partition_id: str, uids: Sequence[str]) -> list[str]:
        """Those of the groups whose scored rewards are not all equal, in order."""
        groups = set(uids)
        keys = [key for key in self.partitions[partition_id] if key.split("_")[0] in groups]
        scores = tq.kv_batch_get(keys=keys, partition_id=partition_id, select_fields=["rm_scores"])["rm_scores"]
        rewards: dict[str, set[float]] = {uid: set() for uid in uids}
        for key, tokens in zip(keys, scores, strict=True):
            reward = float(tokens[-1])  # it falls on the last token
            if reward == reward:
                rewards[key.split("_")[0]].add(reward)
        return [uid for uid in uids if len(rewards[uid]) > 1]
