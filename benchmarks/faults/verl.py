"""veRL under SIGKILL and other signals: real runs of the command in their own processes.

Ray and vLLM take minutes to start on two cores. One run is therefore stopped many times, each time later, and compared
with an uninterrupted run at its end. Two uninterrupted runs of veRL agree closely, not always bit for bit
(harness/backends/verl/README.md); each row says what was equal.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.faults.lives import job_folder, result
from benchmarks.faults.rows import Row

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(os.environ.get("RLVR_VERL_PYTHON", ROOT / ".nox" / "verl" / "bin" / "python"))
STEPS = 12
RUN = [
    "run",
    "backend=verl",
    "paper=egsw",
    "arm=egsw",
    "seeds=1",
    f"max_steps={STEPS}",
    "prompts_per_rollout=2",
    "group_size=4",
    "max_completion_tokens=8",
    "kl_beta=0.04",
    "protocol.benchmarks=[tiny_short]",
    "protocol.rows=4",
    "protocol.n=2",
    "protocol.ks=[1,2]",
    "protocol.max_tokens=8",
    "hardware.device=cpu",
    "hardware.stall_minutes=30",
]
LIMIT_S = 1800.0
STARTS = 3  # Ray's own limit of 30 s for a start may not suffice on a busy machine
CLOSE = 1e-3  # largest difference of a weight or metric between two equal runs


class Command:
    """One process of the command: started, watched, killed or signalled."""

    def __init__(self, home: Path, save_every: int) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.home, self.said = home, home.parent / f"{home.name}.err"
        environment = {**os.environ, "RLVR_HOME": str(home), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        environment.pop("MLFLOW_TRACKING_URI", None)
        self.begin = time.monotonic()
        with self.said.open("w") as errors:
            self.process = subprocess.Popen(
                [str(PYTHON), "-m", "harness.cli", *RUN, f"hardware.save_every={save_every}"],
                env=environment,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
            )

    @property
    def train(self) -> Path | None:
        return next(iter(self.home.glob("egsw/tiny/*/train")), None)

    def until(self, what: Callable[[Path], bool], *, every_s: float = 0.05) -> bool:
        """Wait until `what` holds for the training's folder; False if the command ends first."""
        while self.process.poll() is None:
            folder = self.train
            if folder is not None and what(folder):
                return True
            if time.monotonic() - self.begin > LIMIT_S:
                return False
            time.sleep(every_s)
        return False

    def stop(self, *numbers: int) -> int:
        """Send the signals to the command alone, then wait until it and all of its processes have ended."""
        for number in numbers:
            self.process.send_signal(number)
            time.sleep(0.05)
        return self.end()

    def end(self) -> int:
        try:
            code = self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = -999
        deadline = time.monotonic() + 60
        while _alive(self.home) and time.monotonic() < deadline:
            time.sleep(0.2)
        return code

    @property
    def words(self) -> str:
        return self.said.read_text(errors="replace")


def _alive(home: Path) -> list[int]:
    """Processes that a command of this home started (they inherit RLVR_HOME), the reaper included."""
    wanted, pids = f"RLVR_HOME={home}".encode(), []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and wanted in (folder / "environ").read_bytes().split(b"\0"):
                pids.append(int(folder.name))
        except OSError:  # it has ended, or belongs to another user
            continue
    return pids


def _named(pids: list[int]) -> list[str]:
    """Each process with its state, what it waits for in the kernel, and its command."""
    named = []
    for pid in pids:
        try:
            folder = Path(f"/proc/{pid}")
            state = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[-120:]
            named.append(f"{pid} {state} {(folder / 'wchan').read_text()} {command}")
        except OSError:
            named.append(f"{pid}, gone now")
    return named


def rows(root: Path, *, kills: int, seed: int) -> Iterator[Row]:
    """`kills`: random moments; their run and the uninterrupted one take most of the time."""
    if not PYTHON.exists():
        raise SystemExit(f"{PYTHON}: no environment with veRL; `nox -s verl` makes it, RLVR_VERL_PYTHON names another")
    yield from _stopped(root)
    yield _random(root, _unbroken(root), kills=kills, seed=seed)


def _unbroken(root: Path) -> float:
    """Seconds of the uninterrupted run in root/verl-unbroken; runs it if it is missing."""
    took = root / "verl-unbroken.seconds"
    if not took.exists():
        shutil.rmtree(root / "verl-unbroken", ignore_errors=True)
        run = Command(root / "verl-unbroken", 1)
        code = run.end()
        assert code == 0, run.words[-3000:]
        took.write_text(f"{time.monotonic() - run.begin:.1f}")
        print(f"    an uninterrupted run: {took.read_text()} s", flush=True)
    return float(took.read_text())


