"""Nothing that others made harms who reads it: no code is loaded (ruff's S301, S302 and S506 refuse the rest), nothing
unpacks without end, and no table holds a command."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from evals.answer_files.reading import read_answers
from evals.csv_text import csv_text
from evals.data.rows import read_rows
from evals.errors import DamagedFileError
from harness.record.archive import unpacked
from rlvr.results import Result

ROOT = Path(__file__).parents[1]
FOLDERS = ("rlvr", "evals", "harness", "baselines", "reproductions", "benchmarks", "studies")


def test_torch_loads_weights_only_and_no_code_of_a_model_is_trusted() -> None:
    sources = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(sources) > 200
    for path in sources:
        text = path.read_text(encoding="utf-8")
        assert all("weights_only=True" in line for line in text.splitlines() if "torch.load(" in line), path
        assert "trust_remote_code=True" not in text, path


def test_a_line_of_one_gigabyte_is_refused_before_it_is_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text('{"problem": "1", "answer": "2"}\n"')
    os.truncate(path, 1 << 30)  # zeros, which take no place on the disk
    with pytest.raises(ValueError, match=r"long\.jsonl, line 2: longer than 256 MiB"):
        list(read_rows(path))


def test_what_unpacks_to_more_than_an_honest_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evals.unpacked.LARGEST", 1000)
    row = {"problem": "1", "answer": "2", "response": "3"}
    bomb = tmp_path / "bomb.jsonl.gz"
    bomb.write_bytes(gzip.compress((json.dumps(row) + "\n").encode() * 100_000))
    with pytest.raises(ValueError, match=r"bomb\.jsonl\.gz.*unpacks to more than"):
        list(read_rows(bomb))
    log = tmp_path / "bomb.eval"
    with zipfile.ZipFile(log, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/1.json", json.dumps(row) + " " * 10_000_000)
    with pytest.raises(ValueError, match=r"bomb\.eval.*unpacks to more than"):
        read_answers(log)
    honest = tmp_path / "honest.jsonl.gz"
    honest.write_bytes(gzip.compress((json.dumps(row) + "\n").encode()))
    assert list(read_rows(honest)) == [row]


def test_an_archive_whose_headers_hide_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evals.unpacked.LARGEST", 1 << 20)
    monkeypatch.setenv("RLVR_CACHE", str(tmp_path / "cache"))
    comment = tarfile.TarInfo("a/b/c/run.json")
    comment.pax_headers = {"comment": "x" * (100 << 20)}
    sparse = tarfile.TarInfo("a/b/c/run.json")  # 4 KiB that claim to be 1 TiB of zeros
    sparse.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.map": "0,1"}
    sparse.pax_headers |= {"GNU.sparse.size": str(1 << 40), "GNU.sparse.numblocks": "1"}
    twice = tarfile.TarInfo("a/b/c/run.json")
    for name, members in {"comment": [comment], "sparse": [sparse], "twice": [twice, twice]}.items():
        path = tmp_path / f"{name}.tar.xz"
        with lzma.open(path, "wb", preset=0) as out, tarfile.open(fileobj=out, mode="w") as tar:
            for member in members:
                member.size = 1
                tar.addfile(member, io.BytesIO(b"x"))
        with pytest.raises(DamagedFileError, match=name):
            unpacked(path)
    assert not list((tmp_path / "cache" / "archives").iterdir())


def test_gzipped_parquet_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.parquet.gz").write_bytes(gzip.compress(b"PAR1"))
    with pytest.raises(ValueError, match=r"a\.parquet\.gz: expected Parquet as it is"):
        list(read_rows(tmp_path / "a.parquet.gz", of_any_name=True))


def test_no_cell_of_a_csv_file_is_a_formula(tmp_path: Path) -> None:
    texts = ["=HYPERLINK(1)", "+1+1", "-2+3", "@SUM(1)", "\t=1", "plain", "-5", "+0.5", "-1e3", ""]
    frame = pd.DataFrame({"=head": texts, "number": [-1.5] * len(texts)})
    kept = csv_text(frame).splitlines()
    assert frame.columns[0] == "=head"  # the caller's stays
    assert [line.rpartition(",")[0] for line in kept[:6]] == [f"'{text}" for text in ["=head", *texts[:5]]]
    assert [line.rpartition(",")[0] for line in kept[6:]] == ["plain", "-5", "+0.5", "-1e3", ""]
    assert all(line.endswith(",-1.5") for line in kept[1:])
    Result({}, "", frame.to_dict("records")).save(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines() == kept


def test_no_command_of_a_model_is_in_latex_and_no_tag_in_markdown(tmp_path: Path) -> None:
    response = r"\input{/etc/passwd}$\write18{id}$ & <script>x</script> | ~^#%_"
    result = Result({}, "", [{"response": response, r"\def": 1}])
    cells = result.save(tmp_path / "a.tex").read_text().split("\\midrule")
    escaped = r"\textbackslash{}input\{/etc/passwd\}\$\textbackslash{}write18\{id\}\$ \&"
    assert escaped in cells[1] and r"\textbackslash{}def" in cells[0]
    page = result.save(tmp_path / "a.md").read_text()
    assert "<script>" not in page and r"&lt;script>x&lt;/script> \| ~^#%_" in page


def test_a_thread_without_memory_ends_the_process_with_a_sentence() -> None:
    """Python waits for it for ever."""
    program = (
        "import threading\nfrom evals.environment import end_without_threads\nend_without_threads()\n"
        "class T(threading.Thread):\n    def _bootstrap(self): raise MemoryError\nT().start()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1 and "out of memory for a thread" in ended.stderr and "Traceback" not in ended.stderr
