"""A GGUF file (weights for llama.cpp, mostly quantised) made into a folder that engines and trainers load.

    python -m evals.gguf FILE FOLDER

The weights are dequantised to bfloat16 by transformers, which needs the package `gguf`. transformers 5.10 reads
tokenizers wrongly, without a warning, so the file itself says what they are:

- gpt2: the end token becomes the tokenizer's first one, Qwen2's the one of its class. The padding token and SmolLM's
  single digits are lost ("\n\n1" has other tokens then).
- llama (Gemma): the scores are read as those of another algorithm (Unigram), which splits a text into single letters.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals import sentence_pieces
from evals.errors import UsageError
from evals.files import rename_folder

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

MAGIC = b"GGUF"
PREFIX = "tokenizer."
GGML = f"{PREFIX}ggml."
SPECIAL = {"bos_token": "bos_token_id", "eos_token": "eos_token_id", "pad_token": "padding_token_id"}
SPLITS = {"qwen2": False, "smollm": True}  # the ways to split text that are known here: whether each digit is a token
TOKENIZERS = f"gpt2 with text split as {' or '.join(SPLITS)}, or llama without a space before the text, as Gemma's"


def is_gguf(path: str | Path) -> bool:
    """Whether it is a GGUF file, or looks like the name of one."""
    path = Path(path)
    if not path.is_file():
        return path.suffix.lower() == ".gguf" and not path.is_dir()
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def how_to_convert(path: str | Path) -> str:
    """The advice for a GGUF file, here or of the hub (OWNER/NAME/FILE.gguf), or a repository of them (OWNER/NAME-GGUF)
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
        f"{str(path)!r}: {what}, which no engine or trainer here loads. Expected the folder or hub id of a model's own "
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
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    fields = {name: field.contents() for name, field in GGUFReader(source).fields.items() if name.startswith(PREFIX)}
    logging.disable_progress_bar()
    tokenizer = _tokenizer(source, fields)
    tokenizer.clean_up_tokenization_spaces = False  # it would change decoded text: "a , b" to "a, b"
    if "local_files_only" in tokenizer.init_kwargs:  # HF_HUB_OFFLINE would change the file, and so the fingerprint
        tokenizer.init_kwargs["local_files_only"] = False
    model = AutoModelForCausalLM.from_pretrained(source.parent, dtype=torch.bfloat16, gguf_file=source.name)
    part = folder.with_name(f".{folder.name}.part")
    model.save_pretrained(part)
    tokenizer.save_pretrained(part)
    ends = json.loads((part / "generation_config.json").read_text())["eos_token_id"]
    if ends != tokenizer.eos_token_id:
        raise UsageError(f"{source}: the model ends at token {ends}, its tokenizer at {tokenizer.eos_token_id}")
    rename_folder(part, folder)
    return folder


def _tokenizer(source: Path, fields: Mapping[str, Any]) -> PreTrainedTokenizerFast:
    """The tokenizer of a file.

    Args:
        fields: the file's fields under `PREFIX`.
    Raises:
        UsageError: it is of a kind, or splits text in a way, that is not known here.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    kind, split = fields.get(f"{GGML}model"), fields.get(f"{GGML}pre")
    pieces = fields.get(f"{GGML}tokens", [])
    special = {name: fields.get(f"{GGML}{key}") for name, key in SPECIAL.items()}
    if kind == "llama" and fields.get(f"{GGML}add_space_prefix") is False:
        unknown = fields[f"{GGML}unknown_token_id"]
        begin = special["bos_token"] if fields.get(f"{GGML}add_bos_token", True) else None
        scores, kinds = fields[f"{GGML}scores"], fields[f"{GGML}token_type"]
        base = sentence_pieces.tokenizer(pieces, scores, kinds, unknown=unknown, begin=begin)
        tokenizer: PreTrainedTokenizerBase = PreTrainedTokenizerFast(tokenizer_object=base, unk_token=pieces[unknown])
        tokenizer.chat_template = fields.get(f"{PREFIX}chat_template")
    elif kind == "gpt2" and split in SPLITS:
        tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
        if SPLITS[split]:
            from tokenizers.pre_tokenizers import Digits, Sequence

            inner = tokenizer.backend_tokenizer
            inner.pre_tokenizer = Sequence([Digits(individual_digits=True), inner.pre_tokenizer])
    else:
        raise UsageError(
            f"{source}: its tokenizer is {kind!r} with text split as {split!r}. The kinds that are converted here are "
            f"{TOKENIZERS}. Take this model's own files instead."
        )
    for name, number in special.items():
        setattr(tokenizer, name, None if number is None else pieces[number])
    return tokenizer


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: python -m evals.gguf FILE FOLDER")
    try:
        print(convert(Path(sys.argv[1]), Path(sys.argv[2])))
    except ValueError as error:
        raise SystemExit(str(error)) from error
