"""The commands: their names, in groups, and the function of `rlvr` that each one is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import rlvr
from evals.suggest import expected
from harness.errors import UsageError

if TYPE_CHECKING:
    from rlvr.results import Result

GROUPS = {  # heading -> command -> the function of `rlvr`
    "papers and runs": {"list": "list_", "show": "show", "ui": "ui"},
    "train": {"plan": "plan", "config": "config", "rehearse": "rehearse", "run": "run", "new": "new"},
    "measure": {"eval": "evaluate", "grade": "grade", "audit": "audit"},
    "compare": {"agree": "agree", "compare": "compare", "power": "power", "seeds": "seeds", "aa": "aa"},
    "write": {"tables": "tables", "report": "report", "page": "page", "analyze": "analyze"},
    "exchange": {
        "export": "export",
        "import": "import_",
        "verify": "verify",
        "curves": "curves",
        "sync": "sync",
    },
}
# names in other tools, or before
COUNTERPARTS = {"status": "show", "train": "run", "evaluate": "eval", "inspect": "eval", "bundle": "export"}
COMMANDS = {name: function for group in GROUPS.values() for name, function in group.items()}


def command(name: str) -> Callable[..., Result]:
    """The function of a command.

    Raises:
        UsageError: there is none.
    """
    if name not in COMMANDS:
        hint = (
            f"Did you mean 'rlvr {COUNTERPARTS[name]}'?"
            if name in COUNTERPARTS
            else expected(name, ["help", *COMMANDS])
        )
        raise UsageError(f"no such command. {hint}")
    function: Callable[..., Result] = getattr(rlvr, COMMANDS[name])
    return function
