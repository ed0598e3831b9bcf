"""MLflow servers that are down, die, hang, are slow or answer 500; several processes at a new store; a job twice."""

from __future__ import annotations

import http.server
import os
import signal
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

from benchmarks.faults.lives import RUN, Life, difference, live, reached, when
from benchmarks.faults.rows import Row

SECRET = "hunter2pw"


def rows(root: Path, expected: dict[str, Any]) -> Iterator[Row]:
    yield _dead_at_the_start(root)
    yield _comes_and_goes(root, expected)
    yield from _at_once(root, expected)
    yield _could_not_start(root)


def _dead_at_the_start(root: Path) -> Row:
    row = Row(
        "If the store does not answer at the start: one line within 10 s (plus imports), exit code 2, nothing started",
        "`rlvr run` and `rlvr tables` with a closed port, a server that hangs, one that answers 500; a password in the "
        "URL",
    )
    with _proxy(None) as hanging, _proxy(None) as failing:
        hanging.mode, failing.mode = "hang", "500"
        for name, port in (("closed", 9), ("hangs", hanging.port), ("500", failing.port)):
            for command in (RUN, ["tables", "paper=egsw"]):
                home = root / f"dead-{name}-{command[0]}"
                uri = f"http://alice:{SECRET}@127.0.0.1:{port}"
                life = live(command, home, environment={"MLFLOW_TRACKING_URI": uri})
                wrong = None
                if life.code != 2 or life.traceback or "cannot be used" not in life.err:
                    wrong = f"exit code {life.code}: {life.err[-300:]}"
                elif SECRET in life.err:
                    wrong = "the password is in the message"
                elif life.seconds > 30:
                    wrong = f"{life.seconds:.0f} s"
                elif any(home.glob("egsw/*/*/train")):
                    wrong = "something was started"
                row.check(f"{command[0]}, {name}", wrong)
                row.note = f"at most {max(life.seconds, float(row.note.split()[2]) if row.note else 0):.1f} s"
    return row


def _comes_and_goes(root: Path, expected: dict[str, Any]) -> Row:
    row = Row(
        "A server that disappears, hangs, fails or is slow does not delay a run; the end of the run reports what is "
        "pending, and `rlvr sync` delivers it in order, once",
        "from step 2 on: connections refused, hanging, 500, 500 after the server has done the work, slow (1 s a call); "
        "then the server returns, and `rlvr sync`",
    )
    with mlflow_server(root / "server") as server, _proxy(server) as proxy:
        uri = f"http://127.0.0.1:{proxy.port}"
        for mode in ("refuse", "hang", "500", "500 after", "slow"):
            home = root / f"server-{mode.replace(' ', '-')}"
            proxy.mode = "pass"

            def breaks(_: int, mode: str = mode) -> None:
                proxy.mode = mode

            how = {"MLFLOW_TRACKING_URI": uri, "MLFLOW_HTTP_REQUEST_TIMEOUT": "9"}
            life = live(RUN, home, environment=how, meanwhile=when(reached(home, 2), breaks))
            wrong = None
            if life.code != 0 or life.traceback:
                wrong = f"exit code {life.code}: {life.err[-300:]}"
            elif mode != "slow" and "has not taken" not in life.err:
                wrong = f"nothing is said of what is pending: {life.err[-300:]}"
            proxy.mode = "pass"
            if wrong is None:
                sync = live(["sync"], home, environment=how)
                if sync.code != 0 or "0 are pending" not in sync.out:
                    wrong = f"rlvr sync: exit code {sync.code}: {sync.out} {sync.err[-300:]}"
                else:
                    wrong = difference(home, expected, uri=uri)
            row.check(mode, wrong)
            _forget(uri)
    return row


