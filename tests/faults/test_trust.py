"""Planted credentials appear nowhere, names cannot escape their folders, no file is world-writable."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from tests.faults.commands import EVAL, RUN, job_folder, run
from tests.faults.test_stores import mlflow_server

PLANTED = {
    "OPENAI_API_KEY": "sk-planted-0123456789abcdefghij",
    "HF_TOKEN": "hf_plantedplantedplanted0123456789",
    "MLFLOW_TRACKING_PASSWORD": "planted-password-99",
    "MY_SERVICE_SECRET": "planted/secret+value",
}
PROXY = dict.fromkeys(("HTTP_PROXY", "http_proxy", "https_proxy"), "http://dave:planted-proxy-3@127.0.0.1:9")


SERVER = ["model=m", "engine=openai", "engine.url=http://carol:planted-pw-5@model.invalid/v1"]


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
        run(
            ["tables", "--debug"], home, environment={**dead, **PROXY, "MLFLOW_TRACKING_URI": "http://a:planted-pw-4@b"}
        ),
        run([*EVAL, *SERVER, f"out={out / 'served-model'}"], home, environment={**PLANTED, **PROXY}),
        run(
            ["export", str(job_folder(home)), f"out={tmp_path / 'bundle.tar.xz'}"],
            home,
            environment={**PLANTED, **PROXY},
        ),
    ]
    with tarfile.open(tmp_path / "bundle.tar.xz") as bundle:
        bundle.extractall(tmp_path / "bundle", filter="data")
    with mlflow_server(tmp_path / "server") as address:
        own = {**PLANTED, "MLFLOW_TRACKING_URI": address.replace("://", "://carol:planted-pw-2@")}
        ended += [
            run(RUN, served, environment=own),
            run(["tables", "paper=egsw", f"out={out / 'served'}"], served, environment=own),
            run(["export", "format=mlflow"], served, environment=own),
        ]
    assert [one.code for one in ended] == [0, 0, 0, 2, 2, 2, 1, 0, 0, 0, 0], ended
    secrets = [*PLANTED.values(), "planted-in-a-url", "planted-pw-", "planted-proxy-", "dave"]
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
