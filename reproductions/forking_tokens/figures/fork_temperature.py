"""Sample with one temperature at forking tokens and another elsewhere (arXiv 2506.01939, section 3).

    sampling = Sampling(Decoding(1.0, 1.0, 8192), n=16, folder=Path("out"))
    frame = measure_fork_temperatures(subject, "aime24", [(1.0, 1.0), (1.5, 1.0), (1.0, 1.5)], sampling,
                                      threshold=fork_threshold(tokens["entropy"]))
    scores(frame)

A position is a fork if the entropy of the model's distribution, at temperature 1 and over the full vocabulary, is at
least the threshold (`evals.analysis.forks.fork_threshold`). The paper's threshold is the 80th percentile of the
entropies of its own responses, 0.672 nats for its Qwen3-8B (*page*: our text of the paper lacks the section); it
differs between models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evals.analysis import FORKING_TOKENS
from evals.analysis.interventions import Prefix, Sampling, measure, need_model
from evals.analysis.quantities import entropy
from evals.analysis.subjects import Subject
from evals.plots.figures import band_lines
from evals.plots.parts import span
from evals.plots.plot import Plot
from evals.sampling.engines.base import Decoding
from evals.sampling.engines.transformers import TransformersEngine, choose
from evals.stats.score import score

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

REFERENCE = (1.0, 1.0)  # (at forks, elsewhere): the fixed temperatures
TEMPERATURES = (0.5, 1.0, 1.5)  # ours: the default variations


def around(temperatures: Sequence[float]) -> list[tuple[float, float]]:
    """The reference, then each temperature at forks alone, then each elsewhere alone."""
    varied = [t for t in dict.fromkeys(temperatures) if t != REFERENCE[0]]
    return [REFERENCE, *((t, REFERENCE[1]) for t in varied), *((REFERENCE[0], t) for t in varied)]


def choose_at_forks(
    logits: Tensor, uniform: Tensor, decoding: Decoding, *, fork_temperature: float, threshold: float
) -> Tensor:
    """The token of each row: at the fork temperature where its entropy is >= threshold, else at decoding's.

    Args:
        logits: [R, V]. uniform: [R] (see `evals.sampling.engines.transformers.choose`). decoding: top_p holds for both.
    Returns:
        token ids [R].
    """
    forks = entropy(logits.float().log_softmax(-1)) >= threshold
    at_forks = Decoding(fork_temperature, decoding.top_p, decoding.max_tokens)
    # compute both for every row: a row's token then equals exactly that of an engine with this temperature
    return choose(logits, uniform, at_forks).where(forks, choose(logits, uniform, decoding))


class ForkTemperatureEngine(TransformersEngine):
    """The transformers engine with a separate temperature at forks; elsewhere it uses the decoding's temperature.

    Args:
        fork_temperature: >= 0; 0 takes the most probable token. May be changed between runs.
        threshold: nats, >= 0.
        options: of `TransformersEngine`.
    Raises:
        ValueError: a value out of range.
    """

    def __init__(self, model_path: str, *, fork_temperature: float, threshold: float, **options: Any) -> None:
        super().__init__(model_path, **options)
        for name, value in (("fork_temperature", fork_temperature), ("threshold", threshold)):
            if not 0 <= value < float("inf"):
                raise ValueError(f"{name}={value}, expected a number >= 0")
        self.fork_temperature, self.threshold = fork_temperature, threshold

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "fork_temperature": self.fork_temperature, "fork_threshold": self.threshold}

    def pick(self, logits: Tensor, uniform: Tensor, decoding: Decoding) -> Tensor:
        return choose_at_forks(
            logits, uniform, decoding, fork_temperature=self.fork_temperature, threshold=self.threshold
        )


def measure_fork_temperatures(
    subject: Subject,
    benchmark: str,
    temperatures: Sequence[tuple[float, float]],
    sampling: Sampling,
    *,
    threshold: float,
    **options: Any,
) -> pd.DataFrame:
    """Samples at each pair of temperatures, graded. Equal temperatures give the samples of an ordinary evaluation with
    the same seed, and all pairs share each sample's stream of random numbers.

    Args:
        temperatures: (at forks, elsewhere). threshold: nats.
        sampling: its temperature and its engine are not used; its folder gets a subfolder for each pair.
        options: of `TransformersEngine`.
    Returns:
        the verdict tables of all pairs, with the columns fork_temperature, other_temperature and threshold.
    Raises:
        ValueError: no pair, or a duplicate pair; or as `measure`.
    """
    import pandas as pd

    if not temperatures or len(set(temperatures)) != len(temperatures):
        raise ValueError(f"temperatures={list(temperatures)}, expected one pair or more, each once")
    engine = ForkTemperatureEngine(need_model(subject), fork_temperature=1.0, threshold=threshold, **options)
    prefixes = [
        Prefix(problem, problem) for problem in dict.fromkeys(map(str, subject.tables[benchmark]["problem_id"]))
    ]
    tables = []
    for fork, other in temperatures:
        engine.fork_temperature = fork
        at_pair = replace(
            sampling,
            decoding=replace(sampling.decoding, temperature=other),
            folder=sampling.folder / f"fork-{fork:g}-other-{other:g}",
            engine=engine,
        )
        table = measure(subject, benchmark, prefixes, at_pair)
        tables.append(table.assign(fork_temperature=fork, other_temperature=other, threshold=threshold))
    return pd.concat(tables, ignore_index=True)


def scores(frame: pd.DataFrame) -> pd.DataFrame:
    """avg@n of each pair of temperatures with its 95 % interval over problems.

    Args:
        frame: as `measure_fork_temperatures` returns it.
    Returns:
        fork_temperature, other_temperature; mean, low, high, mean_tokens (NaN where unknown); problems, samples,
        unscored.
    """
    import pandas as pd

    collected = []
    for (fork, other), rows in frame.groupby(["fork_temperature", "other_temperature"], sort=False):
        average, length = score(rows, ks=(), metrics=("avg", "mean_tokens"))
        low, high = (average.interval.low, average.interval.high) if average.interval else (None, None)
        counts = {"problems": average.problems, "samples": average.samples, "unscored": average.unscored}
        values = {"mean": average.value, "low": low, "high": high, "mean_tokens": length.value}
        collected.append({"fork_temperature": fork, "other_temperature": other, **values, **counts})
    return pd.DataFrame(collected).astype(dict.fromkeys(("mean", "low", "high", "mean_tokens"), float))


def plot_fork_temperatures(frames: Mapping[str, pd.DataFrame], names: Sequence[str]) -> Plot:
    """Score against the temperature at forks, and against the temperature elsewhere, the other one fixed (arXiv
    2506.01939, section 3).

    Args:
        frames: run -> `measure_fork_temperatures`' frame. names: all runs.
    """
    import pandas as pd

    numbers = pd.concat([scores(frame).assign(model=run) for run, frame in frames.items()], ignore_index=True)
    numbers[["mean", "low", "high"]] *= 100
    panels = {
        "fork_temperature": f"at forks, elsewhere {REFERENCE[1]:g}",
        "other_temperature": f"elsewhere, at forks {REFERENCE[0]:g}",
    }
    parts = [
        numbers[numbers[fixed] == REFERENCE[0]].assign(panel=varied, temperature=numbers[varied])
        for varied, fixed in zip(panels, reversed(panels), strict=True)
    ]
    thresholds = "; ".join(f"{frame['threshold'].iloc[0]:.3f} nats ({run})" for run, frame in frames.items())
    caption = (
        f"{span(numbers['problems'])} problems, {span(numbers['samples'] / numbers['problems'])} samples a problem. "
        "Accuracy: mean over problems, 95 % intervals over problems. A fork is a position whose entropy at temperature "
        f"1 is at or above {thresholds}. All points of a run share each sample's random numbers."
    )
    if unscored := int(numbers["unscored"].sum()):
        caption += f" {unscored} responses that could not be scored are excluded."
    return band_lines(
        "fork_temperature",
        "Accuracy by the temperature at forks and elsewhere",
        caption,
        f"{FORKING_TOKENS}, section 3",
        pd.concat(parts, ignore_index=True),
        names,
        x="temperature",
        xlabel="temperature",
        panels=panels,
        ylabel="accuracy (%)",
        limits=(0.0, 100.0),
    )
