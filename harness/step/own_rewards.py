"""Rewards of your own: `rewards=[my_module:concise]` or `rewards=[path/to/file.py:concise]`.

    def concise(response: str, answer: str) -> float | None:
        return 1.0 if len(response) < 500 else 0.0

    concise.range = (0.0, 1.0)

A reward takes a response and the problem's gold answer and returns a number in its `range`, or None if it cannot score
the response (which then leaves its group, like an unscored one). It gets the whole response with its thought: a reward
may be of the thought. It is checked before the start, and each number again during training.

Each call has a time limit of 10 s, or of `concise.limit_s` seconds. Past it the response is unscored, and a warning
names the reward and the response.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import keyword
import math
import re
import sys
import threading
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from pathlib import Path
from types import ModuleType
from typing import Any

from evals.log import logger
from harness.errors import UsageError
from harness.step.time_limit import TimeIsUp, within

Reward = Callable[[str, str], float | None]
EXAMPLE = "\n\ndef short(response, answer):\n    return 1.0\n\nshort.range = (0.0, 1.0)"
LIMIT_S = 10.0  # seconds per response, where the function has no `limit_s`
THIS_PROCESS = "python"  # stands for the module of a function that only this process has

PROBES: tuple[tuple[str, str], ...] = (
    ("", "7"),
    ("The answer is \\boxed{7}.", "7"),
    ("The answer is \\boxed{8}.", "7"),
    ("\\boxed{", "\\frac{1}{2}"),
    ("7", "7"),
    ("Así que x = ½ — 因此答案是 \\boxed{½}\n\n", "\\frac{1}{2}"),
    ("wait, " * 20_000, "12"),
)
"""(response, gold answer): what every reward must be able to read."""


_GIVEN: dict[str, tuple[Reward, Path]] = {}  # name -> a function of this process, and the file with its source


def give(reward: Reward, source: Path) -> str:
    """Make a function of this process a reward here, under the name that is returned. Other processes do not have it.

    Args:
        source: the file that the function's text was written to, whose hash identifies it.
    """
    name = f"{THIS_PROCESS}:{source.stem}"
    _GIVEN[name] = (reward, source)
    return name


def label(name: str) -> str:
    """The name in messages: of a function of this process its own, without the hash of its text."""
    return re.sub(rf"^{THIS_PROCESS}:(.+)-[0-9a-f]{{16}}$", r"\1", name)


def is_own(name: str) -> bool:
    """Whether a name has the form of a reward in the user's own code."""
    return ":" in name


@lru_cache(maxsize=64)
def load(name: str) -> Reward:
    """The reward MODULE:FUNCTION or FILE.py:FUNCTION, with its signature and range checked.

    Raises:
        UsageError: no such module, file or function, or a function of another form.
    """
    if name in _GIVEN:
        _check_form(name, _GIVEN[name][0])
        return _GIVEN[name][0]
    where, _, function = name.rpartition(":")
    if not where.strip(". ") or not function.strip():
        raise UsageError(f"rewards={name}: expected MODULE:FUNCTION or FILE.py:FUNCTION")
    if where == THIS_PROCESS:
        raise UsageError(f"rewards={name}: expected a function in a file, this one exists only in another process")
    module = _file(name, Path(where)) if where.endswith(".py") else _module(name, where)
    reward = getattr(module, function, None)
    if not callable(reward):
        has = ", ".join(key for key, value in vars(module).items() if callable(value) and not key.startswith("_"))
        raise UsageError(f"rewards={name}: expected a function {function!r} in {where}, which has {has or 'none'}")
    _check_form(name, reward)
    return reward  # type: ignore[no-any-return]


def range_of(name: str) -> tuple[float, float]:
    """(smallest, largest) value of the reward."""
    low, high = load(name).range  # type: ignore[attr-defined]
    return float(low), float(high)


def limit_of(name: str) -> float:
    """Seconds that the reward may take for one response."""
    return float(getattr(load(name), "limit_s", LIMIT_S))


def limits_of(names: Iterable[str]) -> dict[str, float]:
    """The seconds of each reward of the user's among the names, for the record."""
    return {name: limit_of(name) for name in filter(is_own, names)}


def source_of(name: str) -> Path:
    """The file that the reward's code is in."""
    if name in _GIVEN:
        return _GIVEN[name][1]
    return Path(inspect.getsourcefile(inspect.unwrap(load(name))) or "")


def value(name: str, response: str, answer: str) -> float | None:
    """The reward of a response. None, with a warning, where the time limit is over.

    Raises:
        UsageError: the result is not a finite number in its range, or the function raises.
    """
    try:
        return in_time(name, response, answer)
    except TimeIsUp:
        logger.warning(f"    warning: {_too_slow(name, response)}: unscored")
        return None


