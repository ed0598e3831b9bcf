"""Text made to be slow to read and to compare: in the calling process, where nothing can be killed.

A repeated text is read in time that grows with its square at worst. The process that reads it here is killed after four
times the processor time that it needs. A pattern of the third power would need 5 to 10 s for each of many texts.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.grading.equivalence import UnscorableError, equal

ROOT = Path(__file__).parents[3]
ANSWER, RESPONSE = 2_000, 20_000  # characters. Longer answers are refused unread
PARTS = r"""
a|A|1|1 |,|, |.|. |...|'|''|"|-|+ -|<|=|^|_|^{|^(|[|(|{|\{|\\|$|$$|$1|\$|\$1,000|%|:|1:1|1.|0.1|1,000|x=|x=1,|A(1,2),
< and|and|,and|and <|or|to|2 to|not|if|where|for all|per|5per|th|7th|five|one hundred|million|5 million|5 a|zz|june 1
\text{|\text{a|\text{m}|\text{m}^2|\text{ m}/|\text{and}|\frac|\frac{|\frac1|\frac{d|\sqrt|\sqrt[|√|√(|\le|\land|\approx
\pm|\cup|\lfloor|\in|k\in|\mathbb{Z}|\overline{|\dot{1}|\circ|^{\circ}|\ldots|\choose|{a\choose|\operatorname{|\!:|{:|{,}|\,
(\begin{matrix}|\end{matrix}|\begin{cases}|\(|\[|\boxed|\boxed{|\boxed{1} and|np.|sqrt|sqrt(|sin(|pi|**|`|²|(A)
option|final answer is|I hope it is correct|answer is|answer:|real numbers|no solution|minus|about|USD|squared|dozen
"""
READ = """
import resource, sys
step, limit_s = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
from contextlib import suppress
from evals.grading.equivalence import UnscorableError, equal
from evals.grading.extraction import POLICIES, extract
from evals.grading.extraction import locate
from tests.evals.grading.test_hostile_text import RESPONSE, all_parts, repeated, texts

parts = all_parts()
for at, part in enumerate(parts):
    for text in texts(part, at % step, step):
        locate(text)
        with suppress(UnscorableError):  # nested too deeply, too many parts
            equal("7", text)
    for policy in list(POLICIES)[at % step :: step]:
        extract(repeated("", part, "", RESPONSE), policy)
print(len(parts))
"""


WAYS = [("", ""), ("5 ", "!"), ("final answer is ", "Z"), ("$", "\\"), ("<" * 1000, "#"), (" " * 1000, "#")]


def all_parts() -> list[str]:
    return [" ", "\n", "\t", *(p + s for line in PARTS.splitlines() for p in line.split("|") for s in ("", " ") if p)]


def repeated(start: str, part: str, end: str, length: int) -> str:
    return (start + part * (length // len(part) + 1))[: length - len(end)] + end


def texts(part: str, first: int = 0, step: int = 1) -> list[str]:
    """A part repeated to the length of the longest answer, with each start and end, or some of them."""
    return [repeated(start, part, end, ANSWER) for start, end in WAYS[first::step]]


@given(
    st.lists(st.sampled_from([part for line in PARTS.splitlines() for part in line.split("|")]), max_size=60),
    st.integers(1, 99),
)
def test_any_text_has_a_verdict(parts: list[str], times: int) -> None:
    for text in ("".join(parts), "".join(parts[:1]) * 20 * times):
        with suppress(UnscorableError):
            equal(r"\frac{1}{2}", text)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no limit on processor time there")
@pytest.mark.parametrize(("step", "limit_s"), [(3, 30), pytest.param(1, 90, marks=pytest.mark.exhaustive)])
def test_no_text_takes_long_to_read(step: int, limit_s: int) -> None:
    """Each part with each start and end and each policy, or with every third of them in turn."""
    command = [sys.executable, "-c", READ, str(step), str(limit_s)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 200


def test_every_short_text_has_a_verdict() -> None:
    for part in (part for line in PARTS.splitlines() for part in line.split("|") if part):
        for text in (part, f"{part} {part}", f"7 {part}", f"{part} 7"):
            for gold, answer in ((text, text + "1"), ("7", text), (text, "7")):
                with suppress(UnscorableError):  # nested too deeply
                    equal(gold, answer)
