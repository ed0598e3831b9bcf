"""The families of figures: those that several papers share, and those of each paper's `figures`.

A paper's `reproductions/<paper>/figures` has `FAMILIES`, as its `paper.py` has `REPRODUCTION`: its own families, and
figures that it adds to a shared one (the same key). The harness lists the papers and imports none by name.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product

from evals.errors import DamagedFileError
from evals.log import logger
from evals.plots.plot import Plot
from harness.analysis.material import Material
from harness.spec.catalogue import package, papers


@dataclass(frozen=True)
class Family:
    """Figures with one title. A function raises ValueError if the material does not allow its figures: they are
    skipped, with the reason.

    Args:
        of_runs: functions of the material. of_benchmark: functions of the material and a benchmark.
        by_name: it generates text with the models, so it runs only when named.
    """

    title: str
    of_runs: tuple[Callable[[Material], list[Plot]], ...] = ()
    of_benchmark: tuple[Callable[[Material, str], list[Plot]], ...] = ()
    by_name: bool = False


def verdicts(m: Material, benchmark: str) -> list[Plot]:
    from evals.analysis.forms import plot_verdicts

    return plot_verdicts(m.tables(benchmark))


def training(m: Material) -> list[Plot]:
    from evals.analysis.training_curves import plot_training

    return plot_training(m.names, m.curves())


def fits(m: Material) -> list[Plot]:
    from evals.analysis.sigmoids import sigmoid_fits

    return [sigmoid_fits(m.names, m.curves())]


def covered(m: Material, benchmark: str) -> list[Plot]:
    from evals.analysis.cover import cover

    return [cover(m.tables(benchmark))]


def evaluation(m: Material) -> list[Plot]:
    from evals.analysis.training_curves import plot_scores

    return plot_scores(m.names, m.curves())


def form_over_steps(m: Material, benchmark: str) -> list[Plot]:
    """The form of the responses of evaluations while the runs trained."""
    from evals.analysis import forms

    tables = m.tables_over_steps(benchmark)
    return [forms.form_over_steps(tables, m.names)] if tables else []


def entropies(m: Material, benchmark: str) -> list[Plot]:
    from evals.analysis.entropies import plot_entropies

    return plot_entropies(m.names, m.tokens(benchmark))


SHARED = {
    "verdicts": Family("Accuracy, diversity, length and form", of_benchmark=(verdicts, covered)),
    "training": Family("Training", of_runs=(training, fits)),
    "evaluation": Family("Evaluation while training", of_runs=(evaluation,), of_benchmark=(form_over_steps,)),
    "tokens": Family("Tokens", of_benchmark=(entropies,)),
    "words": Family("Words"),
    "interventions": Family("Interventions", by_name=True),
}


@cache
def families() -> dict[str, Family]:
    """Key -> family. A shared one with the figures that papers add to it."""
    families_by_key = dict(SHARED)
    for name in (f"{package(key)}.figures" for key in papers()):
        if importlib.util.find_spec(name) is None:
            continue
        for key, added in importlib.import_module(name).FAMILIES.items():
            if key in families_by_key:
                before = families_by_key[key]
                together = (before.of_runs + added.of_runs, before.of_benchmark + added.of_benchmark)
                added = replace(before, of_runs=together[0], of_benchmark=together[1])
            families_by_key[key] = added
    return families_by_key


def plot_all(material: Material, only: Sequence[str] | None) -> tuple[dict[str, list[Plot]], list[str]]:
    """(family -> its figures, what was skipped and why). None takes all, except those that run only when named.

    Raises:
        ValueError: two figures with the same name.
        DamagedFileError: a file of a run is damaged.
    """
    every = families()
    trained = any(run.curve for model in material.models for run in model.sources)
    without = () if trained else ("training", "evaluation")
    usual = [key for key, family in every.items() if not family.by_name and key not in without]
    plots_of: dict[str, list[Plot]] = {}
    skipped: dict[str, None] = {}
    for key in usual if only is None else only:
        logger.info(f"figures of {key}")
        for what, plot in _parts(key, every[key], material):
            try:
                plots_of.setdefault(key, []).extend(plot())
            except DamagedFileError:
                raise  # the figures of a damaged file are not ones that the material does not allow
            except ValueError as error:
                skipped[f"{what}: {error}"] = None
    names = Counter(plot.name for plots in plots_of.values() for plot in plots)
    if twice := [name for name, count in names.items() if count > 1]:
        raise ValueError(f"figures: two are called {twice[0]!r}")
    return {key: plots for key, plots in plots_of.items() if plots}, list(skipped)


def _parts(key: str, family: Family, material: Material) -> Iterator[tuple[str, Callable[[], list[Plot]]]]:
    """(what it is of, a function that draws it) for each measurement of a family."""
    for plot in family.of_runs:
        yield key, partial(_of_runs, plot, material)
    for benchmark, plot_one in product(material.benchmarks, family.of_benchmark):
        yield f"{key}, {benchmark}", partial(_of_benchmark, plot_one, material, benchmark)


def _of_runs(plot: Callable[[Material], list[Plot]], material: Material) -> list[Plot]:
    """Plots of training curves. Their captions name the known faults of the tools that wrote imported curves."""
    faults = dict.fromkeys(
        f"A known fault of {model.name}: {fault}."
        for model in material.models
        for run in model.sources
        for fault in run.record.get("source", {}).get("faults", ())
    )
    return [replace(drawn_plot, caption=" ".join([drawn_plot.caption, *faults])) for drawn_plot in plot(material)]


def _of_benchmark(plot: Callable[[Material, str], list[Plot]], material: Material, benchmark: str) -> list[Plot]:
    """Plots of one benchmark, named and titled so."""
    plots = plot(material, benchmark)
    return [replace(p, name=f"{p.name}_{benchmark}", title=f"{p.title}, {benchmark}") for p in plots]
