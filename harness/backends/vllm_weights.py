"""vLLM's weights on a CPU in a form that a training can replace.

Its CPU layers repack their weight once and drop the original: new weights have no place to go (an AttributeError), or
go into one that is no longer read (an output head that shares the embedding).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def keep_plain(layer: Any, remove_weight: bool) -> None:
    """In place of `dispatch_cpu_unquantized_gemm` of vLLM: the layer multiplies by its own weight."""
    import torch

    layer.cpu_linear = torch.nn.functional.linear


@contextmanager
def replaceable() -> Iterator[None]:
    """Models that vLLM loads meanwhile keep plain weights. No more than that on a GPU, where they always do."""
    import torch

    if torch.cuda.is_available():
        yield
        return
    from vllm.model_executor.layers import utils

    repacking = utils.dispatch_cpu_unquantized_gemm
    utils.dispatch_cpu_unquantized_gemm = keep_plain
    try:
        yield
    finally:
        utils.dispatch_cpu_unquantized_gemm = repacking
