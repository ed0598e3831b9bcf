"""The tiny-scale study: every method, many seeds, placebos and controls.

python -m studies.tiny             how much of the design is finished
python -m studies.tiny run         train and evaluate what is not finished yet (about 900 runs of a minute; resumes)
python -m studies.tiny write       tables, page and figures of results/study, from the finished runs
python -m studies.tiny page        page and figures alone, from the tables
python -m studies.tiny seeds 5-9   placebo comparisons and gains of these training seeds alone, from the tables
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from evals.imports import uncollected
from harness.record.find import runs as find_runs
from harness.spec.job import Job
from studies.tiny.design import STUDY, Design
from studies.tiny.scores import FinishedRuns, read_arms, write_tables
from studies.tiny.search import base_jobs, chosen, search, study_jobs

FOLDER = Path("results") / "study"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m studies.tiny", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command")
    run = commands.add_parser("run", help="train and evaluate what is not finished yet")
    run.add_argument("--family", action="append", choices=STUDY.families, help="only this task family")
    run.add_argument("--tier", action="append", type=int, choices=STUDY.tiers(), help="only this tier")
    run.add_argument(
        "--seeds", type=int, choices=range(1, STUDY.seeds + 1), metavar="N", help="only the first N training seeds"
    )
    for name, help_text in (("write", "tables, page and figures"), ("page", "page and figures from the tables")):
        commands.add_parser(name, help=help_text).add_argument("--out", type=Path, default=FOLDER)
    commands.add_parser("seeds", help="comparisons of some training seeds").add_argument("range", type=parse_seeds)
    options = parser.parse_args(arguments)
    if options.command == "run":
        design = STUDY.of_families(options.family or STUDY.families)
        return run_study(design, tiers=options.tier or design.tiers(), seeds=options.seeds or design.seeds)
    if options.command in ("write", "page"):
        from studies.tiny.page import write_page

        if options.command == "write":
            write_tables(STUDY, find_runs(), options.out)
        write_page(STUDY, FOLDER if options.command == "page" else options.out, options.out)
    elif options.command == "seeds":
        print_differences(STUDY, options.range)
    else:
        print_state(STUDY)
    return 0


def run_study(design: Design, *, tiers: Sequence[int], seeds: int) -> int:
    """Run everything unfinished of some tiers: the search first, then the runs that count. 0, or 1 if a job failed.

    Raises:
        RuntimeError: a trial of the search failed; the best of the others would not follow the registration.
    """
    failed = _run(base_jobs(design))
    for tier in tiers:
        for _ in ("learning rates", "knobs"):  # the second part of the search follows from the first
            jobs, _trials = search(design, tier, FinishedRuns.of(find_runs()).accuracy(design))
            _run(jobs)
        _, trials = search(design, tier, FinishedRuns.of(find_runs()).accuracy(design))
        if unfinished := [trial for trial in trials if trial.accuracy == "unfinished"]:
            names = ", ".join(f"{t.scale} {t.paper} {t.method} {dict(t.values)}" for t in unfinished)
            raise RuntimeError(f"the search is not finished, so nothing is chosen: {names}; the same command resumes")
        jobs = study_jobs(design, chosen(trials), tiers=[tier])
        failed += _run([job for job in jobs if job.seed < seeds])
    return int(failed > 0)


def _run(jobs: Sequence[Job]) -> int:
    """Run the jobs that are not finished, in this process; how many failed."""
    import torch

    from harness.jobs.run import check_data, run_jobs
    from harness.plan.machine import check_machine, take_machine
    from harness.runs.disk import full_disk_named
    from harness.runs.interrupt import handled
    from harness.runs.track import make_home

    torch.set_num_threads(1)  # the number of threads decides the last bits of a sum
    with uncollected():  # so that the collections at the end of each run do not visit half a million objects
        import mlflow  # noqa: F401
        from transformers import Qwen2ForCausalLM  # noqa: F401

        import harness.backends.trl.trainer  # noqa: F401
    machines = take_machine({}).by_arm(list(jobs))
    home, data_dir = make_home(), check_data(list(jobs), None)
    check_machine(list(jobs), machines, data_dir=data_dir)
    machines = {arm: hardware.with_device() for arm, hardware in machines.items()}
    command = " ".join(["python -m studies.tiny", *sys.argv[1:]])
    with handled(), full_disk_named(home):
        outcomes = run_jobs(jobs, hardware=machines, data_dir=data_dir, command=command, keep_going=True)
    return sum(outcome.error is not None for outcome in outcomes)


def print_state(design: Design) -> None:
    """How much of the design is finished."""
    finished = FinishedRuns.of(find_runs())
    print(f"design {design.digest}: {len(design.arms)} arms, {design.seeds} seeds, {len(design.families)} families")
    for scale in design.families:
        for tier in design.tiers():
            part = design.of_families([scale])
            _, trials = search(part, tier, finished.accuracy(design))
            ended = sum(trial.accuracy != "unfinished" for trial in trials)
            jobs = study_jobs(part, chosen(trials), tiers=[tier]) if ended == len(trials) else []
            runs = sum(finished.get(job) is not None for job in jobs)
            declared = sum(arm.tier == tier for arm in design.arms) * design.seeds
            print(f"{scale}, tier {tier}: search {ended} of {len(trials)} trials or more; {runs} of {declared} runs")


def print_differences(design: Design, seeds: range) -> None:
    """A Markdown table of the placebo comparisons and the gains, corrected as on the page."""
    from evals.stats.score import difference_text, p_text
    from studies.tiny.outcomes import gains, placebos

    arms = read_arms(design, FOLDER, seeds)
    print("| family | difference | metric | seeds | points | p (Holm) | word |\n|" + " --- |" * 7)
    for d in [*placebos(design, arms), *gains(design, arms)]:
        line = d.line
        cells = (line.name, f"{line.seeds_a} and {line.seeds_b}", difference_text(line), p_text(line.p_holm))
        print(f"| {d.scale} | {d.a} − {d.b} | {' | '.join(cells)} | {line.verdict} |")


def parse_seeds(text: str) -> range:
    """ "2-9" -> 2 to 9, both included."""
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"expected FIRST-LAST, for example 2-9, got {text!r}")
    return range(int(first), int(last) + 1)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ValueError, RuntimeError) as error:
        sys.exit(f"error: {error}")
