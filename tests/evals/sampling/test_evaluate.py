"""Evaluation: the verdict table, resuming after kills, and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from evals.sampling.engines import Completion, Decoding, Request
from evals.sampling.evaluate import evaluate
from evals.sampling.store import SampleStore
from tests.evals.conftest import make_model
from tests.evals.sampling.toy import PROBLEMS, KilledError, Scripted, expected_rows, protocol, set_up, table

pytestmark = pytest.mark.slow


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_dir: Path) -> dict[str, Any]:
    """A pinned benchmark `toy`, and the arguments of `evaluate` for it."""
    return set_up(tmp_path, model_dir, monkeypatch)


def test_the_verdict_table_is_that_of_the_samples(place: dict[str, Any]) -> None:
    paths = evaluate(protocol=protocol(4), engine=Scripted(), **place)
    assert paths == {"toy": place["out_dir"] / "toy" / "verdicts.parquet"}
    assert table(paths["toy"]) == expected_rows(4)
    assert {row["verdict"] for row in expected_rows(4)} == {"correct", "wrong", "no_answer", "truncated"}


def test_each_benchmark_has_its_folder_and_its_seeds(place: dict[str, Any]) -> None:
    paths = evaluate(protocol=protocol(2, "toy_b", "toy"), engine=Scripted(), seed=7, **place)
    assert list(paths) == ["toy_b", "toy"]
    for name, path in paths.items():
        assert table(path) == expected_rows(2, seed=7, name=name)


def test_the_first_rows_and_then_the_others(place: dict[str, Any]) -> None:
    first_rows = table(evaluate(protocol=protocol(2, rows=3), engine=Scripted(), **place)["toy"])
    assert first_rows == [row for row in expected_rows(2) if row["problem_id"] in ("p0", "p1", "p2")]
    more = Scripted()
    assert table(evaluate(protocol=protocol(2), engine=more, **place)["toy"]) == expected_rows(2)
    assert sorted(more.keys) == [("p3", 0), ("p3", 1), ("p4", 0), ("p4", 1)]


def killed() -> None:
    raise KilledError


@pytest.mark.parametrize("dies_at", [0, 3, 7])  # 15 samples, 4 to a chunk, 2 to a batch: 8 batches
def test_a_killed_evaluation_resumes_where_it_stopped(place: dict[str, Any], dies_at: int) -> None:
    first = Scripted(dies_at, killed)
    with pytest.raises(KilledError):
        evaluate(protocol=protocol(3), engine=first, **place)
    assert not (place["out_dir"] / "toy" / "verdicts.parquet").exists()
    second = Scripted()
    path = evaluate(protocol=protocol(3), engine=second, **place)["toy"]
    assert table(path) == expected_rows(3)
    sampled = first.keys + second.keys  # each sample once: none lost, none doubled
    assert sorted(sampled) == [(p.id, s) for p in PROBLEMS for s in range(3)]


CHILD = """
import os, signal, sys
from pathlib import Path
from evals.sampling.evaluate import evaluate
from tests.evals.sampling.toy import Scripted, protocol, set_up
def main():
    place = set_up(Path(sys.argv[1]), Path(sys.argv[2]))
    engine = Scripted(int(sys.argv[3]), lambda: os.kill(os.getpid(), signal.SIGKILL))
    evaluate(protocol=protocol(3), engine=engine, **place)
if __name__ == "__main__":
    main()
