"""Folders of one machine do not reach pages."""

from __future__ import annotations

import re
from pathlib import Path

from harness.record.names import readable, without_folders

RESULTS = Path(__file__).parents[3] / "results"


def test_a_folder_of_a_machine_is_a_placeholder() -> None:
    command = "rlvr run base_model=/data/models/qwen data_dir=/home/me/data hardware.engine_url=http://host:1/v1 a=1/2"
    shown = "rlvr run base_model=FOLDER/qwen data_dir=FOLDER/data hardware.engine_url=http://host:1/v1 a=1/2"
    assert without_folders(command) == shown == without_folders(shown)
    assert readable("base_model=FOLDER/qwen") == readable("base_model=/data/models/qwen") == "base_model=qwen"


def test_no_table_of_a_paper_names_a_folder_of_a_machine() -> None:
    pages = [*RESULTS.glob("*/tables.md"), *RESULTS.glob("*/tables.csv")]
    naming = [
        page for page in pages if re.search(r"=/(work|home|root|data|mnt|tmp)/", page.read_text(encoding="utf-8"))
    ]
    assert len(pages) >= 14 and naming == []
