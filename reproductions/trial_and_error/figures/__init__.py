"""The figures of arXiv 2508.07534, for runs of one's own (`rlvr analyze`)."""

from __future__ import annotations

from functools import partial

import numpy as np

from evals.plots.plot import Plot
from harness.analysis.families import Family
from harness.analysis.material import Material


def unsolved_problems(m: Material, benchmark: str) -> list[Plot]:
    """Fig. 1c."""
    from reproductions.trial_and_error.figures.unsolvable import plot_unsolvable

    return [plot_unsolvable(m.tables(benchmark), benchmark)]


def training_stages(m: Material) -> list[Plot]:
    """Fig. 3a and 3c, section 3.1; as far as the curves have the metrics."""
    from evals.analysis.training_curves import curve, fair_performance
    from reproductions.trial_and_error.figures.entropy_reward import entropy_against_reward
    from reproductions.trial_and_error.figures.stages import entropy_by_outcome, plot_stages

    curves = m.curves()
    performance = fair_performance(curves)
    figures = (
        (plot_stages, (performance, "train/entropy")),
        (entropy_by_outcome, ("train/entropy_negative",)),
        (entropy_against_reward, ("train/entropy", performance)),
    )
    return [
        plot(m.names, curves, performance=performance)
        for plot, metrics in figures
        if any(len(curve(c, *metrics)[0]) for c in curves.values())
    ]


def responses_of_each(m: Material, benchmark: str) -> list[Plot]:
    """Section 3.3 and Fig. 4b, of each model's own responses."""
    from reproductions.trial_and_error.figures.updates import perplexity, update_sizes

    tables = m.tokens(benchmark)
    return [perplexity(m.names, tables, benchmark), update_sizes(m.names, tables, benchmark)]


def changes_of_tokens(m: Material, benchmark: str) -> list[Plot]:
    """Fig. 4 and 5a: what changed between the first model and the others, on the first model's responses.

    Tokens are likely under the model that sampled them, so the choice of responses biases the changes: the paper takes
    those of the model before the change.
    """
    from reproductions.trial_and_error.figures.changes import change_concentration, change_distribution
    from reproductions.trial_and_error.figures.updates import weighted_update_sizes

    pairs = m.readings(benchmark)
    plots = (change_distribution, change_concentration, weighted_update_sizes)
    return [plot(m.names, pairs, benchmark, read=m.read) for plot in plots] if pairs else []


def entropy_drops(m: Material, benchmark: str) -> list[Plot]:
    """Fig. 3b and the bars of Fig. 3c."""
    from reproductions.trial_and_error.figures.entropy_drop import fastest_tokens, places_of_drops

    if len(m.models) == 1:
        return []
    readings = m.over_steps(benchmark)
    drops = places_of_drops(m.names, readings, benchmark, read=m.read)
    return [drops, *fastest_tokens(m.names, readings, benchmark)]


def token_categories(m: Material, benchmark: str) -> list[Plot]:
    """Table 5 and section 3.2.2."""
    from reproductions.trial_and_error.figures.categories import plot_categories

    moved = {
        name: (before, np.exp(after["logp"]) - np.exp(before["logp"]))
        for name, (before, after) in m.readings(benchmark).items()
    }
    return plot_categories(m.names, m.tokens(benchmark), moved, benchmark)


def replaced_tokens(m: Material, benchmark: str, by: str) -> list[Plot]:
    """Eq. 6, Fig. 5b and 6b: tokens of the first response to each problem replaced, the rest sampled again."""
    from reproductions.trial_and_error.figures.replacement import GROUPINGS, measure_impact, plot_replacement

    frames = {}
    for subject, table in m.read_tables(benchmark):
        first = table[table["sample"] == table.groupby("problem_id")["sample"].transform("min")]
        sampling = m.sampling(subject, benchmark, f"replacement by {by}", m.continuations)
        frames[subject.name] = measure_impact(subject, benchmark, first, sampling, GROUPINGS[by][0])
    return [plot_replacement(frames, benchmark=benchmark, by=by)]


FAMILIES = {
    "unsolvable": Family("Unsolvable problems", of_benchmark=(unsolved_problems,)),
    "training": Family("Training", of_runs=(training_stages,)),
    "tokens": Family("Tokens", of_benchmark=(responses_of_each, changes_of_tokens, entropy_drops)),
    "words": Family("Words", of_benchmark=(token_categories,)),
    "interventions": Family(
        "Interventions",
        of_benchmark=tuple(partial(replaced_tokens, by=by) for by in ("entropy", "position", "perplexity")),
        by_name=True,
    ),
}
