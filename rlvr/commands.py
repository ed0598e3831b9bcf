"""The commands of `rlvr`, in groups, and the function of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

GROUPS = {  # heading -> command -> the function of `rlvr`
    "papers and runs": {"list": "list_", "show": "show", "ui": "ui"},
    "train": {"plan": "plan", "run": "run", "new": "new"},
    "measure": {"eval": "evaluate", "grade": "grade", "audit": "audit", "compare": "compare", "power": "power"},
    "write": {"tables": "tables", "report": "report", "analyze": "analyze"},
    "exchange": {"export": "export", "import": "import_"},
}
COMMANDS = {name: function for group in GROUPS.values() for name, function in group.items()}
ALIASES = {"status": "show", "evaluate": "eval"}


def command(name: str) -> Callable[..., Any]:
    """The function of a command."""
    import rlvr

    function: Callable[..., Any] = getattr(rlvr, COMMANDS[name])
    return function
