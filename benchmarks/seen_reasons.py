"""Why the grader disagrees with a label of ../shared/data, as read by hand on 2026-11-22.

A row's key is the start of the SHA-256 of its gold and its prediction, spaces aside; the rows are not ours to copy.
"""

from __future__ import annotations

import hashlib

from benchmarks.heldout import Row, key

LABEL, POLICY, OURS = "label wrong", "policy differs", "ours wrong"

# "key: reason", one a line, under each of the three words
_READ = {
    LABEL: """
2bd44c46: the same five numbers
7e68e8d3: the same number, on a line of its own
0cb73b81: 17 + 10 sqrt(6) is 41.4949, which the gold cuts off and does not round
bdfec405: closed and open interval
f7c453d6: damaged gold
bec9f2e0: 6/11 is not 27/50
5e63c14d: 1/108 is not 1/432
8c640d56: 1023/1024 is not 1
87b30033: an equation is not 0
5d94ec1d: an equation is not 0
b76a4412: a letter in parentheses is not 45
fd80f2bd: 673897/96283 is 6.999
bb31b355: the same product
17398d13: the same product
5faa6238: the same product
e9d64466: 15.62 is not 15.63
3330eb34: 12.0048 is not 12
6613e64d: 0.165 is not 1/6 to three digits
a924f1da: 1.3749 is not 1.375
f08b9fae: 1/144 is not 0
7611eab5: the same number
b2861dbf: 1.27 is not 1.3
5be77d74: 113.33 is not 113.4
072ac4f1: the answer is an expression for part of an identity
975ffddc: another statement
e4dbe77e: the part with free constants is missing
0ca3b136: damaged answer
6bfa8612: 6.015625 rounds to 6.02, not to 6.01
4b8026b3: the same number, after the letter of its part
""",
    POLICY: """
2ca22f1d: a relation may be given for the set
eb115216: the unit in braces is unknown, and may be missing in the gold
6a4a151c: the unit in braces may be missing in the gold
3e9de544: equal in value; the label asks for a full factorisation
38127127: a decimal of two digits is no rounding of a longer one
281c54e4: a decimal of three digits is no rounding of a longer one
4d9b5874: a rounding of a decimal must show at least two digits less and five in all
5bd358eb: brackets around two numbers are an interval
490034c3: two answers, the first damaged
b0ed3e99: one of two values
20e38b76: a case distinction by minimum and maximum
f38799ab: prose golds are compared as text
6ad8f9ca: prose golds are compared as text
ce5302c9: prose golds are compared as text
697905b5: prose golds are compared as text
aa91c371: an order without its signs
499b616b: prose golds are compared as text
""",
    OURS: """
17960394: two labelled sequences are not read as one list
4f91c5f4: values named with words are not read as a list
d39c079f: values named with words are not read as a list
91f174cc: a condition after each item of a list is not dropped
08cc875b: a difference of sets written with a minus sign is not read
dce9a98e: circled numbers are not read
""",
}
REASONS = {
    line.partition(": ")[0]: (whose, line.partition(": ")[2])
    for whose, lines in _READ.items()
    for line in lines.strip().splitlines()
}


def digest(row: Row) -> str:
    return hashlib.sha256("\0".join(key(row)).encode()).hexdigest()[:8]


def reason(row: Row) -> tuple[str, str]:
    """(whose mistake, why)."""
    return REASONS.get(digest(row), ("not read yet", ""))
