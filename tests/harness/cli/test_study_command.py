from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli.main import main


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("tier=3", "tier=3: expected one of 1, 2"),
        ("seeds=11", "seeds=11: expected 1 to 10"),
        ("seeds=0", "seeds=0: expected 1 to 10"),
        ("family=tiny_serch", "tiny_search"),
        ("rnu=true", "run"),
    ],
)
def test_a_wrong_option_is_refused_with_what_was_expected(
    option: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", option]) == 2
    assert expected in capsys.readouterr().err


def test_registering_writes_the_page_and_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "runs"))
    assert main(["study", "register=true", f"out={tmp_path}"]) == 0
    assert "Pre-registration" in (tmp_path / "preregistration.md").read_text(encoding="utf-8")
    assert not (tmp_path / "runs").exists()
