"""Names that were asked for and are not there: say so with the nearest one that is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def expected(name: str, valid: Iterable[str]) -> str:
    """ "did you mean 'x'? expected one of x, y": the nearest valid name where one is near, then all of them."""
    valid = list(valid)
    near = nearest(name, valid)
    hint = f"did you mean {near!r}? " if near else ""
    return f"{hint}expected one of {', '.join(valid)}"


def nearest(name: str, valid: Iterable[str]) -> str | None:
    """The valid name that is most like `name`; None when none is near."""
    close = difflib.get_close_matches(str(name), list(valid), n=1, cutoff=0.5)
    return close[0] if close else None
