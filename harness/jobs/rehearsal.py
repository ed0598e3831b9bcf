"""Rehearse runs without their GPUs: `rlvr rehearse`.

Each arm is planned and configured for its machine as it is. Then a dwarf of its base model (`harness.data.dwarf`) is
trained by the arm's own backend on a CPU: a rollout, its updates, a checkpoint, a stop. Then resumed for another
rollout, evaluated under its protocol on two problems, and packed. Every step that fails is a sentence in the table.

A rehearsal is a run like any other whose values are replaced (`overrides`). Its records are in RLVR_HOME/rehearsal.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.data.benchmarks import OwnBenchmark
from evals.environment import variable
from evals.files import locked, text_sha256, write_jsonl
from evals.log import logger
from evals.notebook import Block, Outcome, Table
from harness.backends import backend
from harness.backends.children import ORDER, STOP
from harness.backends.engine import PROMPT_TOKENS
from harness.backends.memory import engine_need
from harness.command.resolve import resolve
from harness.data import dwarf
from harness.data.base_models import located
from harness.jobs.run import JobRun
from harness.plan.context import check_context, context_need
from harness.plan.machine import SERVER, check_memory
from harness.plan.profiles import SEQUENCES, measures, with_engine
from harness.record.archive import write_archive
from harness.record.run import Run
from harness.runs.interrupt import Interrupted
from harness.runs.track import home
from harness.spec import Experiment, Reproduction
from harness.spec.architecture import architecture, positions
from harness.spec.hardware import Hardware, Machines, of_job
from harness.spec.job import Job
from harness.spec.rejection import Rejection

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from evals.sampling.engines.base import Decoding, Request
    from evals.sampling.engines.transformers import TransformersEngine
    from harness.backends.trl.trainer import MethodTrainer, Turn

STAGES = ("planned", "configured", "trained", "resumed", "evaluated", "exported")
FEW_BEYOND = 2048  # tokens of a response, beyond which a rollout has one update and groups of two: minutes on a CPU
SHORT = 32  # mean tokens of the responses beside the one that is forced to the arm's length


@dataclass
class Rehearsed:
    """One arm: what went well, by stage, and what did not or was shortened, in sentences."""

    arm: str
    stages: dict[str, str] = field(default_factory=dict)  # "yes", "no" or "-"
    notes: list[str] = field(default_factory=list)

    def mark(self, stage: str, faults: Sequence[str]) -> bool:
        self.stages[stage] = "no" if faults else "yes"
        self.notes += [f"{stage}: {fault}" for fault in faults]
        return not faults


def rehearse(jobs: Sequence[Job], machines: Machines, *, paper: str | Reproduction) -> list[Rehearsed]:
    """One row for each arm. Every fault is in it, and none is raised. `machines` are those of the real runs. BusyError:
    another process rehearses the same run."""
    rows: list[Rehearsed] = []
    for job in {(job.model, job.arm): job for job in jobs}.values():
        logger.info(f"rehearsing {job.paper} {job.label}")
        row = Rehearsed(f"{job.paper} {job.label} {backend(job.backend).label}".rstrip())
        hardware = of_job(machines, job.model, job.arm)
        planned = row.mark("planned", plan_faults(job, hardware))
        configured = row.mark("configured", configuration_faults(job, hardware))
        if planned and configured:
            apart = home() / "rehearsal"  # from real runs
            folder = apart / "dwarfs" / "-".join((job.paper, job.scale, job.name, job.backend)).replace("/", "-")
            with locked(folder), variable("RLVR_HOME", str(apart)), one_of_full_length():
                _run(job, hardware, row, paper, folder)
        rows.append(row)
    return rows


def blocks(rows: Sequence[Rehearsed]) -> list[Block]:
    """The table, and the sentences below it."""
    cells = [[row.arm, *(Outcome(row.stages.get(stage, "-")) for stage in STAGES)] for row in rows]
    notes = [f"{row.arm}: {note}" for row in rows for note in row.notes]
    return [Table(("arm", *STAGES), cells, left=1 + len(STAGES)), "", *notes]


# -- without starting anything ----------------------------------------------------------------------------------------


def plan_faults(job: Job, hardware: Hardware) -> list[str]:
    """The plan's objections to a run: context, memory of the training and of the evaluation."""
    faults = []
    for check in (partial(check_context, job), partial(check_memory, [job], {(job.model, job.arm): hardware})):
        try:
            check()
        except ValueError as error:
            faults += str(error).splitlines()
    sized = with_engine(job, hardware, frozenset()).engine_tensor_parallel
    if architecture(job.base_model.value) is None and not hardware.sampler.served:
        faults.append(f"whether {job.base_model.value} fits is not known; hardware.engine={SERVER} asks a server")
    elif sized > hardware.engine_tensor_parallel and measures(job, hardware):
        faults.append(
            f"fewer than {SEQUENCES} responses at once fit the {hardware.engine_tensor_parallel} {hardware.gpu} of an "
            f"evaluation's engine; hardware.engine_tensor_parallel={sized}"
        )
    return faults


