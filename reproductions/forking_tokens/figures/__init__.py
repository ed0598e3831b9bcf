"""The figures of arXiv 2506.01939, for runs of one's own (`rlvr analyze`)."""

from __future__ import annotations

from dataclasses import replace

from evals.analysis.forks import fork_threshold
from evals.plots.plot import Plot
from harness.analysis.families import Family
from harness.analysis.material import Material


def forks(m: Material, benchmark: str) -> list[Plot]:
    """Fig. 2b and 2c, and the overlap of forks before and after training."""
    from reproductions.forking_tokens.figures.forks import fork_kept, fork_words

    pairs = m.readings(benchmark)
    return [*fork_words(m.names, m.tokens(benchmark)), *([fork_kept(m.names, pairs)] if pairs else [])]


def fork_temperature(m: Material, benchmark: str) -> list[Plot]:
    """Score by the temperature at forks and by that elsewhere, of newly sampled responses (section 3)."""
    from reproductions.forking_tokens.figures.fork_temperature import (
        around,
        measure_fork_temperatures,
        plot_fork_temperatures,
    )

    frames = {}
    for subject, table in m.read_tables(benchmark):
        sampling = m.sampling(subject, benchmark, "fork temperature")
        at_reference = replace(sampling, decoding=replace(sampling.decoding, top_p=1.0))
        threshold = fork_threshold(table["entropy"])
        frames[subject.name] = measure_fork_temperatures(
            subject, benchmark, around(m.temperatures), at_reference, threshold=threshold
        )
    return [plot_fork_temperatures(frames, m.names)]


FAMILIES = {
    "tokens": Family("Tokens", of_benchmark=(forks,)),
    "fork_temperature": Family("Temperature at forks", of_benchmark=(fork_temperature,), by_name=True),
}
