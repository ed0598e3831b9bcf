from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evals.sampling import engines
from evals.sampling.engines import Decoding, EngineError, Request, openai
from evals.sampling.engines.openai import OpenAIEngine
from evals.sampling.evaluate import evaluate
from tests.evals.sampling.chat_server import Reply, Server, code, completion, cut_short, drop, serving
from tests.evals.sampling.toy import protocol, set_up

DECODING = Decoding(0.6, 0.95, 32)
KEY = "sk-not-to-be-seen-0123456789"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as started:
        yield started


@pytest.fixture
def engine(server: Server, monkeypatch: pytest.MonkeyPatch) -> OpenAIEngine:
    import openai._base_client as sdk

    monkeypatch.setattr(sdk, "INITIAL_RETRY_DELAY", 0.01)  # seconds before the second attempt
    monkeypatch.setattr(sdk, "MAX_RETRY_DELAY", 0.01)
    monkeypatch.setattr(openai, "ATTEMPTS", 4)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return OpenAIEngine("some-model", url=server.url + "/", concurrency=4)


def chat(count: int) -> list[Request]:
    return [Request((f"p{i}", 2), "unused", i, ({"role": "user", "content": f"What is {i}?"},)) for i in range(count)]


def sample(engine: OpenAIEngine, requests: list[Request]) -> dict[Any, Any]:
    return {c.key: c for batch in engine.generate(requests, DECODING) for c in batch}


def test_a_chat_prompt_goes_to_chat(engine: OpenAIEngine, server: Server) -> None:
    done = sample(engine, chat(9))
    assert {key: (c.text, c.tokens, c.finish_reason) for key, c in done.items()} == {
        (f"p{i}", 2): (f"seed {i}", 3, "stop") for i in range(9)
    }
    path, headers, body = next(call for call in server.seen if call[2]["seed"] == 5)
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {
        "model": "some-model", "temperature": 0.6, "top_p": 0.95, "max_tokens": 32, "seed": 5, "n": 1, "stream": False,
        "messages": [{"role": "user", "content": "What is 5?"}],
    }  # fmt: skip


def test_a_plain_prompt_is_continued(engine: OpenAIEngine, server: Server) -> None:
    done = sample(engine, [Request(("p", 0), "1 + 1 =", 2**62 + 1)])
    assert done["p", 0].text == f"seed {2**62 + 1}"
    assert server.seen[0][0] == "/v1/completions"
    assert server.seen[0][2]["prompt"] == "1 + 1 ="
    assert "messages" not in server.seen[0][2]


@pytest.mark.parametrize("fault", [code(429), code(503), code(408), drop, cut_short])
def test_a_temporary_fault_is_retried(engine: OpenAIEngine, server: Server, fault: Reply) -> None:
    server.faults = {1: [fault, fault], 3: [fault] * 3}
    assert {c.text for c in sample(engine, chat(5)).values()} == {f"seed {i}" for i in range(5)}
    assert server.attempts() == {0: 1, 1: 3, 2: 1, 3: 4, 4: 1}
    server.faults = {1: [fault] * 9}
    with pytest.raises(EngineError, match=r"problem 'p1', sample 2, of some-model at http://127.*"):
        sample(engine, chat(2))
    assert server.attempts()[1] == 3 + 4


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (code(400, "max_tokens is too large"), "HTTP 400: max_tokens is too large"),
        (code(200, '{"cho'), "the answer is not JSON"),
        (code(200, '{"choices": []}'), "the answer lacks a choice: "),
        (code(200, '{"choices": [{}]}'), "the answer lacks 'message'"),
        (code(200, '{"choices": [{"message": {"content": 7}}]}'), "the content is int: expected a text"),
    ],
)
def test_a_refusal_is_final(engine: OpenAIEngine, server: Server, fault: Reply, message: str) -> None:
    server.faults = {0: [fault]}
    with pytest.raises(EngineError, match=r"problem 'p0', sample 2") as caught:
        sample(engine, chat(1))
    assert message in str(caught.value)
    assert server.attempts() == {0: 1}


def test_completions_before_a_failure_are_kept(engine: OpenAIEngine, server: Server) -> None:
    server.faults = {6: [code(400)]}
    came: list[Any] = []
    batches = engine.generate(chat(40), DECODING)
    with pytest.raises(EngineError):
        came.extend(c for batch in batches for c in batch)
    assert len(came) + 1 == len(server.seen) < 40, (
        "each that was sent is yielded, but the failed one; then no more is sent"
    )