def configuration_faults(job: Job, hardware: Hardware) -> list[str]:
    """The faults of the trainer's own configuration on the real machine."""
    faults = []
    base, e = job.base_model.value, job.experiment
    known = positions(base) if job.context is None else job.context.positions.value
    longest = job.protocol.longest
    length = min(longest + PROMPT_TOKENS, known or longest + PROMPT_TOKENS)
    if (share := hardware.sampler.gpu_share) is not None:
        several = hardware.engine_tensor_parallel
        faults += engine_faults("evaluation", base, length, known, longest + 1, share, several, hardware)
    if e is None:
        return faults
    try:
        config = backend(job.backend).config(e, hardware, seed=job.seed, out_dir=Path("out"))
    except ValueError as error:  # CannotExpress is one
        return [*faults, str(error)]
    grpo = config.get("GRPOConfig", {})
    if isinstance(e, Experiment) and grpo.get("use_vllm"):
        tokens = e.max_prompt_tokens.value + e.max_completion_tokens.value
        engine_share = (grpo["vllm_gpu_memory_utilization"], grpo["vllm_tensor_parallel_size"])
        faults += engine_faults("rollouts", base, grpo["vllm_max_model_length"], known, tokens, *engine_share, hardware)
    for arguments in config.values():
        file = arguments.get("deepspeed") if isinstance(arguments, Mapping) else None
        if file is not None and arguments["gradient_accumulation_steps"] > 1:
            summed = json.loads(Path(file).read_text()).get("data_types", {}).get("grad_accum_dtype")
            if summed != "fp32":
                faults.append(
                    f"{Path(file).name} sums {arguments['gradient_accumulation_steps']} micro-batches in bfloat16"
                )
    return faults


def engine_faults(
    name: str,
    base: str,
    length: int | None,
    known: int | None,
    tokens: int,
    share: float,
    tensor_parallel: int,
    hardware: Hardware,
) -> list[str]:
    """The faults of the arguments of a vLLM engine.

    Args:
        length: its max_model_len. None: the model's own positions. known: those. tokens: of the longest sequence.
        share: of a GPU's memory, for weights and cache.
    """
    faults, a = [], architecture(base)
    reserved = known if length is None else length
    if length is None:
        faults.append(f"{name}: vLLM has no maximum length and takes the model's {known or 'own'} positions")
    if reserved is not None and reserved < tokens:
        faults.append(f"{name}: vLLM would cut at {reserved:,} tokens, {tokens:,} are needed")
    if length is not None and known is not None and length > known:
        faults.append(f"{name}: vLLM refuses max_model_len={length:,}: the model has {known:,} positions")
    if a is not None and reserved is not None:
        if a.heads % tensor_parallel:
            faults.append(f"{name}: {a.heads} attention heads do not divide by tensor parallel {tensor_parallel}")
        need, has = engine_need(a, reserved, tensor_parallel), share * hardware.card.memory
        if need > has:
            room = f"{share:g} of a {hardware.gpu} are {has / 1e9:.0f} GB"
            faults.append(f"{name}: weights and the cache of one sequence need {need / 1e9:.0f} GB, and {room}")
    return faults


def engine_accepts(folder: str, length: int) -> list[str]:
    """vLLM's own validation of an engine for a model folder (the dwarf's, whose positions are the model's)."""
    if find_spec("vllm") is None:
        return []
    from vllm.engine.arg_utils import EngineArgs

    try:
        EngineArgs(model=folder, max_model_len=length, enforce_eager=True).create_engine_config()
    except Exception as error:  # pydantic, vLLM, transformers: whatever refuses it
        return [f"vLLM refuses the engine ({' '.join(str(error).split())[:400]})"]
    return []


# -- with the dwarf ----------------------------------------------------------------------------------------------------


