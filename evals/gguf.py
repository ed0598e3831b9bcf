"""A GGUF file (weights for llama.cpp, mostly quantised) made into a folder that engines and trainers load.

    python -m evals.gguf FILE FOLDER

The weights are dequantised to bfloat16 by transformers, which needs the package `gguf`. What transformers 5.10 reads
wrongly of a tokenizer is taken from the file itself: the end token of a `gpt2` tokenizer becomes its first one, Qwen2's
the one of its class; the padding token and SmolLM's single digits are lost ("\n\n1" has other tokens then).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from evals.files import UsageError, rename_folder

MAGIC = b"GGUF"
SPECIAL = {"bos_token": "bos_token_id", "eos_token": "eos_token_id", "pad_token": "padding_token_id"}
SPLITS = {"qwen2": False, "smollm": True}  # the ways to split text that are known here: whether each digit is a token


def is_gguf(path: str | Path) -> bool:
    """Whether it is a GGUF file, or looks like the name of one."""
    path = Path(path)
    if not path.is_file():
        return path.suffix.lower() == ".gguf" and not path.is_dir()
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def how_to_convert(path: str | Path) -> str:
    """What to do with a GGUF file, here or of the hub (OWNER/NAME/FILE.gguf), or a repository of them (OWNER/NAME-GGUF)
    where a model folder is expected."""
    path, what, first = Path(path), "a GGUF file", ""
    file = path
    if path.suffix.lower() != ".gguf" and not path.exists():
        what, file = "by its name a repository of GGUF files", Path("FILE.gguf")
        first = f"`hf download {path} {file} --local-dir .`, "
    elif not path.is_file():
        what = "a GGUF file by its name, and not on this machine"
        if not path.is_absolute() and len(path.parts) == 3:
            file = Path(path.name)
            first = f"`hf download {path.parent} {file} --local-dir .`, "
    return (
        f"{str(path)!r}: {what}, which no engine or trainer here loads; expected the folder or hub id of a model's own "
        f"weights, or a folder that {first}`pip install gguf` and `python -m evals.gguf {file} {file.stem}` make of it "
        "(to evaluate it as it is, engine=openai asks a server such as llama.cpp's)"
    )


def convert(source: Path, folder: Path) -> Path:
    """Write the model of a GGUF file into `folder` (weights in bfloat16), and return it.

    Raises:
        UsageError: not a GGUF file, a tokenizer that splits text in a way that is not known here, no package `gguf`.
    """
    if not source.is_file() or not is_gguf(source):
        raise UsageError(f"{source}: expected a GGUF file")
    try:
        from gguf import GGUFReader
    except ImportError as error:
        raise UsageError(f"{source}: expected the package gguf to read it (`pip install gguf`)") from error
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    fields = GGUFReader(source).fields

    def field(name: str) -> Any:
        return fields[name].contents() if name in fields else None

    kind, split = field("tokenizer.ggml.model"), field("tokenizer.ggml.pre")
    if kind != "gpt2" or split not in SPLITS:
        raise UsageError(
            f"{source}: its tokenizer is {kind!r} with text split as {split!r}; expected gpt2 with one of "
            f"{', '.join(SPLITS)}: take this model's own files instead"
        )
    how = {"gguf_file": source.name}
    logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(source.parent, **how)
    tokenizer.clean_up_tokenization_spaces = False  # it would change decoded text: "a , b" to "a, b"
    pieces = field("tokenizer.ggml.tokens")
    for name, key in SPECIAL.items():
        number = field(f"tokenizer.ggml.{key}")
        setattr(tokenizer, name, None if number is None else pieces[number])
    if SPLITS[split]:
        from tokenizers.pre_tokenizers import Digits, Sequence

        inner = tokenizer.backend_tokenizer
        inner.pre_tokenizer = Sequence([Digits(individual_digits=True), inner.pre_tokenizer])
    model = AutoModelForCausalLM.from_pretrained(source.parent, dtype=torch.bfloat16, **how)
    part = folder.with_name(f".{folder.name}.part")
    model.save_pretrained(part)
    tokenizer.save_pretrained(part)
    ends = json.loads((part / "generation_config.json").read_text())["eos_token_id"]
    if ends != tokenizer.eos_token_id:
        raise UsageError(f"{source}: the model ends at token {ends}, its tokenizer at {tokenizer.eos_token_id}")
    rename_folder(part, folder)
    return folder


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: python -m evals.gguf FILE FOLDER")
    try:
        print(convert(Path(sys.argv[1]), Path(sys.argv[2])))
    except ValueError as error:
        raise SystemExit(str(error)) from error
