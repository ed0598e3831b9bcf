"""`rlvr reproduce`: the cheapest seeds and samples that resolve what a paper prints, or that nothing does."""

from __future__ import annotations

import pytest

from evals.data import benchmarks
from evals.stats.power import chance, default_spread
from harness.cli.main import main
from harness.cli.reproducing import as_text
from harness.errors import UsageError
from harness.launch.reproduce import SEEDS, Design, designs, document, paper_of, rehearsed
from harness.plan.machine import take_machine


def test_a_paper_by_its_arxiv_id() -> None:
    for written in ("2503.22456", "arXiv:2503.22456v2", "https://arxiv.org/abs/2503.22456", "egsw"):
        assert paper_of(written) == "egsw"
    assert paper_of("https://www.arxiv.org/pdf/2503.22456v12.pdf") == "egsw"
    with pytest.raises(UsageError, match="no paper with this arXiv id"):
        paper_of("2503.22457")


def test_each_design_has_the_power_and_no_fewer_seeds_do() -> None:
    planned = designs("egsw", take_machine({"hardware": "h100x8"}))
    resolved = [design for design in planned if design.hours is not None]
    assert planned and resolved
    for design in resolved:
        assert design.seeds is not None and design.samples is not None and design.hours is not None
        problems = benchmarks.task(design.benchmark)["metadata"]["rows"]
        at = {"problems": problems, "samples": design.samples}
        spread = default_spread(design.benchmark)
        assert chance(design.difference, spread, **at, seeds=design.seeds) >= 0.8
        if design.seeds > SEEDS[0]:
            assert chance(design.difference, spread, **at, seeds=design.seeds - 1) < 0.8
    hours = [design.hours for design in resolved]
    assert hours == sorted(hours)


def test_a_rehearsal_has_the_arms_and_seeds_at_tiny_scale() -> None:
    design = Design("claim", "math-7b", "egsw", "grpo", "math500", 0.04, 3, 1, 50.0, 0.81)
    expected = ["paper=egsw", "arm=grpo,egsw", "model=math-7b", "seeds=3", "scale=tiny"]
    assert rehearsed(design.options("egsw", "h100x8")) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["budget=8", "run=true"], "run=true: nothing resolves a claim of egsw within 8 GPU-hours"),
        (["budget=8", "rehearse=true"], "rehearse=true: nothing resolves a claim"),
        (["budget=8", "max_steps=2"], "max_steps"),
        (["budget=8", "rehearse=true", "run=true"], "got both"),
    ],
)
def test_a_failed_start_is_reported(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dear = Design("claim", "math-7b", "egsw", "grpo", "math500", 0.04, 5, 1, 90.0, 0.9)
    monkeypatch.setattr("harness.launch.reproduce.designs", lambda *_, **__: [dear])
    assert main(["reproduce", "2503.22456", *options]) == 2
    assert message in capsys.readouterr().err


def test_what_fits_is_chosen_and_nothing_else() -> None:
    common = ("claim", "math-7b", "egsw", "grpo", "math500", 0.04)
    cheap, dear = Design(*common, 3, 1, 50.0, 0.81), Design(*common, 5, 1, 90.0, 0.9)
    none = Design(*common, None, None, None, None)
    made = document("egsw", [cheap, dear, none], 100, "h100x8", 0.8)
    assert made["chosen"]["seeds"] == 5 and "seeds=5" in made["options"] and "protocol.n=1" in made["options"]
    assert document("egsw", [cheap, dear], 60, "h100x8", 0.8)["chosen"]["seeds"] == 3
    nothing = document("egsw", [cheap, dear], 8, "h100x8", 0.8)
    assert nothing["options"] is None
    assert "Nothing resolves a claim within 8 GPU-hours; the cheapest takes about 50." in as_text(nothing)
