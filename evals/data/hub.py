"""Check within seconds that a model or data set is available, in the local cache or on a hub that answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from evals.errors import UsageError

SECONDS = 1.5  # to wait for the hub. Downloading it later would retry for half a minute

Kind = Literal["model", "dataset"]


def check_hub(kind: Kind, name: str) -> None:
    """Raise UsageError unless the model or data set `name` is in a local cache or the hub says that it has it."""
    if cached(kind, name):
        return
    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    local = {"model": "a model folder", "dataset": "a local file"}[kind]
    if constants.HF_HUB_OFFLINE:
        raise UsageError(f"{kind} {name!r}: not in the local cache, and the hub is switched off. Give {local}")
    api = HfApi()
    try:
        (api.model_info if kind == "model" else api.dataset_info)(name, timeout=SECONDS)
    except GatedRepoError as error:
        raise UsageError(f"{kind} {name!r}: access on the hub is restricted. Log in to the hub first") from error
    except RepositoryNotFoundError as error:
        raise UsageError(f"{kind} {name!r}: the hub has none of that name (or it is private). Give {local}") from error
    except Exception as error:  # errors differ by version. After any of them nothing can be downloaded
        raise UsageError(
            f"{kind} {name!r}: not in the local cache, and the hub does not answer ({type(error).__name__}). "
            f"Give {local}"
        ) from error


def cached(kind: Kind, name: str) -> bool:
    """Whether a snapshot of the repository is in the hub's cache, or the prepared data set in that of `datasets`."""
    from huggingface_hub import constants

    folder = Path(constants.HF_HUB_CACHE) / f"{kind}s--{name.replace('/', '--')}" / "snapshots"
    if any(folder.glob("*/*")):
        return True
    prepared = Path(os.environ.get("HF_DATASETS_CACHE", Path(constants.HF_HOME) / "datasets"))
    return kind == "dataset" and (prepared / name.replace("/", "___")).is_dir()
