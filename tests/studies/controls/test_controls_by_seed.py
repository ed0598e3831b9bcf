"""The benchmark of controls, on made-up verdicts whose differences are known."""

from __future__ import annotations

from dataclasses import replace

from studies.controls.__main__ import against_base, decided, page
from tests.harness.tables.test_claims import measured


def test_each_seed_against_the_base_model() -> None:
    """Of 40 problems the base solves 20; the inverted reward's model solves 0, the random one's 20, of which some are
    others (`shift` of one seed is one problem lost and one won), and GRPO's all 40."""
    base = replace(measured("base", 20, seeds=1), trained=False)
    rougher = replace(measured("base", 3, seeds=1), trained=False, n={"b": 1})
    arms = [
        replace(arm, records={seed: {"settings": {"learning_rate": {"value": 1e-4}}} for seed in range(3)})
        for arm in (measured("grpo", 40), measured("grpo+random_reward", 20), measured("grpo+inverted_reward", 0))
    ]
    rows = against_base([rougher, base, *reversed(arms), measured("other", 3)])
    assert [(r.arm, r.seed) for r in rows] == [(arm.arm, seed) for arm in arms for seed in range(3)]
    says = {arm.arm: [r.says for r in rows if r.arm == arm.arm] for arm in arms}
    assert says == {
        "grpo": ["gains"] * 3,
        "grpo+random_reward": ["nothing"] * 3,
        "grpo+inverted_reward": ["loses"] * 3,
    }
    assert [r.difference for r in rows] == [50.0] * 3 + [0.0] * 3 + [-50.0] * 3
    text = page(rows, {"samples a problem": "2"})
    assert (
        "Random reward at 0.0001: 3 of 3 intervals include zero. 37 of 40: not decided: stopped before 40 seeds."
        in text
    )
    assert "Inverted reward at 0.0001: falls in 3 of 3 seeds, by 50.0 points on average." in text
    assert text.index("Random reward at") < text.index("| arm |")
    losing = [replace(row, arm="grpo+random_reward") for row in rows if row.says == "loses"] * 2
    assert decided(losing)[0].endswith(
        "0 of 6 intervals include zero. 37 of 40: no, whatever the remaining seeds would give."
    )
    nothing = [row for row in rows if row.says == "nothing"]
    assert decided([*nothing * 13, losing[0]])[0].endswith("39 of 40 intervals include zero. 37 of 40: yes.")
    assert "| grpo+random_reward | 0.0001 | 3 | +0.0 (+0.0 to +0.0) | 3 | 0 | 0 |" in text
