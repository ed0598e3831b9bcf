"""The figures of arXiv 2506.01939, for runs of one's own (`rlvr analyze`)."""

from __future__ import annotations

from evals.plots.plot import Plot
from harness.analysis.families import Family
from harness.analysis.material import Material


def forks(m: Material, benchmark: str) -> list[Plot]:
    """Fig. 2b and 2c, and the overlap of forks before and after training."""
    from reproductions.forking_tokens.figures.forks import fork_kept, fork_words

    pairs = m.readings(benchmark)
    return [*fork_words(m.names, m.tokens(benchmark)), *([fork_kept(m.names, pairs)] if pairs else [])]


FAMILIES = {
    "tokens": Family("Tokens", of_benchmark=(forks,)),
}
