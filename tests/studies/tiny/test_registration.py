from __future__ import annotations

from pathlib import Path

from harness.spec import catalogue
from harness.spec.controls import CONTROLS
from studies.tiny.design import STUDY
from studies.tiny.registration import claims_of, registration

PAGE = Path(__file__).parents[3] / "results" / "study" / "preregistration.md"


def test_the_committed_preregistration_is_that_of_the_design() -> None:
    assert PAGE.read_text(encoding="utf-8") == registration(STUDY)


def test_every_arm_its_reference_and_its_control_exist() -> None:
    for arm in STUDY.arms:
        known = {a.key for a in catalogue.load(arm.paper).arms}
        assert arm.method in known and arm.control in (None, *CONTROLS)
        assert any(a.paper == arm.paper and a.arm == (arm.than or arm.arm) for a in STUDY.arms)
    assert len({arm.name for arm in STUDY.arms}) == len(STUDY.arms)


def test_claims_that_are_one_comparison_at_this_scale_are_taken_once() -> None:
    # of EGSW's claims, tables 1 and 2 make the same comparison of the same arms once both base models are one
    taken = [
        claim for claim in claims_of(STUDY, "egsw") if (claim.arm, claim.than, claim.curve) == ("egsw", "grpo", None)
    ]
    assert [claim.metric for claim in taken] == ["avg", "mean_tokens"]
