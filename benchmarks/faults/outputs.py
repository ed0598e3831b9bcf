"""Models with odd output, and a machine without memory: record the truth, or nothing together with the reason."""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.faults.lives import RUN, STEPS, Life, difference, job_folder, live
from benchmarks.faults.models import EVAL
from benchmarks.faults.rows import Row

EXTRA_MIB = (5, 20, 40, 60, 100, 300)  # beyond what the process has when the command starts: each fails elsewhere


def rows(root: Path, expected: dict[str, Any]) -> Iterator[Row]:
    yield _endings(root)
    yield _no_end_token(root)
    yield _overflow(root)
    yield _no_memory(root, expected)
    yield _reward(root)


def _base(to: Path) -> Path:
    from harness.data.tiny.pinned import MODELS

    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(MODELS / "tiny", to)
    return to


def _always_ends(model: Path) -> None:
    """Edit a model so that its first token is the end token. The head's row for it becomes the hidden state after a
    prompt (nearly the same for all prompts, since their last token is the same); the other rows become 0."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    words = AutoTokenizer.from_pretrained(model)
    policy = AutoModelForCausalLM.from_pretrained(model)
    state = torch.zeros(policy.config.hidden_size)
    with torch.no_grad():
        for text in ("<user>a<assistant>", "<user>What is 1 plus 2 ?<assistant>"):
            ids = torch.tensor([words.encode(text)])
            state += policy.model(input_ids=ids).last_hidden_state[0, -1]
        policy.config.tie_word_embeddings = False
        head = torch.zeros_like(policy.lm_head.weight)
        head[words.eos_token_id] = 1000 * state / state.norm()
        policy.lm_head.weight = torch.nn.Parameter(head)
    policy.save_pretrained(model)


def _endings(root: Path) -> Row:
    import pyarrow.parquet as pq

    row = Row(
        "A model whose responses are all truncated or all empty can be trained and evaluated: every verdict says "
        "which, none is lost",
        f"a base model that always ends at once; one token a response; {STEPS} steps, then 4 problems × 2 samples",
    )
    empty = _base(root / "base-ends-at-once")
    _always_ends(empty)
    short = ["max_completion_tokens=1", "protocol.max_tokens=1"]
    for name, more, verdict, share in (
        ("truncated", short, "truncated", 1.0),
        ("empty", [f"base_model={empty}"], "no_answer", 0.0),
    ):
        home = root / f"all-{name}"
        keys = {option.partition("=")[0] for option in more}
        life = live([*(option for option in RUN if option.partition("=")[0] not in keys), *more], home)
        if life.code != 0 or life.traceback:
            row.check(name, _ended(life))
            continue
        folder = job_folder(home)
        steps = [json.loads(line)["metrics"] for line in (folder / "train" / "metrics.jsonl").read_text().splitlines()]
        cut = [step["train/truncated_fraction"] for step in steps]
        row.check(f"{name}: steps", None if cut == [share] * STEPS else f"truncated_fraction {cut}", trials=STEPS)
        verdicts = pq.read_table(folder / "eval" / "tiny_short" / "verdicts.parquet")["verdict"].to_pylist()
        wrong = None if verdicts == [verdict] * 8 else f"verdicts {verdicts}"
        row.check(f"{name}: verdicts", wrong, trials=8)
    row.note = "training steps and verdicts"
    return row


def _no_end_token(root: Path) -> Row:
    row = Row(
        "A checkpoint without an end-of-sequence token is refused with its name (exit code 2) before anything starts",
        "`rlvr eval` of it, `rlvr run` from it",
    )
    model = _base(root / "base-no-end")
    for name, key in (
        ("config.json", "eos_token_id"),
        ("generation_config.json", "eos_token_id"),
        ("tokenizer_config.json", "eos_token"),
    ):
        values = json.loads((model / name).read_text())
        values.pop(key)
        (model / name).write_text(json.dumps(values))
    home = root / "no-end"
    for name, command in (
        ("eval", [*EVAL, f"model={model}", f"data_dir={_data(root, home)}", f"out={root / 'no-end-eval'}"]),
        ("run", [*RUN, f"base_model={model}"]),
    ):
        life = live(command, home)
        wrong = None
        if life.code != 2 or life.traceback or "no end token" not in life.err or str(model) not in life.err:
            wrong = _ended(life)
        elif (root / "no-end-eval").exists() or any(home.glob("egsw/*/*/train/*")):
            wrong = "something was started"
        row.check(name, wrong)
    return row


def _overflow(root: Path) -> Row:
    """Finite weights whose product is not."""
    from safetensors.torch import load_file, save_file

    row = Row(
        "If finite weights give an output that overflows, `rlvr eval` stops with a sentence (exit code 1): no verdict",
        "the last norm times 1e38, temperature 1 and 0",
    )
    model = _base(root / "base-overflow")
    weights = load_file(model / "model.safetensors")
    weights["model.norm.weight"] *= 1e38
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    home = root / "overflow"
    for temperature, n in ((1, 2), (0, 1)):
        out = root / f"overflow-{temperature}"
        how = [option for option in EVAL if option != "n=2"] + [f"temperature={temperature}", f"n={n}"]
        life = live([*how, f"model={model}", f"data_dir={_data(root, home)}", f"out={out}"], home)
        wrong = None
        if life.code != 1 or life.traceback or "NaN or infinite at token 1" not in life.err:
            wrong = _ended(life)
        elif list(out.rglob("verdicts.parquet")):
            wrong = "verdicts were written"
        row.check(f"temperature {temperature}", wrong)
    return row


def _no_memory(root: Path, expected: dict[str, Any]) -> Row:
    row = Row(
        "Out of memory: the command fails with a message that says so, or finishes; without the limit, the same "
        "command ends with equal results",
        f"address space limited to what the process has plus {', '.join(map(str, EXTRA_MIB))} MiB",
    )
    ended = []
    for extra in EXTRA_MIB:
        home = root / f"memory-{extra}"
        life = live([*RUN, "hardware.save_every=1"], home, inside=partial(_limit, extra))
        ended.append(f"{extra} MiB: {life.code}")
        wrong = None
        if life.code != 0 and not any(word in life.err.lower() for word in ("memory", "allocate")):
            wrong = f"it does not say that memory ran out: {_ended(life)}"
        again = live([*RUN, "hardware.save_every=1"], home)
        row.check(f"{extra} MiB", wrong or (difference(home, expected) if again.code == 0 else _ended(again)))
    row.note = "exit codes " + ", ".join(ended)
    row.check("every limit", None if any(not one.endswith(" 0") for one in ended) else "memory never ran out")
    return row


def _limit(extra_mib: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + extra_mib * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _reward(root: Path) -> Row:
    row = Row(
        "An exception in a user's reward stops the training and is shown; it never becomes a reward of 0. After a "
        "repair, the same command resumes",
        "the reward raises at its 41st call, in a later step; then it is repaired",
    )
    home, count = root / "reward", root / "reward.broken"
    count.touch()
    file = root / "own_reward.py"
    file.write_text(
        "from pathlib import Path\n"
        "seen = []\n"
        "def reward(response, answer):\n"
        f"    if len(seen) > 40 and Path({str(count)!r}).exists():\n"
        "        raise ZeroDivisionError('in my reward')\n"
        "    seen.append(response)\n"
        "    return min(1.0, len(response) / 100)\n"
        "reward.range = (0, 1)\n"
    )
    command = [*RUN, "hardware.save_every=1", f"rewards=[{file}:reward]", "reward_weights=[1]"]
    life = live(command, home)
    wrong = None
    if life.code == 0 or "in my reward" not in life.err:
        wrong = _ended(life)
    elif list(home.glob("egsw/*/*/record.json")):
        wrong = "it was recorded as done"
    count.unlink()
    again = live(command, home)
    if wrong is None and (again.code != 0 or f"step 1/{STEPS}" in again.err):
        wrong = f"the command again: {_ended(again)}"
    row.check("reward", wrong)
    return row


def _data(root: Path, home: Path) -> Path:
    from harness.data.tiny import write_benchmarks

    folder = root / "tiny-benchmarks"
    if not folder.is_dir():
        folder.mkdir(parents=True)
        write_benchmarks(folder)
    home.mkdir(parents=True, exist_ok=True)
    return folder


def _ended(life: Life) -> str:
    return f"exit code {life.code}: {life.out[-100:]} {life.err[-400:]}"
