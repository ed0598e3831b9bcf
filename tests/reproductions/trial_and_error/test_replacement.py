"""Eq. 5-6 of arXiv 2508.07534 on branches whose outcome is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.analysis.interventions.continuation import Selection, select
from evals.analysis.interventions.replacement import measure_impact, replacement_branches
from evals.sampling.engines import Decoding
from tests.evals.analysis.interventions import BENCHMARK, Rule, subject, token_table

# token id, entropy, alternative id
TABLE = token_table({
    ("a", 0): [(40, 0.1, 41), (42, 2.0, 43), (44, 0.0, 45)],
    ("b", 0): [(46, 1.0, 47), (48, 0.2, 49)],
})  # fmt: skip
DECODING = Decoding(1.0, 1.0, 16)


def test_branches_are_the_token_and_its_alternative() -> None:
    chosen = select(TABLE, Selection("top", count=1))
    branches = replacement_branches(chosen, TABLE, {"a": "A", "b": "B"}, {"a": "7", "b": "8"})
    assert [(b.id, b.prompt, b.forced, b.gold) for b in branches] == [
        ("a|0|1|o", "A", (40, 42), "7"),
        ("a|0|1|r", "A", (40, 43), "7"),
        ("b|0|0|o", "B", (46,), "8"),
        ("b|0|0|r", "B", (47,), "8"),
    ]
    with pytest.raises(ValueError, match="problem 'b' of the token table: expected its prompt, found none"):
        replacement_branches(chosen, TABLE, {"a": "A"}, {"a": "7", "b": "8"})


def test_measured_where_the_outcome_is_known(random_model: Path, tmp_path: Path) -> None:
    """Right, unless 43 or 49 was forced; and token 44 is wrong while its alternative is correct."""
    engine = Rule(random_model, lambda request: not {43, 49, 44} & set(request.forced))
    top, bottom = Selection("top", count=1), Selection("bottom", count=1)
    groups = {"top": top, "bottom": bottom, "again": top}
    frame = measure_impact(
        subject(random_model, "ab"), BENCHMARK, TABLE, groups, decoding=DECODING, k=3, folder=tmp_path, engine=engine
    )
    got = {(row.group, row.problem_id, row.position): row.drop for row in frame.itertuples()}
    assert got == {
        ("top", "a", 1): 1.0, ("top", "b", 0): 0.0,
        ("bottom", "a", 2): -1.0, ("bottom", "b", 1): 1.0,
        ("again", "a", 1): 1.0, ("again", "b", 0): 0.0,
    }  # fmt: skip
    assert len(engine.asked) == 4 * 2 * 3  # 4 tokens, 2 branches, k = 3: the group "again" costs nothing
    assert len({request.seed for request in engine.asked}) == 24  # sampled independently
    assert (frame[["k_original", "k_altered"]] == 3).all(axis=None)
