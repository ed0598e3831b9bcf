"""Audit a printed number: how it comes about from the files behind it, and what is left of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evals.paths import conditions_of
from harness.errors import UsageError, refuse_unused
from rlvr.results import Result

if TYPE_CHECKING:
    import pandas as pd

    from evals.answer_files.read import Read
    from evals.answer_files.reading import Reading
    from evals.audit import Audit, Evidence
    from evals.slow import Count
    from harness.record.run import Run

PathLike = str | os.PathLike[str]
FILES = "expected files of curves or of graded responses, a glob of them, or runs"
MOST_PROBLEMS = 10_000_000  # in a benchmark
LAST = "rlvr tables and rlvr report print the last checkpoint's score, mean over seeds"


@dataclass(frozen=True)
class AuditOptions:
    """The options that say how files are read. `audit` describes each field."""

    metric: str | None
    files: str | None
    problems: int | None
    label: str | None
    label_threshold: float | None
    golds: str | None
    rows: tuple[str, ...]
    columns: Mapping[str, str]
    k: int

    def check(self, own_runs: bool) -> None:
        """Raise UsageError for an option that is not used of runs of this project, or of curves."""
        unused: dict[str, object] = {key: getattr(self, key) for key in ("label", "label_threshold", "golds")}
        if own_runs:
            unused |= {key: getattr(self, key) for key in ("problems", "files", "columns", "rows")}
            refuse_unused("of runs of this project, which record it", **unused)
        elif self.metric is not None:
            unused["columns"] = None if set(self.columns) <= {"step"} else self.columns
            unused["k"] = None if self.k == 1 else self.k
            refuse_unused("with metric=, which is of training curves; files of responses need none", **unused)

    @property
    def of_base(self) -> AuditOptions:
        """The options for the files of the base, which are never recipes."""
        return replace(self, files=None if self.files == "recipes" else self.files)

    @property
    def reading(self) -> Reading:
        from evals.answer_files.reading import Reading

        return Reading(self.columns, None, None, self.label, self.label_threshold, self.golds, self.rows)


def audit(
    *source: PathLike,
    printed: str | float | None = None,
    metric: str | None = None,
    files: Literal["checkpoints", "seeds", "samples", "recipes"] | None = None,
    base: Sequence[PathLike] | None = None,
    problems: int | None = None,
    declared: str | None = None,
    label: str | None = None,
    label_threshold: float | None = None,
    golds: str | None = None,
    rows: Sequence[str] | str | None = None,
    columns: dict[str, str] | None = None,
    k: int = 1,
    where: str = "",
) -> Result:
    """Check a printed score: do its files give it, and does it depend on a choice, on a seed or on the grader?

        rlvr audit gemma.log printed=64.02 metric=val/test_score/openai/gsm8k problems=1319
        rlvr audit step_100.jsonl step_200.jsonl printed=52.4
        rlvr audit lr_1.csv lr_2.csv lr_3.csv printed=52.4 metric=eval_acc files=recipes problems=500
        rlvr audit runs/A-seed1 runs/A-seed2 metric=math500

    The verdict is one of: stands, stands with a reservation, stands with another number, not found among N readings,
    within selection, within seeds, made by the grader, cannot tell. docs/reference/audit.md explains them.

    Args:
        *source: files of one kind. Training curves, one file per seed: console logs of veRL, trainer_state.json, MLPerf
            logs, lighteval tables, CSV and JSON Lines of trackers. Graded responses in any format of `rlvr grade`, or
            tables of verdicts (id, correct, seed, step), one file per checkpoint. Runs of this project, one folder per
            seed.
        printed: the printed score, with its digits: in percent, as a count such as 13/30, or as a share such as 0.467.
            Default for runs: the score that `rlvr tables` prints.
        metric: name of the score in curves, or name of the benchmark in runs that have several benchmarks.
        files: the meaning of one file. Default: a curve is one seed, and a file of responses or verdicts is one
            checkpoint. But names that differ by seed or run and a number are seeds. Names that differ by rs, sample or
            repeat and a number are samples of one checkpoint. With recipes, each file is one recipe, and the printed
            score may be the best of them.
        base: files of the model to compare with, or a glob. The audit then gives the gain over this model, with its
            interval.
        problems: number of problems in the benchmark. Default for curves: their column n_problems. If a curve has no
            number of problems, the audit does not judge the choice of a checkpoint, and fewer than three seeds have no
            interval. Default for
            responses and verdicts: if the name of the file contains a known benchmark, the size of this benchmark. Up
            to a fifth of the problems may be missing in the file. The audit names these problems, and gives the range
            of possible scores.
        declared: PAPER:ARM: list the settings in a veRL log that differ from this declaration.
        label: the authors' verdict to use, if a file has several.
        label_threshold: the number from which the authors' verdict means correct. Without it, the only numbers
            that are verdicts are 1, 0 and -1 (incorrect).
        golds: the way to read several golds of one problem. any: a response is right if it gives one of them. all: it
            must list all. any:/ splits each gold at /, and then reads it as any.
        rows: the rows to read. Example: rows=model?gpt reads the rows whose model is gpt.
        columns: pairs of our column and theirs, as in `rlvr grade`. They also work for a table of verdicts.
        k: the k of pass@k, if the printed score is pass@k.
        where: the place of the printed score, for example "Table 2".

    Raises:
        UsageError: a file cannot be read, or lacks the metric or the authors' verdicts.
    """
    from evals.answer_files.read import audit_lines
    from evals.audit import Printed
    from evals.audit import audit as take_apart

    if problems is not None and not 1 <= problems <= MOST_PROBLEMS:
        raise UsageError(f"problems={problems}: expected at least 1 and at most {MOST_PROBLEMS:,}")
    if not source:
        raise UsageError("SOURCE: missing. Expected files of curves or of graded responses, or runs")
    declaration = None if declared is None else _declared(declared)
    groups = [_places(group) for group in (source, base or ()) if group]
    own_runs = all(path.is_dir() for path in groups[0])
    options = AuditOptions(
        metric, files, problems, label, label_threshold, golds, conditions_of(rows), columns or {}, k
    )
    options.check(own_runs)
    reads: list[Read] = []
    try:
        read = _sides(groups, own_runs, options, reads)
        if printed is None and not own_runs:
            raise UsageError("printed: missing. Expected a percentage such as 46.7")
        last = f"{100 * float(read[0].last['value'].mean()):.1f}"
        claim = Printed(last if printed is None else str(printed), where, k)
    except OSError as error:
        raise UsageError(str(error)) from error
    result = take_apart(claim, read[0], base=read[1] if len(read) > 1 else None, declared=declaration)
    document: dict[str, object] = {"read": [*map(asdict, reads)], **asdict(result)}
    document |= {"printed": claim.text, "where": where, "verdict": result.in_words}
    text = f"{result}\n  {LAST}" if own_runs else "\n".join([*audit_lines(reads), str(result)])
    if declaration is not None and not result.differing:
        text += f"\n  settings of {declared}: {_as_declared(read[0].settings.keys() & declaration.keys())}"
    if own_runs and (different := _different(groups, metric)):
        document["measured_differently"] = different
        text += f"\n  MEASURED DIFFERENTLY, so the gain is not the model's alone: {'; '.join(different)}"
    return Result(document, text, _rows(result))


def _places(group: Sequence[PathLike]) -> list[Path]:
    from harness.record.find import places

    return [place for path in group for place in places(os.fspath(path), FILES)]


def _as_declared(same: Collection[str]) -> str:
    return f"as declared: {', '.join(sorted(same))}" if same else "none are stated in these files"


def _rows(result: Audit) -> list[dict[str, object]]:
    """One row per cause, with the scores in percent; one row without a cause."""
    shares = {"file": result.file, "ours": result.ours}
    shares |= {key: getattr(result.interval, key, None) for key in ("low", "high")}
    percent = {key: None if share is None else round(100 * share, 4) for key, share in shares.items()}
    read_as = result.printed  # a share, such as 0.467, if the files say so
    number = f"{100 * read_as.value:g}" if read_as.share else read_as.digits
    row: dict[str, object] = {"printed": number, "verdict": result.in_words, **percent}
    return [{**row, "cause": c.name, "points": c.points, "why": c.text} for c in result.causes] or [row]


def _different(groups: Sequence[Sequence[Path]], benchmark: str | None) -> list[str]:
    """The settings that decide a measurement and differ between the first run of each group; none of one group."""
    from evals.stats.measured_run import decisive_differences
    from harness.record.find import runs

    if len(groups) == 1:
        return []
    first = [runs(*group)[0] for group in groups]
    measured, base = (run.conditions(benchmark or run.benchmarks[0]) for run in first)
    return [f"{field} is {b!r} in the base, {a!r} here" for field, a, b in decisive_differences(measured, base)]


def _sides(
    groups: Sequence[Sequence[Path]], own_runs: bool, options: AuditOptions, reads: list[Read]
) -> list[Evidence]:
    """The evidence of the printed score, and of the base. Adds to `reads` what was read of each file."""
    from evals.slow import slow

    with slow("audit: reading and grading") as progress:
        if own_runs:
            return [_of_runs(group, options.metric) for group in groups]
        pairs = zip(groups, (options, options.of_base), strict=False)
        return [_evidence(group, of_group, progress, reads) for group, of_group in pairs]


def _evidence(paths: Sequence[Path], options: AuditOptions, progress: Count, reads: list[Read]) -> Evidence:
    """The evidence of files. Adds to `reads` what was read of each of them."""
    from evals.same_file import refuse_same

    of_curves = options.metric is not None
    refuse_same(paths, "a seed" if of_curves else "a checkpoint, a seed or a sample", copies=options.files != "recipes")
    return _of_curves(paths, options, reads) if of_curves else _of_samples(paths, options, progress, reads)


def _of_curves(paths: Sequence[Path], options: AuditOptions, reads: list[Read]) -> Evidence:
    """The evidence of training curves."""
    from evals.answer_files.read import of_curve
    from evals.audit.curve_evidence import curve_evidence
    from evals.audit.curves import read_curves
    from evals.audit.tool_faults import known_faults
    from evals.audit.verl_settings import verl_settings
    from evals.convert import refuse_converted

    metric, files, reading = options.metric or "", options.files, options.reading
    if files in ("checkpoints", "samples"):
        raise UsageError(f"files={files}: a curve has all checkpoints of a seed. Expected seeds or recipes")
    for path in paths:
        refuse_converted(path)
    names, texts = _names(paths), [path.read_text(errors="replace") for path in paths]
    curves, files_of_curves, faults = {}, [], list[str]()
    for name, path, text in zip(names, paths, texts, strict=True):
        curves_of_file = read_curves(
            text,
            name=str(path),
            step=reading.columns.get("step"),
            wanted=[metric],
            conditions=reading.rows,
            seeds=files != "recipes",
        )
        for seed, curve in curves_of_file.items():
            curves[" ".join(filter(None, [name if len(paths) > 1 or not seed else "", seed]))] = curve
            files_of_curves.append(str(path))
            faults += known_faults(text, curve)
    settings = verl_settings(texts[0])
    evidence = curve_evidence(curves, metric, problems=options.problems, settings=settings, recipes=files == "recipes")
    reads += [of_curve(file, curve, metric) for file, curve in zip(files_of_curves, curves.values(), strict=True)]
    return replace(evidence, faults=tuple(dict.fromkeys(faults)))


def _of_samples(paths: Sequence[Path], options: AuditOptions, progress: Count, reads: list[Read]) -> Evidence:
    """The evidence of graded responses and of verdicts."""
    import pandas as pd

    from evals.answer_files.read import of_verdicts
    from evals.audit import Evidence
    from evals.audit.denominators import known_size
    from evals.audit.sets import checkpoint_numbers, named_as

    reading, problems = options.reading, options.problems
    naming = named_as(paths) if options.files is None else None
    files = options.files if naming is None else naming[0]
    tables: list[pd.DataFrame] = []
    called: dict[int, str] = {}
    for number, name, path in zip(checkpoint_numbers(paths), _names(paths), paths, strict=True):
        progress("files", len(tables), len(paths))
        table, of_file = _table(path, reading)
        reads.append(of_file or of_verdicts(str(path), table))
        if files == "recipes" or (files not in ("seeds", "samples") and "checkpoint" not in table):
            called[number] = name
        tables.append(_placed(table, files, number, name))
    if naming is not None:
        alternatives = [f"files={kind}" for kind in ("samples", "seeds", "checkpoints") if kind != naming[0]]
        note = f"the names differ by {naming[1]} and a number, so the files are {naming[0]}"
        before = f"{reads[-1].note}. " if reads[-1].note else ""
        reads[-1] = replace(reads[-1], note=f"{before}{note}. To say otherwise, type {' or '.join(alternatives)}")
    if files is None:
        _refuse_apart(paths, tables)
    samples = pd.concat(tables, ignore_index=True)
    named = [*map(str, samples.get("benchmark", pd.Series(dtype=str)).unique())] or [path.name for path in paths]
    evidence = Evidence.of_samples(samples, problems=problems)
    known, measured = known_size(named), evidence.problems or 0
    if problems is None and known is not None and measured < known <= 1.25 * measured:
        evidence = replace(evidence, stated=known)
    return replace(evidence, names=called, recipes=files == "recipes")


def _placed(table: pd.DataFrame, files: str | None, number: int, name: str) -> pd.DataFrame:
    """The samples of one file with its checkpoint or its seed, where the table does not state them.

    Args:
        files: what one file is; None: a checkpoint.
    """
    if files == "recipes":
        return table.assign(checkpoint=number, seed="")
    if files == "seeds":
        return table if "seed" in table else table.assign(seed=name)
    return table if "checkpoint" in table else table.assign(checkpoint=0 if files == "samples" else number)


def _refuse_apart(paths: Sequence[Path], tables: Sequence[pd.DataFrame]) -> None:
    """Refuse files that share no problem, as those of a tool that writes one for each problem: they are no checkpoints.

    Raises:
        UsageError: it says how to make one file of them.
    """
    problems = [{*map(str, table["problem_id"])} for table in tables]
    if len(tables) > 1 and sum(map(len, problems)) == len(set().union(*problems)):
        raise UsageError(
            f"{paths[0]} and {len(paths) - 1} more: no two of these files share a problem, so they are no checkpoints "
            "of one run. If they are parts of one evaluation, join them first: cat FILES > all.jsonl. If they are "
            "different benchmarks, audit each file by itself"
        )


def _table(path: Path, reading: Reading) -> tuple[pd.DataFrame, Read | None]:
    """The verdicts of a file, and what was read of one with responses, or None for a table of verdicts alone."""
    from evals.answer_files.containers import contents
    from evals.answer_files.items import select
    from evals.answer_files.policies import are_letters
    from evals.answer_files.read import extracted, read_of
    from evals.answer_files.reading import NoGoldError, UnknownFormatError, read_answers
    from evals.answer_files.what_to_type import verdicts_to_name
    from evals.audit.curves import refuse_curve
    from evals.audit.graded import graded, graded_programs, programs
    from evals.audit.verdict_rows import verdict_table
    from evals.data.rows import NotJSONError
    from evals.grading import Grader

    try:
        table = verdict_table(path, reading.columns, reading.label_threshold, reading.rows)
    except NotJSONError:
        refuse_curve(path)
        raise
    if table is not None:
        return table, None
    try:
        file = read_answers(path, reading)
    except (UnknownFormatError, NoGoldError) as error:
        unknown = isinstance(error, UnknownFormatError)
        if not unknown and reading.columns:
            raise
        objects, _ = select(path, contents(path, {}, reading.rows), {}, reading.rows)
        verdicts = verdicts_to_name(objects, lambda columns: _reads(path, columns, reading))
        curve = "\nA curve needs metric=NAME." if unknown else ""
        raise UsageError(f"{error}{curve}\nFor verdicts alone, type {verdicts}") from error
    if not file.labelled:
        raise UsageError(
            f"{path}: no verdicts of the authors. {file.note or 'The file has none'}. To compute our score, type "
            f"rlvr grade {path}. A curve needs metric=NAME"
        )
    of_programs = programs(file)
    letters = are_letters(sample.gold for sample in file.rows)
    [of_file] = read_of(file, lambda sample: None if of_programs else extracted(sample, letters))
    return graded_programs(file) if of_programs else graded(file.rows, Grader()), of_file


def _reads(path: Path, columns: Mapping[str, str], reading: Reading) -> bool:
    """Whether the whole file is a table of verdicts with columns."""
    from evals.audit.verdict_rows import verdict_table

    try:
        return verdict_table(path, columns, reading.label_threshold, reading.rows) is not None
    except UsageError:
        return False


def _names(paths: Sequence[Path]) -> list[str]:
    """The names of the files, with as many folders as it takes to tell them apart."""
    for parts in range(1, max((len(path.parts) for path in paths), default=0) + 1):
        names = ["/".join(path.parts[-parts:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [f"{path} ({number})" for number, path in enumerate(paths, 1)]


def _of_runs(names: Sequence[Path], benchmark: str | None) -> Evidence:
    """The checkpoints of runs of this project, by our verdicts. The last is the final model."""
    import pandas as pd

    from evals.audit import Evidence
    from harness.record.find import check_apart, conditions_of, runs

    matches = runs(*names)
    check_apart(matches)
    available = sorted({name for run in matches for name in run.benchmarks})
    if benchmark is None and len(available) == 1:
        (benchmark,) = available
    if benchmark is None or benchmark not in available:
        got = "none" if benchmark is None else benchmark
        raise UsageError(f"metric: expected a benchmark of the runs ({', '.join(available)}), got {got}")
    if len(matches) > 1:
        conditions_of(matches)  # seeds of one arm, measured alike
    parts = [part for number, run in enumerate(matches) for part in _checkpoints(run, benchmark, number)]
    return Evidence.of_samples(pd.concat(parts, ignore_index=True))


def _checkpoints(run: Run, benchmark: str, seed: int) -> list[Any]:
    """The verdicts of a run's evaluations, the final model's last."""
    last = max([*run.evaluated_steps, *run.curve], default=0)
    steps = {step: run.samples_at(step, benchmark) for step in run.evaluated_steps if step < last}
    parts = []
    for step, samples in {**steps, last: run.verdicts(benchmark)}.items():
        if samples is not None:
            verdict = samples["verdict"]
            table = samples[["problem_id"]].assign(
                label=(verdict == "correct").astype(float).where(verdict != "unscored"),
                truncated=(verdict == "truncated").astype(float),
            )
            parts.append(table.assign(seed=seed, checkpoint=step))
    return parts


def _declared(text: str) -> Mapping[str, object]:
    """The settings of PAPER:ARM at the paper's scale."""
    from harness.command.resolve import resolve

    paper, _, arm = text.partition(":")
    job = resolve(paper, arms=[arm] if arm else None, scale="paper")[0]
    return {key: sourced.value for key, sourced in job.settings().items()}
