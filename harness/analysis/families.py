"""Which analyses there are: each family of figures, and how it is drawn."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from evals.plots.drawing import Drawing
from harness.analysis.material import Material, of_benchmark
from harness.analysis.sampled import fork_temperature, interventions, tools


@dataclass(frozen=True)
class Family:
    """`draw` makes the figures; it raises ValueError where the material does not allow them. `by_name`: it generates
    text with the models, so that it runs only when it is asked for."""

    title: str
    draw: Callable[[Material], list[Drawing]]
    by_name: bool = False


def verdicts(m: Material) -> list[Drawing]:
    from evals.analysis.responses.plots import draw_verdicts

    return draw_verdicts(m.subjects, benchmarks=m.benchmarks)


def unsolvable(m: Material) -> list[Drawing]:
    from evals.analysis.responses.plot_unsolvable import draw_unsolvable

    return draw_unsolvable(m.subjects, benchmarks=m.benchmarks)


def training(m: Material) -> list[Drawing]:
    from evals.analysis.training.plots import draw_training

    curves = m.curves()
    if not curves:
        raise ValueError("none of the runs holds training curves")
    return draw_training(m.subjects, curves)


def tokens(m: Material) -> list[Drawing]:
    from evals.analysis.tokens.plot_drops import entropy_drops
    from evals.analysis.tokens.plots import draw_token_changes, draw_tokens

    drawings: list[Drawing] = []
    for b in m.benchmarks:
        drawn = draw_tokens(m.readable, m.tokens(b), benchmark=b)
        if pairs := m.readings(b):
            read = f"the responses of {m.models[0].name}"
            drawn += draw_token_changes(m.readable, pairs, benchmark=b, read=read)
            try:
                drawn.append(entropy_drops([s.name for s in m.readable], m.over_steps(b), b, read=read))
            except ValueError as error:
                m.left_out.append(f"tokens of fastest entropy drop (arXiv 2508.07534, Fig. 3c), {b}: {error}")
        drawings += of_benchmark(b, drawn)
    return drawings


def words(m: Material) -> list[Drawing]:
    import numpy as np

    from evals.analysis.words.embedders import CachedEmbedder, load_embedder
    from evals.analysis.words.plots import draw_words

    embedder = CachedEmbedder(load_embedder(m.embedder))  # the base model's sentences are asked for by every run
    drawings: list[Drawing] = []
    for b in m.benchmarks:
        changes = {
            name: (before, np.exp(after["logp"]) - np.exp(before["logp"]))
            for name, (before, after) in m.readings(b).items()
        }
        drawings += of_benchmark(
            b, draw_words(m.readable, m.tokens(b), benchmark=b, changes=changes, embedder=embedder)
        )
    return drawings


FAMILIES: Mapping[str, Family] = {
    "verdicts": Family("Right, wrong and how they are put", verdicts),
    "unsolvable": Family("Unsolvable problems", unsolvable),
    "training": Family("Training", training),
    "tokens": Family("Tokens", tokens),
    "words": Family("Words", words),
    "interventions": Family("Interventions", interventions, by_name=True),
    "tools": Family("Code that is run", tools, by_name=True),
    "fork_temperature": Family("Temperature at forks and elsewhere", fork_temperature, by_name=True),
}


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
    for text in material.left_out:
        print(f"    left out: {text}", file=sys.stderr, flush=True)
    left_out += material.left_out
    twice = [name for name, n in Counter(d.name for drawings in found.values() for d in drawings).items() if n > 1]
    if twice:
        raise ValueError(f"figures: two are called {twice[0]!r}")
    return found, left_out
