"""Which measured arms may stand beside each other."""

from __future__ import annotations

from harness.tables.measured import Measured


def comparable(a: Measured, b: Measured) -> bool:
    """Whether the same values were replaced in both. An untrained model has no training values, so that only the others
    are asked of it."""
    of_a, of_b = set(a.replaced), set(b.replaced)
    if not (a.trained and b.trained):
        of_a, of_b = ({o for o in s if o.startswith(("protocol.", "base_model="))} for s in (of_a, of_b))
    return of_a == of_b


def same_setting(a: Measured, b: Measured) -> bool:
    """The same scale, backend and base model."""
    return (a.scale, a.backend, a.model) == (b.scale, b.backend, b.model)
