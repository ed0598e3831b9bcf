"""Where a text is mathematics: LaTeX between its delimiters."""

from __future__ import annotations

import re

DISPLAY, INLINE = "\ue000", "\ue001"  # characters of the private use area, which no text has a use for

_BRACES = r"[^{}]"
for _ in range(4):  # braces in braces, as deep as answers go
    _BRACES = rf"(?:[^{{}}]|\{{{_BRACES}*+\}})"
_NO_BLANK_LINE = r"(?:(?!\n[ \t]*\n)[\s\S])"

# Where a response was cut off, a delimiter is not closed: a formula then ends at the next blank line, or with the text.
_MATHS = re.compile(
    rf"""
    (?P<display>
        \$\$ (?:(?!\$\$)[\s\S])+ \$\$
      | \\\[ (?:(?!\\[\[\]])[\s\S])* \\\]
      | \\begin\{{(?P<name>[A-Za-z]+\*?)\}} (?:(?!\\begin\{{(?P=name)\}})[\s\S])*? \\end\{{(?P=name)\}}
      | (?:\$\$|\\\[) {_NO_BLANK_LINE}*
    )
  | \\\( (?:(?!\\[()])[\s\S])* \\\)
  | \\\( [^\n]*
  | (?<![\\$]) \$ (?=[^\s$]) (?:(?!\n[ \t]*\n)(?:\\.|[^$\\]))+ (?<!\s) \$ (?!\d)   # Pandoc's rule: 5$ and 3$ are money
  | \\boxed\{{ {_BRACES}*+ \}}
    """,
    re.VERBOSE,
)


def find_mathematics(text: str) -> list[tuple[int, int, bool]]:
    """(start, end, whether it is displayed) of each formula, delimiters and all, from left to right.

    $$..$$, \\[..\\] and environments are displayed; \\(..\\), $..$ and \\boxed{..} are inline.
    """
    return [(*match.span(), match["display"] is not None) for match in _MATHS.finditer(text)]


def mask(text: str) -> str:
    """The text with every character of a formula replaced by `DISPLAY` or `INLINE`; as long as before."""
    masked, at = [], 0
    for start, end, displayed in find_mathematics(text):
        masked += [text[at:start], (DISPLAY if displayed else INLINE) * (end - start)]
        at = end
    return "".join([*masked, text[at:]])
