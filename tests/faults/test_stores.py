"""MLflow servers that break while a run delivers to them. Several processes at a new store."""

from __future__ import annotations

import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any

import pytest

from tests.faults.commands import RUN, at_step, ending, run
from tests.faults.conftest import Undisturbed


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with mlflow_server(tmp_path_factory.mktemp("server")) as address:
        yield address


@pytest.mark.parametrize("mode", ["refuse", "hang", "500", "500 after", "slow"])
def test_a_server_that_breaks_during_a_run(mode: str, server: str, undisturbed: Undisturbed, tmp_path: Path) -> None:
    """The run does not fail. At its end it says what is pending, and `rlvr sync` delivers it, once."""
    home = tmp_path / "h"
    with proxy(server, "pass") as between:
        uri = f"http://127.0.0.1:{between.port}"
        environment = {"MLFLOW_TRACKING_URI": uri, "MLFLOW_HTTP_REQUEST_TIMEOUT": "9"}
        ended = run(RUN, home, environment=environment, meanwhile=at_step(2, lambda _: between.set(mode)))
        assert ended.code == 0 and "Traceback" not in ended.err, ended
        assert mode == "slow" or "lacks a part of" in ended.err
        between.set("pass")
        sync = run(["sync"], home, environment=environment)
        assert sync.code == 0 and "nothing is lacking there" in sync.out, sync
        assert ending(home, uri) == undisturbed.ending
        forget(uri)


@pytest.mark.parametrize("mode", ["refuse", "hang", "500"])
@pytest.mark.parametrize("command", ["tables", "report", "export"])
def test_a_server_that_is_lost_while_a_command_reads(command: str, mode: str, server: str, tmp_path: Path) -> None:
    """One sentence, after MLflow's limit at most, and nothing is written."""
    out = tmp_path / ("out.html" if command == "report" else "out")
    with proxy(server, "pass", mode) as between:
        uri = {"MLFLOW_TRACKING_URI": f"http://127.0.0.1:{between.port}", "MLFLOW_HTTP_REQUEST_TIMEOUT": "3"}
        ended = run([command, "paper=egsw", f"out={out}"], tmp_path / "h", environment=uri)
    assert ended.code == 2 and len(ended.err.splitlines()) == 1 and "cannot be used" in ended.err, ended
    assert not out.exists()


def test_several_processes_make_a_new_store_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rlvr", "tables", "paper=egsw"]
    for number in range(3):
        home = tmp_path / str(number)
        home.mkdir()
        environment = {**os.environ, "RLVR_HOME": str(home), "RLVR_CACHE": str(home / "cache")}
        started = [
            subprocess.Popen([*command, f"out={home / str(i)}"], env=environment, stderr=subprocess.PIPE, text=True)
            for i in range(3)
        ]
        ended = [(process.communicate()[1], process.returncode) for process in started]
        assert all("Traceback" not in err for err, _ in ended), ended
        assert len({code for _, code in ended}) == 1, ended


def forget(uri: str) -> None:
    """Delete the server's runs, so that the next case has its own."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    for experiment in client.search_experiments():
        for mirrored in client.search_runs([experiment.experiment_id]):
            client.delete_run(mirrored.info.run_id)


@contextmanager
def mlflow_server(folder: Path) -> Iterator[str]:
    """A real MLflow server. Its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    store = ["--backend-store-uri", f"sqlite:///{folder}/server.db", "--artifacts-destination", f"{folder}/artifacts"]
    address = f"http://127.0.0.1:{port}"
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([*command, *store], stdout=log, stderr=log, start_new_session=True)
        try:
            deadline = time.monotonic() + 300
            # a search, as the server imports its handlers at the first request
            search = f"{address}/api/2.0/mlflow/experiments/search"
            first = urllib.request.Request(search, b'{"max_results": 1}', {"Content-Type": "application/json"})
            while True:
                try:
                    urllib.request.urlopen(first, timeout=180).close()
                    break
                except OSError:
                    if time.monotonic() > deadline or process.poll() is not None:
                        raise RuntimeError((folder / "log").read_text()[-2000:]) from None
                    time.sleep(0.5)
            yield address
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Proxy(ThreadingMixIn, http.server.HTTPServer):
    """A proxy in front of a server, with a mode for each request, the last for all others: pass, refuse, hang, 500,
    500 after, slow."""

    daemon_threads = True

    def __init__(self, target: str | None, *modes: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.target, self.modes, self.port = target, list(modes), int(self.server_address[1])

    def set(self, mode: str) -> None:
        self.modes = [mode]

    def handle_error(self, *_: Any) -> None:  # a client that hung up
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    server: Proxy

    def _any(self) -> None:
        mode = self.server.modes.pop(0) if len(self.server.modes) > 1 else self.server.modes[0]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if mode == "refuse":
            self.close_connection = True
            self.connection.close()
            return
        if mode == "hang":
            time.sleep(60)
            return
        if mode == "slow":
            time.sleep(1)
        if mode == "500" or self.server.target is None:
            self._reply(500, b"sorry", "text/plain")
            return
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection", "accept-encoding")}
        passed = urllib.request.Request(self.server.target + self.path, body or None, headers, method=self.command)
        try:
            with urllib.request.urlopen(passed, timeout=60) as answer:
                code, content, kind = answer.status, answer.read(), answer.headers.get("Content-Type", "")
        except urllib.error.HTTPError as error:
            code, content, kind = error.code, error.read(), error.headers.get("Content-Type", "")
        if mode == "500 after":  # the server has done the work
            code, content, kind = 500, b"sorry", "text/plain"
        self._reply(code, content, kind)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any

    def _reply(self, code: int, content: bytes, kind: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def proxy(target: str | None, *modes: str) -> Iterator[Proxy]:
    made = Proxy(target, *modes)
    threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()
