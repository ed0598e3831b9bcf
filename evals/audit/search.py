"""The search for what has the printed digits: all compositions within a budget, and how much chance explains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evals.audit.composition import (
    ENDS,
    MOST_BITS,
    MOST_STEPS,
    STEP,
    TABLE,
    Choice,
    Composition,
    Grammar,
    compositions,
)
from evals.audit.evidence import Evidence, Vector
from evals.audit.grammar import grammar_of
from evals.audit.printed import Printed
from evals.audit.tables import Scores, scores_of

MOST_TABLES = 1000  # tables of scores, in the order of their cost
MOST_NUMBERS = 30_000  # in the order of their cost
USUAL = 1.0  # bits: the file's own score, and its best checkpoint, seed or recipe, are asked about by name
BY_CHANCE = 0.05  # the chance to find a foreign number. Above it, a match says nothing.
AROUND = 0.03, 0.15  # foreign numbers are as likely anywhere so near to the printed one: as near as has
CELLS = 150  # numbers with as many digits
OTHER_ROUNDING = Choice("rounding", "other", bits=3, words="not rounded to nearest")
IN_PERCENT = Choice("rounding", "percent", bits=2, words="whose values the file gives in percent")
NEAREST = 3  # numbers that are named where none has the digits


@dataclass(frozen=True, eq=False)
class Match:
    """The result of a search.

    Attributes:
        printed: the number, as it is meant (in percent or as a share).
        matches: the compositions with its digits, the simplest first. values: of each, as shares.
        tried: distinct numbers. as_simple: those of at most the first match's cost.
        chance: of a number of no relation to the files to be one of them.
        nearest: the next numbers, with what they are, where nothing matches.
        row: of `Evidence.scores`, whose samples the first match rests on.
        coarse: the resolution of the file's scores, if the first match has the digits only within it, else 0.
    """

    printed: Printed
    matches: tuple[Composition, ...]
    values: tuple[float, ...]
    tried: int
    as_simple: int
    chance: float
    nearest: tuple[tuple[float, str], ...]
    row: int
    coarse: float = 0.0

    @property
    def first(self) -> Composition | None:
        """The simplest composition with the digits."""
        return self.matches[0] if self.matches else None

    @property
    def bits(self) -> float:
        """The cost of the simplest one, 0 without any."""
        return self.matches[0].bits if self.matches else 0.0

    @property
    def explained(self) -> bool:
        """Whether the digits are found, and a foreign number's would hardly be. A match within the rounding of the file
        needs this also of the usual scores: 0.5 alone has every number from 45 to 55."""
        usual = self.first is not None and self.first.bits <= USUAL and not self.coarse
        return self.first is not None and (usual or self.chance <= BY_CHANCE)


@dataclass(frozen=True)
class Tried:
    """Compositions and their values, the simplest first."""

    compositions: Sequence[Composition]
    values: Vector
    bits: Vector


def search(printed: Printed, evidence: Evidence, base: Evidence | None = None) -> Match:
    """Try all compositions of the files, as a percentage, and as a share where the number may be one."""
    return search_in(tried_of(evidence, printed, base), printed, evidence)


def search_in(tried: Tried, printed: Printed, evidence: Evidence) -> Match:
    """`search` in the numbers of files, which are the same for every printed number with one k."""
    printed_readings = [
        printed,
        *([replace(printed, share=True)] if not printed.share and printed.may_be_share else []),
    ]
    every = [_search_one(printed_reading, evidence, tried) for printed_reading in printed_readings]
    # not matched, by chance, too long: in this order the next reading of the number is better
    return min(every, key=lambda result: (not result.matches, not result.explained, result.bits))


def tried_of(evidence: Evidence, printed: Printed, base: Evidence | None) -> Tried:
    """Every composition within the budget, and its value."""
    grammar = grammar_of(evidence, printed, base)
    candidates = sorted(_numbers(evidence, printed.k, base, grammar), key=lambda candidate: candidate[0])[:MOST_NUMBERS]
    compositions_tried = [Composition(choices) for _, choices, _ in candidates]
    return Tried(
        compositions_tried, np.array([value for *_, value in candidates]), np.array([bits for bits, *_ in candidates])
    )


def _numbers(
    evidence: Evidence, k: int, base: Evidence | None, grammar: Grammar
) -> Iterator[tuple[float, tuple[Choice, ...], float]]:
    """(bits, choices, value), as shares in [0, 1], but for rounding."""
    scores, before = scores_of(evidence, k), None if base is None else scores_of(base, k)
    base_score = _of_base(before, Composition())
    dimensions = [dimension for dimension in ENDS if dimension != "rounding"]
    ends = [
        (
            end.bits + STEP * bool(end.choices),
            end.choices,
            end.chose("checkpoint"),
            end.chose("seeds"),
            end.chose("against"),
        )
        for end in compositions(grammar, dimensions)
    ]
    for start in compositions(grammar, TABLE)[:MOST_TABLES]:
        table = scores.table(start)
        if np.isnan(table).all():
            continue
        of_base = base_score if not start.choices else _of_base(before, start)
        first = start.bits if start.choices else -STEP
        reduced: dict[tuple[Choice, Choice], float] = {}
        for more, choices, checkpoint, seeds, against in ends:
            bits = max(first + more, 0.0)
            if bits > MOST_BITS or len(start.choices) + len(choices) > MOST_STEPS:
                continue
            way = checkpoint, seeds
            if way not in reduced:
                reduced[way] = one_number(table, checkpoint, seeds, evidence)
            value = _against(reduced[way], against, of_base)
            if -1e-9 <= value <= 1 + 1e-9:
                yield bits, (*start.choices, *choices), value


def _of_base(scores: Scores | None, start: Composition) -> float:
    """The base model's number of the same table, at its last checkpoint, or NaN without one."""
    if scores is None:
        return np.nan
    try:
        table = scores.table(start)
    except KeyError:  # it lacks the column or the metric
        return np.nan
    return one_number(table, Choice("checkpoint"), Choice("seeds"), None)


