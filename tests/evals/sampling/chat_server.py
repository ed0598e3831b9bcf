"""A chat server in this process, which answers by a script and keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    """Answers by the server's script: `faults[seed]` lists what the first attempts of that seed get, then `usual`."""

    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            headers = {name.title(): value for name, value in self.headers.items()}
            self.server.seen.append((self.path, headers, body))
            faults = self.server.faults.get(body["seed"])
            fault = faults.pop(0) if faults else self.server.usual
        fault(self, body)

    def reply(self, code: int, content: bytes, **headers: str) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.faults: dict[int, list[Reply]] = {}
        self.usual: Reply = say
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"

    def attempts(self) -> Counter[int]:
        return Counter(body["seed"] for _, _, body in self.seen)

    def handle_error(self, *_: Any) -> None:  # a client that hung up
        pass


def completion(body: dict[str, Any], text: str | None, tokens: Any = 3, reason: str = "stop") -> bytes:
    choice = {"text": text} if "prompt" in body else {"message": {"role": "assistant", "content": text}}
    return json.dumps(
        {"choices": [{**choice, "finish_reason": reason}], "usage": {"completion_tokens": tokens}}
    ).encode()


def say(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(200, completion(body, f"seed {body['seed']}"))


def code(number: int, text: str = "no", **headers: str) -> Reply:
    return lambda handler, _: handler.reply(number, text.encode(), **headers)


def drop(handler: Handler, _: dict[str, Any]) -> None:
    handler.close_connection = True
    handler.connection.shutdown(2)


def cut_short(handler: Handler, body: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


@contextmanager
def serving() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made.shutdown()
        thread.join()
        made.server_close()
