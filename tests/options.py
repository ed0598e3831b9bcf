"""The paper and the options that the words after `rlvr run` say."""

from __future__ import annotations

from collections.abc import Sequence

from harness.command.options import RunOptions
from harness.spec import Reproduction
from rlvr import run, signature, training


def options_of(words: Sequence[str]) -> tuple[str | Reproduction, RunOptions]:
    values = signature.bind(run, words)[1]
    request = training._request(values.pop("paper"), values)
    return request.what, request.options
