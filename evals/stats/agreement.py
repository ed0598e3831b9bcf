"""Do two printed scores agree? From digits, problems and samples to one of three answers, in a sentence.

`evals.stats.agree` has the probabilities and their derivation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from evals.errors import UsageError
from evals.stats.agree import (
    DIFFERENCE,
    LEVEL,
    NOISE,
    RHO,
    RHO_SOURCE,
    UNDECIDED,
    Answer,
    Chance,
    Score,
    answer,
    chance,
    largest_by_hoeffding,
    needed,
    smallest_gap,
)
from evals.stats.differences import holm
from evals.stats.printed_counts import Counts, counts_of, nearest_counts, percent

LARGEST_N = 64  # samples per problem that are tried where the number is unknown
SEED_SD = 0.019  # the largest of three groups of six public trainings
SEED_SOURCE = "the largest of three groups of six seeds of MLPerf's GRPO reference (results/ledger/series.csv)"
_METRIC = re.compile(r"avg|(pass|maj)@([1-9]\d*)")


@dataclass(frozen=True)
class Cause:
    """Where to look after a difference. `scores`: how many of the ledger's 67 printed scores it moved."""

    name: str
    scores: int
    size: str


# In the order of how often the ledger found it. tests/evals/stats/test_agreement.py counts again in results/ledger.
LOOK = (
    Cause("extraction and grading", 13, "moved 13 of 67 scores, by 1.8 to 39.6 points"),
    Cause("selection of a checkpoint", 4, "moved 4 of 67 scores, by 1.2 to 16.7 points"),
    Cause("training seeds", 4, "decided 4 of 67 scores, gains of 2.3 to 17.2 points"),
    Cause("length", 0, "16 of 67 scores have 7.6 to 61.4 % of their samples cut off or without an answer"),
    Cause(
        "prompt and decoding",
        0,
        "not separated; 37 scores of untrained models differ by up to 17.0 points between labs",
    ),
    Cause("version of engine, model or data", 0, "not measured there"),
)


@dataclass(frozen=True)
class Side:
    """One printed score, and what is known of it.

    Attributes:
        printed: its digits, such as "47.4", or a count, such as "13/30". problems: how many.
        samples: per problem. None: unknown.
        seeds: trainings that it averages. best_of: it is the best of so many evaluations.
    """

    printed: str
    problems: int
    samples: int | None = None
    seeds: int = 1
    best_of: int = 1

    def __post_init__(self) -> None:
        for name in ("problems", "samples", "seeds", "best_of"):
            value = getattr(self, name)
            if value is not None and value < 1:
                key = "n" if name == "samples" else name
                raise UsageError(f"{key}={value} of {self.printed}: it is a number of at least 1.")
        percent(self.printed)

    @property
    def share(self) -> float:
        return float(percent(self.printed)) / 100

    def counts(self, samples: int) -> Counts | None:
        return counts_of(self.printed, self.problems * samples * self.seeds)


@dataclass(frozen=True)
class Setting:
    """The values that both sides share.

    Attributes:
        metric: "avg", "pass@k" or "maj@k". rho: the spread of rates, with its source. None: unknown.
        seed_sd: the standard deviation of training seeds as a share, with its source. 0: nothing was trained again.
        greedy: both sides decode greedily.
    """

    metric: str = "avg"
    rho: float | None = RHO
    rho_source: str = RHO_SOURCE
    seed_sd: float = 0.0
    seed_source: str = ""
    greedy: bool = False

    def __post_init__(self) -> None:
        if not _METRIC.fullmatch(self.metric):
            raise UsageError(
                f"metric={self.metric}: nothing bounds the noise of this metric from two printed numbers. "
                "Use avg, pass@k or maj@k."
            )
        if not 0 <= self.seed_sd < 1:
            raise UsageError(f"seed_sd={self.seed_sd}: it is a share between 0 and 1, as 0.019 for 1.9 points.")

    @property
    def k(self) -> int:
        return int(self.metric.partition("@")[2] or 1)


@dataclass(frozen=True)
class Case:
    """The answer for one pair of numbers of samples per problem."""

    samples: tuple[int, int]
    counts: tuple[Counts, Counts] | None
    chance: Chance

    @property
    def answer(self) -> Answer:
        return answer(self.chance)


