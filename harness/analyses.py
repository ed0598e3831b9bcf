"""Which analyses there are: each family of figures, and what its figures are drawn from."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.analysis.drawing import Drawing
from evals.analysis.subjects import Subject
from harness.analysed import Analysed
from harness.token_cache import content, token_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Material:
    """What figures are drawn from: the models in their order (the base model first) and the benchmarks looked at."""

    models: Sequence[Analysed]
    benchmarks: Sequence[str]
    cache: Path  # of what takes long: token tables, interventions
    embedder: str = "ngrams"  # see `evals.analysis.embedders.load_embedder`
    continuations: int = 8  # of each changed response, in interventions

    @property
    def subjects(self) -> list[Subject]:
        """Each model with all its training seeds, on the benchmarks looked at."""
        return [replace(m.subject, tables={b: m.subject.tables[b] for b in self.benchmarks}) for m in self.models]

    @property
    def readable(self) -> list[Subject]:
        """Each model's first training seed, with model and prompts.

        Raises:
            ValueError: a model cannot be read.
        """
        found = []
        for m in self.models:
            if m.readable is None:
                raise ValueError(m.unread)
            found.append(replace(m.readable, tables={b: m.readable.tables[b] for b in self.benchmarks}))
        return found

    def tokens(self, benchmark: str) -> dict[str, pd.DataFrame]:
        """Name -> token table of a benchmark, each model reading its own responses; kept on disk."""
        return {s.name: token_table(s, benchmark, self.cache / "tokens") for s in self.readable}

    def readings(self, benchmark: str) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
        """Name of each model but the first -> (the first model's reading, its own) of the first model's responses.

        Raises:
            ValueError: a model cannot be read, or has another tokenizer.
        """
        first, *others = self.readable
        folder = self.cache / "tokens"
        before = token_table(first, benchmark, folder)
        return {s.name: (before, token_table(first, benchmark, folder, reader=s.model_path)) for s in others}

    def curves(self) -> dict[str, pd.DataFrame]:
        """Name -> training curves, of the models that have some."""
        found = ((m.name, m.curves) for m in self.models)
        return {name: frame for name, frame in found if frame is not None}


@dataclass(frozen=True)
class Family:
    """`draw` makes the figures; it raises ValueError where the material does not allow them. `by_name`: it generates
    text with the models, so that it runs only when it is asked for."""

    title: str
    draw: Callable[[Material], list[Drawing]]
    by_name: bool = False


def verdicts(m: Material) -> list[Drawing]:
    from evals.analysis.figures.verdicts import draw_verdicts

    return draw_verdicts(m.subjects, benchmarks=m.benchmarks)


def unsolvable(m: Material) -> list[Drawing]:
    from evals.analysis.figures.unsolvable import draw_unsolvable

    return draw_unsolvable(m.subjects, benchmarks=m.benchmarks)


def training(m: Material) -> list[Drawing]:
    from evals.analysis.figures.training import draw_training

    curves = m.curves()
    if not curves:
        raise ValueError("none of the runs holds training curves")
    return draw_training(m.subjects, curves)


def tokens(m: Material) -> list[Drawing]:
    from evals.analysis.figures.tokens import draw_token_changes, draw_tokens

    drawings: list[Drawing] = []
    for b in m.benchmarks:
        drawn = draw_tokens(m.readable, m.tokens(b), benchmark=b)
        if pairs := m.readings(b):
            drawn += draw_token_changes(m.readable, pairs, benchmark=b, read=f"the responses of {m.models[0].name}")
        drawings += _of(b, drawn)
    return drawings


def words(m: Material) -> list[Drawing]:
    import numpy as np

    from evals.analysis.embedders import Remembered, load_embedder
    from evals.analysis.figures.words import draw_words

    embedder = Remembered(load_embedder(m.embedder))  # the base model's sentences are asked for by every run
    drawings: list[Drawing] = []
    for b in m.benchmarks:
        changes = {
            name: (before, np.exp(after["logp"]) - np.exp(before["logp"]))
            for name, (before, after) in m.readings(b).items()
        }
        drawings += _of(b, draw_words(m.readable, m.tokens(b), benchmark=b, changes=changes, embedder=embedder))
    return drawings


def interventions(m: Material) -> list[Drawing]:
    """Replaced and perturbed tokens. Each takes one response a problem, the first; the rest of it is written anew."""
    from evals.analysis.figures.interventions import draw_perturbation, draw_replacement
    from evals.analysis.perturbation import measure_perturbation
    from evals.analysis.replacement import POSITIONS, measure_impact

    drawings: list[Drawing] = []
    for b in m.benchmarks:
        impact, position, perturbed = {}, {}, {}
        for model, subject, table in zip(m.models, m.readable, m.tokens(b).values(), strict=True):
            decoding, policy = model.sampling(b)
            folder = m.cache / "interventions" / content(subject, b)
            first = table[table["sample"] == table.groupby("problem_id")["sample"].transform("min")]
            options: dict[str, Any] = {"decoding": decoding, "policy": policy, "k": m.continuations, "folder": folder}
            impact[subject.name] = measure_impact(subject, b, first, **options)
            position[subject.name] = measure_impact(
                subject, b, first, POSITIONS, **{**options, "folder": folder / "positions"}
            )
            perturbed[subject.name] = measure_perturbation(subject, b, table, **options)
        drawn = [
            *draw_replacement(impact, benchmark=b),
            *draw_replacement(position, benchmark=b, by="position"),
            *draw_perturbation(perturbed, benchmark=b),
        ]
        drawings += _of(b, drawn)
    return drawings


FAMILIES: Mapping[str, Family] = {
    "verdicts": Family("Right, wrong and how they are put", verdicts),
    "unsolvable": Family("Unsolvable problems", unsolvable),
    "training": Family("Training", training),
    "tokens": Family("Tokens", tokens),
    "words": Family("Words", words),
    "interventions": Family("Interventions", interventions, by_name=True),
}


def _of(benchmark: str, drawings: Sequence[Drawing]) -> list[Drawing]:
    """Drawings of one benchmark, named and titled so."""
    return [
        replace(
            d,
            name=d.name if d.name.endswith(benchmark) else f"{d.name}_{benchmark}",
            title=d.title if benchmark in d.title else f"{d.title}, {benchmark}",
        )
        for d in drawings
    ]


def draw_all(material: Material, only: Sequence[str] | None) -> tuple[dict[str, list[Drawing]], list[str]]:
    """(family -> its figures, what could not be drawn and why). None takes all but those that run by name only.

    Raises:
        ValueError: two figures of one name.
    """
    wanted = only if only is not None else [key for key, family in FAMILIES.items() if not family.by_name]
    found: dict[str, list[Drawing]] = {}
    left_out = []
    for key in wanted:
        print(f"{key}: {FAMILIES[key].title.lower()}", file=sys.stderr, flush=True)
        try:
            found[key] = FAMILIES[key].draw(material)
        except ValueError as error:
            left_out.append(f"{key}: {error}")
            print(f"    left out: {error}", file=sys.stderr, flush=True)
    twice = [name for name, n in Counter(d.name for drawings in found.values() for d in drawings).items() if n > 1]
    if twice:
        raise ValueError(f"figures: two are called {twice[0]!r}")
    return found, left_out
