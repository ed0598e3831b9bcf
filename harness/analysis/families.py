"""The families of figures, each with the function that plots it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from evals.plots.plot import Plot
from harness.analysis.material import Material, of_benchmark
from harness.analysis.sampled import fork_temperature, interventions, tools


@dataclass(frozen=True)
class Family:
    """`plot` makes the figures; it raises ValueError if the material does not allow them. `by_name`: it generates text
    with the models, so it runs only when named."""

    title: str
    plot: Callable[[Material], list[Plot]]
    by_name: bool = False


def verdicts(m: Material) -> list[Plot]:
    from evals.analysis.figures import plot_verdicts

    return plot_verdicts(m.subjects, benchmarks=m.benchmarks, judge=m.judge)


def unsolvable(m: Material) -> list[Plot]:
    from evals.analysis.responses.unsolvable import plot_unsolvable

    return plot_unsolvable(m.subjects, benchmarks=m.benchmarks)


def training(m: Material) -> list[Plot]:
    from evals.analysis.figures import plot_training

    curves = m.curves()
    if not curves:
        raise ValueError("none of the runs holds training curves")
    return plot_training(m.subjects, curves)


def tokens(m: Material) -> list[Plot]:
    from evals.analysis.figures import plot_token_changes, plot_tokens
    from evals.analysis.tokens.entropy_drop import entropy_drops, fastest_tokens

    plots: list[Plot] = []
    for b in m.benchmarks:
        plotted = plot_tokens(m.readable, m.tokens(b), benchmark=b)
        if pairs := m.readings(b):
            read = f"the responses of {m.models[0].name}"
            plotted += plot_token_changes(m.readable, pairs, benchmark=b, read=read)
            try:
                plotted.append(entropy_drops([s.name for s in m.readable], m.over_steps(b), b, read=read))
                plotted += fastest_tokens([s.name for s in m.readable], m.over_steps(b), b)
            except ValueError as error:
                m.skipped.append(f"tokens of fastest entropy drop (arXiv 2508.07534, Fig. 3c), {b}: {error}")
        plots += of_benchmark(b, plotted)
    return plots


def words(m: Material) -> list[Plot]:
    import numpy as np

    from evals.analysis.words.embedders import CachedEmbedder, load_embedder
    from evals.analysis.words.plots import plot_words

    embedder = CachedEmbedder(load_embedder(m.embedder))  # every run needs the base model's sentences
    plots: list[Plot] = []
    for b in m.benchmarks:
        changes = {
            name: (before, np.exp(after["logp"]) - np.exp(before["logp"]))
            for name, (before, after) in m.readings(b).items()
        }
        plots += of_benchmark(b, plot_words(m.readable, m.tokens(b), benchmark=b, changes=changes, embedder=embedder))
    return plots


def evaluation(m: Material) -> list[Plot]:
    """Scores over a training, and the quality of the responses of its steps."""
    from evals.analysis.training.evaluation import plot_evaluation, quality_over_steps

    order = [s.name for s in m.subjects]
    plots = plot_evaluation(order, m.curves())
    for b in m.benchmarks:
        tables = m.tables_over_steps(b)
        if tables:
            texts = {p.id: p.problem for s in m.subjects for p in s.problems.get(b, ())}
            plots.append(quality_over_steps(tables, b, order, judge=m.judge, problems=texts))
    return plots


FAMILIES: Mapping[str, Family] = {
    "verdicts": Family("Accuracy, diversity, length and form", verdicts),
    "unsolvable": Family("Unsolvable problems", unsolvable),
    "training": Family("Training", training),
    "evaluation": Family("Evaluation while training", evaluation),
    "tokens": Family("Tokens", tokens),
    "words": Family("Words", words),
    "interventions": Family("Interventions", interventions, by_name=True),
    "tools": Family("Tool use", tools, by_name=True),
    "fork_temperature": Family("Temperature at forks", fork_temperature, by_name=True),
}


def plot_all(material: Material, only: Sequence[str] | None) -> tuple[dict[str, list[Plot]], list[str]]:
    """(family -> its figures, what was skipped and why). None takes all, except those that run only when named.

    Raises:
        ValueError: two figures with the same name.
    """
    wanted = only if only is not None else [key for key, family in FAMILIES.items() if not family.by_name]
    plots_of: dict[str, list[Plot]] = {}
    skipped = []
    for key in wanted:
        print(f"{key}: {FAMILIES[key].title.lower()}", file=sys.stderr, flush=True)
        try:
            plots_of[key] = FAMILIES[key].plot(material)
        except ValueError as error:
            skipped.append(f"{key}: {error}")
            print(f"    skipped: {error}", file=sys.stderr, flush=True)
    for text in material.skipped:
        print(f"    skipped: {text}", file=sys.stderr, flush=True)
    skipped += material.skipped
    twice = [name for name, n in Counter(d.name for plots in plots_of.values() for d in plots).items() if n > 1]
    if twice:
        raise ValueError(f"figures: two are called {twice[0]!r}")
    return plots_of, skipped
