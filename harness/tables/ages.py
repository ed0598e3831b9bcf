"""The measured problems that are older than the base model: one note per model."""

from __future__ import annotations

from collections.abc import Sequence

from evals.data import dates
from harness.spec.scales import SCALES
from harness.tables.measured import Measured


def age_notes(measured: Sequence[Measured]) -> list[str]:
    """For each base model with runs on real problems: its release, and the benchmarks by age. Made-up problems (tiny
    families) have no age.
    """
    asked: dict[str, dict[str, None]] = {}
    for m in measured:
        if m.scale in SCALES and SCALES[m.scale].family:
            continue
        for record in m.records.values():
            base = (record.get("settings", {}).get("base_model") or {}).get("value")
            if base is not None:
                asked.setdefault(base, {}).update(dict.fromkeys(m.scores))
    return [_note(model, list(benchmarks)) for model, benchmarks in asked.items()]


def _note(model: str, benchmarks: Sequence[str]) -> str:
    ages: dict[str, list[str]] = {}
    for name in benchmarks:
        month = dates.published(name)
        known = f"{name} ({month})" if month not in (None, "never") else name
        ages.setdefault(dates.age(name, model), []).append(known)
    said = "; ".join(f"{age}: {', '.join(names)}" for age, names in ages.items())
    return f"{model}, released {dates.released(model) or 'when we do not know'}. {said[:1].upper()}{said[1:]}."
