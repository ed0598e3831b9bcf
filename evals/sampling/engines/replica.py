"""One replica: a process with an engine that generates the pieces it receives (`evals.sampling.engines.replicas`).

Started as `python -m evals.sampling.engines.replica CONNECTION_FD ALIVE_FD`. First message: (factory, model path,
options); then (requests, decoding) each time. Answers: ("batch", completions) as they come, ("batch", None) after the
last, ("refused", text) for a ValueError, ("failed", text) for any other.
"""

from __future__ import annotations

import os
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

from evals.sampling.engines.replicas import load_factory


def serve(connection: Any) -> None:
    """Answer until the other side closes the connection."""
    factory, model_path, options = connection.recv()
    engine: Any = None
    while True:
        try:
            requests, decoding = connection.recv()
        except EOFError:
            return
        try:
            engine = load_factory(factory)(model_path, **options) if engine is None else engine
            for batch in engine.generate(requests, decoding):
                connection.send(("batch", batch))
        except ValueError as error:
            connection.send(("refused", str(error)))
        except Exception as error:  # sent with its kind: the other side raises it
            connection.send(("failed", f"{type(error).__name__}: {error}"))
        else:
            connection.send(("batch", None))


def _end_with(alive: int) -> None:
    """End this process as soon as the process that started it has ended."""
    os.read(alive, 1)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with, args=(int(sys.argv[2]),), daemon=True).start()
    serve(Connection(int(sys.argv[1])))
