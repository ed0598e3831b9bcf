"""The input of the families of figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from evals.analysis.interventions import CONTINUATIONS, Sampling
from evals.analysis.subjects import Subject
from harness.analysis.runs import Analysed
from harness.analysis.token_cache import content, token_table

if TYPE_CHECKING:
    import pandas as pd

    from harness.record.run import Run


@dataclass(frozen=True)
class Material:
    """The input of figures: the models in order (the base model first) and the benchmarks.

    `tables`, `tokens`, ... give a mapping from the models' names, in order.
    """

    models: Sequence[Analysed]
    benchmarks: Sequence[str]
    cache: Path  # cache of slow parts: token tables, interventions
    samples: int = CONTINUATIONS  # per prefix, in interventions

    @property
    def names(self) -> list[str]:
        return [m.name for m in self.models]

    def tables(self, benchmark: str) -> dict[str, pd.DataFrame]:
        """Verdict tables of a benchmark, with all training seeds, of runs that are more than a curve."""
        return {m.name: m.subject.tables[benchmark] for m in self.models if m.subject.tables}

    def tables_over_steps(self, benchmark: str) -> dict[str, dict[int, pd.DataFrame]]:
        """Optimiser step -> verdict table of an evaluation while the first seed trained, of runs that have some.

        Raises:
            ValueError: a table cannot be read.
        """
        by_model: dict[str, dict[int, pd.DataFrame]] = {}
        for m in self.models:
            for step in m.sources[0].evaluated_steps:
                if (frame := m.sources[0].samples_at(step, benchmark)) is not None:
                    by_model.setdefault(m.name, {})[step] = frame
        return by_model

    def curves(self) -> pd.DataFrame:
        """Training curves of all seeds (`evals.analysis.training_curves`), of the models that have some."""
        import pandas as pd

        rows = [
            {"model": m.name, "seed": seed, "step": step, **values}
            for m in self.models
            for seed, run in zip(_seeds(m.sources), m.sources, strict=True)
            for step, values in sorted(run.curve.items())
        ]
        return pd.DataFrame(rows)

    @property
    def readable(self) -> list[Subject]:
        """Each model's first training seed, with model and prompts. Not of runs that are a curve alone.

        Raises:
            ValueError: a model cannot be read.
        """
        readable = []
        for m in (m for m in self.models if m.subject.tables):
            if m.readable is None:
                raise ValueError(m.unread)
            readable.append(replace(m.readable, tables={b: m.readable.tables[b] for b in self.benchmarks}))
        return readable

    def tokens(self, benchmark: str) -> dict[str, pd.DataFrame]:
        """Token tables of a benchmark, each model reading its own responses. Kept on disk."""
        return {s.name: token_table(s, benchmark, self.cache / "tokens") for s in self.readable}

    def read_tables(self, benchmark: str) -> list[tuple[Subject, pd.DataFrame]]:
        """Each model and its token table."""
        return list(zip(self.readable, self.tokens(benchmark).values(), strict=True))

    def readings(self, benchmark: str) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
        """For each model but the first: (the first model's reading, its own) of the first model's responses.

        Raises:
            ValueError: a model cannot be read, or has another tokenizer.
        """
        first, *readers = self.readable
        folder = self.cache / "tokens"
        before = token_table(first, benchmark, folder)
        return {s.name: (before, token_table(first, benchmark, folder, reader=s.model_path)) for s in readers}

    def sampling(self, subject: Subject, benchmark: str, name: str) -> Sampling:
        """How to sample from a model: as its responses were sampled and graded. Each measure has its folder, by its
        name.

        Raises:
            ValueError: nothing says how they were.
        """
        decoding, policy, reasoning = next(m for m in self.models if m.name == subject.name).sampling(benchmark)
        folder = self.cache / "interventions" / content(subject, benchmark) / name.replace(" ", "_")
        return Sampling(decoding, self.samples, folder, policy=policy, reasoning=reasoning)


def _seeds(runs: Sequence[Run]) -> Sequence[int]:
    """Their training seeds as recorded. Their places where some have none or two have the same."""
    recorded = {int(run.record["seed"]): None for run in runs if run.record.get("seed") is not None}
    return list(recorded) if len(recorded) == len(runs) else range(len(runs))
