"""The models that `model=` may name: a run that trained a model, a model's folder, or a hub id
(`evals.fingerprint.check_model` refuses what is none of these)."""

from __future__ import annotations

import hashlib
from pathlib import Path

from evals.errors import DamagedFileError
from evals.names import file_name
from harness.record.record import FINAL, RECORD, RESTORE
from harness.record.run import Run


def resolved(model: str) -> tuple[str, str]:
    """(a name for folders of its evaluations, the model's own folder or hub id).

    Raises:
        DamagedFileError: it is a run's final model, and a file of it is missing or changed.
    """
    folder = Path(model)
    if (folder / RECORD).is_file():
        return folder.name, Run(folder).model_folder or model
    check_whole(folder)
    return label(model), model


def check_whole(folder: Path) -> None:
    """Raise DamagedFileError if this is the final model of a run, and a file of it is missing or changed."""
    folder = folder.resolve()
    run = folder.parent.parent
    if folder.parts[-2:] == tuple(FINAL.split("/")) and (run / RECORD).is_file():
        for name in Run(run).damage(f"{FINAL}/")[:1]:
            raise DamagedFileError(folder, name, RESTORE)


def label(model: str) -> str:
    """The last part of a model's name, and of a folder four digits of its path too, because every training ends in a
    folder of the same name."""
    if not Path(model).is_dir():
        return file_name(Path(model).name)
    path = Path(model).resolve()
    return f"{file_name(path.name)}-{hashlib.sha256(bytes(path)).hexdigest()[:4]}"
