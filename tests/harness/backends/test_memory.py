"""The memory model against peaks measured on this CPU, peaks published for GPUs, and hand computations."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from harness.backends.memory import Mode, activations, layer_activations
from harness.backends.trl.hardware import TrlHardware
from harness.backends.trl.needs import forward_end, fused_head, need, states
from harness.backends.verl.needs import logits
from harness.command.resolve import resolve
from harness.spec import Experiment
from harness.spec.architecture import Architecture
from harness.spec.hardware import GPUS
from tests.experiments import shape_of


class Live(TorchDispatchMode):
    """Bytes of the storages that exist beside `known` tensors, now and at their peak."""

    def __init__(self, known: Any) -> None:
        super().__init__()
        self.sizes: dict[int, int] = {t.untyped_storage()._cdata: 0 for t in known}
        self.now = self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                key, size = storage._cdata, storage.nbytes()
                if key not in self.sizes and size:
                    self.sizes[key] = size
                    self.now += size
                    self.peak = max(self.peak, self.now)
                    weakref.finalize(storage, self._freed, key)
        return out

    def _freed(self, key: int) -> None:
        self.now -= self.sizes.pop(key, 0)


SHAPES = (
    Architecture(8, 128, 512, 8, 2, 16, 500, False),
    Architecture(4, 256, 512, 8, 8, 32, 500, False),
)


def random_model(a: Architecture) -> Any:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        hidden_size=a.hidden,
        num_hidden_layers=a.layers,
        intermediate_size=a.intermediate,
        num_attention_heads=a.heads,
        num_key_value_heads=a.kv_heads,
        vocab_size=a.vocab,
        tie_word_embeddings=a.tied,
        use_cache=False,
    )
    return Qwen2ForCausalLM(config).train()


class Phases(Live):
    """`Live` with a peak for each phase."""

    def __init__(self, known: Any) -> None:
        super().__init__(known)
        self.phase, self.peaks = "forward", {"forward": 0, "backward": 0}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = super().__torch_dispatch__(func, types, args, kwargs)
        self.peaks[self.phase] = max(self.peaks[self.phase], self.now)
        return out


def measured(shape: Architecture, how: Mode, *, checkpointing: bool, padded: bool, cache: bool) -> dict[str, int]:
    """Peaks of a forward and a backward pass over 2 x 128 tokens. `cache`: autocast keeps its copies of weights."""
    torch.manual_seed(0)
    model, rows, width = random_model(shape), *BATCH
    if checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    ids = torch.randint(0, shape.vocab, (rows, width))
    mask = torch.ones(rows, width, dtype=torch.long)
    if padded:
        mask[0, : width // 2] = 0
    gc.collect()
    with Phases([*model.parameters(), *model.buffers(), *(p.grad for p in model.parameters())]) as live:
        with torch.autocast("cpu", torch.bfloat16, enabled=how == "autocast", cache_enabled=cache):
            hidden = model.model(ids, attention_mask=mask).last_hidden_state
        loss = hidden.float().square().mean()
        live.phase = "backward"
        loss.backward()
    return live.peaks


BATCH = (2, 128)
TOKENS = 2 * 128


def copies_are_cached() -> bool:
    """Whether autocast here keeps the copy of a weight until its context ends (it did in torch 2.13)."""
    layer, x = torch.nn.Linear(64, 64, bias=False), torch.randn(2, 64)
    with Live([layer.weight, x]) as live, torch.autocast("cpu", torch.bfloat16, cache_enabled=True):
        out = layer(x)
        del out
        return live.now >= 2 * 64 * 64


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("how", ["float32", "autocast"])
def test_activations_match_measured_peaks(shape: Architecture, padded: bool, how: Mode) -> None:
    live = measured(shape, how, checkpointing=False, padded=padded, cache=True)
    copies = 2 * shape.layer * shape.layers if how == "autocast" else 0  # bfloat16 copies of the layers' weights
    expected = activations(shape, TOKENS, how, checkpointing=False, padded=padded) + copies
    assert max(live.values()) == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize(("shape", "padded"), [(SHAPES[0], False), (SHAPES[1], True)])
def test_recomputed_layers_match_measured_peaks(shape: Architecture, padded: bool) -> None:
    """The backward pass holds one layer at a time, beside the gradients of a few activations and one weight, which the
    count leaves out. The forward pass under autocast the copies of all weights, where the cache keeps them."""
    for how, copy in (("float32", 0), ("autocast", 2 * shape.layer)):
        expected = activations(shape, TOKENS, how, checkpointing=True, padded=padded) + copy  # type: ignore[arg-type]
        for cache in (True, False) if how == "autocast" else (False,):  # in float32 nothing is copied
            live = measured(shape, how, checkpointing=True, padded=padded, cache=cache)  # type: ignore[arg-type]
            assert 0.98 * expected <= live["backward"] <= 1.3 * expected
            if not cache:  # one weight's copy at a time: the forward pass is not the peak
                assert live["forward"] < live["backward"]
            elif how == "autocast" and copies_are_cached():
                assert live["forward"] == pytest.approx(forward_end(shape, TOKENS), rel=0.08)
                assert live["forward"] > live["backward"]


def test_logits_match_measured_peaks() -> None:
    from trl.trainer.utils import selective_log_softmax

    a, tokens = Architecture(1, 32, 32, 1, 1, 32, 20_000, False), 64
    for how, temperature in (("float32", 1.0), ("float32", 0.7), ("autocast", 1.0), ("autocast", 0.7)):
        head, hidden = torch.nn.Linear(32, a.vocab, bias=False), torch.randn(1, tokens, 32)
        head.weight.grad = torch.zeros_like(head.weight)
        copy = 2 * a.vocab * 32 if how == "autocast" else 0  # the head's weights in bfloat16
        with Live([head.weight, head.weight.grad, hidden]) as live:
            with torch.autocast("cpu", torch.bfloat16, enabled=how == "autocast"):
                out = head(hidden)
            out = out.float()  # as accelerate does with the outputs of a model under autocast
            scores = out if temperature == 1 else out / temperature
            selective_log_softmax(scores, torch.zeros(1, tokens, dtype=torch.long)).mean().backward()
        measured = live.peak - copy
        expected = logits(a, tokens, how, fused=False, scaled=temperature != 1)  # type: ignore[arg-type]
        assert measured == pytest.approx(expected, rel=0.02), (how, temperature, measured / tokens / a.vocab)


@pytest.mark.parametrize("how", ["float32", "autocast"])
@pytest.mark.parametrize(("vocab", "tokens"), [(3000, 5000), (40_000, 500)])  # more than one tile, either way
def test_trls_head_matches_measured_peaks(how: Mode, vocab: int, tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from trl.kernels import chunked_logprob
    from trl.trainer.utils import add_fused_lm_head

    from harness.backends.trl.needs import TILE

    assert TILE[0] == chunked_logprob.TOKEN_CHUNK_SIZE
    # on a GPU these work in place. Torch's operations, which take their place on a CPU, make copies of a tile
    for name in ("_forward_tile", "_backward_tile", "_addmm_fp32"):
        monkeypatch.setattr(chunked_logprob, name, lambda *args, **kwargs: None)
    a = Architecture(1, 64, 32, 1, 1, 64, vocab, False)
    model = random_model(a)
    add_fused_lm_head(model, outputs=("log_probs", "entropy"))
    hidden = torch.randn(1, tokens + 1, a.hidden, requires_grad=True)
    hidden.grad = torch.zeros_like(hidden)
    model.model.forward = lambda *args, **kwargs: type("Out", (), {"last_hidden_state": hidden})()
    model.lm_head.weight.grad = torch.zeros_like(model.lm_head.weight)
    labels = torch.zeros(1, tokens + 1, dtype=torch.long)
    with Live([*model.parameters(), model.lm_head.weight.grad, hidden, hidden.grad, labels]) as live:
        with torch.autocast("cpu", torch.bfloat16, enabled=how == "autocast"):
            out = model(labels=labels, fused_lm_head=True)
        out.log_probs.mean().backward()
    assert live.peak == pytest.approx(fused_head(a, tokens, how), rel=0.05)


@pytest.mark.parametrize(
    ("name", "total", "without_embeddings"),
    # Qwen2.5 technical report (arXiv 2412.15115) and Qwen's model cards. Qwen3's and Llama's cards
    [
        ("Qwen/Qwen2.5-1.5B", 1.54, 1.31),
        ("Qwen/Qwen2.5-3B", 3.09, 2.77),
        ("Qwen/Qwen2.5-7B", 7.61, 6.53),
        ("Qwen/Qwen2.5-14B", 14.7, 13.1),
        ("Qwen/Qwen2.5-32B", 32.5, 31.0),
        ("Qwen/Qwen3-8B-Base", 8.2, 6.95),
        ("Qwen/Qwen3-14B-Base", 14.8, 13.2),
        ("Qwen/Qwen3-32B", 32.8, 31.2),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507", 235, 234),
        ("meta-llama/Llama-3.1-8B", 8.03, 6.98),
    ],
)
def test_parameters_are_those_of_the_model_cards(name: str, total: float, without_embeddings: float) -> None:
    a = shape_of(name)
    assert a.parameters / 1e9 == pytest.approx(total, rel=0.01)
    assert (a.parameters - a.embeddings) / 1e9 == pytest.approx(without_embeddings, rel=0.01)


def test_states_of_a_7b_by_hand() -> None:
    (job,) = resolve("egsw", scale="paper", models=["math-7b"], arms=["grpo"], seeds=[0])
    assert job.experiment is not None
    a = shape_of("Qwen/Qwen2.5-Math-7B")
    n = 7.615e9
    # one GPU, autocast, no checkpointing: float32 weights 4N and bfloat16 copies of the layers (6.53e9, as Qwen counts
    # without embeddings), gradients 4N, moments 8N
    whole = states(a, job.experiment, TrlHardware(), "autocast")
    assert whole["weights"] == pytest.approx(4 * n + 2 * 6.53e9, rel=1e-3)
    assert whole["gradients"] == pytest.approx(4 * n, rel=1e-3)
    assert whole["optimiser"] == pytest.approx(8 * n, rel=1e-3)
    # ZeRO-3 over 8: gradients 4N / 8, masters and moments 12N / 8
    sharded = states(a, job.experiment, TrlHardware(processes=8, deepspeed="zero3"), "bfloat16")
    assert sharded["gradients"] == pytest.approx(n / 2, rel=1e-3)
    assert sharded["optimiser"] == pytest.approx(1.5 * n, rel=1e-3)
    offloaded = states(a, job.experiment, TrlHardware(processes=8, deepspeed="zero3_offload"), "bfloat16")
    assert offloaded["optimiser"] == offloaded["gradients"] == 0
    # 16 x 22,528 tokens in one pass: 109.6 GB of bfloat16 logits, and four times that with gradients and copies
    assert logits(a, 16 * 22528, "bfloat16", fused=False, scaled=False) == pytest.approx(4 * 109.6e9, rel=1e-3)


def test_more_sharding_checkpointing_and_smaller_batches_never_need_more() -> None:
    (job,) = resolve("egsw", scale="paper", models=["math-7b"], arms=["grpo"], seeds=[0])
    assert job.experiment is not None
    a, memory = shape_of("Qwen/Qwen2.5-Math-7B"), GPUS["h100"].memory

    def peak(**values: Any) -> float:
        hardware = TrlHardware(processes=8, device="gpu", rollouts="vllm_colocate", **values)
        return need(a, job.experiment, hardware, memory).peak  # type: ignore[arg-type]

    stages = [
        peak(micro_batch=4, gradient_checkpointing=True, deepspeed=stage)
        for stage in (None, "zero2", "zero3", "zero3_offload")
    ]
    assert stages == sorted(stages, reverse=True) and len(set(stages)) == 4
    batches = [peak(micro_batch=m, deepspeed="zero3") for m in (1, 2, 4, 8)]
    assert batches == sorted(batches)
    assert peak(micro_batch=4, gradient_checkpointing=True) < peak(micro_batch=4)


def test_layer_activations_of_a_mixture_count_the_active_experts() -> None:
    dense = Architecture(1, 64, 8 * 32, 4, 4, 16, 10, False)
    mixture = Architecture(1, 64, 32, 4, 4, 16, 10, False, experts=64, active_experts=8)
    assert layer_activations(mixture, "bfloat16", padded=False) == layer_activations(dense, "bfloat16", padded=False)
    assert mixture.active - mixture.hidden * 64 == dense.active  # but for the router


def test_a_sleeping_vllm_leaves_its_share_to_the_training() -> None:
    (job,) = resolve("egsw", scale="paper", models=["math-7b"], arms=["grpo"], seeds=[0])
    a, memory = shape_of("Qwen/Qwen2.5-Math-7B"), GPUS["h100"].memory
    awake, asleep = (
        need(a, job.experiment, TrlHardware(processes=8, rollouts="vllm_colocate", vllm_sleep=sleep), memory)
        for sleep in (False, True)
    )
    share = 0.3 * memory
    assert sum(awake.training.values()) - sum(asleep.training.values()) == pytest.approx(share)
    assert awake.sampling == asleep.sampling and awake.sampling["vllm"] == pytest.approx(share)


@pytest.mark.parametrize(
    ("rollouts", "phase", "gigabytes"),
    [("transformers", "training", 14.011), ("transformers", "sampling", 20.153), ("vllm_colocate", "training", 58.838)],
)
def test_peaks_on_an_h200(rollouts: Any, phase: str, gigabytes: float) -> None:
    """The peak of the tensors (torch.cuda.max_memory_allocated), in the second step of egsw's grpo at small scale with
    a model of Qwen2.5-0.5B's shape: prompts of about 161 tokens, all responses of 1,024, 16 at a time, TRL 1.16, torch
    2.11."""
    (job,) = resolve("egsw", scale="small", models=["math-7b"], arms=["grpo"], seeds=[0])
    assert isinstance(job.experiment, Experiment)
    e = replace(job.experiment, max_prompt_tokens=replace(job.experiment.max_prompt_tokens, value=161))
    hardware = TrlHardware(device="gpu", gradient_checkpointing=True, micro_batch=16, rollouts=rollouts)
    parts = getattr(need(shape_of("Qwen/Qwen2.5-0.5B"), e, hardware, GPUS["h200"].memory), phase)
    assert sum(parts.values()) == pytest.approx(gigabytes * 1e9, rel=0.03)


def test_an_objective_that_sees_the_likeliest_tokens_keeps_logits() -> None:
    """SimKO under TRL: seven float32 tensors of [tokens, vocabulary] more than with another objective."""
    dro, simko = resolve("baselines", scale="paper", arms=["dro", "simko"], seeds=[0])
    assert isinstance(dro.experiment, Experiment) and isinstance(simko.experiment, Experiment)
    shape, hardware = shape_of("Qwen/Qwen2.5-0.5B"), TrlHardware(micro_batch=1)
    plain, seeing = (need(shape, e, hardware, GPUS["h200"].memory) for e in (dro.experiment, simko.experiment))
    tokens = simko.experiment.max_prompt_tokens.value + simko.experiment.max_completion_tokens.value
    more = seeing.training["logits"] - plain.training["logits"]
    assert more == pytest.approx(7 * 4 * tokens * shape.vocab)
