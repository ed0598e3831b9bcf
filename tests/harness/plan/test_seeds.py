"""How many seeds the claims of each paper need: every paper that prints accuracies has an answer."""

from __future__ import annotations

from harness.launch.prepare import planned
from harness.plan.seeds import claim_seeds, printed_accuracies, printed_difference
from harness.spec import catalogue


def test_a_protocol_with_samples_for_named_benchmarks_alone_is_counted() -> None:
    """entropy_advantage states n by benchmark, without a default. This was a KeyError."""
    paper = catalogue.load("entropy_advantage")
    rows = list(claim_seeds(paper, {"hardware": "h100x8"}, 0.8, lambda given: planned(paper.key, given, check=False)))
    first = rows[0]
    assert (first.claim.arm, first.claim.than) == ("grpo_entropy_advantage", "grpo")
    scores = printed_accuracies(catalogue.published(paper.key))
    assert first.printed == printed_difference(first.claim, first.model, scores) and len(first.printed) == 4
