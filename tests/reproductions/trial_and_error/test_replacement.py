"""Eq. 5-6 of arXiv 2508.07534 on prefixes whose outcome is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.analysis.interventions import Sampling, Selection
from evals.sampling.engines import Decoding
from reproductions.trial_and_error.figures.replacement import measure_impact, plot_replacement, replacements
from tests.evals.analysis.intervention_frames import FRAME, LONG, UNKNOWN
from tests.evals.analysis.interventions import BENCHMARK, Rule, subject
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.token_tables import token_table

# token id, entropy, alternative id
TABLE = token_table({
    ("a", 0): [(40, 0.1, 41), (42, 2.0, 43), (44, 0.0, 45)],
    ("b", 0): [(46, 1.0, 47), (48, 0.2, 49)],
})  # fmt: skip
DECODING = Decoding(1.0, 1.0, 16)


def test_prefixes_end_with_the_token_or_its_alternative() -> None:
    plan = replacements(TABLE, {"top": Selection("top", count=1)})
    assert [(prefix.id, prefix.problem_id, prefix.forced) for prefix in plan.prefixes] == [
        ("a|0|1|o", "a", (40, 42)),
        ("a|0|1|r", "a", (40, 43)),
        ("b|0|0|o", "b", (46,)),
        ("b|0|0|r", "b", (47,)),
    ]
    assert plan.rows[["original", "altered"]].values.tolist() == [["a|0|1|o", "a|0|1|r"], ["b|0|0|o", "b|0|0|r"]]


def test_measured_where_the_outcome_is_known(random_model: Path, tmp_path: Path) -> None:
    """Right, unless 43 or 49 was forced, and token 44 is wrong while its alternative is correct."""
    engine = Rule(random_model, lambda request: not {43, 49, 44} & set(request.forced))
    top, bottom = Selection("top", count=1), Selection("bottom", count=1)
    groups = {"top": top, "bottom": bottom, "again": top}
    sampling = Sampling(DECODING, 3, tmp_path, engine=engine)
    frame = measure_impact(subject(random_model, "ab"), BENCHMARK, TABLE, sampling, groups)
    got = {(row.group, row.problem_id, row.position): row.drop for row in frame.itertuples()}
    assert got == {
        ("top", "a", 1): 1.0, ("top", "b", 0): 0.0,
        ("bottom", "a", 2): -1.0, ("bottom", "b", 1): 1.0,
        ("again", "a", 1): 1.0, ("again", "b", 0): 0.0,
    }  # fmt: skip
    assert len(engine.requests) == 4 * 2 * 3  # 4 tokens, 2 prefixes, n = 3: the group "again" costs nothing
    assert len({request.seed for request in engine.requests}) == 24  # sampled independently
    assert (frame[["k_original", "k_altered"]] == 3).all(axis=None)


def test_the_figure_of_replacement_shows_the_accuracy_lost() -> None:
    plot = plot_replacement({"base": FRAME}, ["base"])
    # top: (1 + 1/2 + 1) / 3 of accuracy 1. bottom: (0 + 1/2 - 1/2) / 3
    assert plot.numbers["mean"].tolist() == pytest.approx([250 / 3, 0])
    check_renders(plot)
    two = plot_replacement({"base": FRAME, LONG: UNKNOWN}, ["base", LONG], by="position")
    assert "4 interventions" in two.caption and "nan" not in two.caption  # excluded, and counted
    check_renders(two)
