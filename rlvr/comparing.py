"""Compare two methods."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, NoReturn, cast

from harness.errors import UsageError, choose, nearest, refuse_unused
from rlvr import signature
from rlvr.results import Result

if TYPE_CHECKING:
    from evals.plots.plot import Plot
    from evals.stats.compare import CompareResult
    from harness.tables.measured import Measured
    from rlvr.runs import Run

PathLike = str | os.PathLike[str]


class Difference(Result):
    """Method a minus method b, paired by problem, with Holm's correction over the benchmarks of each metric."""

    def __init__(self, result: CompareResult) -> None:
        from rlvr.compare_text import blocks, printed

        document = result.as_dict()
        super().__init__(document, lambda: blocks(result), document["lines"], printed=[printed(result)])
        self.result = result

    @property
    def lines(self) -> list[dict[str, object]]:
        """One dictionary for each benchmark and metric: a, b, difference, low, high, p_value, p_holm, verdict, ..."""
        lines: list[dict[str, object]] = self.document["lines"]
        return lines

    @property
    def notes(self) -> list[str]:
        """Warnings, and what was measured differently in the two runs."""
        return [*(f"measured differently: {text}" for text in self.result.different), *self.result.notes]

    def plot(self) -> Plot:
        """The differences with their intervals, one row for each benchmark and metric. `figure` is matplotlib's."""
        from evals.plots.comparison import differences

        return differences(self.result)

    def to_latex(self) -> str:
        """The differences, with a caption and what its signs mean. Needs booktabs and graphicx."""
        from evals.latex import latex_table
        from evals.stats.compare_notes import notes
        from rlvr.compare_text import short_name

        a, b = short_name(self.result.a), short_name(self.result.b)
        label = re.sub(r"[^A-Za-z0-9]+", "-", f"{a}-{b}").strip("-")
        caption = f"{a} (A) and {b} (B), paired by problem."
        return latex_table(super().to_latex(), caption, label, " ".join(notes(self.result)))

    def to_markdown(self) -> str:
        """The differences, and under them what the signs mean, as a list."""
        from evals.markdown import markdown_text
        from evals.stats.compare_notes import notes

        return "\n".join([super().to_markdown(), "", *(f"- {markdown_text(note)}" for note in notes(self.result))])

    def formats(self) -> dict[str, Callable[[], str | bytes]]:
        return super().formats() | {
            f".{form}": lambda form=form: self.plot().rendered(form) for form in ("svg", "png", "pdf")
        }


def compare(
    a: PathLike | Run | None = None,
    b: PathLike | Run | None = None,
    *,
    paper: str | None = None,
    arm: Sequence[str] | None = None,
    scale: str | None = None,
    model: str | None = None,
    metrics: Sequence[str] | None = None,
    ks: Sequence[int] | int | None = None,
    benchmarks: Sequence[str] | None = None,
    margin: float | None = None,
    allow_different: bool = False,
    **values: object,
) -> Difference:
    """Compare two methods on the same problems: A minus B, paired by problem.

        rlvr compare paper=egsw arm=egsw,grpo
        rlvr compare ours.jsonl theirs.jsonl out=difference.svg

    out= with .svg, .png or .pdf saves the figure of the differences.

    Args:
        a: the first run: a run's folder, the folder of an evaluation, a file of verdicts (as `rlvr grade out=FILE`
            writes), or the beginning of a name that `rlvr show` prints. Join training seeds of one method with commas:
            a0,a1,a2.
        b: the second run, in the same forms as a=.
        paper: compare two arms of this paper instead of A and B, with all their finished training seeds under
            RLVR_HOME.
        arm: the two arms to compare, with paper=. Example: arm=mine,grpo
        scale: the scale at which the arms were trained (default: tiny).
        model: the base model of the arms, if several were trained.
        metrics: metrics to compare: avg, pass, maj (default: these three), unsolvable, fmt, no_answer_rate,
            mean_tokens, truncation_rate.
        ks: the k of pass, maj and unsolvable (default: the fewest samples per problem).
        benchmarks: compare only these benchmarks (default: all that both runs have).
        margin: differences up to this size count as equal, as a fraction such as 0.01. It adds the verdict equal.
        allow_different: compare runs even if their protocol, prompt, decoding or data differ. The output says what
            differs.
        **values: choose arms by a value, if they were trained with several. Example: egsw.alpha=0.5

    Raises:
        UsageError: no such run, no problem in common, other golds, or measured differently.
    """
    from rlvr.evaluation import at_least_one

    if paper is None and (a is None or b is None):  # before anything heavy is imported
        raise UsageError("b: missing. Give two runs, or paper=KEY arm=A,B")
    from evals.stats.verdict_table import COMPARED, METRICS, OF_K

    metrics = choose("metrics", metrics, METRICS, default=[*COMPARED])
    ks = at_least_one("ks", ks)
    if margin is not None and not 0 < margin < 1:
        raise UsageError(f"margin={margin}: expected a fraction between 0 and 1, as 0.01 for one point")
    if paper is not None and (a is not None or b is not None):
        raise UsageError(f"paper={paper}: expected it with arm=A,B, or two runs, not both")
    if paper is None:
        refuse_unused("of two runs, only with paper=", arm=arm, scale=scale, model=model)
        for key, value in values.items():
            near = nearest(key, signature.options(compare).keys() - {"a", "b", "values"})
            raise UsageError(f"{key}={value}: not used of two runs, only of arms with paper=. {near}")
    if not {*metrics} & {*OF_K}:
        refuse_unused(f"by {', '.join(metrics)}, only by {', '.join(OF_K)}", ks=ks)
    from evals.stats.compare import compare_runs
    from harness.record.cautions import cautions
    from harness.record.find import check_apart
    from rlvr.runs import read_run

    pair, notes = ((a, b), ()) if paper is None else _two_arms(paper, arm, scale or "tiny", model, values)
    first, second = (cast("Run", run) if hasattr(run, "measured") else read_run(cast("PathLike", run)) for run in pair)
    check_apart([*first.seeds, *second.seeds])
    result = compare_runs(
        *(first.measured, second.measured),
        metrics=metrics,
        ks=ks,
        benchmarks=benchmarks,
        margin=margin,
        allow_different=allow_different,
    )
    warned = [f"Warning, {run.name}: {line}." for run in (first, second) for line in cautions(run.seeds, unmoved="")]
    return Difference(replace(result, notes=(*warned, *result.notes, *notes)))


