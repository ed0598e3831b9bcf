"""Selected tokens are those asked for. Continuations start with their prefix and are graded."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from evals.analysis.interventions import Prefix, PrefixedEngine, Sampling, Selection, measure, select
from evals.sampling.engines import Decoding, Request
from evals.sampling.engines.encode import model_stop_tokens
from evals.sampling.engines.transformers import TransformersEngine
from tests.evals.analysis.interventions import BENCHMARK, Rule, subject
from tests.evals.analysis.token_tables import token_table

DECODING = Decoding(1.0, 1.0, 12)


@pytest.fixture(scope="module")
def engine(random_model: Path) -> TransformersEngine:
    return TransformersEngine(str(random_model), device="cpu")


def some_prefixes(engine: TransformersEngine) -> list[Prefix]:
    ids = [i for i in range(40, 60) if i not in model_stop_tokens(engine.model_path, engine.tokenizer)]
    return [Prefix(f"b{n}", "1", tuple(ids[:n])) for n in (0, 2, 5)]


def test_continuations_start_with_their_prefix_and_a_run_is_resumed(engine: TransformersEngine, tmp_path: Path) -> None:
    prefixes = some_prefixes(engine)
    model = subject(Path(engine.model_path), "1")

    def again(n: int, prefixes: list[Prefix] = prefixes) -> list[tuple[str, int, str, int]]:
        sampling = Sampling(DECODING, n, tmp_path / "out", seed=3, engine=engine)
        frame = measure(model, BENCHMARK, prefixes, sampling, name="x")
        return list(zip(*(frame[c] for c in ("problem_id", "sample", "response", "tokens")), strict=True))

    first = again(2)
    assert [row[:2] for row in first] == [(f"b{n}", j) for n in (0, 2, 5) for j in (0, 1)]
    for prefix, (_, _, text, tokens) in zip([p for p in prefixes for _ in range(2)], first, strict=True):
        assert text.startswith(engine.tokenizer.decode(list(prefix.forced), skip_special_tokens=True))
        assert len(prefix.forced) < tokens <= 12
    assert again(2) == first
    assert [row for row in again(3) if row[1] < 2] == first  # more continuations keep those that were there
    with pytest.raises(ValueError, match=r"holds samples of other settings: .*engine\.forced was"):
        again(2, [*prefixes[:2], Prefix("b5", "1", prefixes[2].forced[::-1])])


def test_a_finished_prefix_is_its_own_only_continuation(random_model: Path) -> None:
    inner = Rule(random_model, lambda _: True)
    end = model_stop_tokens(str(random_model), inner.tokenizer)[0]
    forced = {"ended": (40, end), "full": (40,) * 12, "open": (40,)}
    prefixes = [Prefix(name, "p", ids) for name, ids in forced.items()]
    prefixed = PrefixedEngine(inner, prefixes, str(random_model))
    requests = [Request((prefix.id, 0), "p", 1) for prefix in prefixes]
    got = {c.key[0]: c for batch in prefixed.generate(requests, DECODING) for c in batch}
    letter = inner.tokenizer.decode([40])
    assert (got["ended"].text, got["ended"].tokens, got["ended"].finish_reason) == (letter, 2, "stop")
    assert (got["full"].text, got["full"].tokens, got["full"].finish_reason) == (letter * 12, 12, "length")
    assert got["open"].text == letter + "\\boxed{7}"
    assert [request.key[0] for request in inner.requests] == ["open"]


ENTROPIES = {("a", 0): [0.1, 2.0, 0.5, 2.0, 0.0], ("a", 1): [1.0, 3.0], ("b", 0): [0.7]}
TABLE = token_table({key: [(9, h, 8) for h in values] for key, values in ENTROPIES.items()})


def taken(selection: Selection, table: pd.DataFrame = TABLE, seed: int = 0) -> dict[tuple[str, int], list[int]]:
    selected = select(table, selection, seed=seed)
    return {key: rows["position"].tolist() for key, rows in selected.groupby(["problem_id", "sample"])}  # type: ignore[misc]


def test_the_most_and_the_least_uncertain() -> None:
    # a tie takes the earlier token first: of the two 2.0 in (a, 0), position 1
    assert taken(Selection("top", count=1)) == {("a", 0): [1], ("a", 1): [1], ("b", 0): [0]}
    assert taken(Selection("bottom", count=2)) == {("a", 0): [0, 4], ("a", 1): [0, 1], ("b", 0): [0]}
    # 30 % of 5, 2 and 1 tokens: 1.5, 0.6, 0.3, rounded up
    assert taken(Selection("top", share=0.3)) == {("a", 0): [1, 3], ("a", 1): [1], ("b", 0): [0]}


def test_random_tokens_come_from_the_response() -> None:
    first = taken(Selection("random", count=2))
    assert taken(Selection("random", count=2), TABLE[::-1]) == first  # in any order of the rows
    alone = TABLE[TABLE["problem_id"] == "a"]
    assert taken(Selection("random", count=2), alone) == {key: at for key, at in first.items() if key[0] == "a"}
    sampled = {tuple(taken(Selection("random", count=2), seed=seed)["a", 0]) for seed in range(60)}
    assert len(sampled) == 10  # every pair of 5 positions. Each is missed by 60 samples with probability 0.9^60 = 0.2 %


def test_tokens_are_selected_within_a_part_of_the_response() -> None:
    # relative positions of (a, 0): 0, .2, .4, .6, .8; of (a, 1): 0, .5; of (b, 0): 0
    assert taken(Selection("top", count=9, within=(0.2, 0.6))) == {("a", 0): [1, 2], ("a", 1): [1]}
    assert taken(Selection("top", share=0.5, within=(0.0, 0.5))) == {("a", 0): [1, 2], ("a", 1): [0], ("b", 0): [0]}
    with pytest.raises(ValueError, match="no response has a token there"):
        select(TABLE, Selection("top", count=1, within=(0.9, 1.0)))