def overrides(job: Job, base: str, folder: Path) -> dict[str, object]:
    """The values that a rehearsal replaces: the model, the data, and how many prompts, responses and updates."""
    e, p = job.experiment, job.protocol
    asks = max(p.benchmarks.value, key=lambda name: int(p.value("max_tokens", name)))
    written = p.prompt_of(asks).asks_for == "a written answer"  # as that of the rehearsal's two questions
    # named, so that any may be
    prompt = {OwnBenchmark.parse(_questions(folder)): p.value("prompt", asks), "default": "benchmark"}
    values: dict[str, Any] = {
        "base_model": base,
        "protocol.benchmarks": [str(_questions(folder))],
        **{"protocol.n": 1, "protocol.ks": [1], "protocol.rows": 2, "protocol.prompt": prompt},
        **{"protocol.max_tokens": p.longest, "protocol.extraction": "prompt" if written else "boxed_last"},
    }
    if job.context is not None:
        values |= {f"context.{key}": sourced.value for key, sourced in job.context.settings().items()}
    if e is None:
        return values
    settings: dict[str, Any] = {key: sourced.value for key, sourced in e.settings().items()}
    values["dataset"] = str(folder / "problems.jsonl")
    if isinstance(e, Experiment):
        short = e.max_completion_tokens.value <= FEW_BEYOND
        updates = min(e.updates_per_rollout.value, 2 if short else 1)
        least = max([4 if short else 2, *(value for key, value in settings.items() if key.endswith(".k"))])
        groups = {"prompts_per_rollout": updates, "updates_per_rollout": updates}
        values |= {**groups, "max_steps": 2 * updates, "group_size": min(e.group_size.value, least)}
        # what begins later begins with the second rollout
        values |= {key: updates for key in settings if key.endswith(".first_step")}
        values |= {key: 1 for key in settings if key == "ppo.critic_warmup_steps" and settings[key]}
    else:
        values |= {"batch_size": min(e.batch_size.value, 4), "max_steps": 2}
    if isinstance(e, Rejection):
        values |= {"rounds": 1, "problems_per_round": 4, "samples_per_problem": 4}
    return values


@contextmanager
def one_of_full_length() -> Iterator[None]:
    """In this process the first response of a training's first rollout, and of each batch of an evaluation, is forced
    to the arm's limit: an answer and filler, and the model samples its last token. All others end as the dwarf does.

    Another process, as veRL's, samples all of a response.
    """
    from evals.sampling.engines.transformers import TransformersEngine
    from harness.backends.trl.trainer import MethodTrainer

    def beginning(tokenizer: PreTrainedTokenizerBase, limit: int) -> list[int]:
        ids: list[int] = tokenizer.convert_tokens_to_ids([dwarf.ANSWERS[0], *[dwarf.FILLER] * (limit - 2)])
        return ids

    def forced_turn(trainer: MethodTrainer, turn: Turn, prompts: list[list[int]]) -> tuple[Any, Any]:
        if trainer.state.global_step:
            return turn(prompts)
        limit = trainer.max_completion_length
        forced = beginning(trainer.processing_class, limit)
        trainer.max_completion_length = trainer.generation_config.max_new_tokens = 1
        try:
            (last,), _ = turn([[*prompts[0], *forced]])
        finally:
            trainer.max_completion_length = trainer.generation_config.max_new_tokens = limit
        short, _ = turn(prompts[1:])
        return [[*forced, *last], *short], None

    def forced_first(engine: TransformersEngine, requests: Sequence[Request], decoding: Decoding) -> list[Request]:
        first = replace(requests[0], forced=tuple(beginning(engine.tokenizer, decoding.max_tokens)))
        return [first, *requests[1:]]

    MethodTrainer.around_turn, TransformersEngine.before = forced_turn, forced_first
    try:
        yield
    finally:
        MethodTrainer.around_turn = TransformersEngine.before = None


