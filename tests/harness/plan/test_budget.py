"""What a budget buys: the cheapest seeds and samples that resolve what a paper prints, or that nothing does."""

from __future__ import annotations

import json

import pytest

from evals.stats.power import average, chance, default_spread
from harness.errors import UsageError
from harness.plan.budget import SEEDS, Budget, Design, claim_chance, what_it_buys
from harness.plan.machine import take_machine
from harness.spec import catalogue
from rlvr.cli import main
from rlvr.comparing import paper_of


def test_a_paper_by_its_arxiv_id() -> None:
    for written in ("2503.22456", "arXiv:2503.22456v2", "https://arxiv.org/abs/2503.22456", "egsw"):
        assert paper_of(written) == "egsw"
    assert paper_of("https://www.arxiv.org/pdf/2503.22456v12.pdf") == "egsw"
    with pytest.raises(UsageError):
        paper_of("2503.22457")


def test_each_design_has_the_power_on_the_claims_own_benchmarks_and_no_fewer_seeds_do() -> None:
    machine = take_machine({"hardware": "h100x8"})
    planned = [d for paper in ("egsw", "erpo") for d in what_it_buys(paper, 1e9, machine).designs]
    claims = {claim.text: claim for paper in ("egsw", "erpo") for claim in catalogue.load(paper).claims}
    assert any(d.hours is not None for d in planned)
    for d in planned:
        named = claims[d.claim].benchmarks
        assert d.over == claims[d.claim].over and (not named or set(d.differences) <= set(named))
        if d.samples is None or d.seeds is None:
            continue
        assert claim_chance(d.over, d.differences, d.samples, d.seeds) >= 0.8
        if d.seeds > SEEDS[0]:
            assert claim_chance(d.over, d.differences, d.samples, d.seeds - 1) < 0.8


def test_the_chance_of_a_claim_over_several_benchmarks() -> None:
    # Holm's first level for two is 2.5 %
    one, other = (
        chance(d, default_spread(name), problems=p, samples=4, seeds=5, level=0.975)
        for name, d, p in (("math500", 0.04, 500), ("amc23", 0.10, 40))
    )
    both = {"math500": 0.04, "amc23": 0.10}
    assert claim_chance("each", both, 4, 5) == pytest.approx(min(one, other))
    assert claim_chance("each", {"math500": 0.04}, 4, 5) == pytest.approx(
        chance(0.04, default_spread("math500"), problems=500, samples=4, seeds=5)
    )
    # the average's variances: those of 500 and 40 problems by four, seen as one benchmark of 40
    spread, problems = average([(default_spread("math500"), 500), (default_spread("amc23"), 40)])
    assert problems == 40
    parts = [(default_spread("math500").within_sd.value, 500), (default_spread("amc23").within_sd.value, 40)]
    assert spread.within_sd.value**2 / 40 == pytest.approx(sum(sd**2 / p for sd, p in parts) / 4)
    assert claim_chance("average", both, 4, 5) == pytest.approx(chance(0.07, spread, problems=40, samples=4, seeds=5))


def test_the_first_claim_that_fits_is_chosen_and_nothing_else() -> None:
    common = ("Table 1", "math-7b", "egsw", "grpo", "each", {"math500": 0.04})
    dear, cheap = Design("main", *common, 5, 1, 90.0, 0.9), Design("second", *common, 3, 1, 50.0, 0.81)
    designs = (dear, cheap, Design("third", *common))
    made = Budget("egsw", 100, 0.8, designs)
    assert made.chosen == dear and made.options is not None
    assert {"seeds=5", "protocol.benchmarks=[math500]", "protocol.n=1"} <= set(made.options)
    assert Budget("egsw", 60, 0.8, designs).chosen == cheap
    nothing = Budget("egsw", 8, 0.8, designs)
    assert nothing.options is None and "the cheapest takes about 50." in str(nothing)


def test_the_command_prints_json_and_refuses_what_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["power", "paper=2503.22456", "budget=8", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["budget_gpu_hours"] == 8
    assert main(["power", "paper=2503.22456", "budget=8", "max_steps=2"]) == 2
    assert "max_steps" in capsys.readouterr().err
