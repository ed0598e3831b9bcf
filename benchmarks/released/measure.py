"""How near a released gradient is to the paper's, and how much of the method it contains."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

EXACT = 1e-5
"""A residual below it counts as none: veRL adds 1e-8 to a denominator, and oat computes in float32."""


class BlindBatch(ValueError):
    """On this batch the method's gradient is its baseline's, so it cannot tell them apart."""


@dataclass(frozen=True)
class Comparison:
    """A released gradient r beside the method's m and its baseline's b.

    Args:
        cosine: of r and m. norm_ratio: |r| / |m|. largest: the largest |r - m|.
        presence: <r - b, m - b> / |m - b|^2, the share of the method's own change that r has: 1 all of it, 0 none.
        residual: |r - m| / |m - b|: 0 if r is the method's gradient, 1 if it is the baseline's.
    """

    cosine: float
    norm_ratio: float
    largest: float
    presence: float
    residual: float

    @property
    def computes(self) -> bool:
        """The released gradient is the method's."""
        return self.residual < EXACT


def compare(released: Tensor, method: Tensor, baseline: Tensor) -> Comparison:
    """All three are vectors of one length.

    A cosine alone is blind: a factor of 1 + 0.01 w that is never applied leaves it at 0.99995.

    Raises:
        BlindBatch: the method's gradient equals its baseline's.
        ValueError: a vector is not finite.
    """
    for name, vector in (("released", released), ("method", method), ("baseline", baseline)):
        if not bool(vector.isfinite().all()):
            raise ValueError(f"the {name} gradient is not finite")
    change = method - baseline
    size = float(change.norm())
    if size <= 1e-12 * float(method.norm()):
        raise BlindBatch("the method's gradient is its baseline's on this batch")
    lengths = float(released.norm()) * float(method.norm())
    return Comparison(
        cosine=float(released @ method) / lengths if lengths else float("nan"),
        norm_ratio=float(released.norm() / method.norm()),
        largest=float((released - method).abs().max()),
        presence=float((released - baseline) @ change) / size**2,
        residual=float((released - method).norm()) / size,
    )


def cosine(a: Tensor, b: Tensor) -> float:
    """The cosine of two vectors, or NaN if one is 0."""
    lengths = float(a.norm()) * float(b.norm())
    return float(a @ b) / lengths if lengths else float("nan")
