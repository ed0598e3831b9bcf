"""Plots of a teacher-forced pass over every token: entropies, forks, branching, probability changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evals.analysis.subjects import Subject
from evals.analysis.tokens.changes import change_concentration, change_distribution
from evals.analysis.tokens.entropies import branching, entropy_by_outcome, entropy_by_position, entropy_distribution
from evals.analysis.tokens.forks import RHO, fork_kept, fork_words
from evals.analysis.tokens.panels import present
from evals.analysis.tokens.updates import perplexity, update_sizes, weighted_update_sizes
from evals.plots.parts import names_of
from evals.plots.plot import Plot

if TYPE_CHECKING:
    import pandas as pd


def plot_tokens(
    subjects: Sequence[Subject],
    tokens: Mapping[str, pd.DataFrame],
    *,
    benchmark: str,
    rho: float = RHO,
    minimum: int | None = None,
) -> list[Plot]:
    """Every figure of the runs' own token tables on one benchmark.

    Args:
        subjects: the runs, the base model first.
        tokens: name of the run -> its reading of its own responses. Runs without one are excluded.
        rho: the share of tokens that are forks. minimum: how often a word has to occur (`figures.forks.fork_words`).
    Raises:
        ValueError: no table, one without rows, or one of an unknown run.
    """
    names = names_of(subjects)
    return [
        entropy_distribution(names, tokens, benchmark, rho=rho),
        entropy_by_position(names, tokens, benchmark),
        *([entropy_by_outcome(names, tokens, benchmark)] if present(tokens) else []),
        branching(names, tokens, benchmark),
        perplexity(names, tokens, benchmark),
        update_sizes(names, tokens, benchmark),
        *fork_words(names, tokens, benchmark, rho=rho, minimum=minimum),
    ]


def plot_token_changes(
    subjects: Sequence[Subject],
    pairs: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]],
    *,
    benchmark: str,
    rho: float = RHO,
    read: str = "the base model's responses",
) -> list[Plot]:
    """Every figure of what changed between the base model and the other runs, on the same responses.

    Args:
        subjects: the runs, the base model first.
        pairs: name of a trained run -> (the base model's reading, the run's reading) of the same responses. Tokens that
            a model sampled are likely under it, so that whose responses they are decides which way changes lean: the
            paper takes those of the model before.
        rho: the share of tokens that are forks, and of those that changed most. read: whose responses, for captions.
    Raises:
        ValueError: no pair, or two tables of one that are not of the same tokens.
    """
    names = names_of(subjects)
    return [
        fork_kept(names, pairs, benchmark, rho=rho, read=read),
        change_distribution(names, pairs, benchmark, read=read),
        change_concentration(names, pairs, benchmark, share=rho, read=read),
        weighted_update_sizes(names, pairs, benchmark, read=read),
    ]
