"""The paper and the options that the words after `rlvr run` say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.spec import Reproduction
from rlvr import run, signature, training


def options_of(words: Sequence[str]) -> tuple[str | Reproduction, dict[str, Any]]:
    return training._asked(**signature.bind(run, words)[1])[:2]
