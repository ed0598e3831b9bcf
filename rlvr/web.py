"""MLflow's web interface on the runs."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

from harness.errors import UsageError
from rlvr.results import Result


def ui(*, port: int = 5000, host: str = "127.0.0.1") -> Result:
    """Open MLflow's web interface on the runs; prints a link to the curves of each paper that has any.

    Args:
        port: where it listens.
        host: likewise.
    Raises:
        UsageError: the port is in use.
    """
    _check_port(host, port)
    from evals.redaction import redact
    from harness.runs.track import Tracker, tracking_uri
    from harness.spec.catalogue import papers
    from rlvr.curve_links import curve_links

    uri, address = tracking_uri(), f"http://{host}:{port}"
    for paper, link in curve_links(Tracker.open(), papers(), address).items():
        print(
            f"curves of {paper}, a chart a metric, a line an arm (mean and band of its seeds): {link}", file=sys.stderr
        )
    print(f"MLflow at {address} on {redact(uri)}; Ctrl-C ends it", file=sys.stderr)
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", uri, "--host", host, "--port", str(port)]
    server = subprocess.Popen(command)
    # MLflow ends its own workers on SIGTERM; without this they would outlive the command
    before = signal.signal(signal.SIGTERM, lambda *_: server.terminate())
    try:
        code = server.wait()
    except KeyboardInterrupt:
        code = server.wait()
    finally:
        signal.signal(signal.SIGTERM, before)
    return Result({"address": address}, "", exit_code=code if code > 0 else 0)


def _check_port(host: str, port: int) -> None:
    """Raise UsageError if no server can listen there; MLflow would fail only after seconds, with a traceback."""
    if not 1 <= port <= 65_535:
        raise UsageError(f"port: expected 1 to 65535, got {port}")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port in TIME_WAIT is free, as for MLflow
        try:
            probe.bind((host, port))
        except OSError as error:
            raise UsageError(
                f"port={port}: expected a free port on {host}, got one in use ({error.strerror})"
            ) from error
