"""The numbers of one evaluation, as a document and as text."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from evals.protocols import Protocol

METRICS = ("avg", "pass", "maj", "fmt", "mean_tokens", "truncation_rate")


def summary(protocol: Protocol, verdicts: dict[str, Path]) -> dict[str, Any]:
    """Scores of every benchmark with their intervals, the protocol's values with their sources, and the files."""
    import pyarrow.parquet as pq

    from evals.score import score

    scores = {
        name: [
            {"name": s.name, **asdict(s)}
            for s in score(pq.read_table(path), ks=protocol.value("ks", name), metrics=METRICS)
        ]
        for name, path in verdicts.items()
    }
    return {
        "protocol": {"name": protocol.name, **{k: v.as_dict() for k, v in protocol.sourced().items()}},
        "scores": scores,
        "verdicts": {name: str(path) for name, path in verdicts.items()},
    }


def as_text(document: dict[str, Any]) -> str:
    """One block a benchmark; percent, but tokens."""
    lines = [f"protocol {document['protocol']['name']}"]
    for benchmark, scores in document["scores"].items():
        first = scores[0]
        lines.append(
            f"\n{benchmark}: {first['problems']} problems, {first['samples']} samples, {first['unscored']} unscored"
        )
        for s in scores:
            factor = 1 if s["metric"] == "mean_tokens" else 100
            if s["value"] is None:
                lines.append(f"  {s['name']:<16} – ({s['why']})")
                continue
            text = f"{factor * s['value']:.2f}"
            if s["interval"]:
                covers = s["interval"]["covers"]
                text += f"  [{factor * s['interval']['low']:.2f}, {factor * s['interval']['high']:.2f}] over {covers}"
            lines.append(f"  {s['name']:<16} {text}")
        lines.append(f"  verdicts: {document['verdicts'][benchmark]}")
    return "\n".join(lines)