def _at_once(root: Path, expected: dict[str, Any]) -> Iterator[Row]:
    same = Row(
        "If the same job starts twice at once, the second stops with a sentence and exit code 2; the first continues",
        "two processes",
    )
    home = root / "twice-at-once"
    second: list[Life] = []

    def start_another(_: int) -> None:
        other = subprocess.run(
            [sys.executable, "-m", "harness.cli", *RUN],
            env={**os.environ, "RLVR_HOME": str(home)},
            capture_output=True,
            text=True,
            check=False,
        )
        second.append(Life(other.returncode, other.stdout, other.stderr, 0.0))

    life = live(RUN, home, meanwhile=when(reached(home, 1), lambda pid: _stopped(pid, start_another)))
    wrong = None
    if not second or second[0].code != 2 or second[0].traceback or "in use by another process" not in second[0].err:
        wrong = f"the second: {second[0].code if second else None}: {second[0].err[-300:] if second else ''}"
    elif life.code != 0:
        wrong = f"the first: exit code {life.code}: {life.err[-300:]}"
    same.check("twice", wrong or difference(home, expected))
    yield same
    fresh = Row(
        "If several processes open a new local store at once, it is created once",
        "three `rlvr tables` at once, in five new homes",
    )
    for number in range(5):
        home = root / f"fresh{number}"
        home.mkdir(parents=True)
        environment = {**os.environ, "RLVR_HOME": str(home), "RLVR_CACHE": str(home / "cache")}
        code = "from harness.runs.track import Tracker; Tracker.open().experiment('egsw')"
        started = [
            subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True)
            for _ in range(3)
        ]
        ended = [(p.communicate()[1], p.returncode) for p in started]
        bad = [err[-300:] for err, rc in ended if rc != 0]
        fresh.check(str(number), "; ".join(bad) or None)
    yield fresh


def _stopped(pid: int, then: Any) -> None:
    """Pause the first process meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        then(pid)
    finally:
        os.kill(pid, signal.SIGCONT)


def _could_not_start(root: Path) -> Row:
    row = Row("A command that could not start leaves no run in MLflow", "unreadable training data; a wrong model")
    for name, more in (("data", ["dataset=nowhere.jsonl"]), ("model", ["base_model=/nowhere"])):
        home = root / f"no-start-{name}"
        life = live([*RUN, *more], home)
        left = [str(path) for path in home.glob("egsw/tiny/*/mlflow.json")]
        wrong = f"exit code {life.code}: {life.err[-300:]}" if life.code != 2 or life.traceback else None
        row.check(name, wrong or (f"left {left}" if left else None))
    return row


def _forget(uri: str) -> None:
    """Delete the runs of this case on the server, so that the next case has its own."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    for experiment in client.search_experiments():
        for run in client.search_runs([experiment.experiment_id]):
            client.delete_run(run.info.run_id)


@contextmanager
def mlflow_server(folder: Path) -> Iterator[str]:
    """A real MLflow server; its address."""
    folder.mkdir(parents=True)
    port = _free_port()
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += [
        "--backend-store-uri",
        f"sqlite:///{folder}/server.db",
        "--artifacts-destination",
        str(folder / "artifacts"),
    ]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            address = f"http://127.0.0.1:{port}"
            deadline = time.monotonic() + 600
            while True:
                try:
                    urllib.request.urlopen(f"{address}/health", timeout=2)
                    break
                except OSError:
                    if time.monotonic() > deadline or server.poll() is not None:
                        raise RuntimeError((folder / "log").read_text()[-2000:]) from None
                    time.sleep(0.5)
            first = b'{"max_results": 1}'  # the server imports its handler now, which is slow on a busy machine
            asked = f"{address}/api/2.0/mlflow/experiments/search"
            urllib.request.urlopen(
                urllib.request.Request(asked, first, {"Content-Type": "application/json"}), timeout=180
            ).close()
            yield address
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class _Proxy(ThreadingMixIn, http.server.HTTPServer):
    """A proxy in front of a server, with a mode: pass, refuse, hang, 500, 500 after, slow."""

    daemon_threads = True
    mode = "pass"

    def __init__(self, target: str | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target, self.port = target, int(self.server_address[1])

    def handle_error(self, *_: Any) -> None:  # a client that hung up
        pass


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Proxy

    def _any(self) -> None:
        mode = self.server.mode
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
        asked = urllib.request.Request(self.server.target + self.path, body or None, headers, method=self.command)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                code, content, kind = answer.status, answer.read(), answer.headers.get("Content-Type", "")
        except urllib.error.HTTPError as error:
            code, content, kind = error.code, error.read(), error.headers.get("Content-Type", "")
        if mode == "500 after":
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
def _proxy(target: str | None) -> Iterator[_Proxy]:
    made = _Proxy(target)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()
