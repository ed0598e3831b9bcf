"""Controls at tiny scale, seed by seed: does a random reward gain nothing, and does an inverted reward lose?

    rlvr run file=studies/controls/runs.txt       trains and measures; run again, it resumes
    python -m studies.controls [write=true]   the page results/controls.md, from those runs in MLflow

Each seed is compared with the base model: mean accuracy over the three benchmarks, paired by problem, with an interval
over problems (of one trained model). If a random reward changed nothing, the 95 % interval would include zero in at
least 37 of 40 seeds with a probability of 86 % (binomial, 95 of 100 each); fewer suggests that it changes something.
`python -m studies.controls.random_walk` measures why it loses.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ARMS = ("grpo", "grpo+random_reward", "grpo+inverted_reward")
PAGE = Path("results/controls.md")
WALK = Path("results/controls/random_walk.md")
RECORDS = Path("results/controls/records.tar.xz")  # not in results/records, which has another archive of the same paper
WORDS = (
    "The tiny scale declares a learning rate of 0.0002. The effect of a random reward depends on it: "
    f"[{WALK.name}](controls/{WALK.name}) explains why, measured on these models "
    "(`python -m studies.controls.random_walk`).",
)


@dataclass(frozen=True)
class Against:
    """One seed of an arm minus the base model, in points of mean accuracy over the benchmarks."""

    arm: str
    rate: float  # the learning rate
    seed: int
    difference: float
    low: float
    high: float

    @property
    def says(self) -> str:
        """gains, loses, or nothing if the interval includes zero."""
        return "gains" if self.low > 0 else "loses" if self.high < 0 else "nothing"


def against_base(measured: Sequence[Any]) -> list[Against]:
    """Every seed of every arm in ARMS against the untrained model, by arm and learning rate. Of several evaluations of
    the untrained model, the one with the most samples counts; all differences share its error."""
    from evals.stats.compare import compare_average
    from evals.stats.measured_run import MeasuredRun

    base = max((m for m in measured if not m.trained), key=lambda m: sum(m.n.values()))
    rows = []
    for m in measured:
        if m.arm not in ARMS:
            continue
        for seed in m.seeds:
            tables = {name: table.only([seed]) for name, table in m.verdicts.items()}
            of_seed = MeasuredRun(f"{m.arm} {seed}", tables, dict.fromkeys(tables), trained=True)
            line = compare_average(of_seed, base.run, list(tables), "avg")
            if line.difference is None or line.low is None or line.high is None:
                raise ValueError(f"{m.arm}, seed {seed}: no difference ({line.why})")
            rate = m.records[seed]["settings"]["learning_rate"]["value"]
            rows.append(Against(m.arm, rate, seed, 100 * line.difference, 100 * line.low, 100 * line.high))
    return sorted(rows, key=lambda row: (ARMS.index(row.arm), -row.rate, row.seed))


def decided(rows: Sequence[Against]) -> list[str]:
    """Whether a random reward's interval includes zero in 37 of 40 seeds, for each learning rate, by the seeds run."""
    lines = []
    for rate in dict.fromkeys(row.rate for row in rows if row.arm == "grpo+random_reward"):
        verdicts = [row.says for row in rows if (row.arm, row.rate) == ("grpo+random_reward", rate)]
        holds = verdicts.count("nothing")
        word = "not decided: stopped before 40 seeds"
        if len(verdicts) - holds > 3:
            word = "no, whatever the remaining seeds would give"
        elif holds >= 37:
            word = "yes"
        lines.append(
            f"- Random reward at {rate:g}: {holds} of {len(verdicts)} intervals include zero. 37 of 40: {word}."
        )
    return lines


def inverted(rows: Sequence[Against]) -> list[str]:
    """In how many seeds a model trained with an inverted reward falls below the base model, for each learning rate."""
    lines = []
    for rate in dict.fromkeys(row.rate for row in rows if row.arm == "grpo+inverted_reward"):
        seeds = [row for row in rows if (row.arm, row.rate) == ("grpo+inverted_reward", rate)]
        falls = sum(row.says == "loses" for row in seeds)
        mean = sum(row.difference for row in seeds) / len(seeds)
        lines.append(
            f"- Inverted reward at {rate:g}: falls in {falls} of {len(seeds)} seeds, by {-mean:.1f} points on average."
        )
    return lines


def page(rows: Sequence[Against], settings: Mapping[str, str]) -> str:
    """The findings, the counts, and every seed."""
    lines = [
        "# Controls at tiny scale, seed by seed",
        "",
        "Written by `python -m studies.controls` from the runs of `rlvr run file=studies/controls/runs.txt`. Tiny "
        "scale: a model of under 2M parameters on made-up arithmetic; it says nothing about larger models.",
        "",
        "Two questions. Does the interval of a model trained with a random reward include zero in at least 37 of 40 "
        "seeds, as it would if such a training changed nothing? Does an inverted reward make the model worse? "
        "Results:",
        "",
        *decided(rows),
        *inverted(rows),
        "",
        *WORDS,
        "",
        "Each trained model minus its base model, mean accuracy over the benchmarks, paired by "
        f"problem. {'; '.join(f'{key} {value}' for key, value in settings.items())}.",
        "",
        "| arm | learning rate | seeds | gain: mean (low to high), points | with zero | above zero | below zero |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for arm, rate in dict.fromkeys((row.arm, row.rate) for row in rows):
        of_arm = [row for row in rows if (row.arm, row.rate) == (arm, rate)]
        verdicts = [row.says for row in of_arm]
        gains = [row.difference for row in of_arm]
        spread = f"{sum(gains) / len(gains):+.1f} ({min(gains):+.1f} to {max(gains):+.1f})"
        counts = " | ".join(str(verdicts.count(word)) for word in ("nothing", "gains", "loses"))
        lines.append(f"| {arm} | {rate:g} | {len(of_arm)} | {spread} | {counts} |")
    lines += [
        "",
        "| arm | learning rate | seed | points [95 % interval over problems] | |",
        "| --- | ---: | ---: | --- | --- |",
    ]
    lines += [
        f"| {r.arm} | {r.rate:g} | {r.seed} | {r.difference:+.1f} [{r.low:+.1f}, {r.high:+.1f}] | {r.says} |"
        for r in rows
    ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Print the page, or write it and the records."""
    from harness.record.archive import newest, write_archive
    from harness.record.find import runs
    from harness.tables.measured import gather

    found = runs(paper="baselines")
    measured = gather("baselines", found)
    trained = [m for m in measured if m.arm in ARMS]
    n = sorted({count for m in trained for count in m.n.values()})
    most = max(count for m in measured if not m.trained for count in m.n.values())
    stated = ("protocol", "learning_rate")  # elsewhere on the page
    replaced = sorted({part for m in trained for part in m.replaced if not part.startswith(stated)})
    settings = {
        "samples a problem": " or ".join(map(str, n)),
        "of the base model": str(most),
        "replaced": " ".join(replaced) or "nothing",
    }
    text = page(against_base(measured), settings)
    if arguments != ["write=true"]:
        print(text)
        return 0
    PAGE.write_text(text, encoding="utf-8")
    RECORDS.parent.mkdir(exist_ok=True)
    write_archive(newest(found), RECORDS)
    print(f"wrote {PAGE} and {RECORDS}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
