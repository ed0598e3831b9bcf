"""The model that veRL's last checkpoint becomes: its base model's files, and a configuration true to its weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from evals.files import read_json, write_json
from harness.backends.verl.checkpoints import export


@pytest.mark.parametrize(("kind", "name"), [(torch.float32, "float32"), (torch.bfloat16, "bfloat16")])
def test_the_configuration_names_the_type_of_the_weights(kind: torch.dtype, name: str, tmp_path: Path) -> None:
    base, saved = tmp_path / "base", tmp_path / "global_step_1" / "actor" / "huggingface"
    for folder in (base, saved):
        folder.mkdir(parents=True)
        write_json(folder / "config.json", {"dtype": "bfloat16", "vocab_size": 8})
    save_file({"a": torch.ones(2, dtype=kind)}, saved / "model.safetensors")
    write_json(saved / "config.json", {"dtype": "bfloat16", "vocab_size": 8, "use_cache": False})  # veRL's own
    export(tmp_path / "global_step_1", tmp_path / "final", str(base))
    assert read_json(tmp_path / "final" / "config.json") == {"dtype": name, "vocab_size": 8}
