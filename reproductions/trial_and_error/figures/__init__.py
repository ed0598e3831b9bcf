"""The figures of arXiv 2508.07534, for runs of one's own (`rlvr analyze`)."""

from __future__ import annotations

from functools import partial

from evals.analysis import TRIAL_AND_ERROR
from evals.plots.plot import Plot
from harness.analysis.families import Family
from harness.analysis.material import Material


def unsolved_problems(m: Material, benchmark: str) -> list[Plot]:
    """Fig. 1c."""
    from reproductions.trial_and_error.figures.unsolvable import plot_unsolvable

    return [plot_unsolvable(m.tables(benchmark))]


def entropy_and_outcome(m: Material) -> list[Plot]:
    """Fig. 3c without its bars: entropy of correct and of incorrect responses over steps."""
    from evals.analysis.training_curves import measured, over_steps

    outcomes = {"train/entropy_positive": "correct responses", "train/entropy_negative": "incorrect responses"}
    curves = m.curves()
    if not (metrics := measured(curves, list(outcomes))):
        raise ValueError(
            f"no entropy of correct and of incorrect responses, as the curves have no {' or '.join(outcomes)}"
        )
    return [
        over_steps(
            "training_entropy_by_outcome",
            "Entropy of correct and of incorrect responses in training",
            "Mean over the tokens of a step's correct and incorrect responses.",
            f"{TRIAL_AND_ERROR}, Fig. 3c",
            curves,
            m.names,
            {metric: outcomes[metric] for metric in metrics},
            ylabel="entropy (nats)",
            limits=(0.0, float("inf")),
        )
    ]


def reward_and_entropy(m: Material) -> list[Plot]:
    """Section 3.1: R = -a exp(H) + b."""
    from reproductions.trial_and_error.figures.training import entropy_against_reward

    return [entropy_against_reward(m.names, m.curves())]


def update_sizes(m: Material, benchmark: str) -> list[Plot]:
    """Fig. 4b, of each model's own responses."""
    from reproductions.trial_and_error.figures import changes

    return [changes.update_sizes(m.names, m.tokens(benchmark))]


def changes_of_tokens(m: Material, benchmark: str) -> list[Plot]:
    """Fig. 4 and 5a: what changed between the first model and the others, on the first model's responses.

    Tokens are likely under the model that sampled them, so the choice of responses biases the changes: the paper takes
    those of the model before the change.
    """
    from reproductions.trial_and_error.figures.changes import change_concentration, change_distribution

    pairs = m.readings(benchmark)
    return [plot(m.names, pairs) for plot in (change_distribution, change_concentration)] if pairs else []


def token_categories(m: Material, benchmark: str) -> list[Plot]:
    """Table 5, by the categories of Table 1."""
    from reproductions.trial_and_error.figures.categories import plot_categories

    return plot_categories(m.names, m.tokens(benchmark))


def replaced_tokens(m: Material, benchmark: str, by: str) -> list[Plot]:
    """Eq. 6, Fig. 5b and 6b: tokens of the first response to each problem replaced, the rest sampled again."""
    from reproductions.trial_and_error.figures.replacement import GROUPINGS, measure_impact, plot_replacement

    frames = {}
    for subject, table in m.read_tables(benchmark):
        first = table[table["sample"] == table.groupby("problem_id")["sample"].transform("min")]
        sampling = m.sampling(subject, benchmark, f"replacement by {by}")
        frames[subject.name] = measure_impact(subject, benchmark, first, sampling, GROUPINGS[by][0])
    return [plot_replacement(frames, m.names, by=by)]


FAMILIES = {
    "unsolvable": Family("Unsolvable problems", of_benchmark=(unsolved_problems,)),
    "training": Family("Training", of_runs=(entropy_and_outcome, reward_and_entropy)),
    "tokens": Family("Tokens", of_benchmark=(update_sizes, changes_of_tokens)),
    "words": Family("Words", of_benchmark=(token_categories,)),
    "interventions": Family(
        "Interventions",
        of_benchmark=tuple(partial(replaced_tokens, by=by) for by in ("entropy", "position", "perplexity")),
        by_name=True,
    ),
}
