"""The commands `rlvr plan`, `rlvr config` and `rlvr run`."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.redaction import redact
from harness.cli.terminal import wrapped
from harness.command.config import parse_overrides
from harness.command.watch import take_watch
from harness.errors import UsageError
from harness.launch.launcher import launcher_alone, launcher_help, take_launcher
from harness.launch.prepare import checked_watch, prepare, read_jobs, refused, that_run
from harness.plan.machine import hardware_help, take_machine

RUN = (
    """options:
  paper=KEY              required; see `rlvr list`
  arm=A,B model=A,B      which arms and base models (default: those of the paper's tables; at tiny scale one model)
  arms=SET               a set of arms: all, table4, ... (a wrong name lists them)
  control=A,B            also train each arm with one thing broken: random_reward, inverted_reward, format_only,
                         majority_reward, no_update, shuffled_signal, shuffled_response (or arm=egsw+random_reward)
  scale=tiny|tiny_search|paper   default tiny
  backend=trl|verl       which trainer; verl has PPO and dynamic sampling, and needs an environment of its own
  seeds=3 | seeds=[0,1]  how many training seeds, or which (default: the paper's number)
  eval.every=K           evaluate the model every K optimiser steps while it trains, with a protocol of its own:
                         eval.n, eval.rows, eval.benchmarks, ... replace values of the paper's (run only)
  keep=POLICY,...        of the models so saved: last:2, every:25, best:BENCHMARK/METRIC (default: none)
  data=FILE              train on your own .jsonl, .json or .parquet; columns=problem:question,answer:gold maps columns
  rewards=[MODULE:FUNCTION]   your own reward (response, answer) -> number, or FILE.py:FUNCTION; checked first
  unscored=skip|incorrect|error   what a response earns that the grader cannot decide (time, memory): nothing, and it
                         leaves its group (default); what an incorrect one earns; or the training ends
  prompt=FILE.yaml       your own prompt; protocol.prompt=FILE.yaml and protocol.benchmarks=[FILE.yaml] likewise
  data_dir=FOLDER        benchmark files NAME.jsonl|.parquet|.csv instead of the hub (run only)
  hardware=PROFILE       the machine, by name; the memory model chooses the settings of each arm (see below)
  hardware.KEY=VALUE     the machine: see below; changes no equation
  launcher=local jobs=N  N jobs at once, in processes that share this machine's threads and GPUs; a log for each job
  launcher=slurm|ray     a Slurm array, or a running Ray cluster; jobs=N: at most N at once; see below
  force=true             run what the plan says cannot fit the memory (run only)
  KEY=VALUE              any value of the declaration, as `rlvr plan` lists them; recorded as yours

"""
    + hardware_help()
    + "\n\n"
    + launcher_help()
)

BATCH = """Each line of FILE holds the options of one `rlvr run`; # begins a comment. All lines are checked before
the first starts. Imports and MLflow's store are paid for once; a job that fails is reported at the end, and the others
are run.

options:
  launcher=local jobs=N  N jobs at once, of all lines (see rlvr run)"""
SYNC = """MLflow gets what it does not have yet, in order and once: after a server was away, or into a new or
another store.
options:
  tracker=trackio|wandb  then write the finished runs into that tracker too, by the same names, each once (W&B offline,
                         unless WANDB_MODE says otherwise); MLflow stays the source of every table
  paper=KEY              with tracker=: runs of one or several papers (default: all)"""


if TYPE_CHECKING:
    from harness.jobs.run import Outcome


def do_plan(arguments: Any) -> int:
    from harness.plan.plan import as_text, plan

    values = parse_overrides(arguments.options)
    machine, watch = take_machine(values), take_watch(values)
    take_launcher(values)
    jobs = read_jobs(values)
    checked_watch(watch, jobs)
    machines = machine.by_arm(jobs)
    document = plan(jobs, refused(jobs, machines), machines=machines, explicit=machine.explicit)
    if arguments.json:
        print(json.dumps(document, indent=2, default=list))
    else:
        print(wrapped(as_text(document)) if sys.stdout.isatty() else as_text(document))
    return 0


def do_config(arguments: Any) -> int:
    import yaml

    from harness.plan.plan import trainer_configs

    values = parse_overrides(arguments.options)
    machine = take_machine(values)
    take_launcher(values)
    named = "arm" in values
    jobs = read_jobs(values)
    machines = machine.by_arm(jobs)
    jobs = that_run(jobs, refused(jobs, machines), named=named)
    try:
        configs = trainer_configs(jobs, machines)
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(yaml.safe_dump(json.loads(json.dumps(configs, default=str)), sort_keys=False), end="")
    return 0


def do_run(arguments: Any) -> int:
    from harness.launch import launch

    prepared = prepare(arguments.options)
    return report(launch([prepared], prepared.launcher, keep_going=prepared.launcher.name != "serial"))


def do_batch(arguments: Any) -> int:
    from harness.launch import launch

    launcher = launcher_alone(parse_overrides(arguments.options))
    try:
        lines = arguments.file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(f"{arguments.file}: cannot be read ({error})") from error
    prepared = []
    for number, line in enumerate(lines, 1):
        options = shlex.split(line, comments=True)
        if options:
            try:
                prepared.append(prepare(options, launcher))
            except UsageError as error:
                raise UsageError(f"{arguments.file}, line {number}: {error}") from error
    if not prepared:
        raise UsageError(f"{arguments.file}: expected the options of `rlvr run` on each line, found none")
    return report(launch(prepared, launcher, keep_going=True))


def do_sync(arguments: Any) -> int:
    from harness.command.config import no_more, take, take_list
    from harness.errors import choose
    from harness.runs.trackers import TRACKERS, mirror, other_tracker
    from harness.spec.catalogue import papers

    values = parse_overrides(arguments.options)
    name = take(values, "tracker", str)
    wanted = choose("paper", take_list(values, "paper"), papers())
    no_more(values, ("tracker", "paper"))
    if name is not None:
        choose("tracker", [name], TRACKERS)
    other = None if name is None else other_tracker(name)
    from harness.runs.delivery import Deliverer
    from harness.runs.outbox import outboxes
    from harness.runs.track import Tracker, home, shown_uri

    tracker = Tracker.open()
    from mlflow.exceptions import MlflowException

    deliverer = Deliverer(tracker)
    sent, why = 0, ""
    for outbox in outboxes(home()):
        waiting = outbox.pending()
        try:
            run_id, count = outbox.delivered()
            if run_id is not None and count and not tracker.has_run(run_id):  # a new store, or another one
                outbox.note_delivered(None, 0)
                waiting = outbox.pending()
            deliverer.deliver(outbox)
        except (MlflowException, OSError) as error:  # the store has gone, or fails; what was sent is noted
            why = f": {redact(str(error))[:300]}. `rlvr sync` again sends the rest"
        sent += waiting - outbox.pending()
        if why:
            break
    pending = sum(outbox.pending() for outbox in outboxes(home()))
    print(f"delivered {sent} messages to {shown_uri()}; {pending} are pending{why}")
    if why:
        return 1
    if other is not None:
        new = sum(mirror(run, tracker, other) > 0 for paper in wanted for run in tracker.arms(paper))
        print(f"{other.name}: {new} runs written")
    return 1 if pending else 0


def report(outcomes: list[Outcome]) -> int:
    """Print a summary of each paper's jobs, and which failed or diverged; the exit code."""
    from harness.cli.run_report import as_text
    from harness.spec.catalogue import load
    from harness.tables.summary import summarise

    by_paper: dict[str, list[Path]] = {}
    for outcome in outcomes:
        if outcome.folder is not None:
            by_paper.setdefault(outcome.job.paper, []).append(outcome.folder)
    if by_paper:
        print("\n\n".join(as_text(summarise(load(paper), folders)) for paper, folders in by_paper.items()))
    for outcome in outcomes:
        if outcome.error is not None:
            print(f"failed: {outcome.job.paper} {outcome.job.name}: {redact(str(outcome.error))}", file=sys.stderr)
    diverged = [outcome for outcome in outcomes if outcome.diverged]
    if diverged:
        names = ", ".join(f"{outcome.job.paper} {outcome.job.name}" for outcome in diverged)
        print(f"{len(diverged)} of {len(outcomes)} runs diverged: {names}", file=sys.stderr)
    return 1 if diverged or any(outcome.error for outcome in outcomes) else 0
