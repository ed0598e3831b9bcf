"""The same responses under several extraction policies, because the policy alone can explain a gap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.tables.grid import Grid
from harness.tables.measured import Measured, common_overrides, in_all_arms

if TYPE_CHECKING:
    from evals.grading import Grader
    from evals.grading.verdicts import PolicyEffect


def policy_grids(paper: str, measured: Sequence[Measured], policies: Sequence[str]) -> list[Grid]:
    """One table per scale, with a row for each arm and benchmark: its score as recorded and under each policy.

    A score is the share of correct responses in percent, unscored ones counted as incorrect, followed by the number of
    verdicts that change (+ become correct, - no longer are). Empty without policies.
    """
    from evals.grading import Grader

    if not policies:
        return []
    grids = []
    with Grader() as grader:
        for scale in dict.fromkeys(m.scale for m in measured):
            arms = [m for m in measured if m.scale == scale]
            common = common_overrides(arms)
            rows = [
                row for m in arms for benchmark in m.verdicts if (row := _row(m, benchmark, common, grader, policies))
            ]
            header = ("arm", "benchmark", "policy", "responses", "as recorded", *(f"{p}" for p in policies))
            note = (
                "Percent of the responses that are correct, unscored ones counted as incorrect; in brackets how many "
                "verdicts change. The stored responses, graded again; nothing is sampled."
            )
            if rows:
                caption = f"{paper}, {scale} scale: extraction policies"
                grids.append(Grid(caption, header, tuple(rows), (note,), in_all_arms(common)))
    return grids


def _row(
    m: Measured,
    benchmark: str,
    common: tuple[str, ...],
    grader: Grader,
    policies: Sequence[str],
) -> tuple[str, ...] | None:
    from evals.grading.extraction import POLICIES

    used = used_policy(next(iter(m.records.values())), benchmark)
    if used not in POLICIES:
        return None  # a program
    name = m.label(m.arm, common)
    rows = _responses(m, benchmark)
    if not rows:
        return (name, benchmark, used, "0", *["no responses in the store"] * (1 + len(policies)))
    right = sum(row["verdict"] == "correct" for row in rows)
    cells = [_cell(effect) for effect in _effects(rows, grader, policies)]
    return (name, benchmark, used, str(len(rows)), f"{100 * right / len(rows):.1f}", *cells)


def used_policy(record: Mapping[str, Any], benchmark: str) -> str:
    """The extraction policy that a run's protocol states for a benchmark, or else that of its prompt."""
    from evals.data import prompts

    def stated(name: str) -> Any:
        value = record["settings"].get(f"protocol.{name}", {}).get("value")
        return value.get(benchmark, value.get("default")) if isinstance(value, dict) else value

    extraction = stated("extraction") or "prompt"
    return str(prompts.get(stated("prompt")).policy if extraction == "prompt" else extraction)


def _responses(m: Measured, benchmark: str) -> list[dict[str, Any]]:
    """The responses of all seeds; none if the runs were kept without, as in an archive."""
    rows = [row for run in m.runs.values() for row in run.rows(benchmark)]
    return rows if any(row.get("response") for row in rows) else []


def _effects(rows: Sequence[dict[str, Any]], grader: Grader, policies: Sequence[str]) -> list[PolicyEffect]:
    from evals.grading import Grade
    from evals.grading.verdicts import Verdict, policy_effects

    grades = [Grade(Verdict(row["verdict"]), row["answer"]) for row in rows]
    triples = [(row["gold"], row["response"], row["finish_reason"]) for row in rows]
    return policy_effects(triples, grades, grader, "", policies)


def _cell(effect: PolicyEffect) -> str:
    unscored = f", {effect.unscored} unscored" if effect.unscored else ""
    return f"{100 * effect.correct / effect.rows:.1f} (+{effect.gained}, -{effect.lost}{unscored})"
