"""The pages and figures of results/study, written from the finished runs alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evals.stats.score import NONE, bounds_text, difference_text, number_text, p_text
from harness.spec.scales import SCALES
from harness.tables.claims import Checked
from harness.tables.grid import Grid
from harness.tables.measured import Measured
from studies.tiny.design import Design
from studies.tiny.figures import figures
from studies.tiny.jobs import Settings
from studies.tiny.outcomes import (
    CheckedClaims,
    Difference,
    Key,
    Row,
    Value,
    claim_outcome,
    claims,
    controls,
    gains,
    measured_arms,
    placebo_outcome,
    placebos,
    row,
)
from studies.tiny.pairing import Pairing, pairings
from studies.tiny.sensitivity import sweeps
from studies.tiny.tuning import Trial, accuracies, search
from studies.tiny.variations import ALTERNATIVES, Alternative, alternatives, sweep_arms, sweep_trials

if TYPE_CHECKING:
    from harness.runs.source import RunSource

FIGURES = "figures"
NAME = "README.md"
Column = tuple[str, Callable[[Row], Value | None], float, str]
"""Header, value of a row, factor and format."""
ACCURACY: tuple[Column, ...] = (
    ("pass@1, %", lambda r: r.avg, 100, ".1f"),
    ("pass@16, %", lambda r: r.passed, 100, ".1f"),
    ("maj@16, %", lambda r: r.majority, 100, ".1f"),
)
COST: tuple[Column, ...] = (
    ("entropy at the end", lambda r: r.entropy, 1, ".3f"),
    ("mean tokens", lambda r: r.tokens, 1, ".1f"),
    ("sampled, thousand tokens", lambda r: r.sampled, 0.001, ".0f"),
)


def write_pages(design: Design, source: RunSource, folder: Path, *, pictures: bool = True) -> list[Path]:
    """Write README.md, settings.md, variations.md and figures/; without `pictures`, only the figures' numbers.

    Raises:
        ValueError: no main run is finished.
    """
    from evals.plots.plot import save

    state = search(design, accuracies(source, design))
    arms = measured_arms(design, state.settings, source)
    if not any(m.trained for m in arms.values()):
        raise ValueError("no finished run of the study: rlvr study run=true")
    checked = {scale: claims(design, arms, scale) for scale in design.families}
    plots = figures(design, arms, checked)
    tried = [*state.tried, *sweep_trials(design, state.settings, accuracies(source, design))]
    swept = sweeps(design, [*design.methods(), *sweep_arms(design)], tried)
    pages = {
        NAME: results_page(design, arms, checked, [plot.name for plot in plots]),
        "settings.md": settings_page(design, state.tried, state.settings),
        "variations.md": variations_page(
            alternatives(design, state.settings, source, arms), [plot.name for plot in swept]
        ),
    }
    written = []
    for name, text in pages.items():
        written.append(folder / name)
        written[-1].parent.mkdir(parents=True, exist_ok=True)
        written[-1].write_text(text, encoding="utf-8")
    for plot in [*plots, *swept]:
        written += save(plot, folder / FIGURES, ("png", "csv") if pictures else ("csv",)).values()
    return written


def results_page(design: Design, arms: Mapping[Key, Measured], checked: CheckedClaims, plots: Sequence[str]) -> str:
    """The page of results; `plots` names its figures."""
    rows = {key: row(key, m) for key, m in arms.items()}
    counts = {r.seeds for key, r in rows.items() if key[2] != "base"}
    label = SCALES[design.families[0]].label
    lines = [
        "# The tiny-scale study",
        "",
        f"Written by `rlvr study` from the runs in `records/`, not edited by hand. Design {design.digest}, registered "
        "in [preregistration.md](preregistration.md) before the first run; the settings that the search chose are in "
        "[settings.md](settings.md).",
        "",
        f"**{label[:1].upper()}{label[1:]}.**",
        "",
        _state(design, counts, len(arms) - sum(key[2] == "base" for key in arms)),
        "",
    ]
    lines += [_methods(design, rows, *table).markdown() for table in METHODS]
    lines.append(_gains(design, gains(design, arms)).markdown())
    lines.append(_claims(checked).markdown())
    lines.append(_placebos(design, placebos(design, arms)).markdown())
    lines.append(_controls(controls(design, arms)).markdown())
    lines.append(_pairings(pairings(design, arms)).markdown())
    lines += [f"![{name}]({FIGURES}/{name}.png)\n" for name in plots]
    return "\n".join(lines)


def settings_page(design: Design, tried: Sequence[Trial], settings: Settings) -> str:
    """Every trial of the search, and the chosen settings."""
    grid = Grid(
        "Trials",
        ("family", "paper", "method", "values", f"avg@{design.tuning_samples} on validation, %", "chosen"),
        tuple(
            (
                t.scale,
                t.paper,
                t.method,
                ", ".join(f"{key}={value:g}" for key, value in t.values.items()),
                number_text(t.accuracy, 100) if isinstance(t.accuracy, float) else t.accuracy,
                "yes" if settings.get((t.scale, t.paper, t.method)) == t.values else "",
            )
            for t in tried
        ),
        (
            f"One run each, {design.tuning_rollouts} rollouts, seed {design.tuning_seed}, 48 problems.",
            _edges(design, settings),
        ),
    )
    return "\n".join(
        ["# Settings of the study", "", "Written by `rlvr study`; not edited by hand.", "", grid.markdown()]
    )


def variations_page(compared: Sequence[tuple[Alternative, Difference]], plots: Sequence[str]) -> str:
    """The page of alternative choices and of sweeps; `plots` names its figures."""
    grid = Grid(
        "Choices that a paper leaves open, made otherwise",
        ("family", "paper", "method", "alternative", "seeds", "alternative − declared, avg", "word", "choice"),
        tuple(
            (d.scale, a.paper, a.arm, a.name, _seeds(d), _difference(d), d.line.verdict, a.choice) for a, d in compared
        ),
        (
            "The settings are those that the search chose for the method as declared. Points, mean over the benchmarks "
            f"[95 %]; the word is by p (Holm over the {len(ALTERNATIVES)} alternatives of a family).",
        ),
    )  # fmt: skip
    lines = [
        "# Beside the study: choices and sweeps",
        "",
        "Written by `rlvr study`; not edited by hand. Tiny scale. **Exploratory**: declared in "
        "`harness/study/variations.py` before these runs, but not registered; no claim rests on them.",
        "",
        grid.markdown(),
        "### Sweeps",
        "",
        *(f"![{name}]({FIGURES}/{name}.png)\n" for name in plots),
    ]
    return "\n".join(lines)


def _edges(design: Design, settings: Settings) -> str:
    """The number of chosen learning rates at an end of the search, where a better one may lie outside."""
    ends = {design.learning_rates[0]: 0, design.learning_rates[-1]: 0}
    for values in settings.values():
        if values["learning_rate"] in ends:
            ends[values["learning_rate"]] += 1
    low, high = ends.items()
    return (
        f"Of {len(settings)} chosen learning rates {low[1]} are the smallest tried ({low[0]:g}) and {high[1]} the "
        f"largest ({high[0]:g}): a better one may lie outside."
    )


def _state(design: Design, counts: set[int], measured: int) -> str:
    of = f"{len(design.arms)} arms in {len(design.families)} families"
    if counts == {design.seeds} and measured == len(design.arms) * len(design.families):
        return f"Finished: {of}, {design.seeds} seeds each."
    done = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"each {min(counts)}"
    return (
        f"**Preliminary**: {measured} of {len(design.arms) * len(design.families)} ({of}) have finished seeds, "
        f"{done} of {design.seeds}. `nox -s study` continues it."
    )


def _value(value: Value | None, factor: float = 1.0, form: str = ".1f") -> str:
    if value is None:
        return NONE
    return f"{number_text(value.mean, factor, form)} {bounds_text(value.interval, factor, form)}"


METHODS: tuple[tuple[str, tuple[Column, ...], str], ...] = (
    (
        "Methods: accuracy",
        ACCURACY,
        "Means over the family's three benchmarks [95 % interval over problems and, with two or more, seeds].",
    ),
    (
        "Methods: entropy, length and cost",
        COST,
        "Entropy: nats a token, mean over the last fifth of training. Mean tokens: of the responses to the benchmarks. "
        "Sampled: tokens that training generated, the cost that no machine changes. The first and the last have "
        "intervals over seeds.",
    ),
)
"""Title, columns and note of the tables with a row for each arm."""


def _methods(design: Design, rows: Mapping[Key, Row], title: str, columns: Sequence[Column], note: str) -> Grid:
    """A row for each arm, with the families side by side."""
    names = [("base", design.papers()[0], "base"), *((arm.paper, arm.paper, arm.arm) for arm in design.arms)]
    cells = []
    for shown, paper, arm in names:
        of = [rows.get((scale, paper, arm)) for scale in design.families]
        if any(of):
            seeds = [NONE if r is None else "; ".join(filter(None, (str(r.seeds), r.divergence))) for r in of]
            values = [
                NONE if r is None else _value(value(r), factor, form) for _, value, factor, form in columns for r in of
            ]
            cells.append((shown if arm != "base" else "", arm, " / ".join(dict.fromkeys(seeds)), *values))
    header = [f"{name}: {scale}" for name, *_ in columns for scale in design.families]
    return Grid(title, ("paper", "arm", "seeds", *header), tuple(cells), (note,))


def _gains(design: Design, differences: Sequence[Difference]) -> Grid:
    metrics = list(dict.fromkeys(d.line.metric for d in differences))
    cells: dict[tuple[str, str, str, str], dict[str, Difference]] = {}
    for d in differences:
        cells.setdefault((d.scale, d.paper, d.a, d.b), {})[d.line.metric] = d
    names = {d.line.metric: d.line.name for d in differences}
    return Grid(
        "Gains over each method's own reference",
        ("family", "paper", "difference", "seeds", *(text for m in metrics for text in (names[m], "word"))),
        tuple(
            (
                scale,
                paper,
                f"{a} − {b}",
                _seeds(next(iter(of.values()))),
                *(text for m in metrics for text in (_difference(of[m]), of[m].line.verdict)),
            )
            for (scale, paper, a, b), of in cells.items()
        ),
        (
            "Points, mean over the benchmarks, paired by problem [95 % interval]; the word is by p (Holm over all "
            f"gains of the family in the metric). Equal: within {100 * next(iter(design.margins.values())):g} points.",
        ),
    )  # fmt: skip


def _claims(checked: CheckedClaims) -> Grid:
    scales = list(checked)
    keys = list(dict.fromkeys((paper, i) for of in checked.values() for paper, c in of.items() for i in range(len(c))))
    rows = []
    for paper, i in keys:
        own = [checked[scale][paper][i] for scale in scales]
        claim = own[0].claim
        seeds = " / ".join(dict.fromkeys(_seeds_of(c) for c in own))
        rows.append(
            (paper, claim.text, claim.where, seeds, *(t for c in own for t in (claim_outcome(c), _evidence(c))))
        )
    return Grid(
        "Claims of the papers",
        ("paper", "claim", "where", "seeds", *(text for scale in scales for text in (scale, "difference"))),
        tuple(rows),
        (
            "By the registered rule, with Holm's correction over the paper's claims in the family. Difference: each "
            "comparison that decides the claim (short, long, rare; or the mean; or the curve), in points or the "
            "curve's unit, with its corrected p.",
        ),
    )  # fmt: skip


def _evidence(checked: Checked) -> str:
    return "; ".join(f"{difference_text(e.line)} {_p(e.line.p_holm)}" for e in checked.evidence) or NONE


def _p(p: float | None) -> str:
    text = p_text(p)
    return f"(p {text})" if text.startswith("<") else f"(p = {text})"


def _seeds_of(checked: Checked) -> str:
    return " / ".join(dict.fromkeys(f"{e.line.seeds_a} and {e.line.seeds_b}" for e in checked.evidence)) or NONE


def _placebos(design: Design, differences: Sequence[Difference]) -> Grid:
    groups: dict[tuple[str, str, str], list[Difference]] = {}
    for d in differences:
        groups.setdefault((d.scale, d.paper, d.a), []).append(d)
    return Grid(
        "Placebos: the method minus itself with its signal shuffled",
        ("family", "paper", "method", "seeds", "− shuffled in the group", "− shuffled in the response", "outcome"),
        tuple(
            (scale, paper, method, _seeds(of[0]), *_two([f"{_difference(d)} {d.line.verdict}" for d in of]),
             placebo_outcome(design, of))
            for (scale, paper, method), of in groups.items()
        ),
        ("avg, points, mean over the benchmarks; Holm over all placebo comparisons of the family.",),
    )  # fmt: skip


def _controls(differences: Sequence[Difference]) -> Grid:
    return Grid(
        "Controls",
        ("family", "difference", "seeds", "avg, points", "p (Holm)", "word"),
        tuple(
            (d.scale, f"{d.a} − {d.b}", _seeds(d), _difference(d), p_text(d.line.p_holm), d.line.verdict)
            for d in differences
        ),
        ("GRPO of the baselines' recipe under each reward control, and the control against the untrained base model.",),
    )


def _pairings(measured: Sequence[Pairing]) -> Grid:
    return Grid(
        "Do shared seeds narrow the differences?",
        ("family", "differences", "seeds", "variance of a difference / sum of both arms' variances"),
        tuple(
            (
                p.scale,
                str(p.pairs),
                str(p.seeds),
                f"{number_text(p.ratio, 1, '.2f')} {bounds_text(p.interval, 1, '.2f')}",
            )
            for p in measured
        ),
        (
            "A seed gives every arm the same prompts in the same order. 1: the arms of a seed vary independently, so "
            "nothing is gained; below 1: a difference over shared seeds varies less. avg, every arm against its "
            "reference [95 %, jackknife over seeds]. The intervals above do not use it.",
        ),
    )


def _two(texts: Sequence[str]) -> tuple[str, str]:
    first, second, *_ = [*texts, NONE, NONE]
    return first, second


def _seeds(d: Difference) -> str:
    return f"{d.line.seeds_a} and {d.line.seeds_b}"


def _difference(d: Difference) -> str:
    return difference_text(d.line)
