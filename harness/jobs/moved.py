"""How far a training moved the weights: the final model minus its base, read tensor by tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.fingerprint import model_folder

if TYPE_CHECKING:
    from torch import Tensor

PURE = "pure_bfloat16"


@dataclass(frozen=True)
class Moved:
    """The change of the saved weights.

    Args:
        norm: Euclidean, of the change of all weights. changed: how many weights differ, in the number type of the final
            model. weights: how many were compared.
    """

    norm: float
    changed: int
    weights: int

    @property
    def share(self) -> float:
        """The share of weights that changed, from 0 to 1."""
        return self.changed / self.weights

    def __str__(self) -> str:
        if not self.changed:
            return f"trained nothing: all {self.weights:,} weights equal those of the base model"
        return f"{100 * self.share:.3g} % of {self.weights:,} weights changed, by a norm of {self.norm:.3g}"

    def as_record(self) -> dict[str, object]:
        return asdict(self)


def moved(base: str, final: Path) -> Moved | None:
    """Compare the weights of two model folders by name. The base is rounded to the final model's number type first.

    Args:
        base: a folder or a hub id. final: a folder.
    Returns:
        None where the two share no tensor of one shape in safetensors files: the change is not known.
    """
    squares, changed, weights = 0.0, 0, 0
    with ExitStack() as stack:
        before = _tensors(model_folder(base), stack)
        for name, tensor in _read(_tensors(final, stack)):
            if name not in before or list(before[name].get_slice(name).get_shape()) != list(tensor.shape):
                continue
            start = before[name].get_tensor(name).to(tensor.dtype)
            squares += float((tensor.float() - start.float()).square().double().sum())
            changed += int((tensor != start).sum())
            weights += tensor.numel()
    return Moved(math.sqrt(squares), changed, weights) if weights else None


def _tensors(folder: Path, stack: ExitStack) -> Mapping[str, Any]:
    """Name of a tensor -> the open file that has it."""
    from safetensors import safe_open

    files = [stack.enter_context(safe_open(path, "pt")) for path in sorted(folder.glob("model*.safetensors"))]
    return {name: file for file in files for name in file.keys()}  # noqa: SIM118  (no dict)


def _read(tensors: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """One tensor at a time: a large model does not fit memory twice."""
    for name, file in tensors.items():
        yield name, file.get_tensor(name)


def sentence(change: Moved | None, precision: str) -> str:
    """The line after a training: how far the weights moved, and what pure bfloat16 lost."""
    if change is None:
        return "how far the weights moved is not known: the base model has no safetensors file with their names"
    lost = ""
    if precision == PURE and change.changed and change.share < 0.5:
        lost = (
            f". precision={PURE} rounded the update of the other {100 * (1 - change.share):.3g} % to nothing. "
            "precision=bfloat16 keeps float32 weights"
        )
    return f"{change}{lost}"