def logged(step: int) -> Callable[[Path], bool]:
    """Whether the training has logged that step."""

    def there(train: Path) -> bool:
        path = train / "metrics.jsonl"
        return path.exists() and f'"step": {step},' in path.read_text()

    return there


def steps_of(train: Path) -> int:
    path = train / "metrics.jsonl"
    return len(path.read_text().splitlines()) if path.exists() else 0


def _stopped(root: Path) -> Iterator[Row]:
    """One run, stopped by each signal in turn, then killed at each chosen moment."""
    home = root / "verl-stopped"
    yield _signalled(home)
    yield _killed(root, home)


def _signalled(home: Path) -> Row:
    signals = Row(
        "veRL: a first SIGINT, SIGTERM or SIGUSR1 finishes the step, saves and exits with 75; the same command resumes "
        "at the next step; a second signal stops at once",
        f"one run of {STEPS} steps (save_every=50) that gets each signal in turn, then SIGTERM twice; no process left",
    )
    for name in ("SIGUSR1", "SIGTERM", "SIGINT"):
        if signals.again(name):
            continue
        run, before = _until_next_step(home)
        code = run.stop(getattr(signal, name))
        wrong = None
        if code != 75 or f"stopped by {name} after step" not in run.words:
            wrong = f"exit code {code}: {run.words[-400:]}"
        elif "Traceback" in run.words or (left := _alive(home)):
            wrong = f"a traceback, or processes {_named(left)} are left: {run.words[-400:]}"
        elif before and f"step {before + 1}/{STEPS}" not in run.words:
            wrong = f"it did not resume after step {before}: {run.words[-400:]}"
        signals.check(name, wrong)
    if not signals.again("SIGTERM twice"):
        run, _ = _until_next_step(home)
        code = run.stop(signal.SIGTERM, signal.SIGTERM)
        wrong = None if code in (143, 75) and not _alive(home) else f"exit code {code}: {run.words[-400:]}"
        signals.check("SIGTERM twice", wrong)
    return signals


def _killed(root: Path, home: Path) -> Row:
    chosen = Row(
        "veRL: SIGKILL of the command at a chosen moment leaves no process; the run ends with each MLflow point once, "
        "none missing, and the weights, metrics and verdicts of an uninterrupted run",
        "the run of the signals, resumed (save_every=1) and killed while Ray starts, while a checkpoint is written, "
        "just after one is complete, while the final model is exported, while it is evaluated; then run to its end",
    )
    moments: tuple[tuple[str, Callable[[Path], bool]], ...] = (
        ("while Ray starts", lambda t: (t / "verl.log").exists() and (t / "verl.log").stat().st_size > 0),
        ("while a checkpoint is written", _half_a_checkpoint),
        ("when a checkpoint was sealed", _new_seal(home)),
        ("while the final model is exported", _half_exported),
        ("while it is evaluated", lambda t: (t.parent / "eval").exists()),
    )
    for name, moment in moments:
        if chosen.again(name):
            continue
        if name == "while Ray starts":  # ignore the log of an earlier process
            next(iter(home.glob("egsw/tiny/*/train/verl.log"))).unlink()
        for start in range(STARTS):
            run = Command(home, 1)
            if run.until(moment, every_s=0.001):
                break
            print(f"    {name}: the command ended before it: {run.words[-300:]}", flush=True)
            run.end()
            assert start < STARTS - 1, name
        code = run.stop(signal.SIGKILL)
        wrong = None
        if code != -signal.SIGKILL:
            wrong = f"exit code {code}: {run.words[-400:]}"
        elif left := _alive(home):
            wrong = f"processes {_named(left)} are left"
        chosen.check(name, wrong)
    if not chosen.again("the end"):
        _unbroken(root)
        run = Command(home, 1)
        code = run.end()
        wrong, note = _compared(home, root / "verl-unbroken") if code == 0 else (f"{code}: {run.words[-400:]}", "")
        chosen.check("the end", wrong, trials=0 if wrong is None else 1)
        (root / "verl-stopped.note").write_text(note)
    chosen.note = (root / "verl-stopped.note").read_text()
    return chosen


