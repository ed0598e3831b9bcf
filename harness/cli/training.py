"""The commands `rlvr plan`, `rlvr config` and `rlvr run`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from harness.command.config import UsageError, choose, parse_overrides, read_seeds, take, take_list
from harness.command.machine import check_machine, hardware_help, take_hardware

RUN = """options:
  paper=KEY              required; see `rlvr list`
  arm=A,B model=A,B      which arms and base models (default: all; at tiny scale the paper's first model)
  control=A,B            also train each arm with one thing broken: random_reward, inverted_reward, format_only,
                         majority_reward, no_update, shuffled_signal, shuffled_response (or arm=egsw+random_reward)
  scale=tiny|tiny_search|paper   default tiny
  backend=trl|verl       which trainer; verl has PPO and dynamic sampling, and needs an environment of its own
  seeds=3 | seeds=[0,1]  how many training seeds, or which (default: the paper's number)
  data_dir=FOLDER        benchmark files NAME.jsonl|.parquet|.csv instead of the hub (run only)
  hardware.KEY=VALUE     the machine: see below; changes no result by design
  KEY=VALUE              any value of the declaration, as `rlvr plan` lists them; recorded as yours

""" + hardware_help()


def do_plan(arguments: Any) -> int:
    from harness.command.plan import as_text, plan

    values = parse_overrides(arguments.options)
    hardware = take_hardware(values)
    jobs = _jobs(values)
    document = plan(jobs, _refused(jobs, hardware))
    print(json.dumps(document, indent=2, default=list) if arguments.json else as_text(document))
    return 0


def do_config(arguments: Any) -> int:
    import yaml

    from harness.backends.trainer_config import trainer_configs

    values = parse_overrides(arguments.options)
    hardware = take_hardware(values)
    named = "arm" in values
    jobs = _jobs(values)
    jobs = _that_run(jobs, _refused(jobs, hardware), named=named)
    try:
        found = trainer_configs(jobs, hardware)
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(yaml.safe_dump(json.loads(json.dumps(found, default=str)), sort_keys=False), end="")
    return 0


def do_run(arguments: Any) -> int:
    values = parse_overrides(arguments.options)
    data_dir = take(values, "data_dir", str)
    hardware = take_hardware(values)
    named = "arm" in values
    jobs = _jobs(values)
    jobs = _that_run(jobs, _refused(jobs, hardware), named=named)
    if data_dir is not None and not Path(data_dir).is_dir():
        raise UsageError(f"data_dir={data_dir}: expected a folder, found none")
    try:
        check_machine(jobs, hardware, data_dir=data_dir)
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    from harness.backends import backend
    from harness.jobs.run import check_data, read_record, run, say
    from harness.runs.disk import full_disk_named
    from harness.runs.track import Tracker, home
    from harness.tables.tabulate import report

    try:
        hardware = hardware.with_device()
        backend(jobs[0].backend).ready(hardware)
        data_dir = check_data(jobs, data_dir)
    except (ValueError, OSError) as error:  # no such cluster; a benchmark that is missing or is not the pinned one
        raise UsageError(str(error)) from error
    with full_disk_named(home()):
        folders = run(jobs, hardware=hardware, data_dir=data_dir, command="rlvr run " + " ".join(arguments.options))
    print(report(jobs[0].paper, Tracker.open()).markdown())
    say(f"runs are under {home()}; to see their curves: nox -s ui (or rlvr ui)")
    diverged = [folder for folder in folders if read_record(folder).get("diverged")]
    if diverged:
        say(f"{len(diverged)} of {len(folders)} runs diverged: " + ", ".join(folder.name for folder in diverged))
    return 1 if diverged else 0


def _jobs(values: dict[str, Any]) -> list[Any]:
    from harness.command.resolve import resolve
    from harness.spec.catalogue import load, papers

    paper = take(values, "paper", str, required=True)
    choose("paper", [paper], papers())
    models, arms, controls = take_list(values, "model"), take_list(values, "arm"), take_list(values, "control")
    scale, backend = take(values, "scale", str, "tiny"), take(values, "backend", str, "trl")
    seeds = read_seeds(values.pop("seeds", None), load(paper).seeds.value)
    for key in values:
        if key in ("models", "arms", "seed", "controls"):
            right = {"models": "model", "arms": "arm", "seed": "seeds", "controls": "control"}[key]
            raise UsageError(f"{key}={values[key]}: no such option; did you mean {right!r}?")
    choices = {"models": models, "arms": arms, "controls": controls}
    return resolve(paper, **choices, scale=scale, backend=backend, seeds=seeds, overrides=values)


def _refused(jobs: list[Any], hardware: Any) -> dict[tuple[str, str], Any]:
    """The arms that the backend cannot train, and why, before anything starts."""
    from harness.backends import refusals

    try:
        return refusals(jobs, hardware)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _that_run(jobs: list[Any], refused: dict[tuple[str, str], Any], *, named: bool) -> list[Any]:
    """The jobs without the refused arms, each left out aloud; an error where a refused arm or value was asked for."""
    kept = [job for job in jobs if (job.model, job.arm) not in refused]
    for (model, arm), error in refused.items():
        if named or error.asked_for or not kept:
            raise UsageError(f"{model}/{arm}: {error}") from error
        print(f"left out {model}/{arm}: {error}", file=sys.stderr)
    return kept
