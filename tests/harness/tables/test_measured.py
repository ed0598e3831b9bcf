"""The command that a page names is the one that was typed, with every launcher."""

from __future__ import annotations

import pytest

from harness.record.run import as_typed


@pytest.mark.parametrize(
    ("recorded", "typed"),
    [
        ("/usr/bin/rlvr run paper=egsw seeds=3", "rlvr run paper=egsw seeds=3"),
        ("/work/harness/cli/__main__.py run paper=egsw", "rlvr run paper=egsw"),  # nox; python -m harness.cli
        ("/work/harness/cli.py run 'ks=[1,2]'", "rlvr run 'ks=[1,2]'"),  # records from before it was a folder
        ("/home/me/mine.py x=1", "mine.py x=1"),
        ("", ""),
    ],
)
def test_a_command_is_shown_without_its_folder(recorded: str, typed: str) -> None:
    assert as_typed(recorded) == typed
