"""One of three trainings diverges: from the trainer's error to the store, the tables and the claims."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.step.finite import Diverged
from tests.harness.record.folders import rows_of

pytestmark = pytest.mark.slow

PROBLEMS = 40


def write_verdicts(folder: Path, correct: int) -> Path:
    """A verdict table of the benchmark that names the folder, and its manifest. The first `correct` problems are
    correct, one sample each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from evals.grading.verdicts import schema

    rows = rows_of(folder.name, PROBLEMS, correct)
    folder.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema()), folder / "verdicts.parquet")
    (folder / "manifest.json").write_text(json.dumps({"identity": {}, "record": {}}))
    return folder / "verdicts.parquet"


def test_a_diverged_seed_is_in_the_summary_tables_and_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from harness.jobs.run import JobRun
    from harness.record.find import runs
    from harness.spec.catalogue import load
    from harness.tables.claims import check_claims
    from harness.tables.measured import gather
    from harness.tables.tabulate import report
    from rlvr.cli import main

    def train(self: JobRun) -> str:
        if self.job.arm == "egsw" and self.job.seed == 2:
            raise Diverged(7, "gradient norm", "nan")
        self.recorder.update(training=None if self.job.experiment is None else {"steps": 60})
        return self.base

    def evaluate(self: JobRun, model: str) -> dict[str, Path]:
        correct = {"base": 5, "grpo": 10, "egsw": 35}[self.job.arm] + self.job.seed
        return {"tiny_short": write_verdicts(self.folder / "eval" / "tiny_short", correct)}

    monkeypatch.setenv("RLVR_HOME", str(tmp_path))
    monkeypatch.setattr(JobRun, "train", train)
    monkeypatch.setattr(JobRun, "evaluate", evaluate)
    # the command fails, because a seed diverged. The other jobs are done
    command = ["run", "paper=egsw", "arm=base,grpo,egsw", "model=math-7b", "seeds=3", "hardware.device=cpu"]
    assert main(command) == 1
    assert "tiny/egsw: 1 of 3 training seeds diverged" in capsys.readouterr().out
    diverged = [json.loads(path.read_text())["diverged"] for path in tmp_path.glob("egsw/tiny/*-egsw-*-seed2/run.json")]
    assert diverged == [{"step": 7, "quantity": "gradient norm", "value": "nan"}]
    assert not list(tmp_path.glob("egsw/tiny/*-egsw-*-seed2/eval"))
    monkeypatch.setattr(JobRun, "train", None)
    assert main(command) == 1  # the same command again: recorded, not trained again

    tables = report("egsw", runs()).markdown()
    sentence = "diverged (step 7, seed 2) in 1 of 3 seeds"
    (egsw,) = [line for line in tables.splitlines() if line.startswith(f"| egsw, {sentence} |")]
    # the mean of seeds 0 and 1, 35.5 / 40, is never shown without a word
    assert "88.8" in egsw and "2 of 3 seeds, the others diverged" in egsw
    differences = [line for line in tables.splitlines() if line.startswith("| egsw − ")]
    assert differences and all(sentence in line for line in differences)

    claims = check_claims(load("egsw"), gather("egsw", runs()), "tiny")
    counted = [c for c in claims if any(sentence in text for text in c.missing)]
    assert counted and all("egsw" in (c.claim.arm, c.claim.than) for c in counted)
    assert all(c.outcome != "holds" for c in counted)  # its seeds that survived decide nothing