def _two_arms(
    paper: str, arms: Sequence[str] | None, scale: str, model: str | None, values: Mapping[str, object]
) -> tuple[list[Run], list[str]]:
    """The two arms of a paper, each with all its finished training seeds under RLVR_HOME, and what to know of them."""
    from harness.record.find import runs
    from harness.spec import catalogue
    from harness.tables.measured import gather, other_versions

    choose("paper", [paper], catalogue.papers())
    if arms is None or len(arms) != 2:
        raise UsageError(f"arm: expected two arms, as arm=mine,grpo, got {','.join(arms or []) or 'none'}")

    measured = [m for m in gather(paper, [r for r in runs(paper=paper, scale=scale) if r.arm in arms]) if m.seeds]
    known = {key for m in measured for run in m.runs.values() for key in run.settings}
    if measured and (unknown := sorted(values.keys() - known)):
        near = nearest(unknown[0], known | signature.options(compare).keys() - {"a", "b", "values"})
        raise UsageError(f"{unknown[0]}={values[unknown[0]]}: no option, and no value of these arms. {near}")
    pairs = [
        (a, b)
        for a, b in product(measured, measured)
        if [a.arm, b.arm] == [*arms] and _alike(a, b, values) and model in (None, a.model, a.base)
    ]
    if len(pairs) != 1:
        _refuse(paper, arms, measured, pairs)
    return [_all_seeds(m) for m in pairs[0]], other_versions(pairs[0])


def _refuse(
    paper: str, arms: Sequence[str], measured: Sequence[Measured], pairs: Sequence[tuple[Measured, Measured]]
) -> NoReturn:
    """Raise UsageError: no pair of arms, or several."""
    from harness.runs.track import home
    from harness.spec import catalogue
    from harness.spec.controls import split_key

    if pairs:
        each = [" ".join(dict.fromkeys((f"model={a.base}", *a.replaced, *b.replaced))) for a, b in pairs]
        remedy = "Give what tells them apart, a declared value too"
        raise UsageError(f"arm={','.join(arms)}: both were trained with: {'; '.join(each)}. {remedy}")
    declared = dict.fromkeys(arm.key for arm in catalogue.load(paper).arms)
    choose("arm", [split_key(arm)[0] for arm in arms if arm not in {m.arm for m in measured}], declared)
    available = ", ".join(m.label(f"{m.base}/{m.arm}") for m in measured) or "none"
    raise UsageError(f"arm={','.join(arms)}: expected finished runs of both in {home()}, found {available}")


def _alike(a: Measured, b: Measured, values: Mapping[str, object]) -> bool:
    """Whether two arms can be compared, and each of these values is one of theirs."""
    from harness.tables.measured import comparable, same_setting

    settings = [next(iter(m.runs.values())).settings for m in (a, b)]
    given = {key for s in settings for key, value in values.items() if str(s.get(key, {}).get("value")) == str(value)}
    return given == values.keys() and same_setting(a, b) and comparable(a, b)


def _all_seeds(m: Measured) -> Run:
    from rlvr.runs import read_run

    name = f"{m.arm} ({len(m.seeds)} seed{'s' * (len(m.seeds) > 1)})"
    return read_run(*(m.runs[seed].folder for seed in m.seeds), name=name)
