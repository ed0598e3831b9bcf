"""Every figure of a family: verdicts and texts, token tables, training curves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evals.analysis import EGSW, ENTROPY_ADVANTAGE, ERPO
from evals.analysis.responses.curves_over_k import answer_diversity, pass_at_k
from evals.analysis.responses.forms import response_form, response_length, response_table
from evals.analysis.responses.quality import MIXING, REDUNDANT_ABOVE, Judge
from evals.analysis.subjects import Subject
from evals.analysis.tokens.changes import change_concentration, change_distribution
from evals.analysis.tokens.entropies import branching, entropy_by_outcome, entropy_by_position, entropy_distribution
from evals.analysis.tokens.forks import RHO, fork_kept, fork_words
from evals.analysis.tokens.token_table import present
from evals.analysis.tokens.updates import perplexity, update_sizes, weighted_update_sizes
from evals.analysis.training.curves import (
    LABELS,
    SMOOTHING,
    Curves,
    curve,
    describe_smoothing,
    describe_steps,
    fair_performance,
    fit_lines,
    line_handles,
    long_table,
    smoothed_line,
)
from evals.analysis.training.entropy_reward import entropy_against_reward
from evals.analysis.training.stages import entropy_by_outcome as training_entropy_by_outcome
from evals.analysis.training.stages import stages
from evals.plots.parts import common_benchmarks, legend_below, legend_height, names_of, tables_of
from evals.plots.plot import HEIGHT, WIDTH, Plot, step_axis, tidy

if TYPE_CHECKING:
    import pandas as pd


def plot_verdicts(
    subjects: Sequence[Subject],
    *,
    benchmarks: Sequence[str] | None = None,
    ks: Sequence[int] | None = None,
    redundant_above: float = REDUNDANT_ABOVE,
    mixing: Collection[str] = MIXING,
    judge: Judge | None = None,
) -> list[Plot]:
    """Every figure of verdicts and texts, for each benchmark.

    Args:
        subjects: the runs, the base model first.
        benchmarks: None takes those that all runs were measured on.
        ks: None takes the powers of two up to what all problems allow (`evals.analysis.responses.curves_over_k`).
        redundant_above, mixing: see `evals.analysis.responses.quality.flags`.
        judge: judges whether responses are irrelevant; None uses the rules alone.
    Raises:
        ValueError: no runs, no common benchmark, or tables without texts.
    """
    plots = []
    for benchmark in common_benchmarks(subjects, benchmarks):
        tables = tables_of(subjects, benchmark)
        responses = {
            name: response_table(
                table, redundant_above=redundant_above, mixing=mixing, judge=judge, problems=_texts(subjects, benchmark)
            )
            for name, table in tables.items()
        }
        plots += [pass_at_k(tables, benchmark, ks), answer_diversity(tables, benchmark, ks)]
        if any(table["tokens"].notna().any() for table in responses.values()):  # a server may not report it
            plots.append(response_length(responses, benchmark))
        plots.append(response_form(responses, benchmark, redundant_above, judge.name if judge else ""))
    return plots


def _texts(subjects: Sequence[Subject], benchmark: str) -> dict[str, str]:
    """Problem -> its text, of the subjects that hold the problems."""
    return {problem.id: problem.problem for subject in subjects for problem in subject.problems.get(benchmark, ())}


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
        rho: the share of tokens that are forks. minimum: how often a word has to occur (`forks.fork_words`).
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
        pairs: name of a trained run -> (the base model's reading, the run's reading) of the same responses. Tokens are
            likely under the model that sampled them, so the choice of responses biases the changes: the paper takes
            those of the model before the change.
        rho: the share of tokens that are forks, and of those that changed most. read: whose responses, for captions.
    Raises:
        ValueError: no pair, or a pair whose tables have different tokens.
    """
    names = names_of(subjects)
    return [
        fork_kept(names, pairs, benchmark, rho=rho, read=read),
        change_distribution(names, pairs, benchmark, read=read),
        change_concentration(names, pairs, benchmark, share=rho, read=read),
        weighted_update_sizes(names, pairs, benchmark, read=read),
    ]


