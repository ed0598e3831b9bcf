"""A disk that is really full: a small one, of memory, is mounted where the runs go."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.needs_verl import need_verl

need_verl()

from evals.files import read_json  # noqa: E402
from harness.backends.verl.checkpoints import whole_checkpoints  # noqa: E402
from tests.verl.runs import finish, start, steps, train_folder  # noqa: E402

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting a disk of memory needs root"),
]
# a checkpoint of the tiny model (weights, optimiser, plain model) is 7.6 MB, all else under 2: one fits, two do not
SMALL, LARGE = "size=14m", "size=1g"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", SMALL, "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_named_and_the_run_resumes_from_the_finished_checkpoint(disk: Path) -> None:
    # force=true: the plan sees that this disk is too small, and would refuse before anything starts
    options = ("paper=egsw", "arm=grpo", "max_steps=6", "prompts_per_rollout=8", "hardware.save_every=2", "force=true")
    code, output = finish(start(disk, *options))
    assert code == 1
    assert f"the disk of {disk} is full" in output.splitlines()[-1]
    folder = train_folder(disk)
    assert folder is not None
    kept = whole_checkpoints(folder / "checkpoints")
    assert [path.name for path in kept] == ["global_step_2"]

    subprocess.run(["mount", "-o", f"remount,{LARGE}", str(disk)], check=True)
    code, output = finish(start(disk, *options))
    assert code == 0, output[-3000:]
    assert sorted(steps(disk)) == [1, 2, 3, 4, 5, 6]
    record = read_json(folder.parent / "run.json")
    assert record is not None
    assert record["training"]["resumed_from"] == str(kept[0])
