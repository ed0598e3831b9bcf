"""Our methods on veRL's worker: a reference that is reset to the policy (ProRL, arXiv 2505.24864), and a check that
all weights are finite.

The reference lives in the policy's processes and is sharded like it, so each process copies its share.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from harness.step.finite import nonfinite_weight

if TYPE_CHECKING:
    from torch import Tensor
    from verl.workers.engine_workers import ActorRolloutRefWorker

REFERENCE = "reference"  # in a checkpoint: the reference's weights, where it is no longer the base model


def extend(module: ModuleType) -> None:
    """Give veRL's worker (of `verl.workers.engine_workers`) these methods, each to be called on all processes."""
    from verl.single_controller.base.decorator import Dispatch, register

    for method in (reset_reference, save_reference, load_reference, bad_weight):
        setattr(module.ActorRolloutRefWorker, method.__name__, register(dispatch_mode=Dispatch.ONE_TO_ALL)(method))


def reset_reference(self: ActorRolloutRefWorker) -> None:
    """Set the reference to the current policy."""
    _copy(_shares(self.actor), _shares(self.ref))


def save_reference(self: ActorRolloutRefWorker, folder: str) -> None:
    """Write this process's share of the reference."""
    import torch

    Path(folder).mkdir(parents=True, exist_ok=True)
    torch.save(_shares(self.ref), Path(folder) / f"rank{self.rank}.pt")


def load_reference(self: ActorRolloutRefWorker, folder: str) -> None:
    """Load the reference that `save_reference` wrote there with the same number of processes."""
    import torch

    source = torch.load(Path(folder) / f"rank{self.rank}.pt", map_location="cpu", weights_only=True)
    _copy(source, _shares(self.ref))


def bad_weight(self: ActorRolloutRefWorker) -> tuple[str, str] | None:
    """(name, value) of the first weight of the policy in this process that is not finite, or None."""
    return nonfinite_weight(_shares(self.actor).items())


def _shares(worker: Any) -> dict[str, Tensor]:
    """Name -> this process's share of that parameter."""
    parameters = worker.engine.module.named_parameters()
    return {name: getattr(p.detach(), "_local_tensor", p.detach()) for name, p in parameters}


def _copy(source: dict[str, Tensor], target: dict[str, Tensor]) -> None:
    """Values of `source` into the tensors of `target`.

    Raises:
        RuntimeError: they are not shares of the same parameters.
    """
    shapes = [{name: tuple(share.shape) for name, share in shares.items()} for shares in (source, target)]
    if shapes[0] != shapes[1]:
        raise RuntimeError("the reference and the policy are sharded differently, so that one cannot become the other")
    for name, share in target.items():
        share.copy_(source[name])
