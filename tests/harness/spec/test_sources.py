"""A source names a place that a reader can look up: a section, table, equation or figure. A repository and its file."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from evals.data import protocols
from evals.provenance import Origin, Sourced
from harness.spec import catalogue

IN_A_PAPER = re.compile(
    r"\b(sections?|tables?|figures?|abstract|algorithm|appendix|listing|footnote)\b|\bEqs?\. ?\d", flags=re.IGNORECASE
)
IN_CODE = re.compile(  # a repository, a file, or a function of a released library
    r"github\.com/|huggingface\.co/|recipe/|\.(sh|py|yaml|json|md)\b|released data|TRL \d[\d.]*, \w+|veRL \d[\d.]*, \w+"
)


def values() -> Iterator[tuple[str, Sourced[object]]]:
    for key in catalogue.papers():
        reproduction = catalogue.load(key)
        for model, base in reproduction.models.items():
            yield f"{key}: {model}", base
        yield f"{key}: seeds", reproduction.seeds
        for arm in reproduction.arms:
            for name, sourced in (arm.train.settings() if arm.train else {}).items():
                yield f"{key}: {arm.model}/{arm.key} {name}", sourced
    for name, protocol in protocols.PROTOCOLS.items():
        for field, sourced in protocol.sourced().items():
            yield f"protocol {name}: {field}", sourced


def test_every_source_names_a_place() -> None:
    vague = {}
    for where, sourced in values():
        if sourced.origin is Origin.PAPER and not IN_A_PAPER.search(sourced.note):
            vague[sourced.note] = where
        if sourced.origin is Origin.CODE and not IN_CODE.search(sourced.note):
            vague[sourced.note] = where
    assert not vague, "\n".join(f"{where}: {note}" for note, where in vague.items())


@pytest.mark.parametrize("key", catalogue.papers())
def test_every_claim_of_a_paper_names_a_place(key: str) -> None:
    reproduction = catalogue.load(key)
    for claim in reproduction.claims if reproduction.arxiv else ():  # else it is a hypothesis of one's own
        assert IN_A_PAPER.search(claim.where), claim
