"""Our method on veRL's worker: a check that all weights are finite."""

from __future__ import annotations

from typing import Any

from harness.step.finite import nonfinite_weight


def extend(module: Any) -> None:
    """Give veRL's worker (of `verl.workers.engine_workers`) the method, to be called on all processes."""
    from verl.single_controller.base.decorator import Dispatch, register

    module.ActorRolloutRefWorker.bad_weight = register(dispatch_mode=Dispatch.ONE_TO_ALL)(bad_weight)


def bad_weight(self: Any) -> tuple[str, str] | None:
    """(name, value) of the first weight of the policy in this process that is not finite, or None."""
    parameters = self.actor.engine.module.named_parameters()
    return nonfinite_weight((name, getattr(p.detach(), "_local_tensor", p.detach())) for name, p in parameters)
