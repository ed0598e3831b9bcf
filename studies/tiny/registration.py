"""The pre-registration: what the study will run and decide, written from its design before the first run."""

from __future__ import annotations

from dataclasses import replace

from harness.spec import Claim, catalogue
from harness.spec.scales import SCALES
from harness.tables.grid import Grid
from studies.tiny.design import REWARD_CONTROLS, Design


def claims_of(design: Design, paper: str) -> list[Claim]:
    """The claims of a paper that the study decides: on verdicts or curves of arms that it has (or the base model).

    A claim across base models is none of them, nor one on two curves of one arm (trial_and_error's Figure 3(c), a
    claim only since the registration), nor one on a model that had reinforcement learning before
    (`Design.already_trained`): the tiny base models had none. Claims that differ in their models or benchmarks alone
    are one comparison here; the first is taken.
    """
    arms = {arm.arm for arm in design.arms if arm.paper == paper} | {"base"}
    asked = [
        claim
        for claim in catalogue.load(paper).claims
        if {claim.arm, claim.than} <= arms
        and not claim.than_model
        and not (claim.curve and (claim.curve.than_metric or claim.curve.less))
        and not (claim.models and {(paper, model) for model in claim.models} <= set(design.already_trained))
    ]
    here = [replace(claim, models=(), benchmarks=()) for claim in asked]
    return list({replace(claim, text="", where=""): claim for claim in reversed(here)}.values())[::-1]


def registration(design: Design) -> str:
    """The Markdown page."""
    rows = tuple(
        (
            arm.paper,
            arm.arm,
            arm.than or "(reference)",
            str(arm.tier),
            f"{arm.knob.key}: {', '.join(f'{v:g}' for v in arm.knob.values)}" if arm.knob else "",
        )
        for arm in design.arms
    )
    arms = Grid("Arms", ("paper", "arm", "than", "tier", "knob: values beside the declared"), rows, ())
    rows = tuple(
        (paper, claim.text, claim.where, f"{claim.arm} − {claim.than}: {claim.direction}", claim.over)
        for paper in design.papers()
        for claim in claims_of(design, paper)
    )
    claims = Grid("Claims", ("paper", "claim", "where", "comparison", "over"), rows, ())
    return "\n".join([_text(design), arms.markdown(), claims.markdown()])


def _text(design: Design) -> str:
    names = ", ".join(f"`{name}`" for name in design.families)
    margins = ", ".join(f"{100 * value:g} points of {metric}" for metric, value in design.margins.items())
    rates = ", ".join(f"{rate:g}" for rate in design.learning_rates)
    label = SCALES[design.families[0]].label
    return f"""\
# Pre-registration of the tiny-scale study

Design {design.digest}, written by `rlvr study register=true` from `harness/study/design.py` and committed before the
first run; a test holds the page and the design together. **{label[:1].upper()}{label[1:]}.**

**Runs.** {len(design.arms)} trained arms, {design.seeds} training seeds each (0 to {design.seeds - 1}), on
{len(design.families)} task families ({names}), each from its pinned base model. Every run takes {design.rollouts}
rollouts of 16 prompts with 8 responses. Arms that are compared have the same rollouts and the same updates of each;
a seed gives the same prompts in the same order in every arm. Tier 1 is completed before tier 2 starts, seed by seed.

**Settings.** Every method, GRPO included, is trained with the learning rates {rates} for {design.tuning_rollouts}
rollouts (seed {design.tuning_seed}); then, at the best of them, with the other values of its knob (below). The highest
avg@{design.tuning_samples} on the family's validation set (48 problems that no result uses) wins; of equal ones, the
first. A trial that diverges cannot win. Placebos and controls take their method's settings.

**Measurements.** The three benchmarks of each family, 16 samples a problem at temperature 1. Scores are means over the
three; intervals cover problems and seeds.

**Decisions**, for each family apart:

1. Claims (below): as `rlvr tables` decides them (`harness/tables/claims.py`), 5 % with Holm's correction over all
   claims of a paper. *appears*: holds; *reversed*: resolved the other way; *equal within δ*: shown to be smaller than
   the margin; *does not appear*: otherwise resolved against it; *cannot tell*: the rest. Settings may differ between
   the arms of a claim, as each method was tuned.
2. Gains: each method − its reference (column *than*), in avg, pass@16 and maj@16. Margins for *equal*: {margins}.
   Holm over all gains of the family in one metric.
3. Placebos: method − placebo in avg, Holm over all of the family. *The signal matters*: the method is higher than each
   of its placebos. *No sign that it does*: equal within the margin to one of them, or lower. *Cannot tell*: the rest.
4. Controls ({", ".join(REWARD_CONTROLS)}): GRPO − control, and control − base, in avg, Holm over them.

A run that diverges stays diverged: it is counted and named, and a comparison of its arm that would hold is *cannot
tell*. Fewer than {design.seeds} seeds (an unfinished study) are reported with their number, as preliminary.

Amended twice. After the search for settings had begun and before any run that counts: claims on models that had
reinforcement learning before (EGSW's on Qwen2.5-Math-7B-Instruct) are not decided here, and a claim on one size of
model is decided on the tiny one. After the first seed: `grpo_ppl+shuffled_response` is dropped, because it is no
placebo (the equation reads the mean over a response, which the order inside it does not change; the runs were equal).

Not in the study: PPO (TRL has none), supervised arms (no rollouts), arms that end in the same weights as another.
"""
