"""Dynamic sampling: whole batches of prompts until enough groups differ in reward, taken in the order of sampling."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
import torch

from tests.needs_verl import need_verl

need_verl()

from tensordict import TensorDict  # noqa: E402

from harness.backends.verl import rollout  # noqa: E402
from harness.backends.verl.rollout import GroupBuffer, group_key  # noqa: E402

NAN = float("nan")


class Queue:
    """The transfer queue with finished groups in it: name of the group -> its rewards."""

    def __init__(self) -> None:
        self.groups: dict[str, list[float]] = {}
        self.cleared: list[str] = []

    def kv_batch_get(self, *, keys: list[str], partition_id: str, select_fields: list[str]) -> TensorDict:
        rows = [torch.tensor([0.0, self.groups[key.split("_")[0]][int(key.split("_")[1])]]) for key in keys]
        return TensorDict({"rm_scores": torch.nested.as_nested_tensor(rows, layout=torch.jagged)}, batch_size=len(rows))

    def kv_clear(self, *, partition_id: str, keys: list[str]) -> None:
        self.cleared += keys


def buffer(queue: Queue, batches: list[list[list[float]]], **kwargs: Any) -> GroupBuffer:
    """A buffer whose prompts give the rewards in `batches`, one batch each time it samples."""
    remaining = iter(batches)

    def take(count: int) -> int:
        for rewards in next(remaining):
            queue.groups[group_key(1, len(queue.groups))] = rewards
        return count

    made = GroupBuffer.__new__(GroupBuffer)
    made.sampler_kwargs = {"dynamic": True, "rounds": 3} | kwargs
    made.refill_fn = take
    made.pending_keys, made.running_keys = defaultdict(set), defaultdict(set)
    made.finished_keys, made.failure_keys = defaultdict(set), defaultdict(set)
    made.prompt_global_steps, made._dapo_classification_cache = defaultdict(dict), defaultdict(dict)
    made.partitions = defaultdict(dict)

    def sync() -> None:
        made.finished_keys["train"] = set(queue.groups)
        made.partitions["train"] = {
            f"{uid}_{i}_0": {} for uid, r in reversed(queue.groups.items()) for i in range(len(r))
        }

    made._sync_metadata_from_transfer_queue = sync
    take(0)
    return made


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    from verl.trainer.ppo.v1 import replay_buffer

    made = Queue()
    monkeypatch.setattr(rollout, "tq", made)
    monkeypatch.setattr(replay_buffer, "tq", made)
    return made


def groups_of(batch: Any) -> list[str]:
    return sorted({key.split("_")[0] for key in batch.keys})


def test_groups_without_a_difference_are_sampled_again(queue: Queue) -> None:
    # only group 1 of the first batch differs, and groups 2 and 3 of the second. The first two that differ are taken.
    held = buffer(queue, [[[1, 1], [1, 0]], [[0, 1], [1, 0]]])
    batch, metrics = held.sample(1, "train", 2)
    assert groups_of(batch) == [group_key(1, 1), group_key(1, 2)]
    assert metrics == {"train/resampling_rounds": 2.0, "train/zero_variance_groups_drawn": 0.25}
    assert {group_key(1, 0), group_key(1, 3)} <= set(queue.cleared)  # nothing is left for the next step


def test_a_response_that_was_not_scored_makes_no_difference(queue: Queue) -> None:
    batch, _ = buffer(queue, [[[1, NAN], [NAN, NAN], [1, 0]]]).sample(1, "train", 1)
    assert groups_of(batch) == [group_key(1, 2)]


def test_the_search_is_bounded(queue: Queue) -> None:
    with pytest.raises(RuntimeError, match=r"0 of 3 groups sampled in 3 batches.*hardware\.resampling_rounds=3"):
        buffer(queue, [[[1, 1]], [[1, 1]], [[0, 0]]]).sample(1, "train", 1)


def test_a_batch_of_too_few_groups_without_dynamic_sampling_is_an_error(queue: Queue) -> None:
    with pytest.raises(RuntimeError, match=r"step 1: 2 groups were sampled\. Expected 3$"):
        buffer(queue, [[[1, 1], [0, 0]]], dynamic=False).sample(1, "train", 3)


def test_without_dynamic_sampling_all_groups_are_taken(queue: Queue) -> None:
    batch, metrics = buffer(queue, [[[1, 1], [0, 0]]], dynamic=False).sample(1, "train", 2)
    assert groups_of(batch) == [group_key(1, 0), group_key(1, 1)]
    assert metrics == {}


def test_a_failed_sample_ends_the_training(queue: Queue) -> None:
    held = buffer(queue, [[[1, 0]]])
    held.failure_keys["train"].add(group_key(1, 0))
    with pytest.raises(RuntimeError, match=f"failed for 1 prompts .{group_key(1, 0)}"):
        held.sample(1, "train", 1)
