"""Stop a training at the first quantity that is not finite. The backend decides where to check."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

FILE = "diverged.json"  # in the training's folder: how a training process reports to the process that started it


class Diverged(RuntimeError):
    """A quantity of an optimiser step is not finite, so all later steps are meaningless.

    Args:
        step: the optimiser step, from 1, 0 for the initial model.
        quantity: the quantity: "loss", "gradient norm", "weight model.embed_tokens.weight", ...
        value: "nan", "inf" or "-inf".
    """

    def __init__(self, step: int, quantity: str, value: str) -> None:
        super().__init__(f"diverged at step {step}: {quantity} is {value}")
        self.step, self.quantity, self.value = step, quantity, value

    def as_dict(self) -> dict[str, object]:
        """For the record. `Diverged(**d)` is the inverse."""
        return {"step": self.step, "quantity": self.quantity, "value": self.value}


def check_number(value: float, quantity: str, *, step: int) -> None:
    """Raise Diverged unless the number is finite."""
    if not math.isfinite(value):
        raise Diverged(step, quantity, str(float(value)))


def check_tensor(values: Tensor | None, quantity: str, *, step: int, mask: Tensor | None = None) -> None:
    """Raise Diverged unless all values (where `mask` is true, if given) are finite."""
    if values is None:
        return
    checked = values if mask is None else values[mask]
    bad = checked[~checked.isfinite()]
    if bad.numel():
        raise Diverged(step, quantity, str(float(bad.flatten()[0])))


def nonfinite_weight(named: Iterable[tuple[str, Tensor]]) -> tuple[str, str] | None:
    """(name, value) of the first tensor with an entry that is not finite, or None."""
    for name, tensor in named:
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            return name, str(float(tensor.detach()[~tensor.isfinite()].flatten()[0]))
    return None


def check_weights(named: Iterable[tuple[str, Tensor]], *, step: int) -> None:
    """Raise Diverged, naming the tensor, unless all weights are finite."""
    bad = nonfinite_weight(named)
    if bad is not None:
        raise Diverged(step, f"weight {bad[0]}", bad[1])


def check_output(output: object, mask: Tensor, *, step: int) -> None:
    """Raise Diverged unless a method's output (`harness.spec.method.MethodOutput`) is finite where the mask is true."""
    for part in ("advantages", "weights", "gates", "penalties"):
        check_tensor(getattr(output, part), f"{part} of the method", step=step, mask=mask)


def check_metrics(metrics: Mapping[str, float], names: Mapping[str, str], *, step: int) -> None:
    """Raise Diverged unless those of the metrics that `names` lists (metric -> quantity) are finite."""
    for name, quantity in names.items():
        if name in metrics:
            check_number(metrics[name], quantity, step=step)


def leave_word(error: Diverged, out_dir: Path) -> None:
    """Write the error to a file for the process that started this one."""
    from evals.files import write_json

    write_json(out_dir / FILE, error.as_dict())


def raise_left_word(out_dir: Path) -> None:
    """Remove the file in which a process of this training reported Diverged, if there is one, and raise it."""
    from evals.files import read_json

    word = read_json(out_dir / FILE)
    if word is not None:
        (out_dir / FILE).unlink()
        raise Diverged(**word)
