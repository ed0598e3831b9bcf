"""The page and the picture of results/real, from its archive alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from evals.files import write_text
from evals.stats.compare import difference_text, method_p_text
from evals.stats.score import NONE, bounds_text, number_text, p_text, score_text
from harness.record.archive import read_archive
from harness.record.run import Run
from harness.spec import catalogue
from harness.spec.controls import split_key
from studies.real import outcomes, problems
from studies.real.design import GREEDY, SAMPLED, Design
from studies.real.outcomes import (
    BASE,
    CURVE_CLAIMS,
    LAST_QUARTER,
    REFERENCE,
    SECOND_QUARTER,
    Arms,
    CurveClaim,
    Difference,
)
from studies.real.registration import LABEL

if TYPE_CHECKING:
    from evals.plots.plot import Plot

ARCHIVE, TABLES = "runs.tar.xz", "tables.md"
ROOT = Path(catalogue.__file__).parents[2]
BEGIN, END = "<!-- The study writes this section: python -m studies.real write -->", "<!-- End of the section. -->"
CONTROLS = {"shuffled_signal": "placebo: its signal shuffled", "random_reward": "a coin as reward"}
NAMES = {
    "egsw/grpo": "GRPO",
    "egsw/egsw": "EGSW",
    "erpo/erpo": "ERPO",
    "entropy_advantage/grpo_entropy_advantage": "Entropy advantage",
    "forking_tokens/top20": "Forking tokens",
    "trial_and_error/grpo_ppl": "Perplexity advantage",
    "trial_and_error/grpo_position": "Position advantage",
}
CURVES = {
    "train/reward": "reward",
    "train/entropy": "entropy, nats",
    "train/response_length": "tokens",
    "train/grad_norm": "gradient norm",
}
WINDOWS = {LAST_QUARTER: "last quarter", SECOND_QUARTER: "second quarter", (0.0, 1.0): "all"}
AFTER_CLAIMS = (
    'A claim gets a p-value only with three seeds or more. Rows with "all" cover all rollouts. So their numbers can '
    "differ from the table above, which covers the last quarter. The p-values have no correction for the number of "
    "claims.\n\n"
    "The *late gain* is the rise of the reward from the second quarter to the last quarter."
)

COPIES = (
    "Some runs began with a copy of the base model that has another fingerprint. Its `tokenizer_config.json` says "
    "`local_files_only: true`, because the copy was made offline. All other files are equal, so weights and tokens are "
    "the same."
)


def write(design: Design, folder: Path) -> None:
    """Write README.md and the picture into `folder`, from the archive in it."""
    from evals.plots.plot import save, write_dark

    runs_by_arm = outcomes.arms(read_archive(folder / ARCHIVE))
    compared = outcomes.differences(design, runs_by_arm)
    plot = picture(design, runs_by_arm, compared)
    if len(plot.numbers):
        write_dark(save(plot, folder, ("png", "csv"))["png"])
    write_text(folder / "README.md", page(design, runs_by_arm, compared, plot))
    for paper in dict.fromkeys(entry.paper for entry in design.entries):
        for path in pages_of(paper):
            text = path.read_text(encoding="utf-8")
            if path.name == TABLES and BEGIN not in text:
                text += f"\n{BEGIN}\n{END}\n"
            write_text(path, with_section(text, section(design, runs_by_arm, paper, path)))


def pages_of(paper: str) -> tuple[Path, Path]:
    """The pages of a paper that have a section of the study: its reproduction and its tables."""
    return ROOT / "reproductions" / paper / "README.md", ROOT / "results" / paper / TABLES


def with_section(text: str, of_study: str) -> str:
    """The text of a paper's page with its section of the study, in the place of the old one."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page lacks the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{of_study}\n\n{END}{after}"


def section(design: Design, runs_by_arm: Arms, paper: str, path: Path) -> str:
    """The results of the study for one paper: its arms and their controls beside the base model and GRPO.

    Args:
        path: the page that has the section.
    """
    study = os.path.relpath(ROOT / "results" / "real" / "README.md", path.parent)
    keys = [entry.key for entry in design.entries if entry.paper == paper or entry.key == REFERENCE]
    absent = [name(key) for key in keys if key not in runs_by_arm]
    return f"""## On real weights, at small scale

{LABEL} [The study]({study}) compares all methods, and says what is resolved.

{_scores(keys, runs_by_arm)}""" + (f"\n\nNot measured yet: {'. '.join(absent)}." if absent else "")