def _too_slow(name: str, response: str) -> str:
    return f"rewards={label(name)}: no result after {limit_of(name):g} s for {_shown(response)}"


def in_time(name: str, response: str, answer: str) -> float | None:
    """As `value`. Raises TimeIsUp past the time limit."""
    load(name)  # its errors need no helper
    if name in _GIVEN and threading.current_thread() is not threading.main_thread():
        return _value(name, response, answer)  # no other process has it, and no other thread a timer
    return within(limit_of(name), _value, name, response, answer)


def _value(name: str, response: str, answer: str) -> float | None:
    reward = load(name)
    name = label(name)
    try:
        given: object = reward(response, answer)
    except Exception as error:  # the user's own code: report any failure by name
        raise UsageError(
            f"rewards={name}: it raises {type(error).__name__}: {error}, for {_shown(response)}"
        ) from error
    if given is None:
        return None
    low, high = map(float, reward.range)  # type: ignore[attr-defined]
    number = _number(given)
    if number is None or not math.isfinite(number):
        raise UsageError(f"rewards={name}: expected a finite number or None, got {given!r} for {_shown(response)}")
    if not low <= number <= high:
        raise UsageError(f"rewards={name}: expected a number in its range [{low:g}, {high:g}], got {given!r} for "
                         f"{_shown(response)}")  # fmt: skip
    return number


def _number(given: object) -> float | None:
    """A real number of any library as a float: Python's, numpy's, a fraction, an array or tensor of one element without
    axes, or None for anything else, truth values among them."""
    if hasattr(given, "item") and getattr(given, "shape", None) == ():
        given = given.item()  # a scalar of numpy, torch or jax
    if isinstance(given, bool) or not isinstance(given, (Real, Decimal)):
        return None
    return float(given)


def check(name: str) -> None:
    """Raise UsageError unless the reward has the right form and returns finite numbers in its range for `PROBES`, the
    same ones when called again in another order."""
    reward = label(name)
    first = [_probed(name, *probe) for probe in PROBES]
    again = [_probed(name, *probe) for probe in reversed(PROBES)][::-1]
    for probe, before, after in zip(PROBES, first, again, strict=True):
        if before != after:
            raise UsageError(
                f"rewards={reward}: expected the same number for the same response, got {before!r} and then {after!r} "
                f"for {_shown(probe[0])}"
            )


def _probed(name: str, response: str, answer: str) -> float | None:
    """The value of a probe. Raises UsageError also past the time limit."""
    try:
        return in_time(name, response, answer)
    except TimeIsUp:
        function = label(name).rpartition(":")[2]
        raise UsageError(
            f"{_too_slow(name, response)}. Make it faster, or type {function}.limit_s = SECONDS below the function"
        ) from None


def _check_form(name: str, reward: Callable[..., object]) -> None:
    try:
        signature = inspect.signature(reward)
        signature.bind("response", "answer")
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"rewards={label(name)}: expected a function of (response, answer), got {label(name).rpartition(':')[2]}"
            f"{inspect.signature(reward) if callable(reward) else ''} ({error})"
        ) from error
    limit = _number(given := getattr(reward, "limit_s", LIMIT_S))
    if limit is None or not 0 < limit < math.inf:
        raise UsageError(f"rewards={label(name)}: expected limit_s in seconds, above 0, got {given!r}")
    ends: Any = getattr(reward, "range", None)
    numbers = isinstance(ends, (tuple, list)) and len(ends) == 2 and all(_number(e) is not None for e in ends)
    if not numbers or not all(map(math.isfinite, ends)) or not ends[0] < ends[1]:
        function = label(name).rpartition(":")[2]
        if not function.isidentifier() or keyword.iskeyword(function):
            raise UsageError(f"rewards={label(name)}: expected a function with a name and its range, as: {EXAMPLE}")
        attribute = f"{function}.range"
        given_range = "" if ends is None else f", got {ends!r}"
        raise UsageError(
            f"rewards={label(name)}: set {attribute} = (smallest, largest), as {attribute} = (0.0, 1.0){given_range}"
        )


def _module(name: str, where: str) -> ModuleType:
    if str(Path.cwd()) not in sys.path and "" not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        return importlib.import_module(where)
    except (ImportError, TypeError, ValueError) as error:  # TypeError: a relative name
        raise UsageError(
            f"rewards={name}: expected MODULE:FUNCTION or FILE.py:FUNCTION. {where!r} cannot be imported ({error})"
        ) from error


def _file(name: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"rewards={name}: expected a file {path}, there is none")
    spec = importlib.util.spec_from_file_location(f"rlvr_own_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the user's own module, likewise
        raise UsageError(
            f"rewards={name}: {path} fails when it is imported ({type(error).__name__}: {error})"
        ) from error
    return module


def _shown(response: str) -> str:
    return f"the response {response[:60]!r}" + ("..." if len(response) > 60 else "")