def test_as_many_requests_as_allowed_are_under_way_and_no_more(engine: OpenAIEngine, server: Server) -> None:
    under_way, most, four = [0], [0], threading.Barrier(4, timeout=60)

    def meet(handler: Any, body: dict[str, Any]) -> None:
        with server.lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        four.wait()  # none is answered before four are there
        with server.lock:
            under_way[0] -= 1
        handler.reply(200, completion(body, "x"))

    server.usual = meet
    assert len(sample(engine, chat(24))) == 24 and most == [4]


def test_a_silent_server_times_out(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = threading.Event()
    server.faults = {0: [lambda *_: silent.wait(60)]}  # type: ignore[list-item]
    monkeypatch.setattr(openai, "ATTEMPTS", 1)
    monkeypatch.setattr(openai, "TIMEOUT_S", 0.05)
    engine = OpenAIEngine("m", url=server.url)
    with pytest.raises(EngineError, match=r"no answer \(APITimeoutError"):
        sample(engine, chat(1))
    silent.set()


def says(**fields: Any) -> Reply:
    """A reply whose choice has these fields, and itself those that begin with an underscore. None leaves one out."""

    def reply(handler: Any, body: dict[str, Any]) -> None:
        answer = json.loads(completion(body, "so \\boxed{1}"))
        for key, value in fields.items():
            place = answer if key.startswith("_") else answer["choices"][0]
            place.pop(key.strip("_"), None)
            if value is not None:
                place[key.strip("_")] = value
        handler.reply(200, json.dumps(answer).encode())

    return reply


EMPTY = {"role": "assistant", "content": None}


def test_what_a_server_does_not_say_ends_no_evaluation(
    engine: OpenAIEngine, server: Server, tmp_path: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reply of a real kind is stored, so that resuming does not meet it again."""
    place = {**set_up(tmp_path, model_dir, monkeypatch), "model_path": "some-model"}
    replies = [
        says(message=EMPTY, finish_reason="length"),  # cut inside a thought
        says(message=EMPTY),  # a thought alone
        says(finish_reason="content_filter"),
        says(_usage=None),
        says(finish_reason=None),
    ]
    order = iter(replies)
    server.usual = lambda handler, body: next(order)(handler, body)
    served = OpenAIEngine("some-model", url=server.url, concurrency=1)  # in the order of the problems
    path = evaluate(protocol=protocol(1, prompt="boxed_suffix"), engine=served, **place)["toy"]
    rows = sorted(
        pq.read_table(path).to_pylist(), key=lambda row: [b["seed"] for _, _, b in server.seen].index(row["seed"])
    )
    assert [(row["verdict"], row["reason"], row["tokens"], row["finish_reason"]) for row in rows] == [
        ("truncated", None, 3, "length"),
        ("unscored", "server: it gave no response (no_text)", 3, "no_text"),
        ("unscored", "server: its filter cut the response (content_filter)", 3, "content_filter"),
        (rows[3]["verdict"], None, None, "stop"),
        (rows[4]["verdict"], None, 3, None),
    ]
    assert {rows[3]["verdict"], rows[4]["verdict"]} <= {"correct", "wrong"}
    assert served.usage() == {
        "requests": 5, "retries": 0, "prompt_tokens": 0, "response_tokens": 12, "unknown_tokens": 1,
    }  # fmt: skip
    again = evaluate(protocol=protocol(1, prompt="boxed_suffix"), engine=engine, **place)["toy"]
    assert again == path and len(server.seen) == 5


def test_retries_tokens_and_money_are_counted(server: Server, engine: OpenAIEngine) -> None:
    server.usual = says(_usage={"prompt_tokens": 100, "completion_tokens": 30})
    server.faults = {0: [code(503), code(503)]}
    paid = OpenAIEngine("m", url=server.url, price_in=0.5, price_out=2)
    sample(paid, chat(3))
    # 300 tokens of prompts at 0.5 and 90 of responses at 2 USD a million: 150 + 180 millionths
    assert paid.usage() == {
        "requests": 3, "retries": 2, "prompt_tokens": 300, "response_tokens": 90, "unknown_tokens": 0, "usd": 330e-6,
    }  # fmt: skip


def test_every_value_of_the_decoding_is_in_the_request(engine: OpenAIEngine, server: Server) -> None:
    more = Decoding(
        0.6, 0.95, 32, top_k=20, min_p=0.05, repetition_penalty=1.1, stop=("Question:",),
        chat_template_kwargs={"enable_thinking": False}, reasoning_effort="low", extra_body={"top_a": 0.2},
    )  # fmt: skip
    list(engine.generate(chat(1), more))
    (_, _, body), plain = (
        server.seen[0],
        {"model", "temperature", "top_p", "max_tokens", "seed", "n", "stream", "messages"},
    )
    assert {key: value for key, value in body.items() if key not in plain} == {
        "top_k": 20, "min_p": 0.05, "repetition_penalty": 1.1, "stop": ["Question:"],
        "chat_template_kwargs": {"enable_thinking": False}, "reasoning_effort": "low", "top_a": 0.2,
    }  # fmt: skip


CHILD = """
import sys, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored under nohup and in a script's background
from evals.sampling.engines import Decoding, Request
from evals.sampling.engines.openai import OpenAIEngine
engine = OpenAIEngine("m", url=sys.argv[1], concurrency=4)
requests = [Request((f"p{i}", 0), "x", i) for i in range(9)]
for _ in engine.generate(requests, Decoding(1.0, 1.0, 9)):
    pass
"""


def test_a_process_ends_while_the_server_is_silent(server: Server) -> None:
    request_seen, silent = threading.Semaphore(0), threading.Event()

    def never(*_: Any) -> None:
        request_seen.release()
        silent.wait(60)

    server.usual = never
    child = subprocess.Popen([sys.executable, "-c", CHILD, server.url], cwd=Path(__file__).parents[3], stderr=-1)
    for _ in range(4):
        assert request_seen.acquire(timeout=60)
    child.send_signal(signal.SIGINT)
    try:
        assert child.wait(timeout=20) != 0  # the server still waits
        assert b"KeyboardInterrupt" in child.communicate()[1]
    finally:
        silent.set()
        child.kill()


def test_an_empty_text_is_a_valid_completion(engine: OpenAIEngine, server: Server) -> None:
    server.faults = {
        0: [lambda h, b: h.reply(200, completion(b, "", tokens=1))],
        1: [lambda h, b: h.reply(200, completion(b, None, tokens=32, reason="length"))],
    }
    done = sample(engine, chat(2))
    assert (done["p0", 2].text, done["p0", 2].finish_reason) == ("", "stop")
    assert (done["p1", 2].text, done["p1", 2].finish_reason) == ("", "length")


# ----------------------------------------------------------------------------------------------------------- the key


def test_the_key_is_shown_nowhere(
    engine: OpenAIEngine, server: Server, tmp_path: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level(0)
    server.faults = {0: [code(400, f"your key {KEY} is wrong")]}
    with pytest.raises(EngineError, match=r"your key \[hidden\] is wrong") as caught:
        sample(engine, chat(1))
    assert KEY not in repr(caught.getrepr(showlocals=False, chain=True))
    assert caught.value.__cause__ is None
    place = {**set_up(tmp_path, model_dir, monkeypatch), "model_path": "some-model"}
    evaluate(protocol=protocol(1), engine=engine, progress=True, **place)
    written = b"".join(path.read_bytes() for path in place["out_dir"].rglob("*") if path.is_file())
    assert b"some-model" in written
    assert KEY.encode() not in written
    shown = capfd.readouterr()
    assert KEY not in shown.out + shown.err + caplog.text + json.dumps(engine.describe()) + repr(engine)


def test_a_key_that_no_header_can_hold_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret\r\nEvil: yes")
    with pytest.raises(ValueError, match="the key in OPENAI_API_KEY holds characters") as caught:
        OpenAIEngine("m", url="http://h/v1")
    assert "secret" not in str(caught.value)


def test_without_a_key_no_header_is_sent(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    sample(OpenAIEngine("m", url=server.url), chat(1))
    assert "Authorization" not in server.seen[0][1]
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    sample(OpenAIEngine("m", url=server.url), chat(1))
    assert server.seen[1][1]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "localhost:8000"}, "url='localhost:8000', expected http"),
        ({"url": "http://user:secret@h/v1"}, "no user, password"),
        ({"url": "http://h/v1?key=secret"}, "no user, password"),
        ({"url": "http://h/v1", "concurrency": 0}, "concurrency=0"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        engines.create("openai", "m", **options)
    assert "secret" not in str(caught.value)


def test_a_server_that_names_another_model_is_said_once(
    engine: OpenAIEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = {"choices": [{"message": {"content": "5"}, "finish_reason": "stop"}]}
    for named in ("some-model", "other", "other", None, 7):
        engine._read(chat(1)[0], json.dumps({"model": named, **reply}))
    assert capsys.readouterr().err == "WARNING: model=some-model: the server says that its model is 'other'\n"


@pytest.mark.parametrize(
    ("requested", "named", "same"),
    [
        ("m", "m", True),
        ("m", "other", False),
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("openai/gpt-4o", "gpt-4o", True),
        ("Qwen2.5-7B", "/models/Qwen2.5-7B/", True),
        ("Qwen2.5-7B", "Qwen2.5-72B", False),
        ("llama3:8b", "llama3:70b", False),
        ("llama3", "llama3:8b", True),
        ("m", "", True),
    ],
)
def test_names_of_one_model(requested: str, named: str, same: bool) -> None:
    assert openai.same_model(requested, named) is same
