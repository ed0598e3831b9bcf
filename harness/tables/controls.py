"""The gain of each arm beside that of its controls (`harness.spec.controls`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evals.stats.compare import Line, compare_runs, difference_text, method_p_text
from evals.stats.differences import FEW_SEEDS
from evals.stats.score import NONE, number_text
from harness.spec.controls import CONTROLS, split_key
from harness.tables.grid import Grid
from harness.tables.measured import Measured, common_overrides, comparable, in_all_arms, rough, same_setting

Triple = tuple[Measured, Measured, Measured | None]


def control_grid(paper: str, measured: Sequence[Measured]) -> Grid | None:
    """Every measured control: its gain over the base model, the arm's gain, and the excess of the arm's.

    The excess is the arm minus its control, paired by problem, in mean accuracy. Holm's correction is over the
    benchmarks of one pair, as in the table of differences. None without controls.
    """
    rows, common = [], common_overrides(measured)
    for arm, control, base in controls_of(measured):
        gains = {m.arm: _gains(m, base) for m in (arm, control)}
        for line in compare_runs(arm.run, control.run, metrics=("avg",), allow_different=True).lines:
            name = line.benchmark
            rows.append(
                (
                    arm.label(arm.arm, common),
                    control.label(control.arm, common),
                    arm.base,
                    arm.scale,
                    name,
                    *(gains[m.arm].get(name, NONE) for m in (arm, control)),
                    difference_text(line),
                    f"{line.seeds_a} and {line.seeds_b}",
                    method_p_text(line),
                    sentence(line, control.arm),
                )
            )
    if not rows:
        return None
    header = (
        "arm", "control", "model", "scale", "benchmark", "gain of the arm", "gain of the control",
        "excess [95 % interval]", "seeds", "p (Holm)", "so",
    )  # fmt: skip
    few_seeds = f" {FEW_SEEDS}." if any("checkpoint" in row[-1] for row in rows) else ""
    return Grid(
        f"{paper}: gains beside those of controls",
        header,
        tuple(rows),
        (
            "The numbers are points of mean accuracy. A gain is over the untrained base model, if that was measured. "
            "An excess that is not resolved does not say that the control gains as much. These runs cannot tell, and "
            "the interval says by how much the two may differ. Each p-value is corrected (Holm) over the benchmarks of "
            f"one arm and control on one model and scale.{few_seeds}{rough(rows)}",
        ),
        in_all_arms(common),
    )


def controls_of(measured: Sequence[Measured]) -> Iterator[Triple]:
    """(arm, the same arm under a control, the untrained model or None) for each control that can be compared."""
    for control in measured:
        key, name = split_key(control.arm)
        if name not in CONTROLS:
            continue
        arm = next((m for m in measured if m.arm == key and same_setting(m, control) and comparable(m, control)), None)
        if arm is None or not set(arm.verdicts) & set(control.verdicts):
            continue
        of_model = (m for m in measured if not m.trained and (m.scale, m.model) == (arm.scale, arm.model))
        yield arm, control, next((m for m in of_model if comparable(m, arm)), None)


def sentence(line: Line, control: str) -> str:
    """ "the gain exceeds that of random reward by 4.5 points", or the wording for the other verdicts."""
    title = CONTROLS[split_key(control)[1] or ""].title
    if line.difference is None:
        return f"{NONE} ({line.why})"
    word = {"higher": "exceeds", "lower": "falls short of"}.get(line.plain_verdict.removeprefix("checkpoint "))
    if word is None:
        return f"not resolved from {title}"
    gain_sentence = f"the gain {word} that of {title} by {number_text(abs(line.difference), 100)} points"
    if line.undone_by:
        gain_sentence += ", for trainings that do not collapse"
    return gain_sentence if line.seeds_covered else f"{gain_sentence}, of these checkpoints"


def _gains(m: Measured, base: Measured | None) -> dict[str, str]:
    """Benchmark -> the arm minus the base model, with its interval."""
    if base is None or not set(m.verdicts) & set(base.verdicts):
        return {}
    lines = compare_runs(m.run, base.run, metrics=("avg",), allow_different=True).lines
    return {line.benchmark: difference_text(line) for line in lines}
