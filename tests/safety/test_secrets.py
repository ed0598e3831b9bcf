"""A credential is hidden before a text is cut, in every form in which a server sends it back."""

from __future__ import annotations

import base64
import html
import json
import urllib.parse
from collections.abc import Callable, Iterator

import pytest

from evals.redaction import HIDDEN, redact
from evals.sampling.engines import Decoding, EngineError, Request, openai
from evals.sampling.engines.openai import OpenAIEngine
from harness.record.evaluations import note_error
from tests.evals.sampling.chat_server import Reply, Server, code, serving

KEY = "myserver/7f+a\"9'<c2>&d4e8b1c0f6a5973"  # no known form, with signs that encodings change
PLAIN = "k7f3a9c2d4e8b1c0f6a5973e2d1b8a4c9f"  # 34 characters


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as started:
        yield started


def failure(server: Server, key: str, reply: Reply, monkeypatch: pytest.MonkeyPatch) -> str:
    """The message of a request that fails by this reply."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setattr(openai, "ATTEMPTS", 1)
    server.usual = reply
    engine = OpenAIEngine("m", url=server.url)
    with pytest.raises(EngineError) as caught:
        list(engine.generate([Request(("p", 0), "x", 0, ({"role": "user", "content": "x"},))], Decoding(1.0, 1.0, 9)))
    return str(caught.value)


def longest_part(key: str, text: str) -> int:
    """The length of the longest part of the key in a text, counted slowly."""
    return max(
        size
        for size in range(len(key) + 1)
        for start in range(len(key) - size + 1)
        if key[start : start + size] in text
    )


@pytest.mark.parametrize("at", [*range(150, 210, 8), *range(440, 520, 8)])
def test_a_key_across_the_cut_of_a_servers_message(
    at: int, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The message is cut at 500 characters: 33 of the key's 34 stood before the cut, and its replacement found none."""
    message = failure(server, PLAIN, code(400, "x" * at + PLAIN + "y" * 600), monkeypatch)
    assert longest_part(PLAIN, message) < 6
    folder = tmp_path_factory.mktemp("noted")
    note_error(folder, EngineError(message))
    assert longest_part(PLAIN, (folder / "error.json").read_text()) < 6


@pytest.mark.parametrize("at", range(160, 205, 9))
@pytest.mark.parametrize("form", ['{{"note": "{}"}}', "<html>{}</html>", '{{"choices": [], "note": "{}"}}'])
def test_a_key_across_the_cut_of_a_reply_that_cannot_be_read(
    form: str, at: int, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those are cut at 200 characters, the second with repr."""
    message = failure(server, PLAIN, code(200, form.format("x" * at + PLAIN + "y" * 300)), monkeypatch)
    assert longest_part(PLAIN, message) < 6


ENCODED: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "json": lambda key: json.dumps(key)[1:-1],
    "json with escaped slashes": lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    "repr": lambda key: repr(key)[1:-1],
    "url": urllib.parse.quote,
    "url, every sign": lambda key: urllib.parse.quote(key, safe=""),
    "url, plus": urllib.parse.quote_plus,
    "html": html.escape,
    "html without quotes": lambda key: html.escape(key, quote=False),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "json in json": lambda key: json.dumps(json.dumps(key))[1:-1],
}


@pytest.mark.parametrize("name", ENCODED)
@pytest.mark.parametrize("status", [200, 400])
def test_a_key_as_servers_and_gateways_encode_it(
    name: str, status: int, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = ENCODED[name](KEY)
    message = failure(server, KEY, code(status, f"denied: {shown} is not a key"), monkeypatch)
    assert shown not in message
    assert longest_part("7f3a9c2d4e8b1c0f6a5973"[-14:], message) < 8
    assert "is not a key" in message


@pytest.mark.parametrize("name", ENCODED)
def test_a_credential_of_the_environment_as_it_may_be_encoded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", KEY)
    assert redact(f"sent {ENCODED[name](KEY)}.") in (f"sent {HIDDEN}.", f'sent \\"{HIDDEN}\\".', f'sent "{HIDDEN}".')


def test_a_cut_text_was_hidden_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cut of a long text of others: whatever its place, no part of a credential is left."""
    from evals.redaction import redacted_start

    monkeypatch.setenv("MY_SERVICE_TOKEN", PLAIN)
    for limit in range(1, 120):
        assert longest_part(PLAIN, redacted_start("x" * 30 + PLAIN + "y" * 60, limit)) < 4


def test_an_option_that_holds_a_credential_is_hidden_before_it_is_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A message repeats an argument, cut at 200 characters."""
    from rlvr.cli import main

    monkeypatch.setenv("MY_SERVICE_TOKEN", PLAIN)
    for at in range(160, 200, 7):
        assert main(["plan", "paper=egsw", f"egsw.alpha={{{'x' * at}{PLAIN}{'y' * 100}"]) == 2
        assert longest_part(PLAIN, capsys.readouterr().err) < 6