@dataclass(frozen=True)
class Agreement:
    """The answer about two printed scores on the same problems.

    Attributes:
        a, b: the sides. setting: what they share. cases: one, or one for each number of samples that the digits allow.
        refused: why no probability can be given. There are no cases then.
    """

    a: Side
    b: Side
    setting: Setting
    cases: tuple[Case, ...]
    refused: str = ""
    family: int = field(default=1)

    @property
    def gap(self) -> float:
        """In points."""
        return 100 * abs(self.a.share - self.b.share)

    @property
    def _gap(self) -> str:
        """With the digits of the prints."""
        digits = max(len(percent(side.printed).partition(".")[2]) for side in (self.a, self.b))
        return f"{self.gap:.{min(2, digits)}f}"

    @property
    def answer(self) -> Answer:
        answers = {case.answer for case in self.cases}
        return answers.pop() if len(answers) == 1 else UNDECIDED

    @property
    def worst(self) -> Case:
        """The case with the most noise."""
        return max(self.cases, key=lambda case: case.chance.largest)

    @cached_property
    def smallest_gap(self) -> float | None:
        """In points: the smallest gap that the case with the most noise could have shown."""
        case = self.worst if self.cases else None
        if case is None or case.counts is None:
            return None
        a, b = next(_corners(case.counts, (self.a.seeds, self.b.seeds)))
        gap = smallest_gap(a, b, lambda x, y: answer(self._chance(x, y)))
        return None if gap is None else 100 * gap

    @cached_property
    def needed(self) -> tuple[int, str] | None:
        """(how many, "samples per problem" or "training seeds"), on both sides, with which a gap of this size would be
        a difference, or None if no number is enough."""
        if self.setting.metric != "avg" or self.a.share == self.b.share or not self.cases:
            return None
        problems, seeds = self.a.problems, (self.a.seeds, self.b.seeds)

        def differs(samples: tuple[int, int], seeds: tuple[int, int]) -> bool:
            sides = []
            for side, n, s in zip((self.a, self.b), samples, seeds, strict=True):
                tries = problems * n * s
                sides.append(Score(round(side.share * tries), tries, s))
            return answer(self._chance(*sides)) == DIFFERENCE

        if self.setting.seed_sd:
            n = self.worst.samples
            count = needed(lambda s: differs(n, (s, s)))
            return None if count is None else (count, "training seeds")
        count = needed(lambda n: differs((n, n), seeds))
        return None if count is None else (count, "samples per problem")

    def _chance(self, a: Score, b: Score) -> Chance:
        times = self.a.best_of * self.b.best_of * self.family
        return _times(chance(a, b, rho=self.setting.rho, seed_sd=self.setting.seed_sd), times)

    @property
    def sentence(self) -> str:
        """The answer with its numbers, to be posted."""
        if self.refused:
            return f"These numbers cannot decide it. {self.refused}"
        if len({case.answer for case in self.cases}) > 1:
            why = "the answer depends on the unknown number of samples"
            return f"These numbers cannot decide it: {why}. {self._by_samples}"
        if self.a.share == self.b.share:
            return "May be noise: the two scores are equal."
        greedy = " Each greedy score counts as one sample per problem." if self.setting.greedy else ""
        if self.answer == DIFFERENCE:
            return f"A difference: {self._odds}{greedy}"
        if self.answer == NOISE:
            least = None if self.smallest_gap is None else f"only a gap of {self.smallest_gap:.1f} points or more"
            only = f"With these sample sizes, {least or 'no gap'} would count as a difference."
            return f"May be noise: {self._odds}{greedy} {only}"
        return f"These numbers cannot decide it: {self._odds}{greedy} {self._would_decide}"

    @property
    def _odds(self) -> str:
        """How probable so large a gap is by noise."""
        chance = self.worst.chance
        what = "one method is trained and sampled twice" if self.setting.seed_sd else "one model is sampled twice"
        largest = _shown(chance.largest, "at most ")
        typical = largest if chance.typical is None else _shown(chance.typical, "about ")
        most = f" ({largest})" if largest != typical else ""
        return f"if {what}, a gap of {self._gap} points or more has a probability of {typical}{most}."

    @property
    def _would_decide(self) -> str:
        if self.setting.metric != "avg":
            return "More problems would decide it, or more than k samples per problem."
        if self.needed is None:
            return "No number of samples decides a gap of this size. More problems would."
        return f"With {self.needed[0]:,} {self.needed[1]} on both sides, a gap of this size would be a difference."

    @property
    def _by_samples(self) -> str:
        answers = {
            NOISE: "the gap may be noise",
            UNDECIDED: "neither is clear",
            DIFFERENCE: "the gap is a difference",
        }
        pairs = {name: [case.samples for case in self.cases if case.answer == name] for name in answers}
        return " ".join(f"With n = {_ranges(pairs[name])}, {text}." for name, text in answers.items() if pairs[name])

    @property
    def notes(self) -> tuple[str, ...]:
        """The assumptions, and what a reader must know."""
        return tuple(_notes(self))

    @property
    def look(self) -> tuple[Cause, ...]:
        """Where to look, after a difference."""
        return LOOK if self.answer == DIFFERENCE else ()


