"""Planted credentials appear nowhere."""

from __future__ import annotations

from pathlib import Path

from tests.faults.commands import RUN, run
from tests.faults.test_stores import mlflow_server

PLANTED = {
    "OPENAI_API_KEY": "sk-planted-0123456789abcdefghij",
    "HF_TOKEN": "hf_plantedplantedplanted0123456789",
    "MLFLOW_TRACKING_PASSWORD": "planted-password-99",
    "MY_SERVICE_SECRET": "planted/secret+value",
    "https_proxy": "http://dave:planted-pw-3@127.0.0.1:9",
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
        environment_of_store = {**PLANTED, "MLFLOW_TRACKING_URI": address.replace("://", "://carol:planted-pw-2@")}
        ended += [
            run(RUN, served, environment=environment_of_store),
            run(["tables", "paper=egsw", f"out={out / 'served'}"], served, environment=environment_of_store),
            run(["sync"], served, environment=environment_of_store),
        ]
    assert [result.code for result in ended] == [0, 0, 0, 2, 2, 0, 0, 0], ended
    secrets = [*PLANTED.values(), "planted-in-a-url", "planted-pw-"]
    shown = "".join(result.out + result.err for result in ended)
    assert [secret for secret in secrets if secret in shown] == []
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 50
    leaked = [(path, secret) for path in files for secret in secrets if secret.encode() in path.read_bytes()]
    assert leaked == []
