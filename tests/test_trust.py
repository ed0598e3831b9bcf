"""No file that is read is unpickled, and no model brings code (ruff's S301, S302 and S506 refuse the rest)."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("rlvr", "evals", "harness", "baselines", "reproductions", "benchmarks", "studies")


def test_torch_loads_weights_only_and_no_code_of_a_model_is_trusted() -> None:
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(files) > 200
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert all("weights_only=True" in line for line in text.splitlines() if "torch.load(" in line), path
        assert "trust_remote_code=True" not in text, path
