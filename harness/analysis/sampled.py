"""Opt-in analyses that sample text; cached and resumable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from evals.analysis.subjects import Subject
from evals.analysis.tokens.forks import fork_threshold
from evals.data import prompts
from evals.plots.plot import Plot
from evals.sampling.engines.tools import Tools
from harness.analysis.material import Material, of_benchmark
from harness.analysis.token_cache import content

if TYPE_CHECKING:
    import pandas as pd


def interventions(m: Material) -> list[Plot]:
    """Replaced tokens by entropy, by position and by the response's perplexity, of the first response to each problem;
    and perturbed ones, of correct responses. The model samples the rest of each response again."""
    from evals.analysis.interventions.perturbation import Perturbation, measure_perturbation, plot_perturbation
    from evals.analysis.interventions.replacement import PERPLEXITY, POSITIONS, measure_impact, plot_replacement

    def impact(subject: Subject, b: str, table: pd.DataFrame, **options: Any) -> pd.DataFrame:
        first = table[table["sample"] == table.groupby("problem_id")["sample"].transform("min")]
        return measure_impact(subject, b, first, **options)

    perturbation = Perturbation(sure=m.sure)
    measures: tuple[tuple[str, Callable[..., pd.DataFrame], Callable[..., list[Plot]]], ...] = (
        ("replacement by entropy", impact, plot_replacement),
        ("replacement by position", partial(impact, groups=POSITIONS), partial(plot_replacement, by="position")),
        ("replacement by perplexity", partial(impact, groups=PERPLEXITY), partial(plot_replacement, by="perplexity")),
        (
            f"perturbation, {m.sure:g} correct",
            partial(measure_perturbation, perturbation=perturbation),
            partial(plot_perturbation, perturbation=perturbation),
        ),
    )
    plots: list[Plot] = []
    for b in m.benchmarks:
        for name, measure, plot in measures:
            try:
                frames = {s.name: measure(s, b, table, **m.continuing(s, b, name)) for s, table in m.read_tables(b)}
                plots += of_benchmark(b, plot(frames, benchmark=b))
            except ValueError as error:  # for example, no response qualifies: continue with the other measures
                m.skipped.append(f"{name}, {b}: {error}")
    return plots


def tools(m: Material) -> list[Plot]:
    """pass@k of each run's own responses, and of ones with code that is run: evaluated already, or sampled here."""
    from evals.analysis.interventions.tool_use import plot_tools

    _at_most_four(m)
    plots: list[Plot] = []
    for b in m.benchmarks:
        try:
            with_tools = [_with_tools(m, i, b) for i in range(len(m.models))]
            turns = {one.turns for one in with_tools}
            if len(turns) > 1:
                raise ValueError(f"code blocks that run: expected the same for all runs, got {sorted(turns)}")
            tables = {model.name: (one.without, one.table) for model, one in zip(m.models, with_tools, strict=True)}
            notes = dict.fromkeys(one.note for one in with_tools)
            if len(notes) > 1:
                notes = dict.fromkeys(
                    f"{model.name}: {one.note}" for model, one in zip(m.models, with_tools, strict=True)
                )
            plots += of_benchmark(b, plot_tools(tables, benchmark=b, turns=turns.pop(), note=" ".join(notes)))
        except ValueError as error:
            m.skipped.append(f"tools, {b}: {error}")
    return plots


@dataclass(frozen=True)
class _Pair:
    """A model's verdict tables without and with tools, and how the latter was sampled."""

    without: pd.DataFrame
    table: pd.DataFrame
    turns: int
    note: str


def _with_tools(m: Material, i: int, b: str) -> _Pair:
    """
    Raises:
        ValueError: the responses without tools had some, those with had none, or they are not of the same model and
            problems; or as `measure_tools`.
    """
    from evals.analysis.interventions.tool_use import measure_tools

    model = m.models[i]
    conditions = model.conditions(b)
    if "tools" in conditions["engine"]:
        raise ValueError(f"the responses of {model.name} were sampled with tools; expected ones without")
    _, own = model.sampling(b)
    if m.with_tools:
        other = m.with_tools[i]
        theirs = other.conditions(b)
        if "tools" not in theirs["engine"]:
            raise ValueError(f"with_tools: the responses for {model.name} were sampled without tools")
        for what in ("model", "data"):
            if theirs[what] != conditions[what]:
                raise ValueError(f"with_tools: {model.name}: expected the same {what}, got {theirs[what]}")
        decoding, prompt = other.sampling(b)
        without, table, turns = model.subject.tables[b], other.subject.tables[b], theirs["engine"]["tools"]["turns"]
    else:
        subject = m.readable[i]
        decoding, _ = model.sampling(b)
        prompt = prompts.get(m.tools_prompt or prompts.with_tools(own.name))
        table = measure_tools(
            subject,
            b,
            prompt=prompt,
            decoding=decoding,
            n=m.samples_of(subject, b),
            folder=m.cache / "tools" / content(subject, b) / f"{prompt.name}-{m.turns}-turns",
            tools=Tools(turns=m.turns),
        )
        without, turns = subject.tables[b], m.turns
    put = own.name if prompt.name == own.name else f"{own.name} without tools, {prompt.name} with them"
    note = (
        f"Prompt: {put}. With tools temperature {decoding.temperature:g}, top-p "
        f"{decoding.top_p:g}, {decoding.max_tokens} tokens, the outputs of the code among them."
    )
    return _Pair(without, table, turns, note)


def fork_temperature(m: Material) -> list[Plot]:
    """Score by the temperature at forks and by that elsewhere, of newly sampled responses."""
    from evals.analysis.interventions.fork_temperature import (
        around,
        measure_fork_temperatures,
        plot_fork_temperatures,
    )

    _at_most_four(m)
    plots: list[Plot] = []
    for b in m.benchmarks:
        try:
            frames = {}
            for s, table in m.read_tables(b):
                decoding, prompt = m.model_of(s).sampling(b)
                frames[s.name] = measure_fork_temperatures(
                    s,
                    b,
                    around(m.temperatures),
                    threshold=fork_threshold(table["entropy"]),
                    top_p=1.0,
                    max_tokens=decoding.max_tokens,
                    n=m.samples_of(s, b),
                    folder=m.cache / "fork-temperature" / content(s, b),
                    policy=prompt.policy,
                )
            plots += of_benchmark(b, plot_fork_temperatures(frames, benchmark=b))
        except ValueError as error:
            m.skipped.append(f"fork_temperature, {b}: {error}")
    return plots


def _at_most_four(m: Material) -> None:
    """Raise before sampling: a figure with a panel a run has room for four."""
    if len(m.models) > 4:
        raise ValueError(f"a panel a run, at most four runs; got {len(m.models)}")