def agreement(a: Side, b: Side, setting: Setting | None = None) -> Agreement:
    """Compare two printed scores under the null of `evals.stats.agree`.

    Different numbers of problems, and a score that no number of correct samples gives, are refused with the reason.

    Raises:
        UsageError: pass@k or maj@k with fewer than k samples, or with seeds.
    """
    setting = setting or Setting()
    if a.problems != b.problems:
        return Agreement(a, b, setting, (), _other_problems(a, b))
    if setting.metric != "avg":
        return Agreement(a, b, setting, (_of_k(a, b, setting),))
    cases = []
    bare = Agreement(a, b, setting, ())
    for n, m in _samples(a, b):
        x, y = a.counts(n), b.counts(m)
        assert x is not None and y is not None
        chances = [bare._chance(*pair) for pair in _corners((x, y), (a.seeds, b.seeds))]
        cases.append(Case((n, m), (x, y), max(chances, key=lambda chance: chance.largest)))
    if not cases:
        return Agreement(a, b, setting, (), _impossible(a if not _possible(a) else b))
    return Agreement(a, b, setting, tuple(cases))


def with_holm(agreements: Sequence[Agreement]) -> list[Agreement]:
    """The same pairs as one family: Holm's correction of both probabilities, over the case with the most noise of each.

    Pairs without a probability do not count.
    """
    measured = [pair for pair in agreements if pair.cases]
    largest = iter(holm([pair.worst.chance.largest for pair in measured]))
    typical = iter(holm([pair.worst.chance.typical for pair in measured]))
    adjusted = []
    for pair in agreements:
        if not pair.cases:
            adjusted.append(pair)
            continue
        high, usual = next(largest), next(typical)
        assert high is not None
        factor = high / pair.worst.chance.largest if pair.worst.chance.largest else 1.0
        cases = tuple(
            replace(case, chance=Chance(high, usual))
            if case is pair.worst
            else replace(case, chance=_times(case.chance, factor))
            for case in pair.cases
        )
        adjusted.append(replace(pair, cases=cases, family=len(measured)))
    return adjusted


def _times(chance: Chance, times: float) -> Chance:
    """Bonferroni: of several evaluations, or pairs, any may have such a gap."""
    return Chance(
        min(1.0, times * chance.largest), chance.typical if chance.typical is None else min(1.0, times * chance.typical)
    )


def _corners(counts: tuple[Counts, Counts], seeds: tuple[int, int]) -> Iterator[tuple[Score, Score]]:
    """The extreme counts that print so; of equal scores, equal ones."""
    a, b = counts
    for x in dict.fromkeys((a.low, a.high)):
        for y in dict.fromkeys((b.low, b.high)):
            yield Score(x, a.tries, seeds[0]), Score(y, b.tries, seeds[1])
    if a.low / a.tries <= b.high / b.tries and b.low / b.tries <= a.high / a.tries:  # the same score may be behind both
        yield Score(0, a.tries, seeds[0]), Score(0, b.tries, seeds[1])


def _samples(a: Side, b: Side) -> list[tuple[int, int]]:
    """The numbers of samples that the digits allow. Unknown on both sides, they are the same where they can be: the
    answers for the fewest and the most samples bound all others."""
    tried = range(1, LARGEST_N + 1)
    pairs = [
        (n, m)
        for n in ((a.samples,) if a.samples else tried)
        if a.counts(n)
        for m in ((b.samples,) if b.samples else tried)
        if b.counts(m)
    ]
    equal = [(n, m) for n, m in pairs if n == m] if a.samples is None and b.samples is None else []
    return equal or pairs


def _possible(side: Side) -> bool:
    tried = (side.samples,) if side.samples else range(1, LARGEST_N + 1)
    return any(side.counts(n) for n in tried)


def _impossible(side: Side) -> str:
    n = side.samples
    if n is None:
        return f"{side.printed}: no number of 1 to {LARGEST_N} samples on {side.problems} problems gives it."
    tries = side.problems * n * side.seeds
    near = " and ".join(f"{c} ({100 * c / tries:.2f})" for c in nearest_counts(side.printed, tries))
    possible = [str(m) for m in range(1, LARGEST_N + 1) if side.counts(m)]
    hint = f"It is possible with n={', '.join(possible[:4])}." if possible else "Is it another problem set?"
    return f"{side.printed}: no number of correct answers out of {tries} gives it. The nearest are {near}. {hint}"


