"""Why does a random reward cost accuracy? The change of the weights, and the accuracy along it and against it.

    python -m studies.controls.random_walk [SEEDS]     after `rlvr run file=studies/controls/runs.txt`, on its models

A random reward's gradient has mean zero over the coin flips (tests/harness/spec/test_random_reward_gradient.py). Adam
divides a gradient by its own size, so noise makes steps as long as a signal's, in the directions in which the sampled
tokens' probabilities change most. Let d be the change that training makes to the weights w of the base model. Measured:

    the length of d, and the cosine between the d of different seeds (0 for independent walks);
    accuracy at w + d, w - d and w + d/2: after a downward drift, w - d would gain; after a walk off a ridge, both
    lose;
    accuracy at w + noise of d's size in every tensor: does any step of this length lose as much?
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evals.grading import Grader

PAGE = Path("results/controls/random_walk.md")
ARM = "grpo+random_reward"
SAMPLES = 4
ALONG = {"w + d": 1.0, "w + d/2": 0.5, "w - d": -1.0}


@dataclass(frozen=True)
class Walk:
    """The change by one training. `length`: root mean square of d over the weights, in learning rates."""

    rate: float
    seed: int
    steps: int
    length: float
    accuracies: dict[str, float]  # what was added to w -> percent


def trained_models(seeds: int) -> list[tuple[float, int, int, Path]]:
    """(learning rate, seed, steps, folder of the trained model) of ARM's runs under RLVR_HOME, highest rate first."""
    from harness.record.find import runs

    found = []
    for run in runs(paper="baselines", scale="tiny", arms=[ARM]):
        if run.seed < seeds and run.model_folder is not None:
            rate = run.settings["learning_rate"]["value"]
            found.append((rate, run.seed, run.record["training"]["steps"], Path(run.model_folder)))
    return sorted(found, key=lambda run: (-run[0], run[1]))


def moved(base: dict[str, Any], d: dict[str, Any], times: float) -> dict[str, Any]:
    """The weights w + times d."""
    return {name: value + times * d[name] for name, value in base.items()}


def noise_like(d: dict[str, Any], seed: int) -> dict[str, Any]:
    """Gaussian numbers with the norm of d in every tensor."""
    import torch

    random = torch.Generator().manual_seed(seed)
    drawn = {name: torch.randn(value.shape, generator=random) for name, value in d.items()}
    return {name: value * (d[name].norm() / value.norm()) for name, value in drawn.items()}


def flat(d: dict[str, Any]) -> Any:
    """All weights as one vector."""
    import torch

    return torch.cat([value.flatten() for value in d.values()]).double()


def accuracy(weights: dict[str, Any], model: Any, tokenizer: Any, grader: Grader) -> float:
    """Percent, mean over the tiny benchmarks; 4 samples a problem, with the same random numbers for all weights."""
    import torch

    from evals.data import prompts
    from evals.data.benchmarks import Problem
    from evals.grading.verdicts import Verdict
    from evals.sampling.engines.encode import prompt_tokens
    from harness.data.tiny import family

    prompt = prompts.get("plain")
    model.load_state_dict(weights, strict=False)  # tied weights are listed once
    shares = []
    for tier in family("tiny").EVAL_SHAPES:
        rows = family("tiny").eval_problems(tier)
        problems = [Problem(row["id"], row["problem"], row["answer"]) for row in rows for _ in range(SAMPLES)]
        token_ids = [list(prompt_tokens(tokenizer, prompts.render(prompt, problem, tokenizer))) for problem in problems]
        torch.manual_seed(0)
        padded = tokenizer.pad({"input_ids": token_ids}, return_tensors="pt")
        rows = model.generate(**padded, do_sample=True, top_k=0, max_new_tokens=96, pad_token_id=tokenizer.pad_token_id)
        texts = tokenizer.batch_decode(rows[:, padded["input_ids"].shape[1] :], skip_special_tokens=True)
        graded = [(problem.answer, text, None) for problem, text in zip(problems, texts, strict=True)]
        grades = grader.grade_responses(graded, prompt.policy)
        shares.append(fmean(grade.verdict is Verdict.CORRECT for grade in grades))
    return 100 * fmean(shares)


