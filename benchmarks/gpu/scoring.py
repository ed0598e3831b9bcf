"""The token pass compared with a copy and with TRL's output head; each declared method's cost as a share of a step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from benchmarks.gpu.bench import COPY_LIMIT, VOCABULARY, Bench, random_model
from harness.spec import Experiment, Method, catalogue
from harness.spec.architecture import Architecture

if TYPE_CHECKING:
    from harness.step.batch import TokenBatch


def tokens(bench: Bench) -> Iterator[dict[str, Any]]:
    """The token pass over 16k tokens and a vocabulary of 151,936: time, and bytes of logits per second compared with a
    copy; and TRL's log-probabilities with entropy, from logits (by its GPU kernel if available) and by the fused head
    of its trainer."""
    import torch
    from trl.trainer.utils import add_fused_lm_head

    from evals.analysis.token_pass import Encoded, read_tokens

    s = bench.sizes
    vocabulary = VOCABULARY if bench.device == "cuda" else 512
    shape = Architecture(2, s.width, 2 * s.width, 8, 2, s.width // 8, vocabulary, True)
    torch.manual_seed(0)
    model = random_model(shape, bench.device).to(torch.bfloat16 if bench.device == "cuda" else torch.float32).eval()
    ids = torch.randint(vocabulary, (s.tokens + 1,), generator=torch.Generator().manual_seed(0))
    rows = [Encoded(tuple(ids.tolist()), ("",) * s.tokens)]
    size = {"tokens": s.tokens, "vocabulary": vocabulary}
    bench.peak(reset=True)
    ours = bench.seconds(lambda: read_tokens(model, rows, mass=0.95, progress=False), rounds=3)
    logit_bytes = s.tokens * vocabulary * 4
    yield {
        **size, "what": "token pass", "seconds": ours, "logit_bytes_per_second": logit_bytes / ours,
        "share_of_copy_limit": logit_bytes / ours / COPY_LIMIT, "peak_bytes": bench.peak(),
    }  # fmt: skip
    yield {**size, **copy_and_kernel(bench, min(s.tokens, 4096), vocabulary)}
    add_fused_lm_head(model, outputs=("log_probs", "entropy"))
    whole = ids.unsqueeze(0).to(bench.device)
    bench.peak(reset=True)
    with torch.no_grad():
        fused = bench.seconds(lambda: model(input_ids=whole, labels=whole, fused_lm_head=True), rounds=3)
        body = bench.seconds(lambda: model.model(input_ids=whole, use_cache=False), rounds=3)
    yield {
        **size, "what": "TRL's fused head", "seconds": fused, "seconds_of_the_layers": body,
        "token_pass_over_trl": ours / fused, "peak_bytes": bench.peak(),
    }  # fmt: skip


def copy_and_kernel(bench: Bench, rows: int, vocabulary: int) -> dict[str, Any]:
    """A copy of logits, and TRL's log-probabilities with entropy of the same logits."""
    import torch
    from trl.trainer.utils import selective_log_softmax_and_entropy

    logits = torch.randn(rows, vocabulary, device=bench.device)
    index = torch.randint(vocabulary, (rows,), device=bench.device)
    copy = bench.seconds(lambda: logits.clone())
    kernel = bench.seconds(lambda: selective_log_softmax_and_entropy(logits, index, entropy_requires_grad=False))
    return {
        "what": "copy and TRL's kernel",
        "rows": rows,
        "copy_bytes_per_second": 2 * logits.nbytes / copy,
        "trl_seconds": kernel,
        "trl_bytes_per_second": logits.nbytes / kernel,
    }


def methods(bench: Bench) -> Iterator[dict[str, Any]]:
    """Seconds of each declared method's equations on a batch of the papers' size (once per step), and their share of
    the step of each shape that `steps` measured, for the same number of tokens."""
    batch = random_batch(bench)
    shape = {"batch": bench.sizes.batch, "length": bench.sizes.length, "tokens": int(batch.mask.sum())}
    for name, method in declared_methods().items():
        try:
            seconds = bench.seconds(lambda method=method: method.apply(batch), rounds=3)  # type: ignore[misc]
        except ValueError as error:  # for example, a method that needs a critic's values
            yield {"method": name, "skipped": str(error)[:200]}
            continue
        share = {of: seconds / (shape["tokens"] * each) for of, each in bench.token_seconds.items()}
        yield {"method": name, **shape, "seconds": seconds, "share_of_step": share or None}


def declared_methods() -> dict[str, Method]:
    """paper/arm -> its method; one arm for each distinct set of equations and values."""
    methods_of: dict[str, Method] = {}
    seen = set()
    for paper in catalogue.papers():
        for arm in catalogue.load(paper).arms:
            if isinstance(arm.train, Experiment):
                uses = arm.train.method.uses()
                key = repr([(u.name, sorted((k, v.value) for k, v in u.values.items())) for u in uses])
                if key not in seen:
                    seen.add(key)
                    methods_of[f"{paper}/{arm.key}"] = arm.train.method
    return methods_of


def random_batch(bench: Bench) -> TokenBatch:
    """Responses between half and full length, with every signal that methods read."""
    import torch

    from harness.step.batch import TokenBatch

    s = bench.sizes
    torch.manual_seed(0)
    shape = (s.batch, s.length)
    groups = torch.arange(s.batch, device=bench.device) // 8

    def field() -> torch.Tensor:
        return torch.rand(shape, device=bench.device)

    ends = torch.randint(s.length // 2, s.length + 1, (s.batch, 1), device=bench.device)
    return TokenBatch(
        rewards=torch.randint(0, 2, (s.batch,), device=bench.device).float(),
        groups=groups,
        mask=torch.arange(s.length, device=bench.device) < ends,
        vocab_size=VOCABULARY,
        max_tokens=s.length,
        micro_batches=groups,
        entropies=3 * field(),
        logp=-3 * field(),
        old_logp=-3 * field(),
        ref_logp=-3 * field(),
        rollout_logp=-3 * field(),
        values=field(),
    )
