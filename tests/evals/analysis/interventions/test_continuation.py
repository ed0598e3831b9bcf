"""Responses that are gone on with begin as they were told to, and are graded."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.analysis.interventions.continuation import Branch, PrefixedEngine, sample_continuations
from evals.sampling.engines import Decoding, Request
from evals.sampling.engines.encode import model_stop_tokens
from evals.sampling.engines.transformers import TransformersEngine
from tests.evals.analysis.interventions import Rule

DECODING = Decoding(1.0, 1.0, 12)


@pytest.fixture(scope="module")
def engine(random_model: Path) -> TransformersEngine:
    return TransformersEngine(str(random_model), device="cpu")


def some_branches(engine: TransformersEngine) -> list[Branch]:
    ids = [i for i in range(40, 60) if i not in model_stop_tokens(engine.model_path, engine.tokenizer)]
    return [Branch(f"b{n}", "1+1=", tuple(ids[:n]), "7") for n in (0, 2, 5)]


def test_continuations_start_with_their_prefix_and_a_run_is_resumed(engine: TransformersEngine, tmp_path: Path) -> None:
    branches = some_branches(engine)

    def again(k: int, branches: list[Branch] = branches) -> list[tuple[str, int, str, int]]:
        frame = sample_continuations(
            branches, name="x", engine=engine, model_path=engine.model_path, decoding=DECODING, k=k, seed=3,
            folder=tmp_path / "out",
        )  # fmt: skip
        return list(zip(*(frame[c] for c in ("problem_id", "sample", "response", "tokens")), strict=True))

    first = again(2)
    assert [row[:2] for row in first] == [(f"b{n}", j) for n in (0, 2, 5) for j in (0, 1)]
    for branch, (_, _, text, tokens) in zip([b for b in branches for _ in range(2)], first, strict=True):
        assert text.startswith(engine.tokenizer.decode(list(branch.forced), skip_special_tokens=True))
        assert len(branch.forced) < tokens <= 12
    assert again(2) == first
    assert [row for row in again(3) if row[1] < 2] == first  # more continuations keep those that were there
    with pytest.raises(ValueError, match=r"holds samples of other settings: .*engine\.forced was"):
        again(2, [*branches[:2], Branch("b5", "1+1=", branches[2].forced[::-1], "7")])


def test_a_finished_prefix_is_its_own_only_continuation(random_model: Path) -> None:
    inner = Rule(random_model, lambda _: True)
    end = model_stop_tokens(str(random_model), inner.tokenizer)[0]
    forced = {"ended": (40, end), "full": (40,) * 12, "open": (40,)}
    branches = [Branch(name, "p", ids, "7") for name, ids in forced.items()]
    prefixed = PrefixedEngine(inner, branches, str(random_model))
    asked = [Request((branch.id, 0), "p", 1) for branch in branches]
    got = {c.key[0]: c for batch in prefixed.generate(asked, DECODING) for c in batch}
    letter = inner.tokenizer.decode([40])
    assert (got["ended"].text, got["ended"].tokens, got["ended"].finish_reason) == (letter, 2, "stop")
    assert (got["full"].text, got["full"].tokens, got["full"].finish_reason) == (letter * 12, 12, "length")
    assert got["open"].text == letter + "\\boxed{7}"
    assert [request.key[0] for request in inner.asked] == ["open"]


def test_invalid_branches_are_refused(random_model: Path, tmp_path: Path) -> None:
    inner = Rule(random_model, lambda _: True)
    for branches, message in (([], "one branch or more"), ([Branch("a", "p", (), "7")] * 2, "ids of their own")):
        with pytest.raises(ValueError, match=message):
            sample_continuations(
                branches, name="x", engine=inner, model_path=str(random_model), decoding=DECODING, k=1, seed=0,
                folder=tmp_path,
            )  # fmt: skip