def name(key: str) -> str:
    """The name of an arm, such as "EGSW, placebo: its signal shuffled" for "egsw/egsw+shuffled_signal"."""
    paper, _, arm = key.partition("/")
    method, control = split_key(arm)
    title = NAMES.get(f"{paper}/{method}") or {a.key: a.title for a in catalogue.load(paper).arms}[method]
    return f"{title}, {CONTROLS[control]}" if control else title


def page(design: Design, runs_by_arm: Arms, compared: Sequence[Difference], plot: Plot) -> str:
    """The page of results."""
    seeds = {key: len(runs) for key, runs in runs_by_arm.items() if key != BASE}
    whole = sum(count == design.seeds for count in seeds.values())
    family = sum(len(entry.than) for entry in design.entries)
    absent = outcomes.missing(design, runs_by_arm)
    return f"""# The papers' methods on real weights

{LABEL}

The [design](preregistration.md), with digest {design.digest}, was committed before the first run.

**{len(seeds)} of {len(design.entries)} arms have a run, and {whole} have all {design.seeds} seeds.** With fewer
than three seeds, a difference is about these checkpoints only, and not about the method.

**The task.** A problem is x·y + z, or x·y - z with a positive result, such as `7 * 5 + 3 =`. No number in a problem
is above 20. The prompt shows two worked examples. The model trains on {problems.TRAINED:,} problems. The scores cover
{problems.MEASURED} other problems (greedy), and the first {problems.MEASURED_OFTEN} of these with 8 samples each.

**Not varied.** A response has at most {design.recipe["max_completion_tokens"]} tokens.
The rollout temperature is {design.recipe["rollout_temperature"]}.
The calibration in the [design](preregistration.md) lists no trial of another limit or another rollout temperature.

{_papers(design)}

{_picture(plot)}

## Scores

An unscored response is neither right nor wrong. "A to B if graded" gives two scores. The score is A if all
unscored responses are wrong, and B if all of them are right.

{_scores([entry.key for entry in design.entries], runs_by_arm)}

## Differences

Each row is an arm minus GRPO, or a placebo minus its method, in percentage points. A *placebo* is the same method with
shuffled signals. Only the seeds that both arms have are compared. So a difference here can differ from the
difference of two scores in the table *Scores*. Holm's p is the p-value after Holm's correction for all {family}
comparisons in one metric.

- *Higher* or *lower*: Holm's p is at most 0.05. An interval can exclude zero although Holm's p is above 0.05.
- *Equal*: the difference is within {100 * design.margin:g} points. Two one-sided tests give the p-value for this, also
  with Holm's correction.
- *Not resolved*: all other differences.

With fewer than three seeds, p is about problems only. The verdict is then about the checkpoints, and the table shows
"–" for Holm's p.

{_differences(compared)}

## Training

Each value is the mean of the last quarter of the rollouts, over the seeds.

{_training(design, runs_by_arm)}

## Claims of the papers

{_claims(runs_by_arm)}

{_kept(design, compared)}

## What has not ended

{_absent(absent)}

## How to make this again

```
python -m studies.real model    # fetches the base model, 93 MB
python -m studies.real run      # trains and measures what the archive lacks
python -m studies.real write    # writes this page
```

`rlvr verify results/real` checks the archive. {_hours(runs_by_arm)}{_copies(runs_by_arm)}
"""


def _picture(plot: Plot) -> str:
    if not len(plot.numbers):
        return "The picture of the gains needs GRPO and one method. No such pair has ended yet."
    return f"""<picture>
  <source media="(prefers-color-scheme: dark)" srcset="{plot.name}-dark.png">
  <img alt="{plot.title}" src="{plot.name}.png" width="560">
</picture>

{plot.caption}"""


