"""Broken models and workers: a true verdict or an error that names the fault, never a silent zero."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.faults.lives import RUN, job_folder, live
from benchmarks.faults.rows import Row

EVAL = ["eval", "protocol=tiny", "benchmarks=[tiny_short]", "n=2", "ks=[1]", "max_tokens=8", "rows=4"]


def rows(root: Path) -> Iterator[Row]:
    home = root / "models"
    if not (home / "egsw").is_dir():
        assert live(RUN, home).code == 0
    final = job_folder(home) / "train" / "final"
    data = home / "tiny-benchmarks"
    yield _weights(root, final, data)
    yield _files(root, final, data)
    yield _grader(root, final, data)


def _weights(root: Path, final: Path, data: Path) -> Row:
    from safetensors.torch import load_file, save_file

    row = Row(
        "`rlvr eval` refuses weights that are not finite and names them (exit code 2)",
        "one NaN, one inf, one -inf, all NaN",
    )
    for name, value in (("nan", "nan"), ("inf", "inf"), ("-inf", "-inf"), ("all", "nan")):
        model = _copy(final, root / f"model-{name}")
        weights = load_file(model / "model.safetensors")
        first = next(iter(weights))
        if name == "all":
            weights = {key: tensor * float("nan") for key, tensor in weights.items()}
        else:
            weights[first].view(-1)[0] = float(value)
        save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
        life = live([*EVAL, f"model={model}", f"data_dir={data}", f"out={root / f'eval-{name}'}"], root / "models")
        wrong = None
        if life.code != 2 or life.traceback or "NaN or infinite" not in life.err:
            wrong = f"exit code {life.code}: {life.out[-200:]} {life.err[-300:]}"
        row.check(name, wrong)
    return row


def _files(root: Path, final: Path, data: Path) -> Row:
    """Checkpoints with a missing or wrong part: one sentence names it, exit code 2."""
    row = Row(
        "If a model folder cannot be sampled from, `rlvr eval` says what is missing (exit code 2, no traceback)",
        "no tokenizer, no weights, truncated weights, no or garbage configuration, a chat template that fails",
    )
    broken = {
        "no tokenizer": lambda m: [p.unlink() for p in m.glob("tokenizer*")],
        "no weights": lambda m: (m / "model.safetensors").unlink(),
        "truncated weights": lambda m: (m / "model.safetensors").write_bytes(
            (m / "model.safetensors").read_bytes()[:1000]
        ),
        "no configuration": lambda m: (m / "config.json").unlink(),
        "garbage configuration": lambda m: (m / "config.json").write_text("{"),
        "template that raises": lambda m: (m / "chat_template.jinja").write_text("{{ raise_exception('no') }}"),
        "template that is no Jinja": lambda m: (m / "chat_template.jinja").write_text("{% for"),
    }
    for name, breaks in broken.items():
        model = _copy(final, root / "model-broken")
        breaks(model)
        out = root / f"eval-{name.replace(' ', '-')}"
        life = live([*EVAL, f"model={model}", f"data_dir={data}", f"out={out}"], root / "models")
        wrong = None
        if life.code != 2 or life.traceback or str(model) not in life.err:
            wrong = f"exit code {life.code}: {life.out[-100:]} {life.err[-400:]}"
        row.check(name, wrong)
    return row


def _grader(root: Path, final: Path, data: Path) -> Row:
    """Kill grading processes while they work: verdicts equal those of an undisturbed evaluation, or are unscored."""
    import pyarrow.parquet as pq

    row = Row(
        "If grading processes are killed, verdicts stay the same or become `unscored`, with the reason",
        "every grading process killed repeatedly during an evaluation",
    )
    tables = []
    for name in ("undisturbed", "killed"):
        out = root / f"grader-{name}"
        done = threading.Event()

        def kill(pid: int, done: threading.Event = done) -> None:
            def work() -> None:
                while not done.is_set():
                    for child in _children(pid):
                        try:
                            os.kill(child, signal.SIGKILL)
                        except ProcessLookupError:
                            continue
                    time.sleep(0.2)

            threading.Thread(target=work, daemon=True).start()

        life = live(
            [*EVAL[:-2], "rows=16", "max_tokens=48", f"model={final}", f"data_dir={data}", f"out={out}"],
            root / "models",
            meanwhile=kill if name == "killed" else None,
        )
        done.set()
        if life.code != 0:
            row.check(name, f"exit code {life.code}: {life.err[-300:]}")
            return row
        tables.append(pq.read_table(out / "tiny_short" / "verdicts.parquet").to_pylist())
    for first, second in zip(*tables, strict=True):
        same = first["verdict"] == second["verdict"] or (second["verdict"] == "unscored" and bool(second["reason"]))
        row.check(str(first["problem_id"]), None if same else f"{first['verdict']} became {second['verdict']}")
    return row


def _children(pid: int) -> list[int]:
    pids = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                pids.append(int(folder.name))
    return pids


def _copy(model: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(model, to)
    return to
