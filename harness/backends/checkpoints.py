"""Complete checkpoints: sealed with hashes of their files and the run that they are of. Verified before use.

A checkpoint of a 7B is 106 GB, written every ten minutes, and the GPUs wait while it is hashed. One core hashes 1.35 GB
a second (SHA-256 in hardware, measured), so the parts of large files are hashed by all cores at once
(`evals.files.parts_sha256`): 80 s on one core, 5 s on 16 if the disk's cache gives the bytes as fast.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from evals.errors import DamagedFileError
from evals.files import differing_files, folder_sha256s, read_object, write_json
from evals.log import logger
from harness.record.names import JOB_FOLDER

WHOLE = "whole"  # the seal: a JSON file in a checkpoint, with its identity and a hash of every other file


def seal(checkpoint: Path) -> None:
    """Mark a checkpoint as complete."""
    write_json(checkpoint / WHOLE, {"of": identity(checkpoint), "files": folder_sha256s(checkpoint, without=[WHOLE])})


def identity(checkpoint: Path) -> str:
    """The run (its folder's name holds digest and seed) and the step that a checkpoint in this place is of."""
    parts = checkpoint.resolve().parts
    start = next((i for i, part in enumerate(parts) if JOB_FOLDER.search(part)), len(parts) - 1)
    return "/".join(parts[start:])


def damage(checkpoint: Path) -> str | None:
    """The fault of a sealed checkpoint, in words, or None if every file is intact."""
    try:
        sealed = read_object(checkpoint / WHOLE, "of", "files")
    except DamagedFileError as error:
        return f"its seal is damaged ({error.why})"
    if sealed is None:
        return "it is incomplete"
    if sealed["of"] != identity(checkpoint):
        return f"it is that of {sealed['of']}"
    return "; ".join(differing_files(checkpoint, sealed["files"])) or None


HARMLESS = (  # beside what torch itself loads: states of random generators, and veRL's divided tensors
    *("numpy.ndarray", "numpy.dtype", "numpy._core.multiarray._reconstruct", "numpy.core.multiarray._reconstruct"),
    *("torch.distributed.tensor.", "torch.distributed._tensor.", "torch.distributed.device_mesh."),
)


def refuse_code(checkpoint: Path) -> None:
    """Raise DamagedFileError where a file of a checkpoint names what could run when it is loaded. Only names are read.
    veRL loads its files as pickles."""
    from torch.serialization import get_unsafe_globals_in_checkpoint

    for path in sorted(checkpoint.rglob("*.pt*")):
        try:
            names = get_unsafe_globals_in_checkpoint(path)
        except ValueError:
            names = ["a pickle"]  # not of torch.save: nothing says what it runs
        if strange := [name for name in names if not name.startswith(HARMLESS)]:
            remedy = f"delete {checkpoint}, and the one before is used"
            raise DamagedFileError(path, f"loading it may run {strange[0]}", remedy)


def last_verified(checkpoints: Iterable[Path], number: Callable[[Path], int]) -> Path | None:
    """The newest intact checkpoint, or None. Damaged ones are reported and deleted, so that the training writes them
    again. `number`: a checkpoint's step, from its folder."""
    named = (path for path in checkpoints if path.is_dir() and re.search(r"[-_]\d+$", path.name))
    for checkpoint in sorted(named, key=number, reverse=True):
        wrong = damage(checkpoint)
        if wrong is None:
            refuse_code(checkpoint)
            return checkpoint
        if (checkpoint / WHOLE).exists():  # else a kill left it incomplete: no message needed
            logger.warning(f"    {checkpoint} cannot be used: {wrong}; resuming from the one before")
        shutil.rmtree(checkpoint)
    return None