def one_number(table: Vector, checkpoint: Choice, seeds: Choice, evidence: Evidence | None) -> float:
    """The number that a table of scores gives.

    Args:
        table: [G, S, C]. Groups have the same weight. evidence: whose overwritten points and recipes may be chosen.
    """
    if checkpoint.what == "overwritten" and evidence is not None and evidence.overwritten is not None:
        return float(evidence.overwritten["value"].iloc[int(checkpoint.argument)])
    together = table.mean(axis=0)
    if evidence is not None and evidence.recipes:
        return float(together[0, int(checkpoint.argument)] if checkpoint.what else np.nanmax(together[0]))
    if checkpoint.what == "largest":
        return float(np.nanmax(together)) if not np.isnan(together).all() else np.nan
    if checkpoint.what == "together":
        means = together.mean(axis=0)
        return float(np.nanmax(means)) if not np.isnan(means).all() else np.nan
    if checkpoint.what == "own best":
        of_seeds = np.array([np.mean([_at(row, checkpoint) for row in rows]) for rows in table.swapaxes(0, 1)])
    else:
        of_seeds = np.array([_at(row, checkpoint) for row in together])
    return _over_seeds(of_seeds, seeds)


def _at(curve: Vector, checkpoint: Choice) -> float:
    """One seed's number of its scores by checkpoint: [C], NaN where it has none."""
    if checkpoint.what == "at":
        return float(curve[int(checkpoint.argument)])
    values = curve[~np.isnan(curve)]
    if not len(values):
        return np.nan
    if checkpoint.what in ("best", "own best"):
        return float(values.max())
    if checkpoint.what == "mean":
        return float(values[-int(checkpoint.argument) :].mean())
    if checkpoint.what == "smoothed":
        return smoothed(values, float(checkpoint.argument), from_first=bool(checkpoint.value))
    return float(values[-1])


