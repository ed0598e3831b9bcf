"""The numbers of one evaluation, as a document and as text."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from evals.data.protocols import Protocol
from evals.grading.verdicts import PolicyEffect
from evals.stats.intervals import ROUGH

METRICS = ("avg", "pass", "maj", "g_pass", "unsolvable", "fmt", "mean_tokens", "truncation_rate")


def summary(protocol: Protocol, verdicts: dict[str, Path]) -> dict[str, Any]:
    """Scores of every benchmark with their intervals, the protocol's values with their sources, and the files."""
    import pyarrow.parquet as pq

    from evals.stats.score import score

    scores = {
        name: [
            {"name": s.name, "unit": s.unit, **asdict(s)}
            for s in score(pq.read_table(path), ks=protocol.value("ks", name), metrics=METRICS)
        ]
        for name, path in verdicts.items()
    }
    effects = {name: policies(protocol.prompt_of(name).policy, path) for name, path in verdicts.items()}
    return {
        "policies": {name: [asdict(effect) for effect in own] for name, own in effects.items()},
        "protocol": {"name": protocol.name, **{k: v.as_dict() for k, v in protocol.sourced().items()}},
        "scores": scores,
        "verdicts": {name: str(path) for name, path in verdicts.items()},
    }


def policies(used: str, path: Path) -> list[PolicyEffect]:
    """How many verdicts of a table other extraction policies would change; nothing for programs."""
    import pyarrow.parquet as pq

    from evals.grading import Grade, Grader
    from evals.grading.extraction import POLICIES
    from evals.grading.verdicts import Verdict, policy_effects

    if used not in POLICIES:
        return []
    columns = ("gold", "response", "finish_reason", "verdict", "answer")
    rows = pq.read_table(path, columns=list(columns)).to_pylist()
    grades = [Grade(Verdict(row["verdict"]), row["answer"]) for row in rows]
    with Grader() as grader:
        return policy_effects([(r["gold"], r["response"], r["finish_reason"]) for r in rows], grades, grader, used)


def as_text(document: dict[str, Any]) -> str:
    """One block per benchmark, in percent (lengths in tokens, unsolvable problems as a count). The JSON document has
    every G-Pass@k, this text only the largest k."""
    lines = [f"protocol {document['protocol']['name']}"]
    for benchmark, scores in document["scores"].items():
        first = scores[0]
        lines.append(
            f"\n{benchmark}: {first['problems']} problems, {first['samples']} samples, {first['unscored']} unscored"
        )
        largest = max((s["k"] for s in scores if s["metric"] == "g_pass"), default=None)
        for s in scores:
            if s["metric"] == "g_pass" and s["k"] != largest:
                continue
            factor = {"%": 100, "tokens": 1, "problems": s["problems"]}[s["unit"]]
            if s["value"] is None:
                lines.append(f"  {s['name']:<16} – ({s['why']})")
                continue
            text = f"{factor * s['value']:.2f}"
            if s["interval"]:
                covers = s["interval"]["covers"]
                mark = "~" * s["interval"]["rough"]
                ends = f"[{factor * s['interval']['low']:.2f}, {factor * s['interval']['high']:.2f}]"
                text += f"  {mark}{ends} over {covers}"
            if s["unit"] == "problems":
                text += f"  of {s['problems']} problems"
            if s["as_wrong"] not in (None, s["value"]):
                text += f"  ({factor * s['as_wrong']:.2f} with unscored as wrong)"
            lines.append(f"  {s['name']:<16} {text}")
        if any(s["interval"] and s["interval"]["rough"] for s in scores):
            lines.append(f"  {ROUGH}")
        lines += [f"  {PolicyEffect(**effect)}" for effect in document["policies"][benchmark]]
        lines.append(f"  verdicts: {document['verdicts'][benchmark]}")
    return "\n".join(lines)
