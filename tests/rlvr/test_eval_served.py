"""`rlvr eval` of a server: what it says, where it is found again, and that every command prints the same metrics."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rlvr
from evals.sampling.engines import openai
from evals.sampling.engines.base import Decoding, EngineError, Request
from rlvr.cli import main
from tests.evals.sampling.chat_server import Handler, Server, code, completion, serving

ROOT = Path(__file__).parents[2]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as started:
        yield started


@pytest.fixture
def command(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    rows = [{"problem": f"{i} + 1 = ?", "answer": str(i + 1)} for i in range(2)]
    (tmp_path / "served_sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [
        f"benchmarks=[{tmp_path / 'served_sums.jsonl'}]",
        "n=2",
        "ks=[1,2]",
        "engine=openai",
        f"engine.url={server.url}",
    ]
    return ["eval", "model=some/model", *words]


def test_a_server_that_says_nothing_is_told_and_its_use_is_counted(
    command: list[str], server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.usual = lambda handler, body: handler.reply(200, completion(body, ""))
    assert main([*command, "engine.price_in=1", "engine.price_out=1000"]) == 0
    out, err = capsys.readouterr()
    assert "WARNING: served_sums: 100 % of the responses are empty: the scores say more about how it was asked" in err
    assert "load" not in err and "served_sums: asking the server for 4 samples" in err
    last = "server, this call: 4 requests, 0 sent again, 0 prompt tokens and 12 response tokens, 0.0120 USD"
    assert out.splitlines()[-1] == last  # 12 tokens at 1000 USD a million
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["usage"]["requests"] == 0  # measured already


def test_examples_without_an_answer_in_the_prompts_form_and_samples_left_out_are_said(
    command: list[str], server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shots = [{"problem": "1 + 1 = ?", "response": "It is \\boxed{2}."}, {"problem": "2 + 5 = ?", "answer": "7"}]
    (tmp_path / "shots.jsonl").write_text("".join(json.dumps(row) + "\n" for row in shots))
    server.usual = lambda handler, body: handler.reply(200, completion(body, "\\boxed{2}"))
    assert main([*command, f"examples={tmp_path / 'shots.jsonl'}"]) == 0
    assert "examples, row 2: has no answer in the form of boxed_last" in capsys.readouterr().err
    assert main([*command, f"out={tmp_path / 'out'}"]) == 0 and "examples" not in capsys.readouterr().err
    assert main([*command[:3], "n=1", "ks=[1]", *command[5:], f"out={tmp_path / 'out'}"]) == 0
    assert "nothing to sample; 2 more are kept, and left out here (n=1 of 2 problems)" in capsys.readouterr().err


def test_withheld_responses_are_unscored_and_the_reason_is_printed(
    command: list[str], server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.usual = lambda handler, body: handler.reply(200, completion(body, "so", 3, "content_filter"))
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "\n  unscored: 4 x server: its filter cut the response (content_filter)\n" in out
    assert "policy boxed_first   none scored;" in out  # under no policy is a withheld response wrong


def test_a_text_that_a_limit_cut_is_no_empty_one_and_unknown_tokens_cost_at_least_so_much(
    command: list[str], server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.usual = lambda handler, body: handler.reply(200, completion(body, None, None, "length"))
    assert main([*command, "engine.price_out=1"]) == 2
    assert "price_out: expected price_in with it" in capsys.readouterr().err
    assert main([*command, "engine.price_out=1", "engine.price_in=0"]) == 0
    out, err = capsys.readouterr()
    assert "100 % of the responses are cut at max_tokens" in err and "are empty" not in err
    assert out.splitlines()[-1].endswith("(4 replies do not say), at least 0.0000 USD")
    assert "\nmean tokens of served_sums: no problem has a response of known length" in out
    assert (
        max(map(len, (line for line in out.splitlines() if line.startswith("served_sums ")))) < 100
    )  # no sentence in it


def says_two(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, completion(body, "so \\boxed{2}"))


def test_every_command_prints_the_same_metrics_of_an_evaluation_anywhere(
    command: list[str],
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server.usual = says_two
    monkeypatch.chdir(tmp_path)
    assert main([*command, "out=mine", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]["served_sums"]
    assert [score["name"] for score in scores] == [
        "avg@2", "pass@2", "maj@2", "fmt", "no answer rate", "mean tokens", "truncation rate",
    ]  # fmt: skip
    assert [score["value"] for score in scores] == [0.5, 0.5, 0.5, 1.0, 0.0, 3.0, 0.0]  # 1 + 1 is right
    monkeypatch.chdir(ROOT)
    assert main(["show"]) == 0
    assert f"mine: {tmp_path / 'mine'}" in capsys.readouterr().out
    assert main(["show", "mine", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert main(["grade", "mine", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"]["correct"] == 2
    assert shown["scores"]["served_sums"] == scores
    assert shown["measured_by"]["served_sums"]["policy"] == "boxed_last"
    run = rlvr.read_run("mine")
    assert [row["value"] for row in run.rows()] == [score["value"] for score in scores]
    for text in (str(run), main(["show", "mine"]) or capsys.readouterr().out):
        assert "avg: mean of samples; pass: any of k; maj: majority of k" in text and "policy boxed_last" in text
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    assert main([*command, "out=other/mine"]) == 0  # another folder of that name
    names = sorted(path.name for path in (tmp_path / "home" / "evaluations").iterdir())
    assert len(names) == 2 and names[0] == "mine" and names[1].startswith("mine-")


def test_a_record_has_the_values_of_the_last_call(
    command: list[str], server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.usual = says_two
    for more, n, rows in ((["n=2"], 2, None), (["n=1", "ks=[1]", "rows=1"], 1, 1), (["n=3", "ks=[1]"], 3, None)):
        assert main([*command[:3], *command[5:], *more]) == 0
        capsys.readouterr()
        assert main(["show", "model", "--json"]) == 0
        measured = json.loads(capsys.readouterr().out)["measured_by"]["served_sums"]
        assert (measured["n"], measured.get("rows")) == (n, rows)


def test_an_evaluation_that_was_to_grow_and_failed_is_listed_and_its_scores_are_those_of_before(
    command: list[str], server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server.usual = says_two
    assert main([*command[:3], *command[5:], "n=1", "ks=[1]"]) == 0
    monkeypatch.setattr(openai, "ATTEMPTS", 1)
    server.usual = lambda handler, body: handler.reply(401, b"bad key")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert main(command) == 1
    assert "HTTP 401: bad key (OPENAI_API_KEY, where the key is read from, is not set)" in capsys.readouterr().err
    assert main(["show"]) == 0
    out = capsys.readouterr().out
    assert "evaluations with samples to come" in out and "HTTP 401" in out
    sentence = "failed with 2 samples of served_sums, to be 2 of each problem"
    assert sentence in " ".join(out.split())
    assert main(["show", "model", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["measured_by"]["served_sums"]["n"] == 1 and document["to come"].startswith(sentence)
    server.usual = says_two
    assert main(command) == 0 and main(["show"]) == 0
    assert "samples to come" not in capsys.readouterr().out


def test_a_run_has_a_page_and_no_report_and_nothing_wrong_is_said(
    command: list[str],
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    server.usual = lambda handler, body: handler.reply(200, completion(body, "I do not know"))
    system = "system=Think, then answer in \\boxed{}."  # as typed: commas and braces are text
    assert main([*command, "out=mine", system]) == 0
    capsys.readouterr()
    assert main(["report", "mine"]) == 2
    assert "paper=mine: a run. rlvr page mine makes a page of any runs" in capsys.readouterr().err
    assert main(["grade", "mine", "explain=wrong"]) == 0
    assert "explain=wrong: no row is wrong" in capsys.readouterr().err
    assert main([*command, "price_in=1"]) == 2
    assert "price_in=1: no such key. Did you mean 'engine.price_in'?" in capsys.readouterr().err
    assert all(body["messages"][0]["content"] == system[7:] for _, _, body in server.seen)


def test_the_same_questions_with_other_ids_are_refused(
    command: list[str], server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.usual = says_two
    assert main(command) == 0
    request_count = len(server.seen)
    path = tmp_path / "served_sums.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({"id": f"other-{i}", **row}) + "\n" for i, row in enumerate(rows)))
    assert main(command) == 2
    refused = r"holds samples of problem '\S+', which \S+jsonl does not have: the questions are the same"
    assert re.search(refused, capsys.readouterr().err)
    assert len(server.seen) == request_count


def test_a_server_that_fails_is_told_while_it_is_asked_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "STEP_S", 0.05)  # a try is repeated after about half a second
    answers = iter([code(503), says_two])
    server.usual = lambda handler, body: next(answers)(handler, body)
    engine = openai.OpenAIEngine("m", url=server.url)
    troubles: list[str] = []
    request = Request(("p", 0), "?", 1)
    list(engine.generate([request], Decoding(1.0, 1.0, 8), lambda _: troubles.append(engine.trouble)))
    assert "HTTP 503" in troubles and engine.trouble == ""
    server.usual = code(400)  # which is not asked again
    with pytest.raises(EngineError, match="HTTP 400"):
        list(engine.generate([request], Decoding(1.0, 1.0, 8), lambda _: None))
    assert engine.trouble == ""


def test_other_settings_have_a_folder_of_their_own(command: list[str], server: Server, tmp_path: Path) -> None:
    server.usual = says_two
    for more in ([], ["max_tokens=99"], ["stop=[Question:]", "reasoning_effort=low"], ["rows=1"]):
        assert main([*command, *more]) == 0
    (url,) = {f"url{rlvr_short(server.url)}"}
    names = {path.name for path in (tmp_path / "home" / "evaluations").iterdir()}
    stop = f"stop{rlvr_short(['Question:'])}-reasoning_effortlow"
    assert names == {
        f"model-sampled-openai-{url}-seed0",
        f"model-sampled-max_tokens99-openai-{url}-seed0",
        f"model-sampled-{stop}-openai-{url}-seed0",
    }


def rlvr_short(value: Any) -> str:
    from rlvr.evaluation import _short

    return _short(value)


@pytest.mark.slow
@pytest.mark.parametrize("signals", [1, 2])
def test_a_signal_ends_the_command_while_the_server_is_silent(
    command: list[str], server: Server, signals: int, tmp_path: Path
) -> None:
    request_seen, silent = threading.Event(), threading.Event()

    def never(*_: Any) -> None:
        request_seen.set()
        silent.wait(120)

    server.usual = never
    program = [sys.executable, "-c", "import signal, sys; signal.signal(2, signal.default_int_handler); "
               "from rlvr.cli import main; sys.exit(main())", *command]  # fmt: skip
    child = subprocess.Popen(program, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        assert request_seen.wait(120)
        for _ in range(signals):
            child.send_signal(signal.SIGINT)
        output = child.communicate(timeout=60)[1]  # the server is silent for longer
        assert child.returncode in ((75,) if signals == 1 else (75, 130))
        assert "resumes" in output or "goes on from what was saved" in output
    finally:
        silent.set()
        child.kill()
