"""What every declaration has in common: sourced values, checked against their annotations and ranges, overridable.

A key means the same in every kind of training that has it, so its range is stated once, here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self, get_args, get_origin

from evals.provenance import Origin, Sourced


def check_value(key: str, value: Any, kind: Any) -> None:
    """Raise ValueError, naming the key, the value and what was expected, unless `value` is of the annotated kind."""
    options = get_args(kind)
    if get_origin(kind) is Literal:
        fits, expected = value in options, "one of " + ", ".join(map(repr, options))
    elif options and type(None) in options:  # X | None
        fits, expected = value is None or _is_a(value, options[0]), f"{_name(options[0])} or null"
    else:
        fits, expected = _is_a(value, kind), _name(kind)
    if not fits:
        raise ValueError(f"{key}: expected {expected}, got {value!r}")


def _is_a(value: Any, kind: Any) -> bool:
    if get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(_is_a(v, get_args(kind)[0]) for v in value)
    if kind is float:  # an int is a fine float; a bool is neither
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _name(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return f"a list of {_name(get_args(kind)[0])}"
    return {float: "a number", int: "a whole number", str: "a string", bool: "true or false"}.get(kind, str(kind))


@dataclass(frozen=True)
class Declared:
    """A dataclass whose fields are `Sourced` values. A subclass may have other parts; it names them in `PARTS`."""

    PARTS: ClassVar[tuple[str, ...]] = ()  # names of the fields that are no Sourced value

    def __post_init__(self) -> None:
        kinds = self.kinds()
        for key, sourced in self._own():
            if not isinstance(sourced, Sourced):
                raise ValueError(f"{key}: {sourced!r} has no source; wrap it in paper, code or assumed")
            check_value(key, sourced.value, kinds[key])
            if key in RANGES and sourced.value is not None:
                holds, expected = RANGES[key]
                if not holds(sourced.value):
                    raise ValueError(f"{key}: expected {expected}, got {sourced.value!r}")

    @classmethod
    def kinds(cls) -> dict[str, Any]:
        """Key -> the annotation inside `Sourced[...]` of each field."""
        scope = vars(sys.modules[cls.__module__])
        return {f.name: get_args(eval(str(f.type), scope))[0] for f in fields(cls) if f.name not in cls.PARTS}

    def _own(self) -> Iterator[tuple[str, Sourced[Any]]]:
        return ((f.name, getattr(self, f.name)) for f in fields(self) if f.name not in self.PARTS)

    def settings(self) -> dict[str, Sourced[Any]]:
        """Every value of the declaration by its key."""
        return dict(self._own())

    def override(self, values: Mapping[str, Any], origin: Origin, note: str) -> Self:
        """The same declaration with other values; each keeps the one it replaced on record.

        Raises:
            ValueError: a value does not fit. KeyError: this declaration has no such key.
        """
        unknown = set(values) - set(self.settings())
        if unknown:
            raise KeyError(sorted(unknown)[0])

        def swap(key: str, sourced: Sourced[Any]) -> Sourced[Any]:
            if key not in values:
                return sourced
            value = values[key]
            return sourced.replace(tuple(value) if isinstance(value, list) else value, origin, note)

        return replace(self, **self._swapped_parts(swap), **{key: swap(key, s) for key, s in self._own()})

    def _swapped_parts(self, swap: Callable[[str, Sourced[Any]], Sourced[Any]]) -> dict[str, Any]:
        """The `PARTS` with their values replaced by `swap(key, value)`."""
        return {}


Range = tuple[Callable[[Any], bool], str]
_COUNTS = (
    *("dataset_rows", "prompts_per_rollout", "updates_per_rollout", "max_prompt_tokens", "max_completion_tokens"),
    *("max_steps", "lora_rank", "reference_reset_every", "batch_size", "max_tokens"),
    *("rounds", "problems_per_round", "samples_per_problem", "selected"),
)
RANGES: Mapping[str, Range] = {
    **{key: (lambda v: v >= 1, "at least 1") for key in _COUNTS},
    "group_size": (lambda v: v >= 2, "at least 2 (a group of one has no advantage)"),
    "learning_rate": (lambda v: v > 0, "> 0"),
    "rollout_temperature": (lambda v: v > 0, "> 0"),
    "rollout_top_p": (lambda v: 0 < v <= 1, "in (0, 1]"),
    "branching_mass": (lambda v: 0 < v <= 1, "in (0, 1]"),
    "warmup_ratio": (lambda v: 0 <= v <= 1, "in [0, 1]"),
    "clip_low": (lambda v: 0 < v < 1, "in (0, 1)"),
    "clip_high": (lambda v: v > 0, "> 0"),
    "dual_clip": (lambda v: v > 1, "> 1"),
    "max_grad_norm": (lambda v: v > 0, "> 0"),
    "entropy_target": (lambda v: v > 0, "> 0"),
    **{key: (lambda v: v >= 0, ">= 0") for key in ("kl_beta", "weight_decay", "lora_alpha", "lora_dropout")},
    "epochs": (lambda v: v > 0, "> 0"),
    **{key: (lambda v: v > 0, "> 0") for key in ("critic_learning_rate", "value_clip", "step", "maximum")},
    "critic_warmup_steps": (lambda v: v >= 0, ">= 0"),
}
