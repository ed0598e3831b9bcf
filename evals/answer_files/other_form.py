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


KINDS = {  # the kind of a whole gold or answer
    "numbers": re.compile(r"[-+]?\d+(?:\.\d+)?"),
    "letters": re.compile(r"\(?[A-Ja-j]\)?\.?"),
    "yes or no": re.compile(r"yes|no", re.IGNORECASE),
    "true or false": re.compile(r"true|false", re.IGNORECASE),
}
NEARLY_ALL = 0.9


def unlike(golds: Sequence[str], answers: Sequence[str], correct: int) -> str | None:
    """One sentence where no answer is correct, all golds are of one kind, and nearly all answers of another."""
    if correct or not answers:
        return None
    for kind, form in KINDS.items():
        for other, other_form in KINDS.items():
            matching = [answer for answer in answers if other_form.fullmatch(answer.strip())]
            if kind != other and len(matching) >= NEARLY_ALL * len(answers) and all(map(form.fullmatch, golds)):
                return (
                    f"no answer is correct: the golds are {kind}, such as {golds[0]}, and {len(matching)} of "
                    f"{len(answers)} answers are {other}, such as {matching[0]}. Write both in one form first"
                )
    return None


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
