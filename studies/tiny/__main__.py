"""The tiny-scale study: every method, many seeds, placebos and controls.

python -m studies.tiny run      train and evaluate what is not finished yet (about 900 runs of a minute, resumes)
python -m studies.tiny write    tables, page and figures of results/study, from the finished runs
python -m studies.tiny page     page and figures alone, from the tables

With --later before the command: the same of the later tier, in results/study/later.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from studies.tiny.design import LATER, STUDY, Design
from studies.tiny.jobs import FOLDER, LATER_FOLDER, base_jobs, read_settings, study_jobs
from studies.tiny.scores import write_tables


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m studies.tiny", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--later", action="store_true", help="the later tier")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="train and evaluate what is not finished yet")
    run.add_argument("--family", action="append", choices=STUDY.families, help="only this task family")
    commands.add_parser("write", help="tables, page and figures")
    commands.add_parser("page", help="page and figures from the tables")
    options = parser.parse_args(arguments)
    study, folder = (LATER, LATER_FOLDER) if options.later else (STUDY, FOLDER)
    if options.command == "run":
        return run_study(study.of_families(options.family or study.families))
    from harness.record.find import runs
    from studies.tiny.page import write_page

    if options.command == "write":
        write_tables(study, read_settings(study), runs(), folder)
    write_page(study, folder, folder)
    return 0


def run_study(design: Design) -> int:
    """Run everything unfinished in this process. 0, or 1 if a job failed."""
    import torch

    from harness.command.options import RunOptions
    from harness.jobs.run import check_data, run_jobs
    from harness.plan.machine import check_machine, machine_of
    from harness.runs.disk import full_disk_named
    from harness.runs.interrupt import handled
    from harness.runs.track import make_home

    jobs = [*base_jobs(design), *study_jobs(design, read_settings(design))]
    torch.set_num_threads(1)  # the number of threads decides the last bits of a sum
    machines, home, data_dir = machine_of(RunOptions()).by_arm(jobs), make_home(), check_data(jobs, None)
    check_machine(jobs, machines, data_dir=data_dir)
    command = " ".join(["python -m studies.tiny", *sys.argv[1:]])
    with handled(), full_disk_named(home):
        outcomes = run_jobs(jobs, hardware=machines, data_dir=data_dir, command=command, keep_going=True)
    return int(any(outcome.error is not None for outcome in outcomes))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ValueError, RuntimeError) as error:
        sys.exit(f"error: {error}")