def _of_k(a: Side, b: Side, setting: Setting) -> Case:
    """pass@k and maj@k. From k samples, each problem is one try. From more, Hoeffding's inequality bounds the gap."""
    blocks = []
    for side in (a, b):
        samples = side.samples or setting.k
        if samples < setting.k:
            raise UsageError(
                f"n={samples} of {side.printed}: {setting.metric} needs at least {setting.k} samples per problem."
            )
        blocks.append(samples // setting.k)
    drawn = (a.samples or setting.k, b.samples or setting.k)
    if set(drawn) == {setting.k} and setting.seed_sd == 0:
        counts = counts_of(a.printed, a.problems * a.seeds), counts_of(b.printed, b.problems * b.seeds)
        if counts[0] is not None and counts[1] is not None:
            bare = Agreement(a, b, replace(setting, rho=None), ())
            largest = max(bare._chance(x, y).largest for x, y in _corners((counts[0], counts[1]), (a.seeds, b.seeds)))
            return Case(drawn, (counts[0], counts[1]), Chance(largest, None))
    if setting.seed_sd:
        raise UsageError(
            f"seeds with metric={setting.metric}: no public spread of seeds is known for it. Leave seeds= out."
        )
    gap = max(0.0, abs(a.share - b.share) - _unit(a) / 2 - _unit(b) / 2)
    bound = largest_by_hoeffding(gap, a.problems * blocks[0] * a.seeds, b.problems * blocks[1] * b.seeds)
    return Case(drawn, None, _times(Chance(bound, None), a.best_of * b.best_of))


def _unit(side: Side) -> float:
    return float(10.0 ** -(len(percent(side.printed).partition(".")[2]) + 2))


def _other_problems(a: Side, b: Side) -> str:
    return (
        f"{a.printed} is over {a.problems} problems and {b.printed} over {b.problems}. Nothing bounds how much harder "
        "one set is. Measure both on the same problems. If one set was scored in two parts, give their mean."
    )


def _notes(pair: Agreement) -> Iterator[str]:
    if pair.refused:
        return
    case = pair.worst
    if unknown := [side.printed for side in (pair.a, pair.b) if side.samples is None and pair.setting.metric == "avg"]:
        yield f"n of {' and '.join(unknown)} is unknown. Every n from 1 to {LARGEST_N} that the digits allow was tried."
    for side, counts in zip((pair.a, pair.b), case.counts or (), strict=False):
        yield from _notes_of_score(side, counts)
    if pair.setting.metric != "avg":
        ks = "one try per problem" if case.counts else "Hoeffding's inequality over blocks of k samples"
        metric = pair.setting.metric
        yield f"{metric}: {ks}. No public spread of its rates is known, so there is no typical probability."
    if pair.setting.greedy:
        yield (
            "Greedy decoding has no sampling noise. On one machine it gives the same score again, so any gap comes "
            "from the setup. The probabilities treat each score as one sample per problem."
        )
    elif min(case.samples) == 1 and pair.setting.metric == "avg":
        yield "If a score with n=1 is greedy, it has no sampling noise. Type temperature=0 if both are."
    if case.counts and case.counts[0] == case.counts[1] and max(case.samples) > 1:
        yield "Both scores are the same count. If both used one sampling seed, they are one sample and not two."
    if case.chance.typical is not None:
        yield f"Typical: {pair.setting.rho_source}."
    if pair.setting.seed_sd:
        spread = f"a normal spread of {100 * pair.setting.seed_sd:g} points ({pair.setting.seed_source})"
        yield f"Seeds: {spread}. It is a model, not a bound."
    if pair.family > 1:
        yield f"Holm's correction over {pair.family} pairs."


def _notes_of_score(side: Side, counts: Counts) -> Iterator[str]:
    if counts.how != "rounded":
        how = "cut off" if counts.how == "cut" else "padded with zeros"
        near = f"{counts.low} of {counts.tries} ({100 * counts.low / counts.tries:.3f})"
        yield f"{side.printed} is not a share by rounding. It is {near}, {how}."
    if side.best_of > 1:
        yield (
            f"{side.printed} is the best of {side.best_of}. The probabilities are multiplied by {side.best_of}, as "
            "any of them could have been printed."
        )


def _shown(probability: float, before: str = "") -> str:
    """As a percentage with two digits."""
    percentage = 100 * probability
    if percentage < 0.1:
        return "below 0.1 %"
    return f"{before}{percentage:.1f} %" if percentage < 9.95 else f"{before}{percentage:.0f} %"


def _ranges(pairs: Sequence[tuple[int, int]]) -> str:
    """`1 to 3` for the side whose number is unknown, `1 to 3 on both sides`, or the first pairs."""
    firsts, seconds = sorted({n for n, _ in pairs}), sorted({m for _, m in pairs})
    equal = all(n == m for n, m in pairs)
    if len(firsts) > 1 and len(seconds) > 1 and not equal:
        shown = [f"{n} and {m}" for n, m in pairs]
        return "; ".join(shown[:3]) + (f"; and {len(shown) - 3} more pairs" if len(shown) > 3 else "")
    varying = seconds if len(firsts) == 1 else firsts
    text = str(varying[0]) if len(varying) == 1 else f"{varying[0]} to {varying[-1]}"
    return f"{text} on both sides" if equal else text


__all__ = ["LEVEL", "LOOK", "Agreement", "Case", "Cause", "Setting", "Side", "agreement", "with_holm"]
