"""The pages can be read: short sentences, few semicolons, short paragraphs.

Each page keeps four limits. They count prose only: tables, code and headings are left out.
`REGISTERED` lists the pages that stay as they are. Run this file to measure a page of yours:

    python -m tests.docs.test_prose docs/how-to/own-data-and-rewards.md
"""

from __future__ import annotations

import hashlib
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDES = "README.md", "CONTRIBUTING.md", "docs/**/*.md"
RESULTS = "results/**/*.md", "reproductions/*/README.md", "studies/*/README.md"
MEAN, LONG, LONG_SHARE, SEMICOLONS, LINES, WIDTH = 17, 30, 0.07, 3, 5, 100

# A registration whose runs have begun is not edited, so its words stay as they are. Each one with its SHA-256.
REGISTERED = {
    "results/study/preregistration.md": "3583ba5f56b21bc1a3f7c5a66ee5417c46e74abe26cd414b52635f3036b0e308",
    "results/study/later/preregistration.md": "aadf4168594732a11fd3c1c1a390108d692f469cf26fc58131cd4cfc70aded3b",
}


@dataclass(frozen=True)
class Page:
    """The prose of a page: its paragraphs (list items are paragraphs) and their sentences."""

    paragraphs: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        return [sentence for paragraph in self.paragraphs for sentence in sentences(paragraph)]


def prose(text: str) -> Page:
    """The paragraphs of Markdown. Fences, indented code, equations, tables, headings and HTML end a paragraph."""
    text = re.sub(r"^(```|~~~).*?^\1[^\n]*$|^\$\$.*?\$\$$|<!--.*?-->", "\n", text, flags=re.S | re.M)
    paragraphs: list[list[str]] = [[]]
    for line in text.split("\n"):
        bare = line.strip().removeprefix("> ")
        code = line.startswith("    ") and not paragraphs[-1]
        if not bare or code or re.match(r"#|\||<|:::|!\[|\[!\[", bare):
            paragraphs.append([])
        elif item := re.match(r"([-*+]|\d+[.)])\s+", bare):
            paragraphs.append([bare[item.end() :]])
        else:
            paragraphs[-1].append(bare)
    return Page(tuple(" ".join(lines) for lines in paragraphs if lines))


def plain(text: str) -> str:
    """Text as a reader hears it: links are their words, code and equations one word each."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "CODE", text)
    text = re.sub(r"\$[^$]+\$", "MATH", text)
    return re.sub(r"[*_]{1,3}|<[^>]+>", "", text)


def sentences(paragraph: str) -> list[str]:
    text = re.sub(r"\b(e\.g|i\.e|etc|vs|Eq|cf|et al|Fig)\.", lambda match: match[0].replace(".", ""), plain(paragraph))
    parts = re.split(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9])", text)
    return [part for part in parts if len(words(part)) >= 3]


def words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z0-9][\w'’%/.,-]*", text)


def faults(text: str) -> list[str]:
    """The changes that a page needs, one line per limit that it does not keep."""
    page, to_change = prose(text), []
    lengths = {sentence: len(words(sentence)) for sentence in page.sentences}
    counts = [len(words(sentence)) for sentence in page.sentences]
    if not counts:
        return []
    longest = sorted(lengths, key=lambda sentence: -lengths[sentence])
    shown = "".join(f"\n    {lengths[sentence]} words: {sentence[:150]}" for sentence in longest[:5])
    if (mean := sum(counts) / len(counts)) >= MEAN:
        to_change.append(f"{mean:.1f} words per sentence, the limit is {MEAN}. Split the longest sentences:{shown}")
    if (share := sum(count > LONG for count in counts) / len(counts)) >= LONG_SHARE:
        to_change.append(f"{share:.0%} of the sentences have over {LONG} words, the limit is {LONG_SHARE:.0%}:{shown}")
    heard = [plain(paragraph) for paragraph in page.paragraphs]
    if (rate := 1000 * sum(text.count(";") for text in heard) / sum(counts)) >= SEMICOLONS:
        where = "".join(f"\n    {text[max(0, text.index(';') - 60) :][:120]}" for text in heard if ";" in text)
        to_change.append(f"{rate:.1f} semicolons per 1,000 words, the limit is {SEMICOLONS}. Write full stops:{where}")
    shown_as = (re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", paragraph) for paragraph in page.paragraphs)
    tall = [text for text in shown_as if len(textwrap.wrap(text, WIDTH)) > LINES]
    if tall:
        begun = "".join(f"\n    {text[:100]} ..." for text in tall)
        to_change.append(f"{len(tall)} paragraphs have over {LINES} lines of {WIDTH} characters. Split them:{begun}")
    return to_change


def pages() -> list[str]:
    return sorted({str(path.relative_to(ROOT)) for glob in GUIDES + RESULTS for path in ROOT.glob(glob)})


@pytest.mark.parametrize("name", sorted(set(pages()) - set(REGISTERED)))
def test_a_page_keeps_the_limits(name: str) -> None:
    to_change = faults((ROOT / name).read_text(encoding="utf-8"))
    assert not to_change, "\n".join([f"{name}: change this:", *to_change])


@pytest.mark.parametrize("name", REGISTERED)
def test_a_registration_is_not_edited(name: str) -> None:
    digest = hashlib.sha256((ROOT / name).read_bytes()).hexdigest()
    assert digest == REGISTERED[name], (
        f"{name}: the study has run. Take the change back, or amend the page and say when."
    )


SHORT = "The command reads one file. It prints a table.\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (SHORT, None),
        ("word " * 31 + ".\n\n" + (SHORT + "\n") * 10, None),  # 1 of 21 sentences is long: 4.8 %
        ("word " * 31 + ".\n\n" + (SHORT + "\n") * 6, "over 30 words"),  # 1 of 13: 7.7 %
        (("word " * 17 + ".\n\n") * 3, "words per sentence"),
        (("word " * 16 + ".\n\n") * 3, None),
        ("It reads; it prints.\n", "semicolons"),
        ("`a;b` is read. `;` is code.\n", None),
        ("```\na; b; c\n```\n" + SHORT, None),
        ("| a; b | c; d |\n" + SHORT, None),
        (" ".join(["It reads one file."] * 40), "over 5 lines"),  # 759 characters
        ("\n".join(["- It reads one file."] * 40), None),  # items are paragraphs of their own
    ],
)
def test_each_limit_is_measured(text: str, fault: str | None) -> None:
    to_change = faults(text)
    assert [fault in line for line in to_change] == [True] if fault else not to_change


if __name__ == "__main__":
    for given in sys.argv[1:]:
        print("\n".join([given, *faults(Path(given).read_text(encoding="utf-8"))]))
