"""A judge's answers are read as yes, no or unknown; equal questions are asked once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from evals.analysis.responses.forms import response_table, shares
from evals.analysis.responses.judge import Judge, parse
from evals.sampling.engines.base import Completion, Decoding, Request
from tests.evals.analysis.verdict_tables import table


class Scripted:
    """Says what the response in the question says after "judge:"."""

    chunk_rows, tokenizer, context = 8, None, None

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def describe(self) -> dict[str, Any]:
        return {"name": "scripted"}

    def generate(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[list[Completion]]:
        assert decoding.temperature == 0
        for request in reversed(requests):  # engines answer in any order
            self.asked.append(request)
            said = request.prompt_text.partition("judge:")[2].split("\n")[0]
            yield [Completion(request.key, said, 1, "stop")]


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ("Yes.", True),
        ("no", False),
        ("It may say yes, but: No", False),
        ("maybe", None),
        ("", None),
        ("yesterday", None),
    ],
)
def test_an_answer_is_yes_no_or_unknown(answer: str, read: bool | None) -> None:
    assert parse(answer) is read


def test_each_response_gets_its_own_answer_and_equal_ones_are_asked_once() -> None:
    engine = Scripted()
    texts = ["judge: yes", "judge: no", "judge: hm", "judge: yes"]
    assert Judge(engine, "scripted")(texts, ["p", "p", "p", "p"]) == [True, False, None, True]
    assert len(engine.asked) == 3 and "Problem:\np\n" in engine.asked[0].prompt_text
    assert engine.asked[0].messages is not None and engine.asked[0].messages[0]["role"] == "user"


def test_an_unknown_judgement_is_excluded_and_not_counted_as_relevant() -> None:
    given = table({"p": "cc", "q": "w"}, response=["judge: yes", "judge: hm", "judge: no"])
    made = response_table(given, judge=Judge(Scripted(), "scripted"), problems={"p": "P", "q": "Q"})
    assert made["judged_irrelevant"].tolist()[0] == 1 and made["judged_irrelevant"].isna().tolist() == [
        False,
        True,
        False,
    ]
    row = shares({"a": made}).set_index("measure").loc["judged_irrelevant"]
    # p: 1 of 1 known, q: 0 of 1
    assert row["value"] == 0.5 and row["samples"] == 2
    assert "judged_irrelevant" not in response_table(given)


class Server(BaseHTTPRequestHandler):
    """A chat server that calls a response garbled where it says so; keeps the bodies that it was sent."""

    seen: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(body)
        said = "Yes" if "%%%" in body["messages"][-1]["content"] else "No."
        choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        content = json.dumps({"choices": [choice], "usage": {"completion_tokens": 1}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


def test_a_judge_behind_a_chat_server_fills_the_figure_of_quality() -> None:
    from harness.cli.analysis import _judge

    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        judge = _judge("a-32b", f"http://127.0.0.1:{server.server_address[1]}/v1")
        given = table({"p": "cc", "q": "w"}, response=["so 7", "so %%% 7", "%%%"])
        made = response_table(given, judge=judge, problems={"p": "What is 3 + 4?", "q": "And 5?"})
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert made["judged_irrelevant"].tolist() == [0, 1, 1]
    assert len(Server.seen) == 3
    for body in Server.seen:
        assert body["model"] == "a-32b" and body["temperature"] == 0 and body["max_tokens"] == judge.max_tokens
    assert any("What is 3 + 4?" in body["messages"][-1]["content"] for body in Server.seen)