def smoothed(values: Vector, weight: float, *, from_first: bool) -> float:
    """The last value of a curve as trackers smooth it: s <- weight s + (1 - weight) value, from 0 and divided by
    1 - weight^n (TensorBoard's), or from the first value."""
    of_each = weight ** np.arange(len(values))[::-1]
    if from_first:
        return float(of_each[0] * values[0] + (1 - weight) * of_each[1:] @ values[1:])
    return float((1 - weight) * of_each @ values / (1 - weight ** len(values)))


def _over_seeds(of_seeds: Vector, seeds: Choice) -> float:
    if seeds.what == "one":
        return float(of_seeds[int(seeds.argument)])
    if seeds.what == "without":
        return float(np.delete(of_seeds, int(seeds.argument)).mean())
    if np.isnan(of_seeds).any():  # a checkpoint that not every seed has
        return np.nan
    if seeds.what == "trimmed":
        most = int(seeds.argument)
        return float(np.sort(of_seeds)[most : len(of_seeds) - most].mean())
    if seeds.what == "median":
        return float(np.median(of_seeds))
    return float({"best": of_seeds.max(), "worst": of_seeds.min()}.get(seeds.what, of_seeds.mean()))


def _against(value: float, against: Choice, base: float) -> float:
    if against.what == "gain":
        return value - base
    if against.what == "base":
        return base
    if against.what == "relative":
        return value / base - 1 if base > 0 else np.nan
    if against.what == "fewer errors":
        return (value - base) / (1 - base) if base < 1 else np.nan
    return 1 - value if against.what == "error" else value


def _search_one(printed: Printed, evidence: Evidence, tried: Tried) -> Match:
    """The compositions with the digits, and the chance of others' digits to be found so simply."""
    hits = _hits(printed, evidence, tried)
    if not hits:
        return _nothing(printed, tried, evidence)
    matches = [
        (replace(entry, choices=(*entry.choices, *more)), tried.values[i], coarse) for i, entry, more, coarse in hits
    ]
    matches.sort(key=lambda entry: (entry[0].bits, entry[2]))
    first, _, coarse = matches[0]
    if first.choices and first.choices[-1] == IN_PERCENT:  # then all numbers of the curve are
        evidence = replace(evidence, resolution=evidence.resolution / 100)
        tried = Tried(tried.compositions, tried.values / 100, tried.bits + IN_PERCENT.bits)
    simple = np.unique(np.round(tried.values[tried.bits <= first.bits + 1e-9], 9))
    return Match(
        printed,
        tuple(composition for composition, *_ in matches),
        tuple(float(value) for _, value, _ in matches),
        len(np.unique(np.round(tried.values, 9))),
        len(simple),
        chance(printed, evidence, tried, first.bits),
        (),
        _row(evidence, first),
        evidence.resolution if coarse else 0.0,
    )


def _hits(
    printed: Printed, evidence: Evidence, tried: Tried
) -> list[tuple[int, Composition, tuple[Choice, ...], bool]]:
    """(position, composition, what its rounding adds, whether it agrees only because the file has fewer digits) of
    those with the digits."""
    apart = np.abs(tried.values - printed.value)
    known = evidence.resolution
    near = apart <= (printed.unit + known) / 2 + (-1e-9 if known else 1e-9)
    other_rounding = ~near & (apart < printed.unit - 1e-9)
    ways: list[tuple[NDArray[np.bool_], tuple[Choice, ...], NDArray[np.bool_]]] = [
        (near, (), (apart > printed.unit / 2 + 1e-9) & (known > printed.unit)),
        (other_rounding, (OTHER_ROUNDING,), other_rounding & False),
    ]
    if in_percent(evidence):
        apart = np.abs(tried.values / 100 - printed.value)
        small = apart <= (printed.unit + known / 100) / 2 + 1e-12
        ways.append((small, (IN_PERCENT,), (apart > printed.unit / 2 + 1e-12) & (known / 100 > printed.unit + 1e-12)))
    return [
        (i, tried.compositions[i], more, bool(coarse[i]))
        for mask, more, coarse in ways
        for i in np.flatnonzero(mask).tolist()
        if len(tried.compositions[i].choices) + len(more) <= MOST_STEPS
    ]


