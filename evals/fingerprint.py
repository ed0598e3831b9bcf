"""The identity of a model: a hash of its content that tells two checkpoints apart."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from evals.errors import UsageError
from evals.files import content_sha256
from evals.gguf import how_to_convert, is_gguf

DESCRIPTION = (  # the files of a model beside its configuration and weights
    "generation_config.json",
    "tokenizer*.json", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt", "*.jinja", "*.model",
)  # fmt: skip
FILES = (
    "config.json", "adapter_config.json", *DESCRIPTION,
    "model*.safetensors", "adapter_model*.safetensors", "pytorch_model*.bin", "model*.index.json",
)  # fmt: skip


def check_model(model_path: str | Path) -> None:
    """Raise UsageError unless `model_path` is a model folder (with a configuration) or has the form of a hub id."""
    folder = Path(model_path)
    if is_gguf(folder):
        raise UsageError(f"model {how_to_convert(folder)}")
    if not folder.is_dir():
        if str(model_path).lower().endswith("gguf"):  # as the hub's repositories of such files are named
            raise UsageError(f"model {how_to_convert(folder)}")
        if not re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", str(model_path)):
            raise UsageError(f"model {str(model_path)!r}: no such folder. Expected a folder or a hub id (owner/name)")
    elif not (folder / "config.json").is_file() and not (folder / "adapter_config.json").is_file():
        if files := sorted(folder.glob("*.gguf")):
            raise UsageError(f"model {how_to_convert(files[0])}")
        raise UsageError(f"model {str(model_path)!r}: no config.json in {folder}, expected a transformers model")


def model_folder(model_path: str | Path) -> Path:
    """The folder with a model's files. A hub id is downloaded first.

    Raises:
        UsageError: as `check_model`.
    """
    check_model(model_path)
    folder = Path(model_path)
    if not folder.is_dir():
        from huggingface_hub import snapshot_download

        folder = Path(snapshot_download(str(model_path), allow_patterns=list(FILES)))
        check_model(folder)
    return folder


def model_fingerprint(model_path: str | Path) -> str:
    """SHA-256 over the names and contents of a model's configuration, tokenizer and weight files, sorted by name.

    Training leftovers beside them (optimiser, trainer state) do not count. A hub id is downloaded first.

    Raises:
        UsageError: as `check_model`.
    """
    folder = model_folder(model_path)
    whole = hashlib.sha256()
    for path in sorted({path for pattern in FILES for path in folder.glob(pattern)}):
        whole.update(f"{path.name} {content_sha256(path)}\n".encode())
    return whole.hexdigest()
