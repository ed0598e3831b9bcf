"""The shapes in models.json give the parameters that the models' publishers state."""

from __future__ import annotations

import pytest

from harness.spec.architecture import positions
from tests.experiments import shape_of


@pytest.mark.parametrize(
    ("model", "millions", "within"),
    [
        ("HuggingFaceTB/SmolLM2-135M-Instruct", 134.515008, 1e-9),  # counted in its file (nox -s real_short)
        ("HuggingFaceTB/SmolLM2-360M", 362, 1),
        ("HuggingFaceTB/SmolLM2-1.7B", 1711, 1),
        ("Qwen/Qwen2.5-Coder-0.5B-Instruct", 494, 1),
        ("Qwen/Qwen2.5-Coder-1.5B", 1540, 5),
        ("Qwen/Qwen2.5-Coder-3B", 3090, 5),
        ("Qwen/Qwen2.5-Coder-7B-Instruct", 7610, 10),
        ("google/gemma-3-1b-it", 302 + 698, 1),
        ("google/gemma-3-270m", 170 + 100, 3),
    ],
)
def test_a_shape_gives_the_stated_parameters(model: str, millions: float, within: float) -> None:
    assert abs(shape_of(model).parameters / 1e6 - millions) <= within
    assert positions(model) in (8192, 32_768)
