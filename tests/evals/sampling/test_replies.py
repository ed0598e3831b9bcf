"""The replies of a server: each form is read, or refused in one sentence. Nothing grows without end."""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evals.sampling.engines import Completion, Decoding, EngineError, Request, openai
from evals.sampling.engines.openai import OpenAIEngine
from evals.sampling.evaluate import evaluate
from tests.evals.sampling.chat_server import Handler, Reply, Server, completion, serving
from tests.evals.sampling.toy import protocol, set_up


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(openai, "ATTEMPTS", 1)
    with serving() as started:
        yield started


def ask(server: Server, reply: Reply, chat: bool = True) -> Completion:
    server.usual = reply
    engine = OpenAIEngine("m", url=server.url)
    messages = ({"role": "user", "content": "x"},) if chat else None
    (batch,) = engine.generate([Request(("p7", 3), "x", 0, messages)], Decoding(1.0, 1.0, 9))
    (completion,) = batch
    return completion


def refused(server: Server, reply: Reply) -> str:
    with pytest.raises(EngineError, match=r"problem 'p7', sample 3, of m at http") as caught:
        ask(server, reply)
    return str(caught.value)


def document(change: dict[str, Any] | None = None, **of_choice: Any) -> Reply:
    whole = json.loads(completion({}, "so \\boxed{7}"))
    whole["choices"][0].update(of_choice)
    whole.update(change or {})
    return lambda handler, _: handler.reply(200, json.dumps(whole).encode())


def content(parts: Any) -> Reply:
    return document(message={"role": "assistant", "content": parts})


# ---------------------------------------------------------------------------------------------------- content as parts


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([{"type": "text", "text": "\\boxed{7}"}], "\\boxed{7}"),  # the example
        ([{"type": "text", "text": "so "}, {"type": "text", "text": "\\boxed{7}"}], "so \\boxed{7}"),
        ([{"type": "output_text", "text": "\\boxed{7}", "annotations": []}], "\\boxed{7}"),  # the form of Responses
        (
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "\\boxed{8}?"}]},
                {"type": "text", "text": "\\boxed{7}"},
            ],
            "\\boxed{7}",
        ),  # the form of Mistral's reasoning models
        ([{"type": "reasoning", "text": "\\boxed{8}?"}, {"type": "text", "text": "\\boxed{7}"}], "\\boxed{7}"),
        (["so ", "\\boxed{7}"], "so \\boxed{7}"),
        ({"type": "text", "text": "\\boxed{7}"}, "\\boxed{7}"),  # one part without its list
        ([{"text": "\\boxed{7}"}], "\\boxed{7}"),
    ],
)
def test_content_as_parts_is_its_text(parts: Any, text: str, server: Server) -> None:
    assert ask(server, content(parts)).text == text


@pytest.mark.parametrize(
    "parts", [[], [{"type": "refusal", "refusal": "no"}], [{"type": "reasoning", "text": "hm"}], None]
)
def test_content_without_a_text_is_no_response(parts: Any, server: Server) -> None:
    got = ask(server, content(parts))
    assert (got.text, got.finish_reason) == ("", "no_text")


@pytest.mark.parametrize("parts", [7, True, [7], [{"type": "text", "text": 7}], [{"type": "text"}], [None]])
def test_content_that_is_none_is_refused_by_name(parts: Any, server: Server) -> None:
    assert "content" in refused(server, content(parts))


# ------------------------------------------------------------------------------------------------------ finish reasons


@pytest.mark.parametrize(
    "reason", ["eos", "EOS", "end_turn", "stop_sequence", "eos_token", "STOP", "tool_calls", "odd!"]
)
def test_a_text_with_another_finish_reason_is_graded(
    reason: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was unscored, and left the denominator."""
    rows = scored(document(finish_reason=reason), server, tmp_path, monkeypatch)
    assert {row["verdict"] for row in rows} <= {"correct", "wrong"}


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "model_length", "max_output_tokens"])
def test_a_limit_by_another_name_truncates(
    reason: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = document(finish_reason=reason, message={"role": "assistant", "content": "so far"})
    assert {row["verdict"] for row in scored(reply, server, tmp_path, monkeypatch)} == {"truncated"}


@pytest.mark.parametrize(
    "reason", ["content_filter", "SAFETY", "refusal", "abort", "error", "insufficient_system_resource"]
)
def test_a_response_that_the_server_cut_is_unscored(
    reason: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = scored(document(finish_reason=reason), server, tmp_path, monkeypatch)
    assert {row["verdict"] for row in rows} == {"unscored"}


def scored(reply: Reply, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    place = {**set_up(tmp_path, tmp_path, monkeypatch), "model_path": "m"}
    server.usual = reply
    engine = OpenAIEngine("m", url=server.url)
    path = evaluate(protocol=protocol(1, prompt="boxed_suffix"), engine=engine, **place)["toy"]
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


# ------------------------------------------------------------------------------------------- characters and numbers


@pytest.mark.parametrize("text", ["\ud800 \\boxed{7}", "\\boxed{7}\udfff", "\ud83d\\boxed{7}", "\\boxed{7}\x00"])
def test_half_a_character_does_not_block_an_evaluation(
    text: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = document(message={"role": "assistant", "content": text})
    rows = scored(reply, server, tmp_path, monkeypatch)
    assert {row["verdict"] for row in rows} <= {"correct", "wrong"}
    assert all("\\boxed{7}" in row["response"] for row in rows)


@pytest.mark.parametrize("reason", ["\ud800", "stop\udfff"])
def test_half_a_character_in_a_finish_reason(
    reason: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scored(document(finish_reason=reason), server, tmp_path, monkeypatch)


@pytest.mark.parametrize("number", [2**63, 2**31, -1, -(2**63), 10**400, 1.5, True, "3", [3], {}])
@pytest.mark.parametrize("field", ["completion_tokens", "prompt_tokens"])
def test_a_number_of_tokens_that_is_none_is_unknown(
    field: str, number: Any, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2**63 ended in an OverflowError, and -1 was counted."""
    place = {**set_up(tmp_path, tmp_path, monkeypatch), "model_path": "m"}
    usage = {"completion_tokens": 3, "prompt_tokens": 4} | {field: number}
    server.usual = document({"usage": usage})
    engine = OpenAIEngine("m", url=server.url)
    path = evaluate(protocol=protocol(1, prompt="boxed_suffix"), engine=engine, **place)["toy"]
    known = field != "completion_tokens"
    assert set(pq.read_table(path).column("tokens").to_pylist()) == {3 if known else None}
    used = engine.usage()
    assert used["response_tokens"] == (15 if known else 0) and used["prompt_tokens"] == (0 if known else 20)
    assert used["unknown_tokens"] == 5


@pytest.mark.parametrize("usage", [[], "many", 7, None, {"completion_tokens": 3.0}])
def test_a_usage_of_another_form(usage: Any, server: Server) -> None:
    assert ask(server, document({"usage": usage})).tokens == (3 if isinstance(usage, dict) else None)


@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000,
        '{"choices": ' + "[" * 100_000,
        "7",
        "null",
        "[]",
        '{"choices": {}}',
        '{"choices": null}',
        '{"choices": [7]}',
        '{"choices": [null]}',
        '{"choices": [{"message": null}]}',
        '{"choices": [{"message": "x"}]}',
        '{"choices": [{"message": []}]}',
        "",
        "\xff",
        '{"choices": [{"message": {"content": "x"}, "finish_reason": 7}]}',
        '{"error": {"message": "no such model"}}',
        '{"choices": [' + "1" * 5000 + "]}",
    ],
)
def test_a_reply_of_another_form_is_one_sentence(body: str, server: Server) -> None:
    message = refused(server, lambda handler, _: handler.reply(200, body.encode("latin-1")))
    assert len(message) < 1000 and "Error(" not in message


