"""Planted credentials appear nowhere, names cannot escape their folders, no file is world-writable."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.faults.lives import RUN, Life, live
from benchmarks.faults.rows import Row
from benchmarks.faults.stores import mlflow_server

PLANTED = {
    "OPENAI_API_KEY": "sk-planted-0123456789abcdefghij",
    "HF_TOKEN": "hf_plantedplantedplanted0123456789",
    "MLFLOW_TRACKING_PASSWORD": "planted-password-99",
    "MY_SERVICE_SECRET": "planted/secret+value",
}


def rows(root: Path) -> Iterator[Row]:
    yield _credentials(root)
    yield _world_writable(root)
    yield _traversal(root)


def _credentials(root: Path) -> Row:
    row = Row(
        "No key, token, password or URL with one in output, records, logs, MLflow's store, tables or the report",
        f"{', '.join(PLANTED)} planted in the environment, in the tracking server's URL and on the command line of a "
        "run, its tables and its report",
    )
    home, out = root / "planted", root / "planted-out"
    url = "https://alice:planted-in-a-url@example.invalid/data.jsonl"
    lives = [
        live(RUN, home, environment=PLANTED),
        live([*RUN, f"dataset={url}"], root / "planted-url", environment=PLANTED),
        live(["tables", "paper=egsw", f"out={out}"], home, environment=PLANTED),
        live(["report", "paper=egsw", f"out={out / 'report.html'}"], home, environment=PLANTED),
        live(
            [*RUN],
            home,
            environment={**PLANTED, "MLFLOW_TRACKING_URI": "http://bob:planted-pw-1@127.0.0.1:9"},
        ),
    ]
    served = root / "planted-served"
    with mlflow_server(root / "planted-server") as address:
        own = {**PLANTED, "MLFLOW_TRACKING_URI": address.replace("://", "://carol:planted-pw-2@")}
        lives += [
            live(RUN, served, environment=own),
            live(["tables", "paper=egsw", f"out={out / 'served'}"], served, environment=own),
            live(["report", "paper=egsw", f"out={out / 'served.html'}"], served, environment=own),
            live(["sync"], served, environment=own),
        ]
    secrets = [*PLANTED.values(), "planted-in-a-url", "planted-pw-1", "planted-pw-2"]
    shown = "\n".join(life.out + life.err for life in lives)
    for secret in secrets:
        row.check(f"output: {secret}", "shown" if secret in shown else None)
    for folder in (home, root / "planted-url", served, root / "planted-server", out):
        for path in folder.rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                leaked = [secret for secret in secrets if secret.encode() in data]
                row.check(str(path.relative_to(root)), f"holds {leaked}" if leaked else None)
    for life, code in zip(lives, (0, 2, 0, 0, 2, 0, 0, 0, 0), strict=True):
        row.check("exit codes", None if life.code == code and not life.traceback else _ended(life))
    return row


def _world_writable(root: Path) -> Row:
    row = Row("No file or folder that a run writes is world-writable", "a run under umask 000")
    home = root / "umask"
    life = live(RUN, home, inside=lambda: (os.umask(0), None)[1])
    row.check("run", None if life.code == 0 else _ended(life))
    for path in home.rglob("*"):
        row.check(str(path), "world-writable" if path.stat().st_mode & 0o002 else None)
    row.note = "files and folders"
    return row


def _traversal(root: Path) -> Row:
    row = Row(
        "Names on the command line cannot escape their folders", "paper, arm, model, benchmarks, run names with .."
    )
    home = root / "traversal"
    for options in (
        ["run", "paper=../../etc"],
        ["run", "paper=egsw", "arm=../../x"],
        ["run", "paper=egsw", "model=../x"],
        ["eval", "model=../../nowhere/x", "protocol=../x"],
        ["eval", "model=m", "protocol=tiny", "benchmarks=[../../etc/passwd]"],
        ["tables", "paper=../x"],
        ["report", "paper=../x"],
        ["new", "../evil"],
        ["new", "a/b"],
    ):
        life = live(options, home)
        row.check(" ".join(options), None if life.code == 2 and not life.traceback else _ended(life))
    return row


def _ended(life: Life) -> str:
    return f"exit code {life.code}: {life.out[-100:]} {life.err[-300:]}"
