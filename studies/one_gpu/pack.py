"""Carry a large folder in small pieces: one archive, cut, joined again by its hash on the other machine."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

PIECE = 38 * 2**20  # bytes
INDEX = "index.json"


def pack(sources: Sequence[Path], folder: Path, *, piece: int = PIECE) -> int:
    """Write `piece-NN/data` and `index.json` of an archive of the sources (files or folders). Returns how many pieces.

    Each piece is a folder of its own, because a transfer names folders.

    Raises:
        ValueError: a source is missing.
    """
    for source in sources:
        if not source.exists():
            raise ValueError(f"{source}: expected a file or folder, found none")
    folder.mkdir(parents=True, exist_ok=True)
    whole = folder / "whole.tar"
    with tarfile.open(whole, "w") as archive:
        for source in sources:
            archive.add(source, arcname=source.name)
    hashes: list[str] = []
    with whole.open("rb") as file:
        while part := file.read(piece):
            place = folder / f"piece-{len(hashes):02d}"
            place.mkdir(exist_ok=True)
            (place / "data").write_bytes(part)
            hashes.append(hashlib.sha256(part).hexdigest())
    whole.unlink()
    for place in sorted(folder.glob("piece-*")):
        (place / INDEX).write_text(json.dumps(hashes))
    return len(hashes)


def receive(piece: Path, store: Path) -> str:
    """Keep one piece in `store`, which the transfers leave alone. Unpack all once the last is there. Returns what is
    missing, in words.

    Raises:
        ValueError: a piece whose content is not what the index says.
    """
    hashes = json.loads((piece / INDEX).read_text())
    data = (piece / "data").read_bytes()
    number = int(piece.name.rpartition("-")[2])
    if (digest := hashlib.sha256(data).hexdigest()) != hashes[number]:
        raise ValueError(f"{piece}: sha256 {digest[:12]}, the index has {hashes[number][:12]}: send it again")
    store.mkdir(parents=True, exist_ok=True)
    (store / hashes[number]).write_bytes(data)
    missing = [index for index, name in enumerate(hashes) if not (store / name).is_file()]
    if missing:
        return f"{len(hashes) - len(missing)} of {len(hashes)} pieces are here; missing: {missing}"
    whole = store / "whole.tar"
    with whole.open("wb") as out:
        for name in hashes:
            out.write((store / name).read_bytes())
    with tarfile.open(whole) as archive:
        archive.extractall(store, filter="data")
    whole.unlink()
    return f"all {len(hashes)} pieces are here and unpacked in {store}"


def smaller_gguf(source: Path, target: Path, *, without: str = "output.weight") -> None:
    """Copy a GGUF file without its second copy of the tied embedding: 347 MB instead of 491 for the 0.5B.

    Raises:
        ValueError: the package gguf is missing.
    """
    try:
        from gguf import GGUFReader, GGUFValueType, GGUFWriter
    except ImportError as error:
        raise ValueError(
            f"{source}: expected the package gguf to read it (`pip install gguf`, or its wheel)"
        ) from error

    reader = GGUFReader(source)
    writer = GGUFWriter(target, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        kind = field.types[0]
        sub = field.types[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), kind, sub_type=sub)
    for tensor in reader.tensors:
        if tensor.name != without:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
