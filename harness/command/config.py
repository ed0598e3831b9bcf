"""Hydra's `key=value` grammar, and the training seeds that a value names.

This runs first, without torch: a wrong key or value is an error at once, with the key, the value, what was expected and
the nearest valid name.

Hydra's parser is the grammar. `_simple` reads its common part to the same values, and a test compares the two. Hydra
alone would be less code, and slower: to parse one command takes 0.42 s of CPU with it and 0.13 s without (median of 9
starts each, Intel Xeon, Python 3.11, 29 November 2026).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence

from evals.redaction import redacted_start
from harness.errors import UsageError

MOST_SEEDS = 10_000  # in one command
MOST_CHARACTERS = 10_000  # in one argument, because Hydra's time for a list grows with the square of its length


_KEY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_WORD = re.compile(r"(\.{0,2}/)?[^\W\d][\w./-]*")
_INT = re.compile(r"-?(0|[1-9]\d{0,8})", re.ASCII)
_FLOAT = re.compile(r"-?(0|[1-9]\d{0,8})\.\d{1,9}", re.ASCII)
_NAMED = {"true": True, "false": False, "null": None}


def parse_overrides(arguments: Sequence[str]) -> dict[str, object]:
    """`["paper=egsw", "seeds=3", "arm=base,grpo"]` -> {"paper": "egsw", "seeds": 3, "arm": ["base", "grpo"]}.

    The grammar is Hydra's: quoting, lists `[a,b]`, null, numbers. A sweep `a,b` is read as a list, and an object of
    JSON as it is.

    Raises:
        UsageError: an argument does not parse, sweeps by a function, or a key is given twice.
    """
    parsed: dict[str, object] = {}
    for argument in arguments:
        if len(argument) > MOST_CHARACTERS:
            raise UsageError(
                f"cannot read {_short(argument)}: expected at most {MOST_CHARACTERS:,} characters, "
                f"got {len(argument):,}"
            )
        key, _, text = argument.partition("=")
        try:
            if not _KEY.fullmatch(key):
                raise LookupError(key)
            value = _simple(text)
        except LookupError:
            key, value = _by_hydra(argument)
        if key in parsed:
            raise UsageError(f"{key}: given twice ({parsed[key]!r} and {_short(argument)})")
        if not _finite(value):
            raise UsageError(f"{key}: expected finite numbers, got {_short(argument)}")
        parsed[key] = value
    return parsed


def _simple(text: str) -> object:
    """A word, a number, true, false, null, or a flat list of these, or an object of JSON. LookupError for all else."""
    if text.startswith("{"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise LookupError(text) from None
    if "," in text or text.startswith("["):
        inside = text[1:-1] if text.startswith("[") and text.endswith("]") else text
        return [_simple_scalar(part) for part in inside.split(",")]
    return _simple_scalar(text)


def _simple_scalar(text: str) -> object:
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if text.lower() in _NAMED:
        return _NAMED[text.lower()]
    if _WORD.fullmatch(text) and text.lower() not in ("inf", "nan"):
        return text
    raise LookupError(text)


def _by_hydra(argument: str) -> tuple[str, object]:
    """(key, value) of an argument in Hydra's whole grammar."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import ChoiceSweep
    from hydra.errors import HydraException

    argument = _in_ascii(argument)  # Hydra's grammar has no other letters outside of quotes
    try:
        override = OverridesParser.create().parse_override(argument)
    except (HydraException, ValueError, RecursionError) as error:
        first = redacted_start((str(error).strip().splitlines() or [type(error).__name__])[0], 200)
        why = f" ({first})" if "=" in argument else ""
        raise UsageError(f"cannot read {_short(_as_typed(argument))}: expected key=value{_as_typed(why)}") from error
    key = override.key_or_group
    if not key:
        raise UsageError(f"cannot read {argument!r}: expected key=value")
    if override.is_add() or override.is_delete() or override.is_force_add() or override.package is not None:
        raise UsageError(f"cannot read {_short(argument)}: expected key=value, without +, ~ or @")
    value = override.value()
    if isinstance(value, ChoiceSweep):
        value = [_plain(v) for v in value.list]
    elif override.is_sweep_override():
        raise UsageError(f"{key}: expected a value or a list, got the sweep {argument!r}")
    return key, _plain(value)


def _in_ascii(text: str) -> str:
    """Every other character as _u followed by six digits of its code and _."""
    return "".join(c if c.isascii() else f"_u{ord(c):06x}_" for c in text)


def _as_typed(text: str) -> str:
    return re.sub(r"_u([0-9a-f]{6})_", lambda match: chr(int(match[1], 16)), text)


def _finite(value: object) -> bool:
    """No NaN or infinity in a value. An integer beyond the range of a float counts as infinite."""
    if isinstance(value, Mapping):
        return all(map(_finite, value.values()))
    if isinstance(value, list):
        return all(map(_finite, value))
    if isinstance(value, (int, float)):
        return abs(value) <= sys.float_info.max  # false for NaN
    return True


def _short(argument: str) -> str:
    return repr(redacted_start(argument, 200))


def _plain(value: object) -> object:
    from hydra.core.override_parser.types import QuotedString

    if isinstance(value, (str, QuotedString)):
        return _as_typed(value if isinstance(value, str) else value.text)
    if isinstance(value, dict):
        return {_plain(k): _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list) else value


def read_seeds(value: object) -> list[int]:
    """`3` -> [0, 1, 2]. `[4, 7]` -> [4, 7]."""
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_SEEDS:
        return list(range(value))
    if isinstance(value, list) and value and all(type(v) is int and 0 <= v < 2**32 for v in value):
        distinct = list(dict.fromkeys(value))
        if distinct == value:
            return distinct
    raise UsageError(
        f"seeds: expected a count from 1 to {MOST_SEEDS} or a list of distinct seeds from 0 to 2^32 - 1 such "
        f"as [0,1,2], got {value!r}"
    )
