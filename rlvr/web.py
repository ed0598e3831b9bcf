"""MLflow's web interface on the runs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec

from evals.log import logger
from harness.errors import UsageError
from rlvr.results import Result


def ui(*, port: int = 5000, host: str = "127.0.0.1") -> Result:
    """Open MLflow's web interface on the runs.

    Args:
        port: the port of the web server.
        host: the network address that the server listens on. 127.0.0.1 is this machine only.

    Raises:
        UsageError: the port is in use, or MLflow's server is not installed.
    """
    if not 1 <= port <= 65_535:
        raise UsageError(f"port: expected 1 to 65535, got {port}")
    if find_spec("flask") is None:
        raise UsageError(
            "rlvr ui: needs MLflow's server. The extra [ui] installs it, in a checkout: pip install '.[ui]'"
        )
    if _answers(host, port):
        raise UsageError(f"port={port}: expected a free port on {host}, got one in use")
    from evals.redaction import redact
    from harness.runs.track import Tracker, tracking_uri

    tracker = Tracker.open()
    uri, address = tracking_uri(), f"http://{host}:{port}"
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", uri, "--registry-store-uri", uri]
    command += ["--host", host, "--port", str(port), "--uvicorn-opts", "--log-level warning"]
    command += ["--workers", "1"]  # several are killed, again and again, where a busy machine starts them in over 5 s
    quiet = {"PYTHONWARNINGS": "ignore", "MLFLOW_LOGGING_LEVEL": "WARNING", **os.environ}
    logger.info(f"starting MLflow's server at {address}, which takes some seconds")
    server = subprocess.Popen(command, start_new_session=True, env=quiet)  # its workers end with its group

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        while server.poll() is None and not _answers(host, port):
            time.sleep(0.2)
        if server.poll() is None:
            logger.info(f"MLflow at {address} on {redact(uri)}; Ctrl-C ends it")
            for name, view in tracker.views(address).items():
                logger.info(f"  {name}, scores with intervals: {view}")
        code = server.wait()
    except KeyboardInterrupt:
        code = 0
    finally:
        signal.signal(signal.SIGTERM, before)
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
    return Result({"address": address}, f"MLflow at {address} has ended", exit_code=code)


def _answers(host: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0
