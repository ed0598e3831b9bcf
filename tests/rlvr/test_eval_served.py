"""`rlvr eval` of a server: what it says, where it is found again, and that every command prints the same metrics."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rlvr
from evals.data import benchmarks
from rlvr.cli import main
from tests.evals.sampling.chat_server import Handler, Server, completion, serving

ROOT = Path(__file__).parents[2]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as started:
        yield started


@pytest.fixture
def command(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(benchmarks, "OWN", {})  # each test has a file of that name
    rows = [{"problem": f"{i} + 1 = ?", "answer": str(i + 1)} for i in range(2)]
    (tmp_path / "served_sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    of = [
        f"benchmarks=[{tmp_path / 'served_sums.jsonl'}]",
        "n=2",
        "ks=[1,2]",
        "engine=openai",
        f"engine.url={server.url}",
    ]
    return ["eval", "model=some/model", *of]


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


def test_withheld_responses_are_unscored_and_the_reason_is_printed(
    command: list[str], server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.usual = lambda handler, body: handler.reply(200, completion(body, "so", 3, "content_filter"))
    assert main(command) == 0
    assert "\n  unscored: 4 x server: it gave no response (content_filter)\n" in capsys.readouterr().out


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
    assert [score["value"] for score in scores] == [0.5, 0.5, 0.5, 1.0, 0.0, 3.0, 0.0]  # of 0 + 1 and 1 + 1 the second
    monkeypatch.chdir(ROOT)
    assert main(["show"]) == 0
    assert f"mine: {tmp_path / 'mine'}" in capsys.readouterr().out
    assert main(["show", "mine", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
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
    asked, silent = threading.Event(), threading.Event()

    def never(*_: Any) -> None:
        asked.set()
        silent.wait(120)

    server.usual = never
    program = [sys.executable, "-c", "import signal, sys; signal.signal(2, signal.default_int_handler); "
               "from rlvr.cli import main; sys.exit(main())", *command]  # fmt: skip
    child = subprocess.Popen(program, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        assert asked.wait(120)
        for _ in range(signals):
            child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=60)[1]  # the server is silent for longer
        assert child.returncode in ((75,) if signals == 1 else (75, 130))
        assert "resumes" in said
    finally:
        silent.set()
        child.kill()
