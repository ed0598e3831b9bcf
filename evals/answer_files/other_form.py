"""A score of 0 that says nothing about the model: the responses have another form than the one that was read."""

from __future__ import annotations

import re
from collections.abc import Sequence

FORMS = {  # form of an answer -> its marker
    "a code block": re.compile(r"^[ \t>*+-]*(?:```|~~~)", re.MULTILINE),
    "a box": re.compile(r"\\f?boxed\b"),
    "`####`": re.compile(r"####"),
    "an answer line": re.compile(r"^\W*(?:final )?answer\W*:", re.MULTILINE | re.IGNORECASE),
}
READ = {
    "program": "a code block",
    "boxed": "a box",
    "hashes": "`####`",
    "answer": "an answer line",
    "letter": "an answer line",
}


def note(responses: Sequence[str], correct: int, policy: str) -> str | None:
    """One sentence where no response is correct and most hold an answer of another form, else None.

    Args:
        correct: how many responses are.
        policy: the extraction policy that read them.
    """
    if correct or not responses or ":" in policy:  # a reward reads any form
        return None
    read = READ.get(policy.partition("_")[0])
    shares = {
        form: sum(bool(shown.search(text)) for text in responses) / len(responses) for form, shown in FORMS.items()
    }
    common = max((form for form in FORMS if form != read), key=shares.__getitem__)
    if shares[common] <= 0.5 or shares[common] <= shares.get(read or "", 0.0):
        return None
    has = f", and {100 * shares[read]:.0f} % hold {read}" if read else ""
    return (
        f"none is correct by policy {policy}, but {100 * shares[common]:.0f} % of the responses hold {common}{has}: "
        "this 0 is about the prompt or the policy, not about the model"
    )
