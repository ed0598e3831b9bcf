"""MLflow's web interface on the runs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress

from harness.errors import UsageError
from rlvr.results import Result


def ui(*, port: int = 5000, host: str = "127.0.0.1") -> Result:
    """Open MLflow's web interface on the runs.

    Args:
        port: where it listens.
        host: likewise.
    Raises:
        UsageError: the port is in use.
    """
    if not 1 <= port <= 65_535:
        raise UsageError(f"port: expected 1 to 65535, got {port}")
    with socket.socket() as probe:
        if probe.connect_ex((host, port)) == 0:
            raise UsageError(f"port={port}: expected a free port on {host}, got one in use")
    from evals.redaction import redact
    from harness.runs.track import Tracker, tracking_uri

    Tracker.open()
    uri, address = tracking_uri(), f"http://{host}:{port}"
    print(f"MLflow at {address} on {redact(uri)}; Ctrl-C ends it", file=sys.stderr)
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", uri, "--host", host, "--port", str(port)]
    command += ["--workers", "1"]  # several are killed, again and again, where a busy machine starts them in over 5 s
    server = subprocess.Popen(command, start_new_session=True)  # its workers are of its group, and end with it

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        code = server.wait()
    except KeyboardInterrupt:
        code = 0
    finally:
        signal.signal(signal.SIGTERM, before)
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
    return Result({"address": address}, f"MLflow at {address} has ended", exit_code=code)
