"""The study's design: what it trains and compares. Committed before its first run. A change makes another study.

Budget: every arm of a comparison gets the same rollouts and updates. An arm whose recipe takes several updates of a
rollout (`updates_per_rollout`) keeps them, as does the GRPO that it is compared with, so the number of samples is the
same everywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from harness.spec.controls import split_key

PLACEBOS = ("shuffled_signal", "shuffled_response")
REWARD_CONTROLS = ("random_reward", "inverted_reward", "format_only")


@dataclass(frozen=True)
class Knob:
    """One value of a method that its paper calls sensitive, and the values tried beside the declared one."""

    key: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class StudyArm:
    """An arm of a paper, perhaps under a control ("egsw+shuffled_signal").

    Attributes:
        than: the arm of the same paper that it is compared with, or "" for a reference itself.
        tier: 1 is run, and completed with all seeds, before 2.
        knob: searched after the learning rate. None: the method has none, or none that its paper calls sensitive.
    """

    paper: str
    arm: str
    than: str = ""
    tier: int = 1
    knob: Knob | None = None

    @property
    def method(self) -> str:
        """The arm without its control, whose settings it uses."""
        return split_key(self.arm)[0]

    @property
    def control(self) -> str | None:
        return split_key(self.arm)[1]


@dataclass(frozen=True)
class Design:
    """The whole study as data.

    Attributes:
        families: scales, one task family each. seeds: of every arm. The runs are made seed by seed.
        rollouts: of every run that counts. tuning_rollouts, tuning_seed, tuning_samples: of the search.
        learning_rates: tried for every method, GRPO included.
        margins: differences up to these count as none, by metric. Fractions.
        already_trained: (paper, model) of base models that had reinforcement learning before.
    """

    families: tuple[str, ...]
    seeds: int
    rollouts: int
    learning_rates: tuple[float, ...]
    tuning_rollouts: int
    tuning_seed: int
    tuning_samples: int
    arms: tuple[StudyArm, ...]
    margins: Mapping[str, float] = field(default_factory=dict)
    already_trained: tuple[tuple[str, str], ...] = ()

    @property
    def digest(self) -> str:
        """Twelve hex digits of everything declared here."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]

    def papers(self) -> list[str]:
        return list(dict.fromkeys(arm.paper for arm in self.arms))

    def of_families(self, families: Collection[str]) -> Design:
        """The same design on some families only."""
        return replace(self, families=tuple(family for family in self.families if family in families))

    def placebos_of(self, paper: str, method: str) -> list[StudyArm]:
        """The placebos of a method."""
        return [a for a in self.arms if (a.paper, a.method) == (paper, method) and a.control in PLACEBOS]


def _with_placebos(
    paper: str,
    arm: str,
    than: str,
    *,
    tier: int = 1,
    knob: Knob | None = None,
    placebos: Sequence[str] = PLACEBOS,
) -> list[StudyArm]:
    return [StudyArm(paper, arm, than, tier, knob), *(StudyArm(paper, f"{arm}+{p}", than, tier) for p in placebos)]


def _second(*arms: str) -> Sequence[StudyArm]:
    return [StudyArm("baselines", arm, "grpo", tier=2) for arm in arms]


STUDY = Design(
    families=("tiny", "tiny_search"),
    seeds=10,
    rollouts=30,
    learning_rates=(1e-4, 2e-4, 4e-4),
    tuning_rollouts=15,
    tuning_seed=1000,
    tuning_samples=8,
    arms=(
        StudyArm("egsw", "grpo"),
        *_with_placebos("egsw", "egsw", "grpo", knob=Knob("egsw.alpha", (0.15, 0.5))),
        StudyArm("erpo", "grpo"),
        *_with_placebos("erpo", "erpo", "grpo", knob=Knob("erpo.sigma_target", (0.5, 2.0))),
        StudyArm("entropy_advantage", "grpo"),
        *_with_placebos(
            "entropy_advantage",
            "grpo_entropy_advantage",
            "grpo",
            knob=Knob("entropy_advantage.alpha", (0.2, 0.8)),
        ),
        StudyArm("forking_tokens", "dapo"),
        *_with_placebos("forking_tokens", "top20", "dapo", knob=Knob("forking_tokens.rho", (0.1, 0.5))),
        StudyArm("trial_and_error", "grpo"),
        *_with_placebos(
            "trial_and_error",
            "grpo_ppl",
            "grpo",
            knob=Knob("ppl_advantage.alpha", (0.003, 0.03)),
            # it reads a response's mean log-probability, which does not depend on the order of the tokens
            placebos=("shuffled_signal",),
        ),
        StudyArm("trial_and_error", "grpo_position", "grpo", knob=Knob("position_advantage.gamma", (0.03, 0.3))),
        StudyArm("baselines", "grpo"),
        *(StudyArm("baselines", f"grpo+{control}", "grpo") for control in REWARD_CONTROLS),
        StudyArm("entropy_advantage", "grpo_entropy_regularisation", "grpo", tier=2),
        StudyArm("forking_tokens", "bottom80", "dapo", tier=2),
        *_with_placebos("baselines", "clip_cov", "grpo", tier=2, knob=Knob("clip_cov.share", (0.00005, 0.001))),
        *_with_placebos("baselines", "kl_cov", "grpo", tier=2, knob=Knob("kl_cov.coefficient", (0.3, 3.0))),
        *_second("clip_higher", "psr", "nsr", "w_reinforce", "passk", "entropy_bonus"),
        *_second("gspo", "cispo", "gmpo", "sapo", "rloo", "dr_grpo"),
    ),
    margins={"avg": 0.02, "pass": 0.02, "maj": 0.02},
    already_trained=(("egsw", "math-7b-instruct"),),
)
"""The study of results/study. Knobs: the smallest and largest value that the paper tries, or values well below and
above the declared one if it tries none."""

LATER = replace(
    STUDY,
    learning_rates=(),  # no search: each arm takes the values that the first study's search chose for GRPO
    tuning_rollouts=0,
    tuning_samples=0,
    arms=(
        StudyArm("baselines", "grpo"),
        *(StudyArm("baselines", arm, "grpo") for arm in ("maxrl", "opo", "lite_ppo", "vespo", "grpo_pairs", "scalerl")),
        StudyArm("baselines", "scalerl+random_reward", "grpo"),
        StudyArm("baselines", "grpo_two_rewards"),
        StudyArm("baselines", "gdpo", "grpo_two_rewards"),
    ),
)
"""The later tier, in results/study/later: objectives added after the first study was registered."""
