"""Trainings of one small model on one GPU, in pieces of a quarter of an hour (README.md beside this file).

python -m studies.one_gpu data FOLDER                     GSM8K's training and test problems, checked by hash
python -m studies.one_gpu commands                        the command of every run
python -m studies.one_gpu pack OUT SOURCE...              cut files and folders into pieces to carry
python -m studies.one_gpu receive PIECE STORE             keep a piece. The last one unpacks all
python -m studies.one_gpu slim SOURCE.gguf TARGET.gguf    a GGUF file without its second embedding
python -m studies.one_gpu run --model M --data F --benchmarks D --out DIR --minutes N [--at-once K]
python -m studies.one_gpu page                            results/one_gpu/README.md, from the archives of runs
python -m studies.one_gpu run --enter PAPER ARM ...       GRPO, that arm and its placebo instead
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from studies.one_gpu.design import STUDY, Entry, arguments, entered
from studies.one_gpu.pack import PIECE, pack, receive, smaller_gguf


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m studies.one_gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("commands")
    commands.add_parser("page")
    data = commands.add_parser("data")
    data.add_argument("folder", type=Path)
    data.add_argument("--source", help="a folder with the authors' train.jsonl and test.jsonl; default: their server")
    packing = commands.add_parser("pack")
    packing.add_argument("out", type=Path)
    packing.add_argument("sources", type=Path, nargs="+")
    packing.add_argument("--piece", type=float, default=PIECE / 2**20, help="MiB of a piece")
    for name in ("receive", "slim"):
        two = commands.add_parser(name)
        two.add_argument("source", type=Path)
        two.add_argument("target", type=Path)
    run = commands.add_parser("run")
    for name in ("--model", "--data", "--benchmarks"):
        run.add_argument(name, required=True)
    run.add_argument("--out", type=Path, required=True, help="where results go as soon as a run has ended")
    run.add_argument("--minutes", type=float, required=True, help="then every unfinished run is stopped, to be resumed")
    run.add_argument("--at-once", type=int, default=1, help="runs that share the card")
    run.add_argument("--seeds", type=int, nargs="+", default=[0])
    run.add_argument("--rollouts", type=int, default=STUDY.rollouts, help="fewer: a rehearsal")
    run.add_argument("--only", nargs="+", help="PAPER/ARM of the design")
    run.add_argument("--enter", nargs=2, metavar=("PAPER", "ARM"), help="one arm, GRPO and a placebo instead")
    run.add_argument("--by", help="your name, as a table should show it, to contribute the runs")
    run.add_argument("--with", dest="more", nargs="*", default=[], help="KEY=VALUE for every run: the machine's")
    options = parser.parse_args(argv)
    if options.command == "pack":
        print(f"{pack(options.sources, options.out, piece=int(options.piece * 2**20))} pieces in {options.out}")
    elif options.command == "receive":
        print(receive(options.source, options.target))
    elif options.command == "data":
        from studies.one_gpu.data import SOURCE, fetch

        print("\n".join(map(str, fetch(options.folder, options.source or SOURCE))))
    elif options.command == "page":
        from studies.one_gpu.page import write

        print(write())
    elif options.command == "slim":
        smaller_gguf(options.source, options.target)
    elif options.command == "commands":
        for entry in STUDY.entries:
            words = arguments(entry, 0, model="MODEL", data="TRAIN.jsonl", rollouts=STUDY.rollouts)
            print(shlex.join(["rlvr", "run", *words]))
    else:
        return train(options)
    return 0


def train(options: argparse.Namespace) -> int:
    """Start the runs, `--at-once` of them, each in a process of its own. Stop them at the time given. 0, or 1 if one
    failed, was stopped or not started: the same command goes on."""
    from evals.environment import JOBS_ON_CARD  # here: `receive` runs where no package of ours is installed yet
    from harness.spec.host import this_host

    entries = _entries(options)
    options.out.mkdir(parents=True, exist_ok=True)
    waiting = [(entry, seed) for seed in options.seeds for entry in entries]
    more = {"data_dir": options.benchmarks} | dict(word.split("=", 1) for word in options.more)
    environment = {"OMP_NUM_THREADS": "2", **os.environ}
    if this_host().gpus:  # each run is planned for its part of the card, and keeps to it
        more = {"hardware": "auto", **more}
        environment[JOBS_ON_CARD] = str(min(options.at_once, len(waiting)))
    end, bad = time.monotonic() + 60 * options.minutes, 0
    running: dict[str, subprocess.Popen[bytes]] = {}
    started: dict[str, float] = {}
    logs: dict[str, Path] = {}
    stopped = False
    while waiting or running:
        while waiting and len(running) < options.at_once and time.monotonic() < end:
            entry, seed = waiting.pop(0)
            name = f"{entry.key}, seed {seed}"
            words = arguments(entry, seed, model=options.model, data=options.data, rollouts=options.rollouts, more=more)
            logs[name] = options.out / f"{entry.key.replace('/', '-')}-seed{seed}.log"
            with logs[name].open("a") as out:
                print(f"== rlvr run {shlex.join(words)}", file=out, flush=True)
                process = subprocess.Popen(
                    [sys.executable, "-m", "rlvr", "run", *words],
                    stdout=out,
                    stderr=out,
                    env=environment,
                )
            running[name], started[name] = process, time.monotonic()
            print(f"{name}: started", flush=True)
        if not stopped and time.monotonic() >= end:
            bad += len(waiting)
            stopped, waiting = True, []
            for process in running.values():
                process.terminate()  # once: each ends its step and saves. A second signal would stop it at once
        for name, process in list(running.items()):
            if process.poll() is not None:
                del running[name]
                bad += process.returncode != 0
                took = time.monotonic() - started[name]
                print(f"{name}: {ended(process.returncode, logs[name], stopped)} after {took:.0f} s", flush=True)
                bring_back(options.out, options.by)
        time.sleep(1)
    return int(bad > 0)


def _entries(options: argparse.Namespace) -> Sequence[Entry]:
    entries: Sequence[Entry] = entered(*options.enter) if options.enter else STUDY.entries
    if options.only and not (entries := [entry for entry in entries if entry.key in options.only]):
        sys.exit(f"error: --only {' '.join(options.only)}: expected some of {', '.join(e.key for e in STUDY.entries)}")
    return entries


def ended(code: int, log: Path, stopped: bool) -> str:
    """How a run ended, in words, with the reason of a failure: the log's last error, or its last line."""
    if code == 0:
        return "finished"
    if stopped and code in (75, 143, -15):  # SIGTERM, as `rlvr`, a shell and Popen say it
        return "stopped, because the time is over (the same command goes on)"
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error") or "Error: " in line]
    return f"failed with exit code {code}: {(errors or lines)[-1]} (all of it: {log})"


def bring_back(out: Path, by: str | None = None) -> None:
    """One archive of all finished runs, without models, and the curves of the unfinished ones. `by`: who measured."""
    from harness.record.archive import write_archive
    from harness.record.find import runs
    from harness.runs.track import home

    finished = [run for run in runs() if run.is_finished]
    if finished:
        write_archive(finished, out / "runs.tar.xz", responses=False, by=by)
    curves = _unfinished(home().glob("*/small/*/metrics.jsonl"), {run.folder for run in finished})
    (out / "unfinished.jsonl").write_text("".join(curves))


def _unfinished(paths: Iterable[Path], finished: set[Path]) -> list[str]:
    import json

    from evals.files import json_lines

    return [
        json.dumps({"run": path.parent.name, **json.loads(line)}) + "\n"
        for path in sorted(paths)
        if path.parent not in finished
        for line in json_lines(path)
    ]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(f"error: {error}")
