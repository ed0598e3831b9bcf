"""Decoding with a separate temperature at forks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from evals.analysis.interventions import Sampling
from evals.data.benchmarks import Benchmark, Problem
from evals.data.prompts import Prompt
from evals.sampling.engines import Completion, Decoding, Request
from evals.sampling.engines.base import sample_seed
from evals.sampling.engines.transformers import TransformersEngine
from evals.sampling.evaluate import sample_problems
from reproductions.forking_tokens.figures.fork_temperature import (
    ForkTemperatureEngine,
    choose_at_forks,
    measure_fork_temperatures,
    plot_fork_temperatures,
    scores,
)
from tests.evals.analysis.intervention_frames import LONG
from tests.evals.analysis.interventions import BENCHMARK, subject
from tests.evals.analysis.rendered import check_renders
from tests.evals.analysis.verdict_tables import table as samples

PROBLEMS = ("12", "3", "45")
MIDDLE = 4.7  # nats: about half of the random model's tokens are above


def sampled(engine: TransformersEngine, decoding: Decoding) -> dict[object, Completion]:
    requests = [Request((p, s), f"{p}+1=", sample_seed(0, BENCHMARK, (p, s))) for p in PROBLEMS for s in range(4)]
    return {c.key: c for batch in engine.generate(requests, decoding) for c in batch}


def test_the_temperature_follows_the_entropy() -> None:
    # row 0 is a fork: p = (.1, .2, .3, .4), H = 1.28 nats; row 1 is not: p = (.01, .01, .01, .97), H = 0.168
    p = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.01, 0.01, 0.01, 0.97]])
    u = torch.tensor([0.05, 0.005])  # both in the first token's share at temperature 1
    logits, plain = p.log(), Decoding(1.0, 1.0, 1)
    # at temperature 0 the most probable token, which is the last
    assert choose_at_forks(logits, u, plain, fork_temperature=0.0, threshold=0.5).tolist() == [3, 0]
    greedy = Decoding(0.0, 1.0, 1)
    assert choose_at_forks(logits, u, greedy, fork_temperature=1.0, threshold=0.5).tolist() == [0, 3]
    assert choose_at_forks(logits, u, greedy, fork_temperature=1.0, threshold=0.1).tolist() == [0, 0]
    # a threshold that the entropy meets exactly counts as a fork
    exactly = float(-(p[0] * p[0].log()).sum())
    assert choose_at_forks(logits, u, plain, fork_temperature=0.0, threshold=exactly - 1e-6).tolist() == [3, 0]
    assert choose_at_forks(logits, u, plain, fork_temperature=0.0, threshold=exactly + 1e-6).tolist() == [0, 0]


@pytest.mark.parametrize("decoding", [Decoding(1.0, 1.0, 24), Decoding(0.7, 0.95, 24), Decoding(0.0, 1.0, 24)])
def test_equal_temperatures_are_the_ordinary_engine(random_model: Path, decoding: Decoding) -> None:
    ordinary = sampled(TransformersEngine(str(random_model), device="cpu"), decoding)
    mixed = ForkTemperatureEngine(
        str(random_model), fork_temperature=decoding.temperature, threshold=MIDDLE, device="cpu"
    )
    assert sampled(mixed, decoding) == ordinary


def test_extreme_thresholds_are_one_temperature_throughout(random_model: Path) -> None:
    cold, hot = Decoding(0.3, 1.0, 24), Decoding(1.5, 1.0, 24)
    engine = ForkTemperatureEngine(str(random_model), fork_temperature=1.5, threshold=0.0, device="cpu")
    ordinary = TransformersEngine(str(random_model), device="cpu")
    assert sampled(engine, cold) == sampled(ordinary, hot)  # every token is a fork
    engine.threshold = 100.0  # nats, more than log of any vocabulary
    assert sampled(engine, cold) == sampled(ordinary, cold)
    engine.threshold = MIDDLE
    assert sampled(engine, cold) not in (sampled(ordinary, hot), sampled(ordinary, cold))
    assert engine.describe()["fork_temperature"] == 1.5
    assert engine.describe()["fork_threshold"] == MIDDLE


def test_a_sweep_is_an_evaluation_at_each_pair(random_model: Path, tmp_path: Path) -> None:
    model = subject(random_model, PROBLEMS)
    sampling = Sampling(Decoding(1.0, 1.0, 12), 2, tmp_path / "sweep")
    pairs = [(1.0, 1.0), (1.5, 0.5)]
    frame = measure_fork_temperatures(model, BENCHMARK, pairs, sampling, threshold=MIDDLE, device="cpu")
    prompts = model.prompts[BENCHMARK]
    problems = tuple(Problem(p, prompts[p], "7") for p in PROBLEMS)
    plain = sample_problems(
        Benchmark(BENCHMARK, problems, "", "test"),
        TransformersEngine(str(random_model), device="cpu"),
        prompt=Prompt("p", "{problem}", "boxed_last", "test", chat=False),
        decoding=Decoding(1.0, 1.0, 12),
        n=2,
        seed=0,
        model_path=random_model,
        folder=tmp_path / "plain",
    )
    equal = frame[frame["fork_temperature"] == 1.0].drop(columns=["fork_temperature", "other_temperature", "threshold"])
    pd.testing.assert_frame_equal(equal.reset_index(drop=True), pd.read_parquet(plain), check_dtype=False)
    assert {path.name for path in (tmp_path / "sweep").iterdir()} == {"fork-1-other-1", "fork-1.5-other-0.5"}
    with pytest.raises(ValueError, match="each once"):
        measure_fork_temperatures(model, BENCHMARK, [(1.0, 1.0)] * 2, sampling, threshold=MIDDLE)


def test_scores_by_hand() -> None:
    words = {"c": "correct", "w": "wrong", "u": "unscored"}
    letters = {(1.0, 1.0): ("cw", "ww"), (2.0, 1.0): ("cc", "cu"), (0.0, 1.0): ("uu", "uu")}
    frame = pd.DataFrame(
        [
            {
                "fork_temperature": fork, "other_temperature": other, "problem_id": problem, "sample": i,
                "verdict": words[letter], "answer_class": 0 if letter == "c" else 1 if letter == "w" else None,
                "boxed": True, "tokens": 3,
            }
            for (fork, other), texts in letters.items()
            for problem, text in zip("ab", texts, strict=True)
            for i, letter in enumerate(text)
        ]
    )  # fmt: skip
    table = scores(frame).set_index("fork_temperature")
    # means over problems of (1/2, 0), (1, 1 of the one graded sample), none
    assert table["mean"].tolist()[:2] == [0.25, 1.0]
    assert table.loc[2.0, ["unscored", "mean_tokens"]].tolist() == [1, 3] and np.isnan(table.loc[0.0, "mean"])


def forks(*pairs: tuple[float, float]) -> pd.DataFrame:
    tables = []
    for index, (fork, other) in enumerate(pairs):
        table = samples({"p0": "cc" if index else "cw", "p1": "ww", "p2": "cu"})
        tables.append(table.assign(fork_temperature=fork, other_temperature=other, threshold=0.672))
    return pd.concat(tables, ignore_index=True)


def test_the_figure_of_fork_temperatures_shows_accuracy() -> None:
    one = plot_fork_temperatures({LONG: forks((1.0, 1.0), (0.5, 1.0), (1.0, 2.0))}, [LONG])
    rows = one.numbers
    # (1/2, 0, 1) at the reference, which is in both panels, and (1, 0, 1) elsewhere
    assert rows[["panel", "temperature"]].to_numpy().tolist() == [
        ["fork_temperature", 1.0], ["fork_temperature", 0.5], ["other_temperature", 1.0], ["other_temperature", 2.0]
    ]  # fmt: skip
    assert rows["mean"].tolist() == pytest.approx([50, 200 / 3, 50, 200 / 3])
    assert "3 responses" in one.caption and "0.672 nats" in one.caption  # unscored ones; the threshold
    check_renders(one)
