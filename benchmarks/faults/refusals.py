"""How long a refusal takes: the command line in its own process, from its start to its exit code."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from benchmarks.faults.rows import Row
from harness.data.base_models import locate

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S, TIMES = 2.0, 3
RUNS = ["run", "paper=egsw", "arm=egsw", "seeds=1"]
EVALS = ["eval", "protocol=tiny", "benchmarks=[tiny_short]"]


def rows(root: Path) -> Iterator[Row]:
    """One row: CPU and wall-clock time of each kind of bad input."""
    row = Row(
        f"Bad input is refused in under {LIMIT_S:g} s, offline: exit code 2, the fault named, nothing started",
        f"the command in its own process, with imports; median of {TIMES}; not kept if over {LIMIT_S:g} s of CPU time",
    )
    folder = root / "refusals"
    folder.mkdir(parents=True, exist_ok=True)
    taken = {}
    for name, (arguments, named, more) in _commands(folder).items():
        taken[name], wrong = _timed(arguments, named, {"RLVR_HOME": str(folder / "home"), **more})
        row.check(name, wrong or (f"{taken[name][0]:.2f} s" if taken[name][0] > LIMIT_S else None))
        print(f"    {name}: {taken[name][0]:.2f} s CPU, {taken[name][1]:.2f} s wall clock", flush=True)
    row.note = "CPU seconds (wall clock): " + ", ".join(
        f"{name} {busy:.1f} ({clock:.1f})" for name, (busy, clock) in taken.items()
    )
    yield row


def _commands(folder: Path) -> dict[str, tuple[list[str], str, Mapping[str, str]]]:
    """Name -> (the command, what its message must name, environment variables)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from harness.data.tiny import write_benchmarks

    cut, table, tag, file = (folder / name for name in ("cut.jsonl", "other.parquet", "tag.yaml", "file"))
    cut.write_text('{"problem": "1+1?", "answer": "2"}\n{"problem": "1+')
    pq.write_table(pa.table({"a": ["1"], "b": ["2"]}), table)
    tag.write_text("base: egsw\nn: !!python/object/apply:os.system ['true']\n")
    file.touch()
    models = {name: str(path) for name, path in _models(folder).items()}
    write_benchmarks(folder)
    prompt = "prompt=boxed_system"
    evals = [*EVALS, f"data_dir={folder}", prompt]
    return {
        "a value": ([*RUNS, "learning_rate=nan"], "learning_rate", {}),
        "a key": ([*RUNS, "learning_rat=1"], "learning_rat", {}),
        "JSON Lines to train on": ([*RUNS, f"dataset={cut}"], cut.name, {}),
        "Parquet to train on": ([*RUNS, f"dataset={table}"], table.name, {}),
        "JSON Lines to grade": (["grade", str(cut)], cut.name, {}),
        "Parquet to grade": (["grade", str(table)], table.name, {}),
        "YAML": (["eval", "model=/nowhere", f"protocol={tag}"], tag.stem, {}),
        "RLVR_HOME on a file": ([*RUNS], "RLVR_HOME", {"RLVR_HOME": str(file)}),
        "no such model": ([*EVALS, "model=/nowhere"], "/nowhere", {}),
        "a model of the hub, offline": ([*RUNS, "scale=paper", "model=math-7b"], "Qwen", {}),
        **{f"eval, {name}": ([*evals, f"model={path}"], path, {}) for name, path in models.items()},
        **{f"run, {name}": ([*RUNS, f"base_model={path}", prompt], path, {}) for name, path in models.items()},
    }


def _models(folder: Path) -> dict[str, Path]:
    """A checkpoint without a tokenizer, one whose template refuses a system message, one without an end token."""
    made = {name: folder / name.replace(" ", "-") for name in ("no tokenizer", "no system role", "no end token")}
    for path in made.values():
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(locate("tiny"), path)
    for path in made["no tokenizer"].glob("tokenizer*"):
        path.unlink()
    refuses = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    (made["no system role"] / "chat_template.jinja").write_text(refuses + "{{ m.content }}{% endfor %}")
    for name in ("config.json", "generation_config.json", "tokenizer_config.json", "special_tokens_map.json"):
        if (path := made["no end token"] / name).exists():
            known = json.loads(path.read_text())
            path.write_text(json.dumps({k: v for k, v in known.items() if k not in ("eos_token", "eos_token_id")}))
    return made


def _timed(arguments: list[str], named: str, more: Mapping[str, str]) -> tuple[tuple[float, float], str | None]:
    """(median CPU seconds, median wall-clock seconds), and what is wrong."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", **more}
    environment.pop("MLFLOW_TRACKING_URI", None)
    busy, clock, wrong = [], [], None
    for _ in range(TIMES):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "harness.cli", *arguments], env=environment, capture_output=True, text=True
        )
        clock.append(time.perf_counter() - begin)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
        if done.returncode != 2 or "Traceback" in done.stderr or named not in done.stderr:
            wrong = f"exit code {done.returncode}: {done.stderr[-300:]}"
    return (median(busy), median(clock)), wrong