def measure(seeds: int) -> tuple[float, list[Walk], dict[float, float]]:
    """(accuracy of the base model, every walk, learning rate -> mean cosine between the d of two seeds)."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from evals.grading import Grader
    from harness.data.base_models import locate

    runs = trained_models(seeds)
    if not runs:
        raise SystemExit(
            f"no finished runs of {ARM}: first `rlvr run file=studies/controls/runs.txt`, with the same RLVR_HOME"
        )
    base = locate("tiny")
    model, tokenizer = AutoModelForCausalLM.from_pretrained(base), AutoTokenizer.from_pretrained(base)
    w = {name: value.detach().clone() for name, value in model.named_parameters()}
    walks: list[Walk] = []
    directions: dict[float, list[Any]] = {}
    with Grader(workers=1) as grader:
        at_base = accuracy(w, model, tokenizer, grader)
        for rate, seed, steps, folder in runs:
            trained = dict(AutoModelForCausalLM.from_pretrained(folder).named_parameters())
            d = {name: trained[name].detach() - value for name, value in w.items()}
            directions.setdefault(rate, []).append(flat(d))
            points = {name: moved(w, d, times) for name, times in ALONG.items()}
            points["w + noise"] = moved(w, noise_like(d, seed), 1)
            found = {name: accuracy(weights, model, tokenizer, grader) for name, weights in points.items()}
            walks.append(Walk(rate, seed, steps, float(flat(d).pow(2).mean().sqrt()) / rate, found))
            print(walks[-1], file=sys.stderr, flush=True)
    cosines = {
        rate: fmean(float(a @ b / (a.norm() * b.norm())) for a, b in combinations(changes, 2))
        for rate, changes in directions.items()
        if len(changes) > 1
    }
    return at_base, walks, cosines


def page(at_base: float, walks: Sequence[Walk], cosines: dict[float, float]) -> str:
    """The table, and how to read it."""
    names = [*ALONG, "w + noise"]
    lines = [
        "# Where a random reward takes a tiny model",
        "",
        "Written by `python -m studies.controls.random_walk` from the models of "
        "`rlvr run file=studies/controls/runs.txt`. Tiny scale: a model of under 2M parameters on made-up arithmetic; "
        "it says nothing about larger models.",
        "",
        "w: the weights of the base model; d: the change by training. Percent: mean accuracy over the benchmarks, 4 "
        f"samples a problem, the same random numbers in every cell; w itself has {at_base:.1f}. Noise is Gaussian, "
        "with the norm of d in every tensor. Length: root mean square of d over the weights, in learning rates; a walk "
        "of independent steps of one learning rate each has the square root of their number as length, a straight line "
        "their number.",
        "",
        "| learning rate | seed | steps | length | " + " | ".join(names) + " |",
        "| ---: | ---: | ---: | ---: |" + " ---: |" * len(names),
    ]
    for walk in walks:
        cells = " | ".join(f"{walk.accuracies[name]:.1f}" for name in names)
        lines.append(f"| {walk.rate:g} | {walk.seed} | {walk.steps} | {walk.length:.2f} | {cells} |")
    for rate in dict.fromkeys(walk.rate for walk in walks):
        of_rate = [walk.accuracies for walk in walks if walk.rate == rate]
        means = " | ".join(f"{fmean(a[name] for a in of_rate):.1f}" for name in names)
        lines.append(f"| {rate:g} | mean of {len(of_rate)} | | | {means} |")
    lines += ["", "Mean cosine between the d of two seeds: "]
    lines[-1] += ", ".join(f"{value:+.3f} at {rate:g}" for rate, value in cosines.items()) + "."
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Measure, and write the page."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(*measure(int(arguments[0]) if arguments else 4)), encoding="utf-8")
    print(f"wrote {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