def _scores(keys: Sequence[str], runs_by_arm: Arms) -> str:
    rows = ["| Arm | Seeds | pass@1, greedy, % | avg@8, % | pass@8, % |", "| --- | ---: | ---: | ---: | ---: |"]
    for key in (BASE, *keys):
        if runs := runs_by_arm.get(key):
            cells = [score_text(score) for score in outcomes.scores(runs)]
            count = NONE if key == BASE else str(len(runs))
            rows.append(f"| {'before the training' if key == BASE else name(key)} | {count} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _differences(compared: Sequence[Difference]) -> str:
    if not compared:
        return "No comparison has both its arms yet."
    rows = ["| Arm | Minus | Seeds | Metric | Difference | Holm's p | Verdict |"]
    rows.append("| --- | --- | ---: | --- | ---: | ---: | --- |")
    for d in compared:
        metric = "pass@1, greedy" if d.line.benchmark == GREEDY else d.line.name
        arms = [name(d.entry.key), name(d.than), str(d.line.seeds_a)]
        cells = [*arms, metric, difference_text(d.line), method_p_text(d.line)]
        rows.append(f"| {' | '.join(cells)} | {d.line.verdict} |")
    return "\n".join(rows)


def _training(design: Design, runs_by_arm: Arms) -> str:
    rows = [f"| Arm | {' | '.join(CURVES.values())} |", "| --- |" + " ---: |" * len(CURVES)]
    for entry in design.entries:
        if runs := runs_by_arm.get(entry.key):
            values = [_mean([outcomes.window_mean(run, metric, LAST_QUARTER) for run in runs]) for metric in CURVES]
            rows.append(f"| {name(entry.key)} | {' | '.join(f'{value:.3g}' for value in values)} |")
    return "\n".join(rows)


def _claims(runs_by_arm: Arms) -> str:
    rows = ["| Claim | Rollouts | Method | Method − GRPO | p | Seeds |", "| --- | --- | --- | ---: | ---: | ---: |"]
    for claim in CURVE_CLAIMS:
        for key in claim.arms:
            if key in runs_by_arm and REFERENCE in runs_by_arm:
                result = outcomes.curve_difference(claim, runs_by_arm[key], runs_by_arm[REFERENCE])
                interval = "" if result.interval is None else f" {bounds_text(result.interval, 1, '+.3g')}"
                count = len({run.seed for run in runs_by_arm[key]} & {run.seed for run in runs_by_arm[REFERENCE]})
                difference = f"{number_text(result.difference, 1, '+.3g')}{interval}"
                cells = [claim.name, _rollouts(claim), name(key), difference, p_text(result.p_value), str(count)]
                rows.append(f"| {' | '.join(cells)} |")
    if len(rows) == 2:
        return "No claim has both its arms yet."
    return "\n".join([*rows, "", AFTER_CLAIMS])


def _kept(design: Design, compared: Sequence[Difference]) -> str:
    """The claim about pass@8: the differences of the methods from GRPO, and whether each can be a loss."""
    margin = f"{100 * design.margin:g} points"
    rows = [f"| Method | pass@8, method − GRPO | Seeds | Lower end above -{margin} |", "| --- | ---: | ---: | --- |"]
    for d in compared:
        if d.line.benchmark == SAMPLED and d.line.metric == "pass" and d.than == REFERENCE and d.entry.key in NAMES:
            interval = d.line.interval if d.line.seeds_covered else None
            above = NONE if interval is None else "yes" if interval.low > -design.margin else "no"
            rows.append(f"| {name(d.entry.key)} | {difference_text(d.line)} | {d.line.seeds_a} | {above} |")
    if len(rows) == 2:
        return "The last claim is that pass@8 is not lower than GRPO's. No method has both its arms yet."
    table = "\n".join(rows)
    return f"""The last claim is that pass@8 is not lower than GRPO's. The next table repeats its rows from
*Differences*, in percentage points. The registration has no rule for this claim. This page reads the lower end of the
interval: the claim holds for a method if this end is above -{margin}. We chose this rule after we saw results.

{table}

*No* does not mean that pass@8 is lower. The verdict in *Differences* says whether it is. A dash means that a method
has fewer than three seeds."""


def _rollouts(claim: CurveClaim) -> str:
    """The rollouts over which the mean of a claim is taken."""
    return WINDOWS[claim.window] + (f" minus {WINDOWS[claim.less]}" if claim.less else "")


def _papers(design: Design) -> str:
    """One line per paper: its title and the methods that the study takes from it."""
    rows = []
    for paper in dict.fromkeys(entry.paper for entry in design.entries):
        of_paper = [NAMES[entry.key] for entry in design.entries if entry.paper == paper and entry.key in NAMES]
        methods = [method for method in of_paper if method != NAMES[REFERENCE]]
        reproduction = catalogue.load(paper)
        link = f"[{reproduction.title}](../../reproductions/{paper}/README.md) (arXiv {reproduction.arxiv})"
        rows.append(f"| {' and '.join(methods)} | {link} |")
    return "\n".join(["| Method | Paper |", "| --- | --- |", *rows])


def _absent(absent: Sequence[str]) -> str:
    if not absent:
        return "Every run of the design has ended."
    seeds: dict[str, list[str]] = {}
    for run in absent:
        key, _, seed = run.rpartition(", seed ")
        seeds.setdefault(key, []).append(seed)
    rows = [
        f"- {name(key)}: seed{'s' * (len(missing_seeds) > 1)} {', '.join(missing_seeds)}"
        for key, missing_seeds in seeds.items()
    ]
    return "\n".join([f"{len(absent)} runs of the design are not made yet:", "", *rows])


def _hours(runs_by_arm: Arms) -> str:
    """The time from the start to the end of each run, from its record."""
    hours = sum(_seconds(run) for runs in runs_by_arm.values() for run in runs) / 3600
    return (
        f"The runs of the archive took {hours:.1f} h from start to end. This counts their pauses. Other work ran "
        "on the same two cores."
    )


def _copies(runs_by_arm: Arms) -> str:
    """A sentence about the runs whose copy of the base model is not that of its own evaluation, or "" without any."""
    if BASE not in runs_by_arm:
        return ""
    base = runs_by_arm[BASE][0].record["base_model"]["sha256"]
    differing = [
        f"- {name(key)}, seed {run.seed}"
        for key, runs in runs_by_arm.items()
        for run in runs
        if run.record["base_model"]["sha256"] != base
    ]
    return "\n".join(["", "", f"{COPIES} These are the runs:", "", *differing]) if differing else ""


def _seconds(run: Run) -> float:
    ends = [datetime.fromisoformat(str(run.record[end]).replace("Z", "+00:00")) for end in ("started", "finished")]
    return (ends[1] - ends[0]).total_seconds()


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def picture(design: Design, runs_by_arm: Arms, compared: Sequence[Difference]) -> Plot:
    """Each method's gain over GRPO beside its placebo's, in greedy pass@1: points with intervals."""
    import pandas as pd

    from evals.plots.figures import point_rows

    rows: list[dict[str, object]] = []
    for d in compared:
        interval = d.line.interval
        if (
            d.line.benchmark == GREEDY
            and d.than == REFERENCE
            and d.line.difference is not None
            and interval is not None
        ):
            method, control = split_key(d.entry.arm)
            ends = {"low": 100 * interval.low, "mean": 100 * d.line.difference, "high": 100 * interval.high}
            kind = CONTROLS[control] if control else "the method"
            rows.append({"method": name(f"{d.entry.paper}/{method}"), "model": kind, "seeds": d.line.seeds_a, **ends})
    numbers = pd.DataFrame(rows, columns=["method", "model", "seeds", "low", "mean", "high"])
    methods = {method: method for method in dict.fromkeys(numbers["method"])}
    fewest, most = min(numbers["seeds"], default=0), max(numbers["seeds"], default=0)
    seeds = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    caption = (
        "Lines are 95 % intervals. They cover problems. If an arm has three training seeds, they also cover seeds. "
        "Left of the dotted line: fewer correct answers than GRPO."
    )
    return point_rows(
        "gains",
        "Gain over GRPO in greedy pass@1 (small scale, real weights, made-up task)",
        caption,
        "",
        numbers,
        ["the method", *CONTROLS.values()],
        by="method",
        labels=methods,
        unit=f"points over GRPO (small scale, {seeds} of {design.seeds} seeds)",
        mark=0.0,
    )
