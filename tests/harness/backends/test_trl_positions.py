"""A row's log-probabilities do not depend on the padding at its left, whatever the model's positions are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from evals.provenance import Origin
from tests.experiments import experiment, save_random_model
from tests.harness.backends.test_trl_trainer import make_trainer

pytestmark = pytest.mark.slow

PROMPT, RESPONSE = [5, 9, 3], [7, 4, 8, 6]
PADDED = 6  # the longest prompt of the padded batch: 3 positions of padding


def absolute(kind: str, folder: Path) -> Path:
    """A tiny random model with learned absolute positions, far from uniform, and the tiny tokenizer."""
    import transformers
    from transformers import AutoTokenizer

    save_random_model(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ends = {"bos_token_id": None, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    shared = {"vocab_size": len(tokenizer), **ends}
    torch.manual_seed(0)
    if kind == "gpt2":
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "initializer_range": 0.3}
        model: Any = transformers.GPT2LMHeadModel(transformers.GPT2Config(**shared, **sizes))
    else:  # its position ids come from the mask, and may be given
        sizes = {"hidden_size": 32, "word_embed_proj_dim": 32, "ffn_dim": 48, "num_hidden_layers": 2, "init_std": 0.3}
        heads = {"num_attention_heads": 4, "max_position_embeddings": 64}
        model = transformers.OPTForCausalLM(transformers.OPTConfig(**shared, **sizes, **heads))
    model.save_pretrained(folder)
    return folder


def micro_batch(width: int, pad: int) -> dict[str, torch.Tensor]:
    """Two rows: the short prompt padded to `width`, and a prompt of `width` tokens. Equal responses."""
    padding = width - len(PROMPT)
    long = list(range(2, 2 + width))
    return {
        "prompt_ids": torch.tensor([[pad] * padding + PROMPT, long]),
        "prompt_mask": torch.tensor([[0] * padding + [1] * len(PROMPT), [1] * width]),
        "completion_ids": torch.tensor([RESPONSE, RESPONSE]),
        "completion_mask": torch.ones(2, len(RESPONSE), dtype=torch.long),
    }


@pytest.fixture(params=["rotary", "gpt2", "opt"])
def model_path(request: pytest.FixtureRequest, random_model: Path, tmp_path: Path) -> Path:
    return random_model if request.param == "rotary" else absolute(request.param, tmp_path / "model")


@pytest.mark.parametrize("adapter", [None, 4], ids=["all weights", "adapter"])
def test_log_probabilities_do_not_depend_on_padding(model_path: Path, adapter: int | None, tmp_path: Path) -> None:
    """The slow side is the model's own forward pass over the short row alone, without padding."""
    import peft
    from transformers import AutoModelForCausalLM

    declared = replace(experiment().override({"kl_beta": 0.04}, Origin.USER, "a test"))
    lora = None if adapter is None else peft.LoraConfig(r=adapter, target_modules="all-linear")
    trainer = make_trainer(declared, model_path, tmp_path / "run", None, peft_config=lora)
    trainer.model.eval()  # without dropout
    trainer.temperature = 1.0
    padded = micro_batch(PADDED, trainer.processing_class.pad_token_id)
    plain = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32).eval()
    with torch.no_grad():
        logp, entropies = trainer._signals(trainer.model, padded)
        squared = trainer._pi_squared(padded)
        alone = plain(input_ids=torch.tensor([PROMPT + RESPONSE])).logits[0, -len(RESPONSE) - 1 : -1].log_softmax(-1)
        want = alone.gather(-1, torch.tensor(RESPONSE).unsqueeze(-1)).squeeze(-1)
        assert logp[0] == pytest.approx(want, abs=1e-4)
        assert entropies[0] == pytest.approx(-(alone.exp() * alone).sum(-1), abs=1e-4)
        assert squared[0] == pytest.approx(alone.exp().square().sum(-1), abs=1e-4)
        if trainer.ref_model is not None:
            ids, mask = (torch.cat([padded[f"prompt_{x}"], padded[f"completion_{x}"]], 1) for x in ("ids", "mask"))
            reference = trainer._get_per_token_logps_and_entropies(trainer.ref_model, ids, mask, len(RESPONSE))[0]
            assert reference[0] == pytest.approx(want, abs=1e-4)


def test_sampling_does_not_depend_on_padding(model_path: Path) -> None:
    """Greedy responses to a short prompt are equal, alone and beside a longer one. Through both ways of rollouts."""
    from transformers import AutoModelForCausalLM

    from evals.sampling.engines.transformers import decode

    model = AutoModelForCausalLM.from_pretrained(model_path, dtype=torch.float32).eval()
    long = list(range(2, 2 + PADDED))

    def sampled(prompts: list[list[int]]) -> list[int]:
        rows = [tuple(prompt) for prompt in prompts]
        return decode(model, rows, [8] * len(rows), [], 0, lambda logits, *_: logits.argmax(-1))[0][0]

    padded = torch.tensor([[0] * (PADDED - len(PROMPT)) + PROMPT, long])
    mask = torch.tensor([[0] * (PADDED - len(PROMPT)) + [1] * len(PROMPT), [1] * PADDED])
    how: dict[str, Any] = {"do_sample": False, "min_new_tokens": 8, "max_new_tokens": 8, "eos_token_id": None}
    generated = model.generate(padded, attention_mask=mask, pad_token_id=0, **how)[0, PADDED:].tolist()
    assert sampled([PROMPT, long]) == sampled([PROMPT]) == generated
