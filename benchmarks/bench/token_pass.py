"""Time and memory of all token measurements of a long response: in pieces, against all logits at once.

Each way runs in its own process, so that the peak memory of one does not hide the other's; the peak of a process that
only loads the model is subtracted. Times are CPU times, because the processes cannot alternate within a round and
CPU time depends little on other users of the machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.bench.timing import Row

VOCABULARY, TOKENS, MASS = 151_936, 4_096, 0.95
WAYS = ("load", "ours", "theirs")


def run(rounds: int) -> Iterator[Row]:
    import numpy as np

    size = f"{TOKENS:,} tokens, vocabulary {VOCABULARY:,}, random model of width 64"
    with tempfile.TemporaryDirectory() as folder:
        _save_model(Path(folder) / "model")
        measured: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
        for _ in range(rounds):
            for way in WAYS:
                measured[way].append(_measured(way, Path(folder)))
        ours, theirs = np.load(Path(folder) / "ours.npz"), np.load(Path(folder) / "theirs.npz")
    names = ("logp", "entropy", "alternative_logp", "update_size")
    apart = max(float(np.abs(ours[n] - theirs[n]).max() / np.abs(theirs[n]).max()) for n in names)
    same = all(np.array_equal(ours[name], theirs[name]) for name in ("nucleus", "alternative_id"))
    if apart > 1e-6 or not same:
        raise AssertionError(f"both ways differ: by {apart:.1e} of the largest value; counts and ids equal: {same}")
    seconds = {way: median(r["seconds"] for r in measured[way]) for way in WAYS}
    memory = {way: median(r["peak_bytes"] for r in measured[way]) - median(r["peak_bytes"] for r in measured["load"])
              for way in WAYS}  # fmt: skip
    against = "the whole logits at once"
    entropy = float(theirs["entropy"].mean())
    equal = f"mean entropy {entropy:.2f}; equal to {apart:.1e} of the largest value, nucleus sizes and ids exactly"
    yield Row("token pass, time", "tokens/CPU s", TOKENS / seconds["ours"], TOKENS / seconds["theirs"], against, rounds,
              f"{size}; {equal}")  # fmt: skip
    yield Row("token pass, memory", "tokens/GB", 1e9 * TOKENS / memory["ours"], 1e9 * TOKENS / memory["theirs"],
              against, rounds, f"peak of the process less that of one that only loads the model: "
              f"{memory['ours'] / 1e9:.2f} GB against {memory['theirs'] / 1e9:.2f} GB")  # fmt: skip


def _save_model(folder: Path) -> None:
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=2 * TOKENS, initializer_range=1.5, tie_word_embeddings=True,
    )  # fmt: skip
    Qwen2ForCausalLM(config).save_pretrained(folder)


def _measured(way: str, folder: Path) -> dict[str, float]:
    """Run one way in its own process; returns its CPU seconds and its peak memory."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench.token_pass", way, str(folder)],
        check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _child(way: str, folder: Path) -> None:
    import time

    import numpy as np
    import torch
    from transformers import AutoModelForCausalLM

    from evals.analysis.token_pass import Encoded, read_tokens

    model = AutoModelForCausalLM.from_pretrained(folder / "model", dtype="float32").eval()
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(VOCABULARY, (TOKENS + 1,), generator=generator)
    start = time.process_time()
    values: dict[str, Any] = {}
    if way == "ours":
        values = read_tokens(model, [Encoded(tuple(ids.tolist()), ("",) * TOKENS)], mass=MASS, progress=False)[0]
    elif way == "theirs":
        values = {name: value.numpy() for name, value in _whole(model, ids).items()}
    seconds = time.process_time() - start
    if values:
        np.savez(folder / f"{way}.npz", **values)
    print(json.dumps({"seconds": seconds, "peak_bytes": _peak_bytes()}))


def _peak_bytes() -> int:
    """Peak memory of this process since exec; on Linux, getrusage also counts what the parent held at the fork."""
    import resource

    status = Path("/proc/self/status")
    if status.is_file():
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _whole(model: Any, ids: Any) -> dict[str, Any]:
    """The usual way: compute all logits, then each measurement from them. Only sorting, which would need several times
    as much memory, runs in pieces of 256 positions."""
    import torch

    tokens = ids[1:, None]
    with torch.inference_mode():
        out = model(ids[None], output_hidden_states=True)
        norms = out.hidden_states[-1][0, :-1].norm(dim=-1)
        log_p = out.logits[0, :-1].log_softmax(-1)
        del out
        values = {"logp": log_p.gather(1, tokens)[:, 0]}
        best = log_p.topk(2)
        column = (best.indices[:, :1] == tokens).long()  # the second where the first is the token itself
        values["alternative_id"] = best.indices.gather(1, column)[:, 0]
        values["alternative_logp"] = best.values.gather(1, column)[:, 0]
        p = log_p.exp()
        values["entropy"] = -log_p.mul_(p).sum(-1)
        del log_p
        values["nucleus"] = torch.cat([_nucleus(part) for part in p.split(256)])
        values["update_size"] = p.scatter_add_(1, tokens, torch.full(tokens.shape, -1.0)).norm(dim=-1) * norms
        return values


def _nucleus(p: Any) -> Any:
    ranked = p.sort(-1, descending=True).values.double()
    return (ranked.cumsum(-1) - ranked < MASS).sum(-1)


if __name__ == "__main__":
    _child(sys.argv[1], Path(sys.argv[2]))
