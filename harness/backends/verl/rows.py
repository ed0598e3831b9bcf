"""Training rows for veRL: prompts rendered as for every trainer, in a file that each of its processes can read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from torch.utils.data import Dataset

from evals.files import json_lines
from evals.grading.reasoning import begins
from harness.backends.verl.rewards import BEGUN, PROMPT
from harness.step.batch import DATA_SIGNALS


class PromptRows(Dataset):  # type: ignore[type-arg]
    """veRL's view of these rows. The fields that it demands: raw_prompt, index, data_source, reward_model."""

    def __init__(self, data_files: str | Sequence[str], **_: object) -> None:
        (path,) = (data_files,) if isinstance(data_files, str) else data_files
        self._rows = [json.loads(line) for line in json_lines(Path(path))]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, object]:
        row = self._rows[index]
        return {
            "raw_prompt": row["prompt"],
            "index": index,
            "data_source": "rlvr",
            "reward_model": {"ground_truth": row["answer"]},
            "extra_info": {name: float(row[name]) for name in DATA_SIGNALS if name in row}
            | {BEGUN: begins(row["prompt"]), PROMPT: row["prompt"]},
        }
