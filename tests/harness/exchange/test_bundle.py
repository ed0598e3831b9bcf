"""`rlvr bundle` and `rlvr verify`: whole, damaged, rewritten, and on a bare clone."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness.runs.record import ROOT
from rlvr.cli import main


def test_a_bundle_is_whole_and_the_same_twice(job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "one.zip", tmp_path / "two.zip"
    for out in (one, two):
        assert main(["export", str(job), "format=bundle", f"out={out}"]) == 0
    assert one.read_bytes() == two.read_bytes()
    assert main(["import", str(one), "verify=true"]) == 0
    assert "every number comes back" in capsys.readouterr().out
    with zipfile.ZipFile(one) as archive:
        names = set(archive.namelist())
        scores = json.loads(archive.read("scores.json"))
        page = archive.read("README.md").decode()
    assert {"LICENSE", "record.json", "declaration.json", "tables.tex", "sums/verdicts.parquet", "SHA256SUMS"} <= names
    # by problem (1 + 0)/2, 1, 0, 1/2, 1, 1/2: 3.5 of 6, as `tests/harness/runs/test_answers.py` derives
    assert scores["sums"]["avg_at_2"]["value"] == round(3.5 / 6, 10)
    assert "Tiny scale" in page and "rlvr run paper=egsw arm=base" in page
    assert main(["export", str(job), "format=bundle", f"out={one}"]) == 2
    assert "exists already" in capsys.readouterr().err


def test_a_folder_without_responses(job: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    out = tmp_path / "folder"
    assert main(["export", str(job), "format=bundle", f"out={out}", "responses=false"]) == 0
    assert set(pq.read_table(out / "sums" / "verdicts.parquet")["response"].to_pylist()) == {""}
    assert main(["import", str(out), "verify=true"]) == 0


def _sums(folder: Path) -> None:
    """Write SHA256SUMS again, as after a deliberate change of a bundle."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(folder).as_posix()}\n" for p in files]
    (folder / "SHA256SUMS").write_text("".join(lines))


def test_verify_names_a_damaged_file(job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "b"
    assert main(["export", str(job), "format=bundle", f"out={out}"]) == 0
    table = out / "sums" / "verdicts.parquet"
    whole = table.read_bytes()
    table.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    assert main(["import", str(out), "verify=true"]) == 1
    assert "sums/verdicts.parquet: its sha256 is" in capsys.readouterr().out
    table.write_bytes(whole)
    (out / "extra.txt").write_text("x")
    (out / "tables.tex").unlink()
    assert main(["import", str(out), "verify=true"]) == 1
    errors = capsys.readouterr().out
    assert "tables.tex: missing" in errors and "extra.txt: not in SHA256SUMS" in errors


def test_numbers_that_do_not_follow_from_the_verdicts(
    job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = tmp_path / "b"
    assert main(["export", str(job), "format=bundle", f"out={out}"]) == 0
    (out / "tables.csv").write_text((out / "tables.csv").read_text().replace("0.58", "0.98"))
    _sums(out)
    assert main(["import", str(out), "verify=true"]) == 1
    assert "tables.csv: not what the verdicts give" in capsys.readouterr().out
    table = pq.read_table(out / "sums" / "verdicts.parquet")
    place = table.schema.get_field_index("verdict")
    table = table.set_column(place, table.schema.field("verdict"), pa.array(["wrong"] * len(table)))
    pq.write_table(table, out / "sums" / "verdicts.parquet")
    _sums(out)
    assert main(["import", str(out), "verify=true"]) == 1
    errors = capsys.readouterr().out
    assert "sums/verdicts.parquet: not the verdicts that record.json was made from" in errors
    assert "scores.json: not what the verdicts give" in errors


def test_verify_refuses_a_changed_record(job: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "b"
    assert main(["export", str(job), "format=bundle", f"out={out}"]) == 0
    (out / "record.json").write_text((out / "record.json").read_text().replace('"seed": 3', '"seed": 4'))
    _sums(out)
    assert main(["import", str(out), "verify=true"]) == 1
    assert "does not match its sha256" in capsys.readouterr().out


def test_verify_refuses_files_and_folders_that_are_no_bundle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.zip").write_bytes(b"PK nothing")
    assert main(["import", str(tmp_path / "x.zip"), "verify=true"]) == 2
    assert "not a whole zip file" in capsys.readouterr().err
    assert main(["import", str(tmp_path), "verify=true"]) == 2
    assert "expected a bundle" in capsys.readouterr().err
    assert main(["import", str(tmp_path / "nowhere"), "verify=true"]) == 2


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout: nothing to clone")
def test_a_bundle_verifies_on_a_bare_clone(job: Path, tmp_path: Path) -> None:
    """Only the tracked files of the repository and the bundle: no runs, no store, no home."""
    bundle, clone = tmp_path / "b.zip", tmp_path / "clone"
    assert main(["export", str(job), "format=bundle", f"out={bundle}"]) == 0
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{ROOT}", str(clone)], check=True)
    subprocess.run(["git", "-C", str(ROOT), "diff", "--binary", "HEAD"], check=True, stdout=(tmp_path / "d").open("wb"))
    if (tmp_path / "d").stat().st_size:  # a working tree under change
        subprocess.run(["git", "-C", str(clone), "apply", str(tmp_path / "d")], check=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "PYTHONPATH": str(clone)}
    command = [sys.executable, "-m", "rlvr", "import", str(bundle), "verify=true"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "every number comes back" in done.stdout) == (0, True), done.stderr
