"""The page and figures of results/study, from its tables alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evals.files import write_text
from evals.stats.compare import Line, difference_text, method_p_text
from evals.stats.score import NONE, bounds_text, number_text, p_text
from harness.spec.scales import SCALES
from harness.tables.claims import Checked
from harness.tables.grid import Grid
from harness.tables.measured import Measured
from studies.tiny import outcomes
from studies.tiny.design import Design
from studies.tiny.figures import figures
from studies.tiny.jobs import Settings, read_settings
from studies.tiny.outcomes import CheckedClaims, K, StudyDifference, Value
from studies.tiny.scores import Arms, Key, read_arms

if TYPE_CHECKING:
    from evals.plots.plot import Plot

FIGURES = "figures"
Column = tuple[str, Callable[[Measured, Key], Value | None], float, str]
"""Header, value of an arm, factor and format."""
ACCURACY: tuple[Column, ...] = (
    ("pass@1, %", lambda m, _: outcomes.score(m, "avg"), 100, ".1f"),
    ("pass@16, %", lambda m, _: outcomes.score(m, "pass", K), 100, ".1f"),
    ("maj@16, %", lambda m, _: outcomes.score(m, "maj", K), 100, ".1f"),
)
COST: tuple[Column, ...] = (
    ("entropy at the end", lambda m, _: outcomes.end_of_curve(m, "train/entropy"), 1, ".3f"),
    ("mean tokens", lambda m, _: outcomes.score(m, "mean_tokens"), 1, ".1f"),
    ("sampled, thousand tokens", outcomes.sampled_tokens, 0.001, ".0f"),
)


def write_page(design: Design, folder: Path, out: Path) -> None:
    """Write README.md and figures/ into `out` from the tables in `folder`."""
    from evals.plots.plot import save, write_dark

    arms = read_arms(design, folder)
    checked = {scale: outcomes.claims(design, arms, scale) for scale in design.families}
    plots = figures(design, arms)
    (out / FIGURES).mkdir(parents=True, exist_ok=True)
    write_text(out / "README.md", page(design, arms, checked, plots, read_settings(design)))
    for plot in plots:
        files = save(plot, out / FIGURES, ("png", "csv"))
        if plot.name in ("placebos", "gains"):
            write_dark(files["png"])


def page(design: Design, arms: Arms, checked: CheckedClaims, plots: Sequence[Plot], settings: Settings) -> str:
    """The page of results, with every table."""
    label = SCALES[design.families[0]].label
    gained, shuffled = outcomes.gains(design, arms), outcomes.placebos(design, arms)
    option, trials = ("", "trials.csv") if design.learning_rates else ("--later ", "../trials.csv")
    front = [plot for plot in plots if plot.name in ("placebos", "gains")]
    title, findings = "The later tier of the tiny-scale study", "the main results."
    if design.learning_rates:
        title, findings = "The tiny-scale study", "the surprising results. Each was checked in a second way."
    lines = [
        f"# {title}",
        "",
        f"## {_heading(gained)}",
        "",
        *(f"{line}\n" for line in _answers(design, gained, checked, shuffled)),
        *(f"![{plot.title}]({FIGURES}/{plot.name}.png)\n\n{plot.caption}\n" for plot in front),
        f"**{label[:1].upper()}{label[1:]}.** {_state(design, arms)}",
        "",
        f"[findings.md](findings.md) describes {findings}",
        "",
    ]
    grids = [
        _gains(design, gained),
        _claims(checked),
        _placebos(design, shuffled),
        _controls(outcomes.controls(design, arms)),
        *(_methods(design, arms, *table) for table in METHODS),
    ]
    lines += [grid.markdown() for grid in grids if grid.rows]
    lines += ["### Learning curves\n"]
    lines += [f"![{plot.title}]({FIGURES}/{plot.name}.png)\n" for plot in plots if plot not in front]
    lines += [
        "### How it was made",
        "",
        f"`python -m studies.tiny {option}write` writes this page from the tables beside it. It is not edited by hand. "
        f"Its design is registered in [preregistration.md](preregistration.md), with the digest {design.digest}.",
        "",
        "Everything here comes from four tables:",
        "",
        "- `verdicts.parquet`: every graded sample of the runs, without its text",
        "- `curves.parquet`: the training curves of these runs",
        "- `runs.csv`: the settings' digest, commit, command and packages of each run",
        f"- [trials.csv]({trials}): the search for settings",
        "",
        _settings(design, settings),
        "",
    ]
    return "\n".join(lines)


def _heading(gained: Sequence[StudyDifference]) -> str:
    """The answer in a line, from the gains in pass@1."""
    words = [d.line.plain_verdict for d in gained if d.line.metric == "avg"]
    if not (higher := words.count("higher")):
        return "No method's gain in pass@1 over its own reference is resolved"
    return f"{higher} of {len(words)} gains in pass@1 over a method's own reference are resolved"


def _answers(
    design: Design, gained: Sequence[StudyDifference], checked: CheckedClaims, shuffled: Sequence[StudyDifference]
) -> list[str]:
    """The other answers, a sentence or two each."""
    lines = []
    for name in dict.fromkeys(d.line.name for d in gained):
        words = [d.line.plain_verdict for d in gained if d.line.name == name]
        higher, lower = words.count("higher"), words.count("lower")
        lines.append(f"{_shown(name)}: {higher} higher, {lower} lower, {len(words) - higher - lower} others")
    counted = "\n".join(f"- {line}" for line in lines)
    answers = [f"The gains in both tasks (*others* are not resolved, or equal):\n\n{counted}"]
    if claimed := [(scale, [c for verdicts in papers.values() for c in verdicts]) for scale, papers in checked.items()]:
        decided = {s: [outcomes.claim_outcome(c) for c in verdicts] for s, verdicts in claimed}
        texts = [f"{sum(w != 'cannot tell' for w in ws)} on `{s}`" for s, ws in decided.items()]
        if every := len(claimed[0][1]):
            answers.append(f"The study tests {every} claims of the papers. It decides {' and '.join(texts)}.")
    return [*answers, _answer_of_placebos(design, shuffled)] if shuffled else answers


def _answer_of_placebos(design: Design, shuffled: Sequence[StudyDifference]) -> str:
    groups: dict[tuple[str, str], dict[str, list[StudyDifference]]] = {}
    for d in shuffled:
        groups.setdefault((d.paper, d.a), {}).setdefault(d.scale, []).append(d)
    matters = [
        f"{paper} {arm}"
        for (paper, arm), verdicts in groups.items()
        if {outcomes.placebo_outcome(design, each) for each in verdicts.values()} == {"the signal matters"}
    ]
    return (
        f"{len(groups)} methods have placebos. The signal of {len(matters)} of them matters in every task"
        f"{f': {matters[0]}' if len(matters) == 1 else ''}."
    )


def _state(design: Design, arms: Arms) -> str:
    """How much of the design is finished."""
    counts = [len(m.seeds) for m in arms.values() if m.trained]
    declared = len(design.arms) * len(design.families)
    study = f"{len(design.arms)} arms in {len(design.families)} tasks"
    if set(counts) == {design.seeds} and len(counts) == declared:
        return f"Finished: {study}, {design.seeds} seeds each."
    done = f"{min(counts)} to {max(counts)} of {design.seeds}"
    return f"**Preliminary**: {len(counts)} of {declared} ({study}) have finished seeds, {done}."


def _settings(design: Design, settings: Settings) -> str:
    """The search, and how many learning rates it chose at an end, where a better one may lie outside."""
    if not design.learning_rates:
        return "Every arm has the settings that the first study's search chose for GRPO. Only GRPO is tuned."
    rates = [values["learning_rate"] for values in settings.values()]
    low, high = design.learning_rates[0], design.learning_rates[-1]
    return (
        f"[trials.csv](trials.csv) lists every trial of the search and the chosen settings. A trial is one run of "
        f"{design.tuning_rollouts} rollouts with seed {design.tuning_seed}, judged by avg@{design.tuning_samples} on "
        f"48 validation problems. {rates.count(low)} of the {len(rates)} chosen learning rates are the smallest that "
        f"was tried ({low:g}), and {rates.count(high)} are the largest ({high:g}). A better one may lie outside."
    )


def _value(value: Value | None, factor: float = 1.0, form: str = ".1f") -> str:
    if value is None:
        return NONE
    return f"{number_text(value.mean, factor, form)} {bounds_text(value.interval, factor, form)}"


METHODS: tuple[tuple[str, tuple[Column, ...], str], ...] = (
    (
        "Methods: accuracy",
        ACCURACY,
        "Means over the task's three benchmarks [95 % interval over problems. With two or more seeds, also over "
        "seeds].",
    ),
    (
        "Methods: entropy, length and cost",
        COST,
        "Entropy is in nats per token, as a mean over the last fifth of training. Mean tokens are those of the "
        "responses to the benchmarks. Sampled tokens are those that training generated, a cost that no machine "
        "changes. The intervals of entropy and sampled tokens are over seeds.",
    ),
)
"""Title, columns and note of the tables with a row for each arm."""


def _methods(design: Design, arms: Arms, title: str, columns: Sequence[Column], note: str) -> Grid:
    """A row for each arm, with the families side by side."""
    names = [(design.papers()[0], "base"), *((arm.paper, arm.arm) for arm in design.arms)]
    rows = []
    for paper, arm in names:
        keys = [(scale, paper, arm) for scale in design.families]
        if not any(key in arms for key in keys):
            continue
        seeds = [
            "; ".join(filter(None, (str(len(arms[key].seeds)), arms[key].divergence()))) if key in arms else NONE
            for key in keys
        ]
        values = [
            _value(value(arms[key], key), factor, form) if key in arms else NONE
            for _, value, factor, form in columns
            for key in keys
        ]
        rows.append(("" if arm == "base" else paper, arm, " / ".join(dict.fromkeys(seeds)), *values))
    header = [f"{name}: {scale}" for name, *_ in columns for scale in design.families]
    return Grid(title, ("paper", "arm", "seeds", *header), tuple(rows), (note,))


def _gains(design: Design, differences: Sequence[StudyDifference]) -> Grid:
    rows: dict[tuple[str, ...], list[str]] = {}
    for d in differences:
        cells = rows.setdefault((d.scale, d.paper, f"{d.a} − {d.b}", _seeds(d.line)), [])
        cells += [difference_text(d.line), d.line.plain_verdict]
    names = dict.fromkeys(_shown(d.line.name) for d in differences)
    return Grid(
        "Gains over each method's own reference",
        ("task", "paper", "difference", "seeds", *(text for name in names for text in (name, "verdict"))),
        tuple((*key, *cells) for key, cells in rows.items()),
        (
            "A gain is a mean over the benchmarks, in points, paired by problem [95 % interval]. The p-value decides "
            "the verdict, after Holm's correction for all gains of the task in this metric. *Equal* means within "
            f"{100 * next(iter(design.margins.values())):g} points. As registered, the verdict is about trainings like "
            "these seeds. A collapse that no seed shows is not counted.",
        ),
    )


def _claims(checked: CheckedClaims) -> Grid:
    rows = []
    for paper in next(iter(checked.values())):
        for in_families in zip(*(papers[paper] for papers in checked.values()), strict=True):
            seeds = " / ".join(dict.fromkeys(_seeds_of(c) for c in in_families))
            texts = (t for c in in_families for t in (outcomes.claim_outcome(c), _evidence(c)))
            rows.append((paper, in_families[0].claim.text, in_families[0].claim.where, seeds, *texts))
    return Grid(
        "Claims of the papers",
        ("paper", "claim", "where", "seeds", *(text for scale in checked for text in (scale, "difference"))),
        tuple(rows),
        (
            "The registered rule decides each claim, with Holm's correction for the paper's claims in the task. "
            "*appears* means that the claim holds, and *reversed* that the opposite holds. The column *difference* "
            "lists each comparison that decides the claim, with its corrected p. The unit is points, or the unit of "
            "the curve. A comparison is about short, long or rare problems, their mean, or a curve.",
        ),
    )


def _evidence(checked: Checked) -> str:
    return "; ".join(f"{difference_text(e.line)} {_p(e.line.p_holm)}" for e in checked.evidence) or NONE


def _p(p: float | None) -> str:
    text = p_text(p)
    return f"(p {text})" if text.startswith("<") else f"(p = {text})"


def _seeds_of(checked: Checked) -> str:
    return " / ".join(dict.fromkeys(_seeds(e.line) for e in checked.evidence)) or NONE


def _placebos(design: Design, differences: Sequence[StudyDifference]) -> Grid:
    groups: dict[tuple[str, str, str], list[StudyDifference]] = {}
    for d in differences:
        groups.setdefault((d.scale, d.paper, d.a), []).append(d)
    rows = []
    for key, of_method in groups.items():
        texts = [f"{difference_text(d.line)} {d.line.plain_verdict}" for d in of_method]
        first, second, *_ = [*texts, NONE, NONE]
        rows.append((*key, _seeds(of_method[0].line), first, second, outcomes.placebo_outcome(design, of_method)))
    return Grid(
        "Placebos: the method minus itself with its signal shuffled",
        ("task", "paper", "method", "seeds", "− shuffled in the group", "− shuffled in the response", "outcome"),
        tuple(rows),
        (
            "Differences in pass@1, in points, as means over the benchmarks. Holm's correction is for all placebo "
            "comparisons of the task.",
        ),
    )


def _controls(differences: Sequence[StudyDifference]) -> Grid:
    return Grid(
        "Controls",
        ("task", "difference", "seeds", "pass@1, points", "p (Holm)", "verdict"),
        tuple(
            (
                d.scale,
                f"{d.a} − {d.b}",
                _seeds(d.line),
                difference_text(d.line),
                method_p_text(d.line),
                d.line.plain_verdict,
            )
            for d in differences
        ),
        (
            "A control trains GRPO of the baselines' recipe with another reward. The table compares GRPO with each "
            "control, and each control with the untrained base model.",
        ),
    )


def _shown(metric: str) -> str:
    return "pass@1" if metric.startswith("avg") else metric


def _seeds(line: Line) -> str:
    return f"{line.seeds_a} and {line.seeds_b}"