"""


def test_a_real_kill(tmp_path: Path, model_dir: Path, place: dict[str, Any]) -> None:
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    root = Path(__file__).parents[3]
    child = [sys.executable, str(script), str(tmp_path), str(model_dir), "5"]
    ended = subprocess.run(child, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    rest = Scripted()
    assert table(evaluate(protocol=protocol(3), engine=rest, **place)["toy"]) == expected_rows(3)
    assert len(rest.keys) == 15 - 5 * 2  # five batches of two were on disk


def test_an_incomplete_shard_is_not_read(place: dict[str, Any]) -> None:
    with pytest.raises(KilledError):
        evaluate(protocol=protocol(3), engine=Scripted(3, killed), **place)
    (place["out_dir"] / "toy" / "shards" / ".000003.parquet.part").write_bytes(b"PAR1 and then the power went")
    assert table(evaluate(protocol=protocol(3), engine=Scripted(), **place)["toy"]) == expected_rows(3)


def test_more_samples_keep_the_first(place: dict[str, Any]) -> None:
    few, more, fewer = Scripted(), Scripted(), Scripted()
    evaluate(protocol=protocol(2), engine=few, **place)
    assert table(evaluate(protocol=protocol(5), engine=more, **place)["toy"]) == expected_rows(5)
    assert {sample for _, sample in more.keys} == {2, 3, 4}
    assert table(evaluate(protocol=protocol(2), engine=fewer, **place)["toy"]) == expected_rows(2)
    assert fewer.keys == []


def test_a_resumed_run_has_the_batches_of_an_uninterrupted_one(place: dict[str, Any]) -> None:
    """The size of one request decides rounding in a real engine, so it must not change."""
    whole, chunks = Scripted(), []
    generate = whole.generate

    def spy(requests: Sequence[Request], decoding: Decoding, on_step: Any = None) -> Iterator[list[Completion]]:
        chunks.append([r.key for r in requests])
        return generate(requests, decoding)

    whole.generate = spy  # type: ignore[method-assign]
    evaluate(protocol=protocol(3), engine=whole, **{**place, "out_dir": place["out_dir"] / "whole"})
    unbroken, chunks = chunks, []
    with pytest.raises(KilledError):
        evaluate(protocol=protocol(3), engine=Scripted(4, killed), **place)  # after two chunks of two batches
    evaluate(protocol=protocol(3), engine=whole, **place)
    assert chunks == unbroken[2:]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, r"seed was 0, now 1"),
        ({"max_tokens": 10}, r"decoding.max_tokens was 9, now 10"),
        ({"prompt": "boxed_suffix"}, r'prompt.name was "plain", now "boxed_suffix"'),
        ({"note": "2"}, r'engine.note was "1", now "2"'),
    ],
)
def test_samples_of_other_settings_are_refused(place: dict[str, Any], change: dict[str, Any], message: str) -> None:
    path = evaluate(protocol=protocol(3), engine=Scripted(), **place)["toy"]
    before = path.read_bytes()
    other = {"seed": 0, "note": "1", **change}
    seed, engine = other.pop("seed"), Scripted(note=other.pop("note"))
    with pytest.raises(ValueError, match=message):
        evaluate(protocol=protocol(3, **other), engine=engine, seed=seed, **place)
    assert path.read_bytes() == before


def test_a_fingerprint_covers_what_changes_outputs(tmp_path: Path) -> None:
    from evals.fingerprint import model_fingerprint

    model = make_model(tmp_path)
    plain = model_fingerprint(model)
    (model / "optimizer.pt").write_bytes(b"leftover")
    (model / "trainer_state.json").write_text("{}")
    assert model_fingerprint(model) == plain
    for name in ("generation_config.json", "tokenizer_config.json", "model.safetensors"):
        content = (model / name).read_bytes()
        (model / name).write_bytes(content + b" ")
        assert model_fingerprint(model) != plain
        (model / name).write_bytes(content)
    assert model_fingerprint(model) == plain


def test_changed_data_is_refused_then_recorded_then_not_mixed(place: dict[str, Any]) -> None:
    evaluate(protocol=protocol(1), engine=Scripted(), **place)
    file = place["data_dir"] / "toy.jsonl"
    file.write_text(file.read_text().replace('"answer": "4"', '"answer": "5"'))
    with pytest.raises(ValueError, match="not the pinned version"):
        evaluate(protocol=protocol(1), engine=Scripted(), **place)
    with pytest.raises(ValueError, match=r"data\.changed was false, now true; data\.sha256 was"):
        evaluate(protocol=protocol(1), engine=Scripted(), allow_changed_data=True, **place)


def test_samples_of_another_model_or_of_an_unknown_one_are_refused(place: dict[str, Any], tmp_path: Path) -> None:
    evaluate(protocol=protocol(1), engine=Scripted(), **place)
    other = make_model(tmp_path / "other", seed=1)
    with pytest.raises(ValueError, match=r"holds samples of other settings: model\.sha256 was"):
        evaluate(protocol=protocol(1), engine=Scripted(), **{**place, "model_path": other})
    (place["out_dir"] / "toy" / "manifest.json").unlink()
    with pytest.raises(ValueError, match=r"holds samples without a manifest\.json"):
        evaluate(protocol=protocol(1), engine=Scripted(), **place)


def test_two_processes_do_not_share_a_folder(place: dict[str, Any]) -> None:
    with (
        SampleStore(place["out_dir"] / "toy").locked(),
        pytest.raises(ValueError, match="another process is evaluating into"),
    ):
        evaluate(protocol=protocol(1), engine=Scripted(), **place)


def test_wrong_names_stop_before_anything_starts(place: dict[str, Any]) -> None:
    nowhere = place["data_dir"] / "nowhere"
    for values, message in (
        ({"protocol": "tini"}, "unknown protocol 'tini': Did you mean 'tiny'"),
        ({"engine": "vlm"}, "engine: got 'vlm'"),
        ({"model_path": "/no/such/model"}, "'/no/such/model': no such folder"),
        ({"model_path": "/no/such/model", "engine": "transformers", "data_dir": nowhere}, "'/no/such/model'"),
        ({"data_dir": nowhere}, "has no file for toy"),
        ({"protocol": protocol(1, rows=6)}, "rows=6 for toy: expected 1 to 5"),
        ({"engine": Scripted(context=22)}, r".p2., the longest, has 14 .* is 22. Expected max_tokens <= 8"),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate(**{"protocol": protocol(1), "engine": Scripted(), **place, **values})
    assert not place["out_dir"].exists()


def test_an_engine_that_drops_a_request_is_noticed(place: dict[str, Any]) -> None:
    lossy = Scripted()
    whole = lossy.generate
    lossy.generate = lambda requests, decoding, _: whole(requests[1:], decoding)  # type: ignore[method-assign]
    # 10 requests in chunks of 4, 4 and 2: the first of each is dropped
    with pytest.raises(RuntimeError, match="the engine answered 7 of 10 requests"):
        evaluate(protocol=protocol(2), engine=lossy, **place)


def test_a_thought_that_the_template_began_is_read_alike_in_every_grading(place: dict[str, Any]) -> None:
    """Each response ends inside its thought. The box in it is no answer, in the evaluation and in what reads it."""
    from evals.answer_files import grade_file
    from rlvr.evaluation import _policy_effects

    class Thinking(Scripted):
        class tokenizer(Scripted.tokenizer):
            @staticmethod
            def apply_chat_template(messages: Any, **_: Any) -> str:
                return "".join(m["content"] for m in messages) + "<think>\n"

        def generate(
            self, requests: Sequence[Request], decoding: Decoding, on_step: Any = None
        ) -> Iterator[list[Completion]]:
            right = (f"It is \\boxed{{{request.key[0][1:]}}}. Wait" for request in requests)
            yield [Completion(request.key, text, 3, "length") for request, text in zip(requests, right, strict=True)]

    path = evaluate(protocol=protocol(2, prompt="boxed_suffix"), engine=Thinking(), **place)["toy"]
    assert {(row["verdict"], row["thought_begun"]) for row in table(path)} == {("truncated", True)}
    out = place["out_dir"] / "graded.jsonl"
    report = grade_file(path, out=out, explain=[1])
    assert report.verdicts == {"truncated": 10} and report.thoughts == 10
    assert report.explanations[1].extracted is None
    assert grade_file(out).verdicts == {"truncated": 10}
    assert grade_file(path, reasoning="whole").verdicts == {"correct": 10}
    effects = {effect.policy: effect for effect in _policy_effects("boxed_last", path, "after")}
    assert effects["qwen"].changed == 0 and effects["qwen, reasoning=whole"].correct == 10


def test_a_manifest_holds_no_credential_and_still_tells_two_apart(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [f"sk-{letter * 24}" for letter in "ab"]
    engines = [Scripted(note=f"https://me:{key}@host?token={key}") for key in keys]
    evaluate(protocol=protocol(1, system=keys[0]), engine=engines[0], **place)
    manifest = place["out_dir"] / "toy" / "manifest.json"
    for more in (1, 2):  # the same command resumes
        evaluate(protocol=protocol(more, system=keys[0]), engine=engines[0], **place)
        assert keys[0] not in manifest.read_text() and "[hidden]" in manifest.read_text()
    with pytest.raises(ValueError, match=r"engine\.note was .*\[hidden\].*, now ") as error:
        evaluate(protocol=protocol(1, system=keys[0]), engine=engines[1], **place)
    assert not any(key in str(error.value) for key in keys)


def test_a_credential_of_the_environment_is_known_again_without_it(
    place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "open sesame")
    evaluate(protocol=protocol(1), engine=Scripted(note="say open sesame"), **place)
    manifest = place["out_dir"] / "toy" / "manifest.json"
    assert "sesame" not in manifest.read_text()
    monkeypatch.delenv("SOME_TOKEN")
    evaluate(protocol=protocol(1), engine=Scripted(note="say open sesame"), **place)


def test_samples_whose_manifest_has_a_credential_are_resumed(place: dict[str, Any]) -> None:
    """Manifests had them until 2026-11-30."""
    key = f"sk-{'a' * 24}"
    evaluate(protocol=protocol(1), engine=Scripted(note="not hidden"), **place)
    manifest = place["out_dir"] / "toy" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"not hidden"', f'"{key}"'))
    evaluate(protocol=protocol(1), engine=Scripted(note=key), **place)
