"""The commands `rlvr plan`, `rlvr config` and `rlvr run`."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.redaction import redact
from harness.command.config import UsageError, choose, parse_overrides, read_seeds, take, take_list
from harness.command.machine import check_machine, check_memory, device_memory, hardware_help, take_machine
from harness.command.watch import Watch, check_watch, take_watch

RUN = """options:
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
  data_dir=FOLDER        benchmark files NAME.jsonl|.parquet|.csv instead of the hub (run only)
  hardware=PROFILE       the machine, by name; the memory model chooses the settings of each arm (see below)
  hardware.KEY=VALUE     the machine: see below; changes no result by design
  force=true             run what the plan says cannot fit the memory (run only)
  KEY=VALUE              any value of the declaration, as `rlvr plan` lists them; recorded as yours

""" + hardware_help()

BATCH = """Each line of FILE holds the options of one `rlvr run`; # begins a comment. All lines are checked before
the first starts. Imports and MLflow's store are paid for once; a job that fails is reported at the end, and the others
are run."""
SYNC = """MLflow gets what it does not have yet, in order and once: after a server was away, or into a new or
another store."""


if TYPE_CHECKING:
    from harness.jobs.run import Outcome


def do_plan(arguments: Any) -> int:
    from harness.command.plan import as_text, plan

    values = parse_overrides(arguments.options)
    machine, watch = take_machine(values), take_watch(values)
    jobs = _jobs(values)
    _check_watch(watch, jobs)
    machines = machine.by_arm(jobs)
    document = plan(jobs, _refused(jobs, machines), machines=machines, explicit=machine.explicit)
    print(json.dumps(document, indent=2, default=list) if arguments.json else as_text(document))
    return 0


def do_config(arguments: Any) -> int:
    import yaml

    from harness.backends.trainer_config import trainer_configs

    values = parse_overrides(arguments.options)
    machine = take_machine(values)
    named = "arm" in values
    jobs = _jobs(values)
    machines = machine.by_arm(jobs)
    jobs = _that_run(jobs, _refused(jobs, machines), named=named)
    try:
        configs = trainer_configs(jobs, machines)
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(yaml.safe_dump(json.loads(json.dumps(configs, default=str)), sort_keys=False), end="")
    return 0


@dataclass(frozen=True)
class Prepared:
    """A checked `rlvr run` command; nothing has been started."""

    jobs: list[Any]
    hardware: Any
    data_dir: str | None
    command: str
    watch: Watch

    def run(self, *, keep_going: bool = False) -> list[Outcome]:
        """Run it in this process. A first signal ends the step, saves and raises `Interrupted`."""
        from harness.jobs.run import run_jobs
        from harness.runs.disk import full_disk_named
        from harness.runs.interrupt import handled
        from harness.runs.track import make_home

        with handled(), full_disk_named(make_home()):
            return run_jobs(
                self.jobs,
                hardware=self.hardware,
                data_dir=self.data_dir,
                command=self.command,
                keep_going=keep_going,
                watch=self.watch,
            )


def prepare(options: list[str]) -> Prepared:
    """Check a command line and the machine, before anything starts.

    Raises:
        UsageError: a name, value, file, device or store that cannot be used.
    """
    values = parse_overrides(options)
    data_dir, force = take(values, "data_dir", str), take(values, "force", bool, False)
    machine, watch = take_machine(values), take_watch(values)
    named = "arm" in values
    jobs = _jobs(values)
    machines = machine.by_arm(jobs)
    jobs = _that_run(jobs, _refused(jobs, machines), named=named)
    if data_dir is not None and not Path(data_dir).is_dir():
        raise UsageError(f"data_dir={data_dir}: expected a folder, found none")
    try:
        check_watch(watch, jobs)
        check_machine(jobs, machines, data_dir=data_dir)
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    from harness.backends import backend
    from harness.jobs.run import check_data
    from harness.runs.track import make_home

    try:
        make_home()
        machines = {key: hardware.with_device() for key, hardware in machines.items()}
        first = next(iter(machines.values()))
        if not force:
            check_memory(jobs, machines, memory=device_memory(first))
        backend(jobs[0].backend).ready(first)
        data_dir = check_data(jobs, data_dir)
    except (ValueError, OSError) as error:  # no such cluster; a benchmark that is missing or is not the pinned one
        raise UsageError(str(error)) from error
    return Prepared(jobs, machines, data_dir, redact("rlvr run " + shlex.join(options)), watch)


def do_run(arguments: Any) -> int:
    prepared = prepare(arguments.options)
    return _report(prepared.run())


def do_batch(arguments: Any) -> int:
    try:
        lines = arguments.file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(f"{arguments.file}: cannot be read ({error})") from error
    prepared = []
    for number, line in enumerate(lines, 1):
        options = shlex.split(line, comments=True)
        if options:
            try:
                prepared.append(prepare(options))
            except UsageError as error:
                raise UsageError(f"{arguments.file}, line {number}: {error}") from error
    if not prepared:
        raise UsageError(f"{arguments.file}: expected the options of `rlvr run` on each line, found none")
    outcomes = [outcome for command in prepared for outcome in command.run(keep_going=True)]
    return _report(outcomes)


def do_sync(arguments: Any) -> int:
    from harness.command.config import no_more

    no_more(parse_overrides(arguments.options), ())
    from harness.runs.delivery import Deliverer
    from harness.runs.outbox import outboxes
    from harness.runs.track import Tracker, home, shown_uri

    tracker = Tracker.open()
    deliverer = Deliverer(tracker)
    sent = 0
    for outbox in outboxes(home()):
        run_id, count = outbox.delivered()
        if run_id is not None and count and not tracker.has_run(run_id):  # a new store, or another one
            outbox.note_delivered(None, 0)
        sent += deliverer.deliver(outbox)
    pending = sum(outbox.pending() for outbox in outboxes(home()))
    print(f"delivered {sent} messages to {shown_uri()}; {pending} are pending")
    return 1 if pending else 0


def _report(outcomes: list[Outcome]) -> int:
    """Print a summary of each paper's jobs, and which failed or diverged; the exit code."""
    from harness.cli.run_report import as_text
    from harness.spec.catalogue import load
    from harness.tables.summary import summarise

    for paper in dict.fromkeys(outcome.job.paper for outcome in outcomes):
        folders = [o.folder for o in outcomes if o.job.paper == paper and o.folder is not None]
        if folders:
            print(as_text(summarise(load(paper), folders)))
    for outcome in outcomes:
        if outcome.error is not None:
            print(f"failed: {outcome.job.paper} {outcome.job.name}: {redact(str(outcome.error))}", file=sys.stderr)
    diverged = [outcome for outcome in outcomes if outcome.diverged]
    if diverged:
        names = ", ".join(f"{outcome.job.paper} {outcome.job.name}" for outcome in diverged)
        print(f"{len(diverged)} of {len(outcomes)} runs diverged: {names}", file=sys.stderr)
    return 1 if diverged or any(outcome.error for outcome in outcomes) else 0


