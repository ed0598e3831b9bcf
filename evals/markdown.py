"""Texts of others in a Markdown page: they stay texts, whatever signs they have."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# the beginning of a tag, of an entity, of a link's address and of a code span; what would escape the sign after it
_LIVE = re.compile(r"<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<=\])\(|`|\\(?=[`|\]\\<&(])")


def code(text: str) -> str:
    """A text in one line as a code span, also in a cell of a table.

    Its fence is longer than each run of backticks in the text. A table ends its cell at `\\|` even so, and a span shows
    no entity: such a text becomes a `<code>` with an entity for each sign.
    """
    plain = _one_line(text)
    if "\\|" in plain:
        return f"<code>{re.sub('[^A-Za-z0-9 ]', lambda sign: f'&#{ord(sign[0])};', plain)}</code>"
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", plain)), default=0))
    space = " " if plain.startswith("`") or plain.endswith("`") or not plain.strip() else ""
    return f"{fence}{space}{plain}{space}{fence}".replace("|", "\\|")


def markdown_text(text: str) -> str:
    """A text in one line, without tags, links, pictures and code, as a cell of a table."""
    plain = re.sub(_LIVE, lambda sign: "&lt;" if sign[0] == "<" else f"&#{ord(sign[0])};", _one_line(text))
    return plain.replace("|", "\\|")


def _one_line(text: str) -> str:
    return _CONTROL.sub(lambda sign: sign[0].encode("unicode_escape").decode(), " ".join(text.split()))
