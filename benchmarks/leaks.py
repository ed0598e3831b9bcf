"""Do the leak probes find what was planted? Tiny models trained with and without the test problems.

    python -m benchmarks.leaks [SEEDS] [STEPS]      writes results/leak_probes.md

Each seed makes its own test, control and training problems with one generator; a planted model has the test problems
among its training problems, and a clean model has others in their place.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from evals.analysis.leaks import LeakReport, probe
from evals.data.benchmarks import Problem
from evals.grading import Grader
from evals.sampling.engines import create
from harness.data.tiny import chain

SIZE, OTHERS, STEPS = 24, 8, 200
SHOWN = ("answer@0.8", "own_numbers")


def problems(seed: int, count: int) -> list[Problem]:
    """Distinct problems of the chain family, two to five steps."""
    rng = random.Random(seed)
    by_text: dict[str, Problem] = {}
    while len(by_text) < count:
        one = chain.sample_problem(rng, rng.randint(2, 5), False)
        by_text.setdefault(one.text, Problem(f"p{len(by_text)}", one.text, one.answer))
    return list(by_text.values())


def train(texts: list[str], folder: Path, seed: int, steps: int) -> Path:
    """A Qwen2 of two layers of width 64, trained on the texts (each followed by the end token)."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    from harness.data.tiny.tokenizer import build_tokenizer

    tokenizer = build_tokenizer(chain.pieces())
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = Qwen2ForCausalLM(config)
    batch = tokenizer(
        [text + tokenizer.eos_token for text in texts], return_tensors="pt", padding=True, padding_side="right"
    )
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.0)
    for _ in range(steps):
        loss = model(**batch, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def run(seed: int, grader: Grader, *, planted: bool, steps: int = STEPS) -> LeakReport:
    """Train one model and probe it."""
    every = problems(1000 * seed + int(planted), 2 * SIZE + OTHERS + SIZE)
    test, control, others, spare = every[:SIZE], every[SIZE : 2 * SIZE], every[2 * SIZE : -SIZE], every[-SIZE:]
    seen = [*others, *(test if planted else spare)]
    with tempfile.TemporaryDirectory() as folder:
        path = train([f"{p.problem} The answer is {p.answer}" for p in seen], Path(folder), seed, steps)
        engine = create("transformers", str(path), device="cpu")
        sets = ("test", test), ("control", control)
        return probe("planted" if planted else "clean", engine, *sets, max_tokens=32, grader=grader)


def main(seeds: int, steps: int) -> None:
    """Train and probe; write the page after each seed, with the number of models so far."""
    rows: list[str] = []
    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    with Grader(workers=1) as grader:
        for seed in range(seeds):
            for planted in (True, False):
                report = run(seed, grader, planted=planted, steps=steps)
                counts[planted][report.verdict] += 1
                by_name = {p.name: p for p in report.probes}
                cells = [f"{by_name[name].benchmark.hits} | {by_name[name].control.hits}" for name in SHOWN]
                rows.append(f"| {report.model} | {seed} | {' | '.join(cells)} | {report.verdict} |")
                print(rows[-1], file=sys.stderr, flush=True)
            Path("results/leak_probes.md").write_text(page(rows, counts, seed + 1, steps))


def page(rows: list[str], counts: dict[bool, Counter[str]], seeds: int, steps: int) -> str:
    """The results so far."""
    head = [
        "# Leak probes on planted models",
        "",
        f"Written by `python -m benchmarks.leaks {seeds} {steps}`. Tiny models (two layers of width 64, {steps} steps)",
        f"trained on {SIZE + OTHERS} generated problems with their answers: with the {SIZE} test problems among them",
        f"(planted) or with others in their place (clean). The control is {SIZE} other problems of the generator.",
        "",
        f"- leak detected in {counts[True]['leak']} of {seeds} planted models",
        f"- false alarms in {counts[False]['leak']} of {seeds} clean models ({counts[False]['no sign']} no sign, "
        f"{counts[False]['cannot tell']} cannot tell)",
        "",
        f"| model | seed | {' | '.join(f'{name}, of {SIZE} test problems | of {SIZE} control' for name in SHOWN)} "
        "| verdict |",
        f"| --- | ---: | {'---: | ---: | ' * len(SHOWN)}--- |",
    ]
    return "\n".join([*head, *rows]) + "\n"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, int(sys.argv[2]) if len(sys.argv) > 2 else STEPS)
