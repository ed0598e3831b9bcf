"""Names from which a file or a folder is made: plain ones alone."""

from __future__ import annotations

import re
import unicodedata

from evals.errors import UsageError

LONGEST = 120  # bytes: a file system allows 255, and an ending is added
_SIGNS = r"/\*?[],…"  # signs of paths and wildcards, and those that join names in a command
_FIRST = ".-~"  # a hidden file, an option, a home


def plain_name(key: str, name: str) -> str:
    """The name, which becomes a part of a file's name.

    Args:
        key: the option that gives it, for the error.
    Raises:
        UsageError: it is empty, too long, begins with `.`, `-` or `~`, begins or ends with a space, or contains a
            separator, a wildcard or a control character.
    """
    if why := _fault(name):
        raise UsageError(
            f"{key}={name}: a file is called by this name, and it {why}. "
            f"Type {key}=NAME, where NAME has letters, digits, spaces, _, - or ."
        )
    return name


def file_name(text: str) -> str:
    """A plain name made of any text: `_` replaces what `plain_name` refuses."""
    plain = "".join("_" if _is_sign(sign) else sign for sign in text).strip()
    plain = re.sub(rf"^[{re.escape(_FIRST)}]+", "_", plain) or "_"
    return plain.encode()[:LONGEST].decode(errors="ignore")


def _fault(name: str) -> str:
    if not name.strip():
        return "is empty"
    if name != name.strip():
        return "begins or ends with a space"
    if name[0] in _FIRST:
        return f"begins with {name[0]}"
    if sign := next(filter(_is_sign, name), None):
        return f"contains {sign}" if sign in _SIGNS else f"contains the control character U+{ord(sign):04X}"
    size = len(name.encode())
    return f"has {size} bytes (the most is {LONGEST})" if size > LONGEST else ""


def _is_sign(sign: str) -> bool:
    """Whether a plain name must not contain it: separators, wildcards, and Unicode's control and format characters."""
    return sign in _SIGNS or unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")
