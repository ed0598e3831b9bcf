"""Which measured arms may be compared."""

from __future__ import annotations

from harness.tables.measured import Measured


def comparable(a: Measured, b: Measured) -> bool:
    """Whether both have the same overrides. An untrained model has no training values, so only its other values are
    compared."""
    of_a, of_b = set(a.replaced), set(b.replaced)
    if not (a.trained and b.trained):
        of_a, of_b = ({o for o in s if o.startswith(("protocol.", "base_model="))} for s in (of_a, of_b))
    return of_a == of_b


def same_setting(a: Measured, b: Measured) -> bool:
    """The same scale, backend and base model."""
    return (a.scale, a.backend, a.model) == (b.scale, b.backend, b.model)