def in_percent(evidence: Evidence) -> bool:
    """Whether a curve that was read as shares may be one in percent, all of it at most 1 %."""
    return evidence.samples is None and evidence.scores["value"].max() <= 1


def chance(printed: Printed, evidence: Evidence, tried: Tried, bits: float) -> float:
    """The chance that a number of no relation to the files has the digits of a composition of at most this cost.

    It is the share of the numbers around the printed one that such a composition has: of those with as many digits, or,
    where the printed one is a share of the samples behind the score, of those shares. Compositions are densest near the
    file's score, so only `CELLS` numbers around the printed one count, within the limits of `AROUND`.
    """
    samples = (evidence.samples_in_score or 0) * evidence.seeds
    step = 1 / samples if samples and printed.may_be_one_of(samples) else printed.unit
    centre = round(printed.value / step)
    reach = int(min(max(AROUND[0], CELLS * step / 2), AROUND[1]) / step + 1e-9)
    lowest, highest = max(0, centre - reach), min(round(1 / step), centre + reach)
    hit = np.zeros(highest - lowest + 1, dtype=bool)
    ways: Mapping[float, float] = {0.0: (printed.unit + evidence.resolution) / 2, OTHER_ROUNDING.bits: printed.unit}
    for more, wide in ways.items():
        values = tried.values[tried.bits + more <= bits + 1e-9]
        for offset in range(-int(wide / step) - 1, int(wide / step) + 2):
            cell = np.round(values / step).astype(int) + offset
            # lattice points are known up to the digits that are printed of them
            far = np.abs(np.round(cell * step / printed.unit) * printed.unit - values)
            inside = (far < wide - 1e-9) if more or evidence.resolution else (far <= wide + 1e-9)
            inside &= (cell >= lowest) & (cell <= highest)
            hit[cell[inside] - lowest] = True
    return float(hit.mean())


def _nothing(printed: Printed, tried: Tried, evidence: Evidence) -> Match:
    """No composition has the digits: the nearest numbers."""
    order = np.argsort(np.abs(tried.values - printed.value), kind="stable")
    nearest: dict[float, str] = {}
    for i in order.tolist():
        if len(nearest) == NEAREST:
            break
        value = round(float(tried.values[i]), 6)
        nearest.setdefault(value, tried.compositions[i].words or "its own score")
    every = len(np.unique(np.round(tried.values, 9)))
    return Match(printed, (), (), every, every, 1.0, tuple(nearest.items()), _row(evidence, Composition()))


def _row(evidence: Evidence, composition: Composition) -> int:
    """The position in `scores` of the checkpoint that a composition rests on: the last one, if it is of several."""
    scores = evidence.scores
    checkpoint, seeds = composition.chose("checkpoint"), composition.chose("seeds")
    if evidence.recipes:
        return int(checkpoint.argument) if checkpoint.what else int(scores["value"].argmax())
    names = [*dict.fromkeys(scores["seed"])]
    last = evidence.last
    if checkpoint.what == "largest":
        return int(scores["value"].argmax())
    seed = names[int(seeds.argument)] if seeds.what == "one" else last["seed"].iloc[-1]
    if seeds.what == "best":
        seed = last["seed"].iloc[int(last["value"].argmax())]
    of_seed = scores[scores["seed"] == seed]
    label = last.index[last["seed"] == seed][0]
    if checkpoint.what == "best":
        label = of_seed["value"].idxmax()
    elif checkpoint.what == "at":
        step = sorted(scores["checkpoint"].unique())[int(checkpoint.argument)]
        at = of_seed.index[of_seed["checkpoint"] == step]
        label = at[0] if len(at) else label
    return int(np.flatnonzero(scores.index == label)[0])
