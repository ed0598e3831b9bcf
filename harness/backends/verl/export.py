"""A checkpoint's policy as a plain model folder, which transformers, and so our evaluator, loads."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

_LORA = re.compile(r"base_model\.model\.(?P<module>.+)\.lora_(?P<side>[AB])\.default\.weight")


def export(checkpoint: Path, final: Path) -> None:
    """Copy the policy of a checkpoint to `final`, LoRA merged, so that evaluations get one plain model."""
    part = final.with_name(".final.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(checkpoint / "actor" / "huggingface", part)
    adapter = checkpoint / "actor" / "lora_train_meta.json"
    if adapter.is_file():
        meta = json.loads(adapter.read_text())
        merge_folder(part, scale=meta["lora_alpha"] / meta["r"])
    shutil.rmtree(final, ignore_errors=True)
    part.rename(final)


def merge_folder(folder: Path, *, scale: float) -> None:
    """Replace the weights of a folder by the merged ones, in one file."""
    from safetensors.torch import load_file, save_file

    files = sorted(folder.glob("*.safetensors"))
    tensors = {name: tensor for file in files for name, tensor in load_file(file).items()}
    for file in [*files, *folder.glob("*.safetensors.index.json")]:
        file.unlink()
    save_file(merged(tensors, scale=scale), folder / "model.safetensors", metadata={"format": "pt"})


def merged(tensors: dict[str, Tensor], *, scale: float) -> dict[str, Tensor]:
    """W + scale B A for each adapted module, and every weight under its name in the plain model.

    Raises:
        ValueError: half of an adapter is missing.
    """
    halves: dict[str, dict[str, Tensor]] = {}
    plain: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if half := _LORA.fullmatch(name):
            halves.setdefault(half["module"], {})[half["side"]] = tensor
        else:
            plain[name.removeprefix("base_model.model.").replace(".base_layer.", ".")] = tensor
    for module, sides in halves.items():
        if sides.keys() != {"A", "B"} or f"{module}.weight" not in plain:
            raise ValueError(f"{module}: expected a weight and both halves of its adapter, got {sorted(sides)}")
        weight = plain[f"{module}.weight"]
        plain[f"{module}.weight"] = (weight.float() + scale * sides["B"].float() @ sides["A"].float()).to(weight.dtype)
    return plain
