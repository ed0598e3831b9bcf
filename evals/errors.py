"""Errors that a user can remove: each is one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class RefusedError(ValueError):
    """A command cannot start or continue, for a reason that its user can remove: one sentence, exit code 2."""

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython shows: the sentence, without where in our code it was raised."""
        return [f"{type(self).__name__}: {self}"]


class UsageError(RefusedError):
    """A value, name or file that a user gave cannot be used. The text names it, and what was expected."""


class Faults:
    """The faults of a command, gathered, so that it is refused once and with all of them: a line for each fault."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """A UsageError of the block is a fault, and what follows the block is checked too."""
        try:
            yield
        except UsageError as error:
            self._lines |= dict.fromkeys(str(error).splitlines())

    def __bool__(self) -> bool:
        return bool(self._lines)

    def refuse(self) -> None:
        """Raise UsageError with all faults, if there are some."""
        if self._lines:
            raise UsageError("\n".join(self._lines))


class DamagedFileError(RefusedError):
    """One of our files is damaged. The message names it and says what to do."""

    def __init__(self, path: Path, why: str, remedy: str = "delete it, and the same command makes it again") -> None:
        super().__init__(f"{path} is damaged ({why}): {remedy}")
        self.path, self.why = path, why


class BusyError(RefusedError):
    """Another process holds a lock."""