def _until_next_step(home: Path) -> tuple[Command, int]:
    """A process that has just logged a step, and how many steps there were before.

    Ray stops a start after 30 s, and a busy machine may need longer: start again and do not count it as a trial.
    """
    for _ in range(STARTS):
        run = Command(home, 50)
        before = 0 if run.train is None else steps_of(run.train)
        if run.until(logged(before + 1)):
            return run, before
        print(f"    ended before its moment, started again: {run.words[-300:]}", flush=True)
        run.end()
    raise SystemExit(f"veRL started {STARTS} times and reached no step")


def _half_a_checkpoint(train: Path) -> bool:
    return any(not (f / "whole").exists() and any(f.rglob("*.*")) for f in train.glob("checkpoints/global_step_*"))


def _half_exported(train: Path) -> bool:
    return (train / ".final.part").exists() or (
        (train / "final").exists() and not (train.parent / "trained.json").exists()
    )


def _new_seal(home: Path) -> Callable[[Path], bool]:
    known: list[set[Path]] = []

    def there(train: Path) -> bool:
        seals = set(train.glob("checkpoints/global_step_*/whole"))
        if not known:
            known.append(seals)
        return bool(seals - known[0])

    return there


def _random(root: Path, seconds: float, *, kills: int, seed: int) -> Row:
    row = Row(
        "veRL: SIGKILL of the command at any moment: as above",
        f"random moments over the length of an uninterrupted run ({STEPS} steps, save_every=1), until it is done",
    )
    rng, home, number = random.Random(seed), root / "verl-random", 0
    while number < kills:
        number += 1
        moment = rng.uniform(0, seconds)
        if row.again(f"kill {number}"):
            continue
        run = Command(home, 1)
        while run.process.poll() is None and time.monotonic() - run.begin < moment:
            time.sleep(0.05)
        code = run.stop(signal.SIGKILL) if run.process.poll() is None else run.end()
        if code == 0:  # finished before its moment: the next kills need another run
            wrong, _ = _compared(home, root / "verl-unbroken")
            row.check(f"run that ended before kill {number}", wrong, trials=0 if wrong is None else 1)
            shutil.rmtree(home)
            number -= 1
            continue
        left = _alive(home)
        wrong = None if code == -signal.SIGKILL and not left else f"exit code {code}, processes left: {_named(left)}"
        row.check(f"kill {number}", wrong and f"after {moment:.0f} s: {wrong}")
    if not row.again("the end"):
        run = Command(home, 1)
        code = run.end()
        wrong, note = _compared(home, root / "verl-unbroken") if code == 0 else (f"{code}: {run.words[-400:]}", "")
        row.check("the end", wrong, trials=0 if wrong is None else 1)
        (root / "verl-random.note").write_text(note)
    row.note = (root / "verl-random.note").read_text()
    return row


def _compared(home: Path, unbroken: Path) -> tuple[str | None, str]:
    """(how a finished run differs from the uninterrupted one or None, how close they are)."""
    try:
        got, expected = result(home), result(unbroken)
    except AssertionError as error:
        return str(error), ""
    if got == expected:
        return None, "weights, verdicts and points equal to the bit"
    for name in expected["points"] | got["points"]:
        ours, theirs = got["points"].get(name, []), expected["points"].get(name, [])
        if [step for step, _ in ours] != [step for step, _ in theirs]:
            return f"{name}: points at {[s for s, _ in ours]}, expected {[s for s, _ in theirs]}", ""
    metrics = max(
        abs(a - b) / max(1.0, abs(b))
        for name, points in expected["points"].items()
        if "seconds" not in name
        for (_, a), (_, b) in zip(got["points"][name], points, strict=True)
    )
    weights = _forked(lambda: _largest_difference(job_folder(home), job_folder(unbroken)))
    verdicts = "verdicts equal" if got["verdicts"] == expected["verdicts"] else "verdict files differ"
    note = f"same points, metrics within {metrics:.1e}, weights within {weights:.1e}, {verdicts}"
    return (note if metrics > CLOSE or weights > CLOSE else None), note


def _largest_difference(a: Path, b: Path) -> float:
    from safetensors.torch import load_file

    ours, theirs = (load_file(folder / "train" / "final" / "model.safetensors") for folder in (a, b))
    return max(float((ours[name] - theirs[name]).abs().max()) for name in theirs)


def _forked(what: Callable[[], Any]) -> Any:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with os.fdopen(writing, "wb") as answer:
            pickle.dump(what(), answer)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        result = pickle.loads(answer.read())
    os.waitpid(pid, 0)
    return result
