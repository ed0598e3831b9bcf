"""Planted credentials appear nowhere, names cannot escape their folders, no file is world-writable."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.commands import RUN, run
from tests.faults.test_stores import mlflow_server

PLANTED = {
    "OPENAI_API_KEY": "sk-planted-0123456789abcdefghij",
    "HF_TOKEN": "hf_plantedplantedplanted0123456789",
    "MLFLOW_TRACKING_PASSWORD": "planted-password-99",
    "MY_SERVICE_SECRET": "planted/secret+value",
}


def test_no_credential_in_output_records_store_tables_or_report(tmp_path: Path) -> None:
    home, served, out = tmp_path / "home", tmp_path / "served", tmp_path / "out"
    (tmp_path / "server").mkdir()
    url = "https://alice:planted-in-a-url@example.invalid/data.jsonl"
    dead = {**PLANTED, "MLFLOW_TRACKING_URI": "http://bob:planted-pw-1@127.0.0.1:9"}
    ended = [
        run(RUN, home, environment=PLANTED),
        run(["tables", "paper=egsw", f"out={out}"], home, environment=PLANTED),
        run(["report", "paper=egsw", f"out={out / 'report.html'}"], home, environment=PLANTED),
        run([*RUN, f"dataset={url}"], tmp_path / "url", environment=PLANTED),
        run(RUN, home, environment=dead),
    ]
    with mlflow_server(tmp_path / "server") as address:
        own = {**PLANTED, "MLFLOW_TRACKING_URI": address.replace("://", "://carol:planted-pw-2@")}
        ended += [
            run(RUN, served, environment=own),
            run(["tables", "paper=egsw", f"out={out / 'served'}"], served, environment=own),
            run(["export", "format=mlflow"], served, environment=own),
        ]
    assert [one.code for one in ended] == [0, 0, 0, 2, 2, 0, 0, 0], ended
    secrets = [*PLANTED.values(), "planted-in-a-url", "planted-pw-1", "planted-pw-2"]
    shown = "".join(one.out + one.err for one in ended)
    assert [secret for secret in secrets if secret in shown] == []
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 50
    leaked = [(path, secret) for path in files for secret in secrets if secret.encode() in path.read_bytes()]
    assert leaked == []


def test_nothing_that_a_run_writes_is_world_writable(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert run(RUN, home, call=without_umask).code == 0
    written = list(home.rglob("*"))
    assert len(written) > 20
    assert [path for path in written if path.stat().st_mode & 0o002] == []


def without_umask(arguments: list[str]) -> int:
    from rlvr.cli import main

    os.umask(0)
    return main(arguments)


@pytest.mark.parametrize(
    "options",
    [
        ["run", "paper=../../etc"],
        ["run", "paper=egsw", "arm=../../x"],
        ["run", "paper=egsw", "model=../x"],
        ["eval", "model=../../nowhere/x", "protocol=../x"],
        ["eval", "model=m", "protocol=tiny", "benchmarks=[../../etc/passwd]"],
        ["tables", "paper=../x"],
        ["report", "paper=../x"],
        ["new", "../evil"],
        ["new", "a/b"],
    ],
)
def test_names_cannot_escape_their_folders(options: list[str], tmp_path: Path) -> None:
    run(options, tmp_path / "home").refused()
