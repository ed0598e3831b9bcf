"""`rlvr eval stop=decided`: it samples no more than it needs, and says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import main
from harness.cli.stopping import Stop, as_text, shares, take_stop
from harness.errors import UsageError


def test_stopping_options_are_taken_from_the_others() -> None:
    assert take_stop({"n": 2}) is None
    values = {"stop": "decided", "against": 0.5, "alpha": 0.1, "every": 4, "n": 2}
    assert take_stop(values) == Stop(0.5, None, 0.1, 4) and values == {"n": 2}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"against": 0.5}, "expected stop=decided with it"),
        ({"stop": "soon"}, "stop=soon: no such stop"),
        ({"stop": "decided"}, "expected against=SHARE .as 0.5. or versus=RUN, one of them"),
        ({"stop": "decided", "against": 0.5, "versus": "run"}, "one of them"),
        ({"stop": "decided", "against": 50}, "in .0, 1., got 50"),
        ({"stop": "decided", "against": 0.5, "alpha": 0}, "alpha: expected"),
        ({"stop": "decided", "against": 0.5, "every": 0}, "every: expected"),
    ],
)
def test_wrong_options_are_named(values: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        take_stop(values)


def test_unscored_responses_are_excluded() -> None:
    rows = [("a", "correct"), ("a", "wrong"), ("a", "unscored"), ("b", "truncated"), ("c", "unscored")]
    assert shares([{"problem_id": p, "verdict": v} for p, v in rows]) == {"a": 0.5, "b": 0.0}


@pytest.fixture
def model_dir(tmp_path: Path) -> Path:
    from tests.experiments import save_random_model

    return save_random_model(tmp_path)


def test_a_model_that_solves_nothing_is_decided_early(
    model_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"id": str(i), "problem": f"{i}+1000=?", "answer": str(i + 1000)} for i in range(60)]
    (tmp_path / "hard.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "hard.yaml").write_text("task: hard_sums\nfile: hard.jsonl\n")
    options = [
        f"model={model_dir}",
        "protocol=tiny",
        f"benchmarks=[{tmp_path / 'hard.yaml'}]",
        "n=2",
        "ks=[1,2]",
        "max_tokens=2",
        f"out={tmp_path / 'out'}",
        "stop=decided",
        "every=10",
    ]
    assert main(["eval", "--json", *options, "against=0.5"]) == 0
    document = json.loads(capsys.readouterr().out)
    # a model of random weights is never right: each value is 0, and 60 of them are far more than needed
    assert document["decided"] == "below" and document["mean"] == 0 and document["interval"]["high"] <= 0.5
    assert document["problems"] in (10, 20) and document["samples_saved"] == (60 - document["problems"]) * 2
    assert document["samples"] == document["problems"] * 2
    assert "samples saved" in as_text(document) and max(map(len, as_text(document).splitlines())) <= 80

    # against itself nothing can be decided: every sample is taken, and those of before are used again
    assert main(["eval", "--json", *options, f"versus={tmp_path / 'out'}"]) == 2
    assert "no scored response to" in capsys.readouterr().err
