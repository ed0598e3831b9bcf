"""Resolve a declared base model on this machine."""

from __future__ import annotations

from harness.data.tiny.pinned import PINNED, pinned


def locate(base_model: str) -> str:
    """A folder or hub id that transformers can load; the name of a tiny family gives its pinned base model."""
    return str(pinned(base_model)) if base_model in PINNED else base_model
