"""Shared strategies and small batches."""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test may reach a hub
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from hypothesis import settings

settings.register_profile("shared_machine", deadline=None)  # time on a busy machine says nothing about the code
settings.load_profile("shared_machine")
