"""The time estimate beside published throughputs, and its parts by hand."""

from __future__ import annotations

import pytest

from harness.backends.seconds import Rules, decode_seconds, pass_flops
from harness.spec.architecture import Architecture
from harness.spec.hardware import Gpu
from tests.experiments import shape_of
from tests.harness.backends.published_speeds import peaks, throughputs


def test_published_throughputs_are_within_30_percent() -> None:
    rows = throughputs()
    assert len(rows) == 5
    for row in rows:
        assert row.ratios == pytest.approx([1] * len(row.ratios), abs=0.3), row
        assert row.low < row.published < row.high, row
    # Llama-8B GRPO, Qwen3-32B GRPO, Qwen3-4B LoRA: the later figures of the same pages; DAPO 7B: one figure
    assert [row.other for row in rows] == [1581, 571, 6229, None, None]


def test_published_peaks_are_within_a_third_of_the_model() -> None:
    for row in peaks():
        assert row.ratios == pytest.approx([1], rel=1 / 3), row


def test_flops_of_a_pass_by_hand() -> None:
    a = Architecture(1, 10, 20, 1, 1, 10, 100, False)
    # active: attention 4 * 10 * 10, feed-forward 3 * 10 * 20, norms 2 * 10, head 100 * 10
    assert a.active == 400 + 600 + 20 + 1000
    # causal attention over 8 tokens: 2 products of 8 / 2 scores on average, width 10, 2 operations each: 2 * 10 * 8
    assert pass_flops(a, 8, backward=False, recompute=False) == 2 * 2020 + 160
    assert pass_flops(a, 8, backward=True, recompute=False) == 6 * 2020 + 3 * 160
    assert pass_flops(a, 8, backward=True, recompute=True) == 8 * 2020 + 4 * 160
    assert pass_flops(a, 8, backward=True, recompute=True, frozen=True) == 6 * 2020 + 4 * 160


def test_decoding_reads_weights_and_cache_each_step() -> None:
    rules = Rules(1.0, 1.0, 0.0, 1.0, 0.5, 1.0)
    gpu = Gpu(1e12, 1e30, 1e9)
    a = shape_of("Qwen/Qwen2.5-7B")
    # one response of 100 tokens: each step reads 2N bytes and the cache of 50 tokens on average
    expected = 100 * (2 * a.parameters + 50 * a.cache()) / 1e9
    assert decode_seconds(a, gpu, 1, 100, 100, 0, rules) == pytest.approx(expected)
    assert decode_seconds(a, gpu, 1, 100, 100, 0, rules, eager=True) == pytest.approx(expected + 100)
    # the longest response decides how many steps there are
    assert decode_seconds(a, gpu, 8, 100, 400, 0, rules) > decode_seconds(a, gpu, 8, 100, 100, 0, rules)
    assert shape_of("Qwen/Qwen3-32B").cache() == 2 * 64 * 8 * 128 * 2