def plot_training(
    subjects: Sequence[Subject],
    curves: Curves,
    *,
    performance: str | None = None,
    smoothing: float = SMOOTHING,
    marginal: float = 0.5,
) -> list[Plot]:
    """Every figure of training for which the curves have the metrics.

    Args:
        subjects: the runs, the base model first; their order decides how each looks.
        curves: name of the run -> its training curves (`evals.analysis.training.curves.over_seeds`). Runs without (the
            base model) are not shown, and the captions say so.
        performance: the metric for stages and for the comparison with entropy; None takes `fair_performance`.
        smoothing: see `curves.smoothed`. marginal: see `stages.find_stages`.
    Raises:
        ValueError: no run has curves, or curves of an unknown run.
    """
    order = names_of(subjects)
    if strange := set(curves) - set(order):
        raise ValueError(f"curves: expected names among {order}, got {min(strange)!r}")
    if not curves:
        raise ValueError("curves: expected training curves of at least one run, got none")
    performance = performance or fair_performance(curves)
    made: list[tuple[Callable[[], Plot], tuple[str, ...]]] = [
        (lambda: dynamics(order, curves, performance=performance, smoothing=smoothing), (performance,)),
        (lambda: single(order, curves, "train/response_length", smoothing=smoothing), ("train/response_length",)),
        (
            lambda: stages(order, curves, performance=performance, smoothing=smoothing, marginal=marginal),
            (performance, "train/entropy"),
        ),
        (
            lambda: training_entropy_by_outcome(
                order, curves, performance=performance, smoothing=smoothing, marginal=marginal
            ),
            ("train/entropy_negative",),
        ),
        (lambda: entropy_against_reward(order, curves, performance=performance), ("train/entropy", performance)),
        (
            lambda: single(order, curves, "train/zero_variance_groups", smoothing=smoothing),
            ("train/zero_variance_groups",),
        ),
        (lambda: single(order, curves, "train/shaping_ratio", smoothing=smoothing), ("train/shaping_ratio",)),
        (lambda: single(order, curves, "train/step_seconds", smoothing=smoothing), ("train/step_seconds",)),
    ]
    return [plot() for plot, metrics in made if any(len(curve(c, *metrics)[0]) for c in curves.values())]


def dynamics(
    order: Sequence[str], curves: Curves, *, performance: str = "train/reward", smoothing: float = SMOOTHING
) -> Plot:
    """Accuracy or reward, entropy, gradient norm, KL over steps (arXiv 2603.28204, Fig. 4; 2503.22456, Fig. 1, 3)."""
    wanted = (performance, "train/entropy", "train/grad_norm", "train/kl")
    metrics = [m for m in wanted if any(len(curve(c, m)[0]) for c in curves.values())]
    names = [name for name in order if name in curves]
    rows = -(-len(metrics) // 2)

    def render(figure: Any) -> None:
        axes = figure.subplots(rows, 2 if len(metrics) > 1 else 1, squeeze=False).ravel()
        for axis, metric in zip(axes, metrics, strict=False):
            for name in names:
                smoothed_line(axis, curves[name], metric, order.index(name), smoothing)
            step_axis(axis)
            axis.set_ylabel(LABELS[metric])
            fit_lines(axis)
            tidy(axis)
        for axis in axes[len(metrics) :]:
            axis.remove()
        legend_below(figure, line_handles(figure, order, names), names)

    caption = f"{describe_steps(order, curves, metrics)} {describe_smoothing(smoothing, curves)}"
    return Plot(
        "training_dynamics",
        "Training dynamics",
        caption,
        f"{ERPO}, Fig. 4; {EGSW}, Fig. 1 and 3",
        long_table(curves, names, metrics),
        render,
        (1.35 * WIDTH, 2.3 * rows + legend_height(names)),
    )


_SINGLE = {
    "train/response_length": (
        "Length of responses in training",
        f"{EGSW}, Fig. 2 and 4; {ERPO}, Fig. 5c",
        "Mean over the step's responses.",
    ),
    "train/zero_variance_groups": (
        "Prompt groups that teach nothing",
        "",
        "Share of the step's prompt groups whose scored rewards are all equal: their group-relative advantage is 0.",
    ),
    "train/shaping_ratio": (
        "What shaping adds to the advantage",
        f"{ENTROPY_ADVANTAGE}, Fig. 7",
        "Sum over tokens of |shaped - unshaped advantage| over sum of |unshaped advantage|.",
    ),
    "train/step_seconds": (
        "Time of an optimiser step",
        f"{ERPO}, Fig. 5b",
        "Wall time of each step, sampling included; runs may have shared a machine with others.",
    ),
}


def single(order: Sequence[str], curves: Curves, metric: str, *, smoothing: float = SMOOTHING) -> Plot:
    """One metric over steps: response length (arXiv 2503.22456, Fig. 2 and 4; 2603.28204, Fig. 5c), groups without
    variance, or what shaping adds to the advantage (arXiv 2506.14758, Fig. 7).

    Raises:
        ValueError: another metric.
    """
    if metric not in _SINGLE:
        raise ValueError(f"metric: expected one of {', '.join(_SINGLE)}, got {metric!r}")
    title, source, what = _SINGLE[metric]
    names = [name for name in order if name in curves and len(curve(curves[name], metric)[0])]

    def render(figure: Any) -> None:
        axis = figure.subplots()
        for name in names:
            smoothed_line(axis, curves[name], metric, order.index(name), smoothing)
        step_axis(axis)
        axis.set_ylabel(LABELS[metric])
        if metric == "train/zero_variance_groups":
            axis.set_ylim(-0.03, 1.03)
        else:
            axis.set_ylim(0, 1.08 * max(curve(curves[name], metric)[1].max() for name in names))
        tidy(axis)
        legend_below(figure, line_handles(figure, order, names), names)

    caption = f"{what} {describe_steps(order, curves, [metric])} {describe_smoothing(smoothing, curves)}"
    name = f"training_{metric.removeprefix('train/')}"
    size = (WIDTH, HEIGHT - 0.4 + legend_height(names))
    return Plot(name, title, caption, source, long_table(curves, names, [metric]), render, size)