def _run(job: Job, hardware: Hardware, row: Rehearsed, paper: str | Reproduction, folder: Path) -> None:
    """Train, resume, evaluate and pack the dwarf in `folder`; what fails goes into the row."""
    if hardware.sampler.served:
        row.notes.append("evaluated: not here, a server has the model")
        return
    trainer, checkpointing = backend(job.backend), hardware.gradient_checkpointing
    machine = trainer.hardware(  # all but device and parallel sizes as on the arm's machine
        device="cpu", micro_batch=1, gradient_checkpointing=checkpointing, save_every=1, threads=1
    )
    try:
        if job.experiment is not None:
            trainer.ready(machine)
    except ValueError as error:
        row.notes.append(f"trained: not here ({error})")
        return
    e = job.experiment
    # veRL samples in processes of its own, where no response is forced: a third of all reach the arm's limit by chance
    length = e.max_completion_tokens.value if isinstance(e, Experiment) and not trainer.in_process else SHORT
    stage = "evaluated" if e is None else "trained"
    try:
        dwarf.make(job.base_model.value, folder, limit=length)
        _write_data(folder, job)
        values = {**job.command_line, **overrides(job, str(folder), folder)}
        (small,) = resolve(
            paper, models=[job.model], arms=[job.arm], scale=job.scale, backend=job.backend, seeds=[0], overrides=values
        )
    except ValueError as error:
        row.mark(stage, [str(error)])
        return
    base = located(small, home() / "base-models")
    try:
        if trainer.in_process:  # veRL's extension changes the vLLM of its processes
            row.mark("configured", _refused_lengths(small, base))
        run = JobRun(small, base, machine, None, "rehearsal")
        shutil.rmtree(run.folder, ignore_errors=True)  # left by an earlier rehearsal, maybe with other code
        if job.experiment is not None:
            part = "round-0/train" if job.experiment.IN_ROUNDS else ""
            _stopped(run, row, run.folder / "train" / part, at_once=trainer.in_process)
            stage = "resumed"
        finished = run.run()
        if job.experiment is not None:
            training = finished.record["training"]
            before = training["rounds"][0]["training"] if training.get("rounds") else training
            lost = "it began anew: its first rollout left no checkpoint that could be used"
            row.mark("resumed", [] if before.get("resumed_from") else [lost])
        row.mark("evaluated", [] if finished.diverged is None else [str(finished.diverged)])
        stage = "exported"
        archive = run.folder.with_name(f"{run.folder.name}.tar.xz")
        archive.unlink(missing_ok=True)
        write_archive([finished], archive, responses=True)
        row.mark("exported", [])
    except Exception as error:  # a rehearsal finds faults of any kind: each is a sentence
        if stage == "resumed" and Run(run.folder).record.get("training"):
            row.mark("resumed", [])
            stage = "evaluated"
        row.mark(stage, [f"{type(error).__name__}: {error}"])


def _refused_lengths(job: Job, base: str) -> list[str]:
    """Why vLLM refuses a model at the lengths of its training and its evaluation."""
    need = context_need(job)
    evaluated = need.evaluation + PROMPT_TOKENS
    lengths = {need.training, min(evaluated, need.positions or evaluated)}
    return [fault for length in sorted(lengths - {0}) for fault in engine_accepts(base, length)]


def _stopped(run: JobRun, row: Rehearsed, folder: Path, *, at_once: bool) -> None:
    """Train a rollout with its updates, and stop with a checkpoint.

    Args:
        at_once: ask to stop before the start, else once other processes have their order, at which earlier messages go.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ended = threading.Event()

    def ask() -> None:
        while not (at_once or (folder / ORDER).exists()):
            if ended.wait(0.1):
                return
        (folder / STOP).touch()

    asking = threading.Thread(target=ask)
    asking.start()
    if at_once:
        asking.join()
    try:
        run.run()
    except Interrupted:
        row.mark("trained", [])
    else:
        row.mark("trained", ["it did not stop after its first rollout"])
    finally:
        ended.set()
        asking.join()
        (folder / STOP).unlink(missing_ok=True)


def _write_data(folder: Path, job: Job) -> None:
    """Problems of which one prompt is about as long as the arm allows, and solutions."""
    e = job.experiment
    room = e.max_prompt_tokens.value - 200 if isinstance(e, Experiment) else 64  # beside the words of the prompt
    problems = [f"What is {i} minus {i - 1}?" + dwarf.FILLER * (max(room, 0) if i == 1 else i) for i in range(1, 9)]
    rows: list[dict[str, object]] = [
        {"problem": text, "answer": "1", "solution": "It is so" + dwarf.ANSWERS[0]} for text in problems
    ]
    if e is not None and not isinstance(e, Experiment):  # as long as the prompt, and what the chat format adds, allow
        rows[0]["solution"] = "It is so" + dwarf.FILLER * (e.max_tokens.value - 300) + dwarf.ANSWERS[0]
    if isinstance(e, Experiment) and "base_accuracy" in e.method.reads:  # its data set holds it
        rows = [{**row, "base_accuracy": 0.5} for row in rows]
    write_jsonl(folder / "problems.jsonl", rows)
    write_jsonl(_questions(folder), [{"id": f"{i}", **rows[i]} for i in range(2)])


def _questions(folder: Path) -> Path:
    """The benchmark of a folder. A process knows a benchmark's name once."""
    return folder / f"rehearsal_{text_sha256(str(folder))[:8]}.jsonl"
