"""The drivers of the authors' update step: each kind of code has one driver, a value of the table of cases.

A driver replaces the forward pass, the optimiser and the tensor container, and nothing else. The gradient of the loss
with respect to the batch's log-probabilities is what the authors' code left on them.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from unittest import mock

import torch
from torch import Tensor

from benchmarks.released.batches import Drawn, flat_gradient
from benchmarks.released.stubs import Stubs, load

Settings = tuple[tuple[str, str | float | None], ...]  # names and values


@dataclass
class Driven:
    """The values and names that a driver read, apart from the gradient."""

    values: dict[str, str] = field(default_factory=dict)


class Driver(Protocol):
    """Imports a checkout once, then gives gradients."""

    def start(self, root: Path, stubs: Stubs, driven: Driven) -> Callable[[Drawn, int], Tensor]:
        """Import from `root`. Return (batch, forward passes of one step) -> the gradient, flat."""


def in_row_order(count: int, *shape: object, **_: object) -> Tensor:
    """In place of torch.randperm: both sides then make the same random choice."""
    return torch.arange(count)


def no_gpu(stack: ExitStack) -> None:
    """The four questions that the drivers' code asks of a GPU, and no shuffling."""
    replaced: dict[str, Callable[..., object]] = {
        "torch.cuda.current_device": lambda: "cpu",
        "torch.cuda.mem_get_info": lambda *_: (1, 1),
        "torch.cuda.memory_allocated": lambda *_: 0,
        "torch.cuda.memory_reserved": lambda *_: 0,
        "torch.randperm": in_row_order,
    }
    for name, value in replaced.items():
        stack.enter_context(mock.patch(name, value))


@dataclass(frozen=True)
class Function:
    """A loss function, called with the batch's tensors by the names of its parameters.

    Args:
        module, name: of the function, such as "losses" and "policy_loss".
        given: parameter -> field of the batch. values: further arguments. config: (module, class, values) of the object
            that it takes as `config`. nested: (field, class, values) of an object in it, whose class is in that module.
    """

    module: str
    name: str
    given: tuple[tuple[str, str], ...]
    values: Settings = ()
    config: tuple[str, str, Settings] | None = None
    nested: tuple[str, str, Settings] | None = None
    folder: str = "."

    def start(self, root: Path, stubs: Stubs, driven: Driven) -> Callable[[Drawn, int], Tensor]:
        function = getattr(load(self.module, [root / self.folder], stubs), self.name)
        further: dict[str, object] = dict(self.values)
        if self.config:
            module, name, values = self.config
            classes, inside = __import__(module, fromlist=[name]), {}
            if self.nested:
                key, kind, arguments = self.nested
                inside[key] = getattr(classes, kind)(**dict(arguments))
                driven.values.update({key: str(value) for key, value in arguments})
            further["config"] = getattr(classes, name)(**dict(values), **inside)
        for key, _ in self.given:
            if key not in inspect.signature(function).parameters:
                raise ValueError(f"{self.module}.{self.name} has no parameter {key}")
        driven.values.update({key: str(value) for key, value in self.values})

        def gradient(drawn: Drawn, passes: int) -> Tensor:
            batch, leaves = drawn.with_gradient()
            for step in batch.steps():
                size = len(step.rewards) // passes
                for at in range(0, len(step.rewards), size):
                    rows = step.rows(slice(at, at + size))
                    loss = function(**{key: getattr(rows, name) for key, name in self.given}, **further)
                    loss = loss[0] if isinstance(loss, tuple) else loss
                    (loss / passes).backward()
            return flat_gradient(leaves)

        return gradient


def seeded() -> None:
    """The same random numbers in each run of a case."""
    random.seed(0)
    torch.manual_seed(0)
