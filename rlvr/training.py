"""Train, evaluate and log the arms of a paper, or an experiment declared in Python."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evals.log import logger
from harness.command.options import OPTIONS, Names, RunOptions, flat
from harness.errors import UsageError, choose, refuse_unused
from rlvr.evaluation import Records, rows_as_file, with_columns
from rlvr.results import Result
from rlvr.signature import COMMAND_LINE

if TYPE_CHECKING:
    from evals.notebook import Block
    from harness.jobs.run import JobOutcome
    from harness.launch.prepare import Prepared
    from harness.plan.plan import Plan
    from harness.spec import Experiment, Reproduction
    from rlvr.runs import Run

PathLike = str | os.PathLike[str]
Reward = Callable[[str, str], float | None]
Rewards = Reward | Sequence[str | Reward]
Columns = Mapping[str, str] | str | Sequence[str]  # by our name, or OUR:THEIRS


@dataclass(frozen=True)
class Request:
    """The request of a call.

    Args:
        what: a paper's key or a declaration. in_process: rewards and declarations that exist in this process alone.
    """

    what: str | Reproduction
    options: RunOptions
    in_process: Sequence[str]


class Trained(Result):
    """The finished runs of a call: a summary with their scores; `runs` to read and compare them."""

    def __init__(
        self, outcomes: Sequence[JobOutcome], report: list[Block], document: Mapping[str, Any], exit_code: int
    ) -> None:
        super().__init__(document, report, document["runs"], exit_code=exit_code)
        self.outcomes = outcomes

    @property
    def runs(self) -> dict[str, Run]:
        """model/arm, as progress lines name it -> its finished runs, all training seeds together."""
        from harness.plan.plan import labels
        from rlvr.runs import read_run

        names = labels(outcome.job for outcome in self.outcomes)
        folders: dict[str, list[Path]] = {}
        for outcome in self.outcomes:
            if outcome.folder is not None and not outcome.diverged and outcome.so_far is None:
                folders.setdefault(names[outcome.job.model, outcome.job.arm], []).append(outcome.folder)
        return {name: read_run(*run_folders, name=name) for name, run_folders in folders.items()}


def run(
    paper: str | Experiment,
    *,
    arm: str | Sequence[str] | None = None,
    model: str | Sequence[str] | None = None,
    arms: str | Sequence[str] | None = None,
    scale: Literal["tiny", "tiny_search", "small", "paper"] | None = None,
    backend: str | None = None,
    seeds: int | Sequence[int] | None = None,
    protocol: str | None = None,
    data: PathLike | Records | None = None,
    columns: dict[str, str] | None = None,
    rewards: str | Sequence[str] | Rewards | None = None,
    data_dir: PathLike | None = None,
    hardware: str | Mapping[str, object] | None = None,
    launcher: Literal["serial", "local", "slurm"] | None = None,
    jobs: int | None = None,
    minutes: float | None = None,
    force: bool = False,
    allow_overlap: bool = False,
    **values: object,
) -> Trained:
    """Train, evaluate and log the arms of a paper. The same command resumes a run that was stopped.

        rlvr run paper=egsw arm=grpo,egsw seeds=3 egsw.alpha=0.5
        rlvr.run("egsw", arm=["grpo", "egsw"], seeds=3, **{"egsw.alpha": 0.5})

    In Python, three options take objects too. paper= takes an experiment (`rlvr.experiment`). rewards= takes a function
    (response, answer) -> number with its .range = (smallest, largest). data= takes rows: a list of dicts, a data set or
    a data frame.

    Args:
        paper: the paper's key. `rlvr list` shows the keys.
        arm: the arms to train (default: the arms of the paper's tables). For an experiment declared in Python, its
            name. ARM+CONTROL is an arm with one thing broken. Controls: random_reward, inverted_reward, format_only,
            majority_reward, noisy_reward, false_positives, no_update, shuffled_signal, shuffled_response.
        model: names of the paper's base models (default: all, and at tiny scale one). base_model=PATH sets a model of
            your own.
        arms: a set of arms: all, table4, ... A wrong name lists the sets.
        scale: the scale. A smaller scale replaces values and labels every number. Default: tiny for a paper's key. An
            experiment declared in Python is trained as declared.
        backend: the trainer (default: trl, and at tiny scale always trl). If trl cannot train one of the arms,
            verl trains all arms, if it can. verl has PPO and dynamic sampling, and needs an environment of its own.
        seeds: number of training seeds, or the seeds themselves, for example [0,1] (default: the paper's number).
        protocol: the protocol that measures an experiment declared in Python (default: egsw). A paper brings its own.
        data: your own training problems: a .jsonl, .json or .parquet file.
        columns: pairs of our column and yours for data=. Example: columns=problem:question,answer:gold.
            perfectible:VERDICTS keeps the problems that an evaluation of this file solves in 20 to 80 % of its samples
            (`rlvr eval benchmarks=[FILE]`).
        rewards: names of rewards, or your own functions as MODULE:FUNCTION or FILE.py:FUNCTION. A function needs
            FUNCTION.range = (smallest, largest), and is tried before the run starts.
        data_dir: a folder with benchmark files NAME.jsonl|.parquet|.csv, instead of the hub.
        hardware: a machine by name. Its settings are chosen for each arm. `rlvr list what=hardware` shows the names,
            and the settings hardware.KEY=VALUE, which change no equation.
        launcher: the way to start jobs. local: several jobs at once, in processes of this machine. slurm: a job array,
            with launcher.KEY=VALUE for the parameters of submitit's executor (partition, timeout_min, gpus_per_node,
            mem_gb, ...).
        jobs: number of jobs at once, with a launcher.
        minutes: minutes to train each run in this call. After this time, the current step ends, the model is saved and
            evaluated, and the exit code is 75. The same command continues from there.
        force: run even if the plan says that memory or disk is too small.
        allow_overlap: train on problems that a benchmark contains, which is an error otherwise. The record, the summary
            and each table say how many there are.
        **values: any value of the declaration by its key, as `rlvr plan` lists it. The record marks it as yours. More
            keys: prompt=FILE.yaml and protocol.KEY=VALUE. Your own benchmark: protocol.benchmarks=[FILE]
            protocol.columns=OUR:THEIRS,... GRPO as a framework computes it: like=FRAMEWORK (trl, verl, openrlhf,
            open_r1, prime_rl, nemo_rl, skyrl, areal). Evaluate every K optimiser steps: eval.every=K. Set protocol
            values for these evaluations as eval.n=4. With several GPUs, these evaluations follow the training. Keep the
            model of every N-th step: keep=N. A response that cannot be graded: unscored=skip|incorrect|error.

    Returns:
        The summary of the runs, with `runs` by arm.
    Raises:
        UsageError: a name, value, file or device that cannot be used; always before anything starts.
        RuntimeError: a training failed (with a launcher: the exit code says so, and the other jobs are run).
    """
    named = RunOptions(
        arm=arm,
        model=model,
        arms=arms,
        scale=scale,
        backend=backend,
        seeds=seeds,
        data_dir=None if data_dir is None else os.fspath(data_dir),
        hardware=None if isinstance(hardware, Mapping) else hardware,
        launcher=launcher,
        jobs=jobs,
        minutes=minutes,
        force=force or None,
        allow_overlap=allow_overlap or None,
        values=flat({**values, "hardware": hardware} if isinstance(hardware, Mapping) else values),
    )
    request = _read(paper, named, protocol=protocol, data=data, columns=columns, rewards=rewards)
    from evals.errors import RefusedError
    from harness.launch import launch
    from harness.launch.prepare import prepare

    prepared = prepare(request.what, request.options, _command(paper, request.options.given()))
    if request.in_process:
        _check_in_process(prepared, request.in_process)
    try:
        outcomes = launch(prepared)
    except ValueError as error:  # an error of the training. What the call said has been checked.
        if isinstance(error, RefusedError) and not isinstance(error, UsageError):  # a store, a damaged file
            raise
        raise RuntimeError(f"a run failed: {error}") from error
    return _summary(outcomes, prepared.paper)


def rehearse(paper: str | Experiment, **values: object) -> Result:
    """Check a run without its GPUs: each arm with a tiny random copy of its base model, on this CPU.

        rlvr rehearse paper=egsw scale=paper hardware=h100x8

    The command plans and configures each arm for the machine that hardware= names. Then a model of the same kind with
    one narrow layer is trained, stopped, resumed, evaluated and exported. The table shows which arms would fail on the
    real machine, and why. Exit code 1: an arm would fail.

    Args:
        paper: the paper's key, or in Python an experiment. `rlvr list` shows the keys.
        **values: every option of `rlvr run` (default: scale=paper hardware=h100x8, at small scale rtx4090), and any
            value of the declaration.
    """
    request = _request(paper, values)
    from harness.jobs.rehearsal import blocks
    from harness.launch.prepare import card, rehearsed

    rows = rehearsed(request.what, request.options)
    stopped = any("no" in row.stages.values() for row in rows)
    shown = blocks(rows)
    if not stopped:
        given = request.options.given()
        usual = {"scale": "paper", "hardware": card(str(given.get("scale", "paper")))}
        missing = [f" {key}={value}" for key, value in usual.items() if key not in given]
        typed = "" if COMMAND_LINE.get() is None else "".join(missing)
        command = _command(paper, {**usual, **given}).replace("rlvr rehearse", "rlvr run")
        shown.append(f"rehearsed: {command}{typed}")
    document = [asdict(row) for row in rows]
    return Result({"runs": document}, shown, document, exit_code=int(stopped))


def plan(
    paper: str | Experiment,
    *,
    brief: bool = False,
    price: float | None = None,
    evaluation: str | None = None,
    **values: object,
) -> Result:
    """Show what a run would start: every value with its source, its cost, and what this machine lacks. It starts
    nothing.

    The cost is an estimate of hours, price, memory and disk. The plan checks this machine unless hardware= names
    another. Without a GPU and without hardware=, it plans real models for h100x8, and small scale for rtx4090.

    Args:
        paper: the paper's key, or in Python an experiment. `rlvr list` shows the keys.
        brief: print one line per arm, without the values.
        price: price of one GPU for one hour, in USD (default: an assumed price, which the plan shows).
        evaluation: an evaluation of the base model with several samples per problem. From it, the
            plan estimates the share of groups with different rewards, for several group sizes. In a group with equal
            rewards, the training learns nothing.
        **values: every option of `rlvr run`, and any value of the declaration.
    """
    request = _request(paper, _without_null(values))
    from evals.slow import slow
    from harness.launch.prepare import planned
    from harness.plan.text import blocks

    with slow("reading the declaration, the data, the benchmarks and the base models' tokenizers"):
        planned_runs = planned(request.what, request.options, price=price)
    document = planned_runs.as_dict()
    lines = [] if evaluation is None else _informative(evaluation, planned_runs)
    rows = [
        {"model": arm.job.model, "arm": arm.job.arm, "title": arm.title, "seeds": list(arm.seeds), "steps": arm.steps}
        for arm in planned_runs.arms
    ]
    return Result(
        json.loads(json.dumps(document | ({"informative_groups": lines} if lines else {}), default=list)),
        lambda: [*blocks(planned_runs, brief=brief), *(["", *lines] if lines else [])],
        rows,
    )


def config(paper: str | Experiment, **values: object) -> Result:
    """Print the trainer's whole configuration of each arm, as YAML. It starts nothing.

        rlvr config paper=egsw arm=egsw backend=verl scale=paper

    Args:
        paper: the paper's key, or in Python an experiment. `rlvr list` shows the keys.
        **values: every option of `rlvr run`, and any value of the declaration.
    """
    import yaml

    request = _request(paper, _without_null(values))
    from harness.launch.prepare import configured

    configs = json.loads(json.dumps(configured(request.what, request.options), default=str))
    text = (
        "# What the trainer is given. Rewards, advantages, loss and KL are this project's own, with the values that\n"
        "# rlvr plan shows. The trainer's settings for them (TRL's beta, epsilon, loss_type, scale_rewards; veRL's\n"
        "# algorithm and policy_loss) have no effect, or switch on what ours need (TRL's beta: the reference model).\n"
    )
    return Result(configs, lambda: text + str(yaml.safe_dump(configs, sort_keys=False)).rstrip())


def _informative(evaluation: str, planned: Plan) -> list[str]:
    """How many groups would teach something, for each group size of the plan."""
    from evals.stats import informative
    from harness.record.find import method
    from harness.spec import Experiment

    experiments = [arm.job.experiment for arm in planned.arms]
    sizes = {e.group_size.value for e in experiments if isinstance(e, Experiment)}
    if not sizes:
        raise UsageError(f"evaluation={evaluation}: expected arms that sample groups of responses, got none")
    tables = method(evaluation).tables
    return [line for size in sorted(sizes) for line in informative.as_text(tables, size)]


def _without_null(values: dict[str, object]) -> dict[str, object]:
    """The values; UsageError for an option of `run` that is null, which `run` refuses by its annotation."""
    if null := next((key for key in OPTIONS if key in values and values[key] is None), None):
        raise UsageError(f"{null}=null: expected a value. Without {null}= it has the default")
    return values


def _request(paper: str | Experiment, values: Mapping[str, Any]) -> Request:
    """The request in the keys of a call, which are those of `run`."""
    own_values = {key: value for key, value in values.items() if key in ("protocol", "data", "columns", "rewards")}
    options = RunOptions.from_keys({key: value for key, value in values.items() if key not in own_values})
    return _read(paper, options, **own_values)


def _read(
    paper: str | Experiment,
    options: RunOptions,
    *,
    protocol: str | None = None,
    data: PathLike | Records | None = None,
    columns: Columns | None = None,
    rewards: str | Sequence[str] | Rewards | None = None,
) -> Request:
    from harness.spec import catalogue

    if isinstance(paper, str):  # before anything heavy is imported
        choose("paper", [paper], catalogue.papers())
    values = dict(options.values)
    named_columns = _pairs(values.pop("protocol.columns", None))
    if named_columns is not None:
        if "protocol.benchmarks" not in values:
            raise UsageError(f"protocol.columns={named_columns}: expected protocol.benchmarks=[FILE] with it")
        values["protocol.benchmarks"] = with_columns(_several(values["protocol.benchmarks"]), named_columns)
    in_process = _objects(values, data, _pairs(columns), rewards)
    what = _declared(paper, options.arm, protocol)
    if isinstance(what, str):
        return Request(what, replace(options, values=values), in_process)
    return Request(what, replace(options, arm=None, values=values), in_process or ["an experiment declared in Python"])


def _summary(outcomes: Sequence[JobOutcome], paper: Reproduction) -> Trained:
    """The scores of the jobs, and on stderr which failed or diverged."""
    from harness.record.run import Run
    from harness.tables.summary import summarise
    from rlvr.run_summary import blocks, so_far_blocks

    rows = [_row(outcome) for outcome in outcomes]
    diverged = [str(row["job"]) for row in rows if row["diverged"]]
    if diverged:
        logger.warning(f"{len(diverged)} of {len(rows)} runs diverged: {', '.join(diverged)}")
    whole = [outcome.folder for outcome in outcomes if outcome.folder is not None and outcome.so_far is None]
    parts = [blocks(summarise(paper, [Run(folder) for folder in whole]))] if whole else []
    stopped = [so_far_blocks(o.job.name, Run(o.folder)) for o in outcomes if o.folder is not None and o.so_far]
    failed = bool(diverged) or any(row["error"] for row in rows)
    shown = [block for part in (*parts, *stopped) for block in ("", *part)][1:]
    return Trained(outcomes, shown, {"runs": rows}, int(failed) or 75 * bool(stopped))


def _row(outcome: JobOutcome) -> dict[str, object]:
    """A job and how it ended. An error also goes to the log."""
    from evals.redaction import redact

    job, error = outcome.job, None if outcome.error is None else redact(str(outcome.error))
    if error is not None:
        logger.warning(f"failed: {job.paper} {job.name}: {error}")
    state = {"paper": job.paper, "job": job.name, "folder": str(outcome.folder or "")}
    return {**state, "diverged": outcome.diverged, "so_far": outcome.so_far, "error": error}


def _command(paper: object, given: Mapping[str, object]) -> str:
    """How the run was started, for its record: the words of the command line, or the call."""
    typed = COMMAND_LINE.get()
    if typed is not None:
        return typed
    name = repr(paper) if isinstance(paper, str) else "EXPERIMENT"
    values = ", ".join(f"{key!r}: {value!r}" for key, value in given.items())
    return f"rlvr.run({name}, **{{{values}}})"


def _declared(paper: str | Experiment, arm: Names | None, protocol: str | None) -> str | Reproduction:
    """The paper's key, or an experiment as a declaration with one arm of this name."""
    from harness.spec import Arm, Experiment, Reproduction, assumed
    from harness.spec.scales import UNNAMED

    if isinstance(paper, str):
        if protocol is not None:
            raise UsageError(
                f"protocol={protocol}: a paper brings its own protocol. protocol.KEY=VALUE replaces its values"
            )
        return paper
    if not isinstance(paper, Experiment):
        raise UsageError(f"paper: expected a key or an experiment, got {type(paper).__name__}")
    name = "mine" if arm is None else str(arm)
    return Reproduction(
        key="notebook",
        title="An experiment declared in Python",
        arxiv=None,
        models={UNNAMED: paper.base_model},
        arms=(Arm(name, UNNAMED, name, paper),),
        protocol=protocol or "egsw",
        seeds=assumed(1, "declared in Python: one run"),
        departures=(),
    )


# -- rewards and data given as objects -----------------------------------------------------------------------------


def _objects(
    given: dict[str, object], data: PathLike | Records | None, columns: Mapping[str, str] | None, rewards: object
) -> list[str]:
    """Put the data set and the rewards into `given` by their names; returns what only this process has."""
    if data is None and columns is not None:
        refuse_unused("without data=FILE", columns=columns)
    if data is not None:
        if "dataset" in given:
            raise UsageError(f"data={data}: expected data=... or dataset=..., not both, got dataset={given['dataset']}")
        file = os.fspath(data) if isinstance(data, (str, os.PathLike)) else rows_as_file("data", data)
        from evals.data.problem_file import ProblemFile

        given["dataset"] = str(ProblemFile(file, columns or {}))
    in_process: list[str] = []
    if rewards is not None:
        given["rewards"] = [_reward_name(r, in_process) if callable(r) else r for r in _several(rewards)]
    return in_process


def _pairs(columns: object) -> Mapping[str, str] | None:
    """A map of columns, which the command line may give as a list of OUR:THEIRS."""
    if columns is None or isinstance(columns, Mapping):
        return columns
    pairs = [str(pair).partition(":") for pair in _several(columns)]
    if not all(column and source for column, _, source in pairs):
        raise UsageError(f"columns: expected OUR:THEIRS,..., got {columns}")
    return {column: source for column, _, source in pairs}


def _several(values: Any) -> list[str]:
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _reward_name(reward: Reward, in_process: list[str]) -> str:
    """MODULE:FUNCTION of a function that other processes can import. Adds the name of another one to `in_process`."""
    from evals.files import write_text
    from evals.names import file_name
    from harness.runs.track import make_home
    from harness.step import own_rewards

    name = getattr(reward, "__name__", type(reward).__name__)
    module = sys.modules.get(getattr(reward, "__module__", None) or "")
    if module is not None and module.__name__ != "__main__" and getattr(module, name, None) is reward:
        return f"{module.__name__}:{name}"
    try:
        text = inspect.getsource(reward)
    except (OSError, TypeError) as error:
        raise UsageError(f"rewards: expected a function with readable source, which identifies it ({error})") from error
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = make_home() / "objects" / f"{file_name(name.strip('<>'))}-{digest}.py"
    write_text(path, text)
    given = own_rewards.give(reward, path)
    in_process.append(f"rewards: {name}")
    return given


def _check_in_process(prepared: Prepared, objects: Sequence[str]) -> None:
    """Raise UsageError if other processes would need what exists in this one alone."""
    from harness.backends import backend

    shares_process = prepared.launcher.name == "serial" and all(
        backend(job.backend).in_process and prepared.hardware[job.model, job.arm].processes == 1
        for job in prepared.jobs
    )
    if not shares_process:
        raise UsageError(
            f"{objects[0]} exists in this process alone: expected a trainer in one process (backend=trl, "
            "hardware.processes=1, no launcher), or rewards and experiments in files"
        )