def _jobs(values: dict[str, Any]) -> list[Any]:
    from harness.command.resolve import resolve
    from harness.spec.catalogue import load, papers

    paper = take(values, "paper", str, required=True)
    choose("paper", [paper], papers())
    models, arms, sets = take_list(values, "model"), take_list(values, "arm"), take_list(values, "arms")
    controls = take_list(values, "control")
    scale, backend = take(values, "scale", str, "tiny"), take(values, "backend", str, "trl")
    seeds = read_seeds(values.pop("seeds", None), load(paper).seeds.value)
    for key in values:
        if key in ("models", "seed", "controls"):
            meant = {"models": "model", "seed": "seeds", "controls": "control"}[key]
            raise UsageError(f"{key}={values[key]}: no such option; did you mean {meant!r}?")
    choices = {"models": models, "arms": arms, "sets": sets, "controls": controls}
    jobs = resolve(paper, **choices, scale=scale, backend=backend, seeds=seeds, overrides=values)
    for key in sorted(set(arms or ()) - {job.arm for job in jobs}):
        same = next((arm.same_as for arm in load(paper).arms if arm.key == key), "")
        if same:
            print(f"{key} trains the same as {same} at {scale} scale: it is run once, as {same}", file=sys.stderr)
    return jobs


def _check_watch(watch: Watch, jobs: list[Any]) -> None:
    try:
        check_watch(watch, jobs)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _refused(jobs: list[Any], machines: Any) -> dict[tuple[str, str], Any]:
    """The arms that the backend cannot train, and why, before anything starts."""
    from harness.backends import refusals

    try:
        return refusals(jobs, machines)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _that_run(jobs: list[Any], refused: dict[tuple[str, str], Any], *, named: bool) -> list[Any]:
    """The jobs without the refused arms; each is named. An error if a refused arm or value was asked for."""
    kept = [job for job in jobs if (job.model, job.arm) not in refused]
    for (model, arm), error in refused.items():
        if named or error.asked_for or not kept:
            raise UsageError(f"{model}/{arm}: {error}") from error
        print(f"skipped {model}/{arm}: {error}", file=sys.stderr)
    return kept
