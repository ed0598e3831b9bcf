"""Drives the loss of prime-rl."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from benchmarks.released.batches import Drawn, flat_gradient
from benchmarks.released.drivers import Driven
from benchmarks.released.stubs import Stubs, load

CONFIGS = "packages/prime-rl-configs/src"


@dataclass(frozen=True)
class PrimeLoss:
    """`compute_loss` with the function that `setup_rl_loss_fn` builds from the defaults of a configuration.

    Args:
        config: the class of the configuration, such as "IPOLossConfig".
    """

    config: str

    def start(self, root: Path, stubs: Stubs, driven: Driven) -> Callable[[Drawn, int], Tensor]:
        module = load("prime_rl.trainer.rl.loss", [root / "src", root / CONFIGS], stubs)
        config = self._defaults(getattr(module, self.config))
        driven.values.update({name: str(value) for name, value in vars(config).items()})
        loss_function = module.setup_rl_loss_fn(config)

        def gradient(drawn: Drawn, passes: int) -> Tensor:
            batch, leaves = drawn.with_gradient()
            for step in batch.steps():
                size = len(step.rewards) // passes
                for at in range(0, len(step.rewards), size):
                    rows = step.rows(slice(at, at + size))
                    module.compute_loss(
                        *(list(values) for values in (rows.logp, rows.old_logp)),
                        None,
                        *(list(values) for values in (rows.advantages, rows.mask)),
                        *(None, None, None),
                        loss_function,
                        *(int(step.mask.sum()), 1, 1),
                    )[0].backward()
            return flat_gradient(leaves)

        return gradient

    def _defaults(self, kind: type) -> object:
        """An object of the configuration's class. The package that would build it, pydantic_config, is a stub."""
        config = object.__new__(kind)
        for name in kind.__annotations__:
            value = getattr(kind, name)
            setattr(config, name, getattr(value, "default", value))
        return config