# ---------------------------------------------------------------------------------------------------- size and time


def endless(handler: Handler, _: dict[str, Any], status: int = 200, encoding: str = "") -> None:
    """A reply that never ends, in chunks. Compressed or not."""
    handler.send_response(status)
    handler.send_header("Transfer-Encoding", "chunked")
    if encoding:
        handler.send_header("Content-Encoding", encoding)
    handler.end_headers()
    packer = zlib.compressobj(wbits=31) if encoding else None
    try:
        while True:
            data = b"x" * 1_000_000
            if packer is not None:
                data = packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)
            handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    except OSError:
        handler.close_connection = True


@pytest.mark.parametrize("encoding", ["", "gzip"])
@pytest.mark.parametrize("status", [200, 400])
def test_an_endless_reply_ends(status: int, encoding: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "LARGEST", 3_000_000)
    message = refused(server, lambda handler, body: endless(handler, body, status, encoding))
    assert "MiB" in message or status == 400
    assert len(message) < 1000


@pytest.mark.parametrize("layers", [1, 2])
def test_a_compressed_reply_unpacks_to_no_more_than_the_limit(
    layers: int, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai, "LARGEST", 3_000_000)
    data = b"x" * 30_000_000
    for _ in range(layers):
        data = gzip.compress(data)
    names = ", ".join(["gzip"] * layers)
    message = refused(server, lambda handler, _: handler.reply(200, data, Content_Encoding=names))
    assert "MiB" in message or "compressed" in message


def test_a_compressed_reply_that_is_honest_is_read(server: Server) -> None:
    body = gzip.compress(completion({}, "so \\boxed{7}"))
    assert ask(server, lambda handler, _: handler.reply(200, body, Content_Encoding="gzip")).text == "so \\boxed{7}"
    deflated = zlib.compress(completion({}, "so \\boxed{7}"))
    assert (
        ask(server, lambda handler, _: handler.reply(200, deflated, Content_Encoding="deflate")).text == "so \\boxed{7}"
    )


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip", "unheard-of"])
def test_a_reply_that_is_not_what_its_header_says_is_refused(encoding: str, server: Server) -> None:
    refused(server, lambda handler, _: handler.reply(200, b"no such thing", Content_Encoding=encoding))


def dribble(handler: Handler, _: dict[str, Any], header: bool = False) -> None:
    """One byte at a time: of the body, or of the header."""
    start = "HTTP/1.1 200 OK\r\n"
    handler.wfile.write(start.encode() if header else f"{start}Content-Length: 100000\r\n\r\n".encode())
    try:
        for _ in range(100_000):
            handler.wfile.write(b"x")
            handler.wfile.flush()
            time.sleep(0.02)
    except OSError:
        handler.close_connection = True


@pytest.mark.parametrize("header", [False, True])
def test_a_reply_of_one_byte_at_a_time_ends(header: bool, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit on silence never ended it."""
    monkeypatch.setattr(openai, "WHOLE_S", 0.5)
    assert "0.5 s" in refused(server, lambda handler, body: dribble(handler, body, header))


def test_a_key_in_a_reply_across_the_limit_is_hidden(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "k7f3a9c2d4e8b1c0f6a5973e2d1b8a4c9f"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    for limit in range(100, 134, 4):
        monkeypatch.setattr(openai, "LARGEST", limit)
        message = refused(server, lambda handler, _: handler.reply(400, b"x" * 100 + key.encode() + b"y" * 100))
        assert key[:6] not in message
