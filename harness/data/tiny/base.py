"""Train a tiny base model: a small Qwen2, from scratch, on its family's supervised mixture.

The base models of runs are shipped (`harness.data.tiny.pinned`), because another type of CPU rounds differently and
trains another model. This file made them:

    python -m harness.data.tiny.base tiny FOLDER    trains it again (about four minutes of two cores) and compares
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from harness.data.tiny import FAMILIES, family, tokenizer

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import Qwen2ForCausalLM, Qwen2Tokenizer

IGNORED = -100  # label of a token that the loss skips (torch's cross_entropy)
Row = tuple[list[int], list[int]]  # token ids of a prompt and of its answer


@dataclass(frozen=True)
class BaseSettings:
    """All settings that decide the base model, except the seed; ``threads`` counts because the order of a sum decides
    its last bits."""

    hidden: int = 128
    intermediate: int = 384
    layers: int = 2
    heads: int = 4
    positions: int = 256
    initial_std: float = 0.08
    practice_steps: int = 500
    mixture_steps: int = 200
    batch: int = 64
    micro_batches: int = 2
    learning_rate: float = 3e-3
    warmup_steps: int = 30
    weight_decay: float = 0.01
    gradient_norm: float = 1.0
    threads: int = 2

    @property
    def steps(self) -> int:
        return self.practice_steps + self.mixture_steps


def train_base(name: str, seed: int, settings: BaseSettings) -> tuple[Qwen2ForCausalLM, Qwen2Tokenizer]:
    """Train the base model of a family from scratch; global random state and thread count stay as they were."""
    import torch
    from tqdm import trange

    module = family(name)
    words = tokenizer.build_tokenizer(module.pieces())
    practice, mixture = module.practice_pairs(seed), module.supervised_pairs(seed)
    with fixed_threads(settings.threads), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = new_model(words, settings)
        optimiser = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: rate_factor(step, settings))
        for step in trange(settings.steps, desc=f"base model {name}"):
            pairs = practice if step < settings.practice_steps else mixture
            optimiser.zero_grad()
            accumulate_gradient(model, encoded(words, list(islice(pairs, settings.batch))), settings)
            torch.nn.utils.clip_grad_norm_(model.parameters(), settings.gradient_norm)
            optimiser.step()
            schedule.step()
    return model.eval(), words


def accumulate_gradient(model: Qwen2ForCausalLM, rows: list[Row], settings: BaseSettings) -> float:
    """Add the gradient of the mean loss per answer token over ``rows``; returns that loss.

    Rows of similar length go together in one of ``micro_batches``, which saves padding and changes nothing else.
    """
    rows = sorted(rows, key=lambda row: len(row[0]) + len(row[1]))
    answer_tokens = sum(len(answer) for _, answer in rows)
    size = -(-len(rows) // settings.micro_batches)
    total = 0.0
    for start in range(0, len(rows), size):
        ids, labels = padded(rows[start : start + size])
        loss = model(input_ids=ids, labels=labels, num_items_in_batch=answer_tokens).loss
        loss.backward()
        total += loss.item()
    return total


def rate_factor(step: int, settings: BaseSettings) -> float:
    """Linear warm-up, then a linear decay to zero."""
    return min(1.0, (step + 1) / settings.warmup_steps, 1 - step / settings.steps)


def new_model(words: Qwen2Tokenizer, settings: BaseSettings) -> Qwen2ForCausalLM:
    """An untrained model; its weights are sampled from torch's global generator."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(words),
            hidden_size=settings.hidden,
            intermediate_size=settings.intermediate,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            num_key_value_heads=settings.heads,
            max_position_embeddings=settings.positions,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
            tie_word_embeddings=True,
            initializer_range=settings.initial_std,
            bos_token_id=None,
            eos_token_id=words.eos_token_id,
            pad_token_id=words.pad_token_id,
        )
    )


def encoded(words: Qwen2Tokenizer, pairs: list[tuple[str, str]]) -> list[Row]:
    """Token ids of prompt and answer. The chat template renders the prompt, so that training and use have the same
    prompts; the answer ends with the end-of-sequence token."""
    chats = [[{"role": "user", "content": problem}] for problem, _ in pairs]
    prompts = words(words.apply_chat_template(chats, add_generation_prompt=True, tokenize=False)).input_ids
    answers = words([answer + tokenizer.EOS for _, answer in pairs]).input_ids
    return list(zip(prompts, answers, strict=True))


def padded(rows: list[Row]) -> tuple[Tensor, Tensor]:
    """Token ids and labels, both [B, T], padded on the right; prompt and padding are labelled ``IGNORED``.

    No attention mask is needed: attention is causal, so no token sees the padding after it.
    """
    import torch

    longest = max(len(prompt) + len(answer) for prompt, answer in rows)
    ids = torch.zeros((len(rows), longest), dtype=torch.long)
    labels = torch.full((len(rows), longest), IGNORED)
    for i, (prompt, answer) in enumerate(rows):
        ids[i, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
        labels[i, len(prompt) : len(prompt) + len(answer)] = torch.tensor(answer)
    return ids, labels


@contextmanager
def fixed_threads(threads: int) -> Iterator[None]:
    """Run torch with this many threads inside the block."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def main(name: str, out: str) -> int:
    """Train a pinned base model again, keep it in the folder `out` and print whether it equals the pinned one."""
    from evals.fingerprint import model_fingerprint
    from harness.data.tiny.pinned import PINNED

    for part in train_base(name, 0, BaseSettings()):
        part.save_pretrained(out)
    today = model_fingerprint(Path(out))
    print(f"{name}: trained here, the model is {today[:12]}, and the pinned one {PINNED[name][:12]}")
    return int(today != PINNED[name])


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in FAMILIES:
        sys.exit(f"usage: python -m harness.data.tiny.base {{{','.join(FAMILIES)}}} FOLDER")
    sys.exit(main(*sys.argv[1:]))
