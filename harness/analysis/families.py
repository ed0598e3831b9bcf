"""Which analyses there are: each family of figures, and what its figures are drawn from."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals import prompts
from evals.analysis.drawing import Drawing
from evals.analysis.fork_temperature import TEMPERATURES
from evals.analysis.subjects import Subject
from evals.engines.tools import Tools
from harness.analysis.runs import Analysed
from harness.analysis.token_cache import content, token_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Material:
    """What figures are drawn from: the models in their order (the base model first) and the benchmarks looked at."""

    models: Sequence[Analysed]
    benchmarks: Sequence[str]
    cache: Path  # of what takes long: token tables, interventions
    embedder: str = "ngrams"  # see `evals.analysis.embedders.load_embedder`
    continuations: int = 8  # of each changed response, in interventions
    sure: float = 1.0  # share of right samples that makes a problem one whose responses are perturbed
    samples: int | None = None  # to a problem, in tools and fork_temperature; None: as many as the responses have
    turns: int = Tools().turns  # code blocks of a response that run, in tools
    tools_prompt: str | None = None  # None: the one that asks for code in place of the run's (`prompts.with_tools`)
    temperatures: Sequence[float] = TEMPERATURES  # at forks and elsewhere, in fork_temperature
    left_out: list[str] = field(default_factory=list)  # parts of a family that could not be drawn, and why

    @property
    def subjects(self) -> list[Subject]:
        """Each model with all its training seeds, on the benchmarks looked at."""
        return [replace(m.subject, tables={b: m.subject.tables[b] for b in self.benchmarks}) for m in self.models]

    @property
    def readable(self) -> list[Subject]:
        """Each model's first training seed, with model and prompts.

        Raises:
            ValueError: a model cannot be read.
        """
        found = []
        for m in self.models:
            if m.readable is None:
                raise ValueError(m.unread)
            found.append(replace(m.readable, tables={b: m.readable.tables[b] for b in self.benchmarks}))
        return found

    def tokens(self, benchmark: str) -> dict[str, pd.DataFrame]:
        """Name -> token table of a benchmark, each model reading its own responses; kept on disk."""
        return {s.name: token_table(s, benchmark, self.cache / "tokens") for s in self.readable}

    def readings(self, benchmark: str) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
        """Name of each model but the first -> (the first model's reading, its own) of the first model's responses.

        Raises:
            ValueError: a model cannot be read, or has another tokenizer.
        """
        first, *others = self.readable
        folder = self.cache / "tokens"
        before = token_table(first, benchmark, folder)
        return {s.name: (before, token_table(first, benchmark, folder, reader=s.model_path)) for s in others}

    def over_steps(self, benchmark: str) -> dict[str, dict[int, pd.DataFrame]]:
        """Name of each trained model -> optimiser step -> the reading of the first model's responses by the model of
        that step: the first model's own at 0, kept checkpoints, the trained model's at the end.

        Raises:
            ValueError: no run has kept a checkpoint between; or as `readings`.
        """
        folder = self.cache / "tokens"
        between = {m.name: m.sources[0].checkpoints for m in self.models[1:] if m.sources[0].checkpoints}
        if not between:
            raise ValueError(
                "no run's folder holds a checkpoint between the first model and the trained one (hardware.save_every; "
                "the trainer keeps the last two), and a slope over steps needs three"
            )
        found = {}
        for m in self.models[1:]:
            curves = m.sources[0].curves
            if m.name in between and curves is not None:
                before, after = self.readings(benchmark)[m.name]
                read = {
                    step: token_table(self.readable[0], benchmark, folder, reader=path)
                    for step, path in between[m.name].items()
                }
                found[m.name] = {0: before, **read, int(curves["step"].max()): after}
        return found

    def read_tables(self, benchmark: str) -> list[tuple[Subject, pd.DataFrame]]:
        """Each model and its token table."""
        return list(zip(self.readable, self.tokens(benchmark).values(), strict=True))

    def continuing(self, subject: Subject, benchmark: str, measure: str) -> dict[str, Any]:
        """How the beginnings of a model's responses are continued: as the responses were drawn. Each measure has its
        folder.

        Raises:
            ValueError: nothing says how they were.
        """
        decoding, prompt = self.model_of(subject).sampling(benchmark)
        folder = self.cache / "interventions" / content(subject, benchmark) / measure.replace(" ", "_")
        return {"decoding": decoding, "policy": prompt.policy, "k": self.continuations, "folder": folder}

    def model_of(self, subject: Subject) -> Analysed:
        """The model that a subject is of."""
        return next(m for m in self.models if m.name == subject.name)

    def samples_of(self, subject: Subject, benchmark: str) -> int:
        """How many responses to draw to each problem: `samples`, or as many as each has."""
        return self.samples or int(subject.tables[benchmark].groupby("problem_id").size().min())

    def curves(self) -> dict[str, pd.DataFrame]:
        """Name -> training curves, of the models that have some."""
        found = ((m.name, m.curves) for m in self.models)
        return {name: frame for name, frame in found if frame is not None}


@dataclass(frozen=True)
class Family:
    """`draw` makes the figures; it raises ValueError where the material does not allow them. `by_name`: it generates
    text with the models, so that it runs only when it is asked for."""

    title: str
    draw: Callable[[Material], list[Drawing]]
    by_name: bool = False


def verdicts(m: Material) -> list[Drawing]:
    from evals.analysis.figures.verdicts import draw_verdicts

    return draw_verdicts(m.subjects, benchmarks=m.benchmarks)


def unsolvable(m: Material) -> list[Drawing]:
    from evals.analysis.figures.unsolvable import draw_unsolvable

    return draw_unsolvable(m.subjects, benchmarks=m.benchmarks)


def training(m: Material) -> list[Drawing]:
    from evals.analysis.figures.training import draw_training

    curves = m.curves()
    if not curves:
        raise ValueError("none of the runs holds training curves")
    return draw_training(m.subjects, curves)


def tokens(m: Material) -> list[Drawing]:
    from evals.analysis.figures.drops import entropy_drops
    from evals.analysis.figures.tokens import draw_token_changes, draw_tokens

    drawings: list[Drawing] = []
    for b in m.benchmarks:
        drawn = draw_tokens(m.readable, m.tokens(b), benchmark=b)
        if pairs := m.readings(b):
            read = f"the responses of {m.models[0].name}"
            drawn += draw_token_changes(m.readable, pairs, benchmark=b, read=read)
            try:
                drawn.append(entropy_drops([s.name for s in m.readable], m.over_steps(b), b, read=read))
            except ValueError as error:
                m.left_out.append(f"tokens of fastest entropy drop (arXiv 2508.07534, Fig. 3c), {b}: {error}")
        drawings += _of(b, drawn)
    return drawings


def words(m: Material) -> list[Drawing]:
    import numpy as np

    from evals.analysis.embedders import Remembered, load_embedder
    from evals.analysis.figures.words import draw_words

    embedder = Remembered(load_embedder(m.embedder))  # the base model's sentences are asked for by every run
    drawings: list[Drawing] = []
    for b in m.benchmarks:
        changes = {
            name: (before, np.exp(after["logp"]) - np.exp(before["logp"]))
            for name, (before, after) in m.readings(b).items()
        }
        drawings += _of(b, draw_words(m.readable, m.tokens(b), benchmark=b, changes=changes, embedder=embedder))
    return drawings


def interventions(m: Material) -> list[Drawing]:
    """Replaced tokens by entropy, by position and by the response's perplexity, of the first response to each problem;
    and perturbed ones, of right responses. The rest of a response is written anew."""
    from evals.analysis.figures.interventions import draw_perturbation, draw_replacement
    from evals.analysis.perturbation import Perturbation, measure_perturbation
    from evals.analysis.replacement import PERPLEXITY, POSITIONS, measure_impact

    def impact(subject: Subject, b: str, table: pd.DataFrame, **options: Any) -> pd.DataFrame:
        first = table[table["sample"] == table.groupby("problem_id")["sample"].transform("min")]
        return measure_impact(subject, b, first, **options)

    perturbation = Perturbation(sure=m.sure)
    measures: tuple[tuple[str, Callable[..., pd.DataFrame], Callable[..., list[Drawing]]], ...] = (
        ("replacement by entropy", impact, draw_replacement),
        ("replacement by position", partial(impact, groups=POSITIONS), partial(draw_replacement, by="position")),
        ("replacement by perplexity", partial(impact, groups=PERPLEXITY), partial(draw_replacement, by="perplexity")),
        (
            f"perturbation, {m.sure:g} right",
            partial(measure_perturbation, perturbation=perturbation),
            partial(draw_perturbation, perturbation=perturbation),
        ),
    )
    drawings: list[Drawing] = []
    for b in m.benchmarks:
        for name, measure, drawn in measures:
            try:
                frames = {s.name: measure(s, b, table, **m.continuing(s, b, name)) for s, table in m.read_tables(b)}
                drawings += _of(b, drawn(frames, benchmark=b))
            except ValueError as error:  # no response that it asks for, say: the other measures go on
                m.left_out.append(f"{name}, {b}: {error}")
    return drawings


def tools(m: Material) -> list[Drawing]:
    """pass@k of each run's own responses, and of ones drawn anew with code that is run."""
    from evals.analysis.figures.interventions import draw_tools
    from evals.analysis.tool_use import measure_tools

    _at_most_four(m)
    asks = Tools(turns=m.turns)
    drawings: list[Drawing] = []
    for b in m.benchmarks:
        try:
            tables, notes = {}, {}
            for s in m.readable:
                conditions = m.model_of(s).conditions(b)
                decoding, own = m.model_of(s).sampling(b)
                if "tools" in conditions["engine"]:
                    raise ValueError(f"the responses of {s.name} were drawn with tools; expected ones without")
                prompt = prompts.get(m.tools_prompt or prompts.with_tools(own.name))
                n, folder = m.samples_of(s, b), m.cache / "tools" / content(s, b) / f"{prompt.name}-{m.turns}-turns"
                with_tools = measure_tools(s, b, prompt=prompt, decoding=decoding, n=n, folder=folder, tools=asks)
                tables[s.name] = (s.tables[b], with_tools)
                notes[s.name] = (
                    f"Prompt {own.name} without tools, {prompt.name} with; temperature {decoding.temperature:g}, top-p "
                    f"{decoding.top_p:g}, {decoding.max_tokens} tokens, the outputs of the code among them."
                )
            same = len(set(notes.values())) == 1
            note = next(iter(notes.values())) if same else " ".join(f"{name}: {text}" for name, text in notes.items())
            drawings += _of(b, draw_tools(tables, benchmark=b, turns=m.turns, note=note))
        except ValueError as error:
            m.left_out.append(f"tools, {b}: {error}")
    return drawings


def fork_temperature(m: Material) -> list[Drawing]:
    """Score by the temperature at forks and by that elsewhere, of responses drawn anew."""
    from evals.analysis.figures.interventions import draw_fork_temperatures
    from evals.analysis.fork_temperature import around, measure_fork_temperatures, threshold

    _at_most_four(m)
    drawings: list[Drawing] = []
    for b in m.benchmarks:
        try:
            frames = {}
            for s, table in m.read_tables(b):
                decoding, prompt = m.model_of(s).sampling(b)
                frames[s.name] = measure_fork_temperatures(
                    s,
                    b,
                    around(m.temperatures),
                    threshold=threshold(table),
                    top_p=1.0,
                    max_tokens=decoding.max_tokens,
                    n=m.samples_of(s, b),
                    folder=m.cache / "fork-temperature" / content(s, b),
                    policy=prompt.policy,
                )
            drawings += _of(b, draw_fork_temperatures(frames, benchmark=b))
        except ValueError as error:
            m.left_out.append(f"fork_temperature, {b}: {error}")
    return drawings


def _at_most_four(m: Material) -> None:
    """Before anything is sampled: what draws a panel a run has room for four."""
    if len(m.models) > 4:
        raise ValueError(f"a panel a run, at most four runs; got {len(m.models)}")


FAMILIES: Mapping[str, Family] = {
    "verdicts": Family("Right, wrong and how they are put", verdicts),
    "unsolvable": Family("Unsolvable problems", unsolvable),
    "training": Family("Training", training),
    "tokens": Family("Tokens", tokens),
    "words": Family("Words", words),
    "interventions": Family("Interventions", interventions, by_name=True),
    "tools": Family("Code that is run", tools, by_name=True),
    "fork_temperature": Family("Temperature at forks and elsewhere", fork_temperature, by_name=True),
}


def _of(benchmark: str, drawings: Sequence[Drawing]) -> list[Drawing]:
    """Drawings of one benchmark, named and titled so."""
    return [
        replace(
            d,
            name=d.name if d.name.endswith(benchmark) else f"{d.name}_{benchmark}",
            title=d.title if benchmark in d.title else f"{d.title}, {benchmark}",
        )
        for d in drawings
    ]


def draw_all(material: Material, only: Sequence[str] | None) -> tuple[dict[str, list[Drawing]], list[str]]:
    """(family -> its figures, what could not be drawn and why). None takes all but those that run by name only.

    Raises:
        ValueError: two figures of one name.
    """
    wanted = only if only is not None else [key for key, family in FAMILIES.items() if not family.by_name]
    found: dict[str, list[Drawing]] = {}
    left_out = []
    for key in wanted:
        print(f"{key}: {FAMILIES[key].title.lower()}", file=sys.stderr, flush=True)
        try:
            found[key] = FAMILIES[key].draw(material)
        except ValueError as error:
            left_out.append(f"{key}: {error}")
            print(f"    left out: {error}", file=sys.stderr, flush=True)
    for text in material.left_out:
        print(f"    left out: {text}", file=sys.stderr, flush=True)
    left_out += material.left_out
    twice = [name for name, n in Counter(d.name for drawings in found.values() for d in drawings).items() if n > 1]
    if twice:
        raise ValueError(f"figures: two are called {twice[0]!r}")
    return found, left_out
