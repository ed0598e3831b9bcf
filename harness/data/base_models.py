"""Locate a declared base model on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_dir() -> Path:
    """RLVR_CACHE, or ~/.cache/rlvr-harness."""
    return Path(os.environ.get("RLVR_CACHE", Path.home() / ".cache" / "rlvr-harness"))


def locate(base_model: str, *, progress: bool) -> str:
    """A folder or hub id that transformers can load. "tiny" is built on first use, in about three minutes."""
    if base_model != "tiny":
        return base_model
    from harness.data.tiny.base import BaseSettings, build_base, cache_key

    if not (cache_dir() / f"tiny-base-{cache_key(0, BaseSettings())}").is_dir():
        print("building the tiny base model (once, a few minutes)", file=sys.stderr, flush=True)
    return str(build_base(cache_dir(), progress=progress))
