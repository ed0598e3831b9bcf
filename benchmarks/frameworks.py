"""How far the GRPO of eight frameworks differ on one identical batch: `python -m benchmarks.frameworks [--write]`.

The tiny base model answers tiny problems. Its responses are graded. The policy and the reference are the base model
with a little noise in the weights, so that ratios are not 1 and the KL term is not 0. Each arm of
`baselines.frameworks` gives the gradient of its own loss on this batch with respect to the policy's weights.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from baselines.frameworks import DIFFERS, FILTERS, frameworks
from baselines.paper import RECIPE
from benchmarks.pages import ROOT, made_by, write
from evals.notebook import markdown_table
from harness.backends.method_step import SHAPED, apply_method, micro_batch_loss
from harness.spec import Experiment
from harness.step.batch import TokenBatch

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PROMPTS, GROUP, LENGTH = 16, 8, 64
POLICY_NOISE, REFERENCE_NOISE = 0.01, 0.02  # relative to each weight matrix's own deviation
PAGE = ROOT / "results" / "frameworks.md"


def noisy(model: PreTrainedModel, share: float, seed: int) -> PreTrainedModel:
    """A copy of the model with normal noise in every weight."""
    from copy import deepcopy

    copy, generator = deepcopy(model), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in copy.parameters():
            weight += share * weight.std() * torch.randn(weight.shape, generator=generator)
    return copy


def log_probabilities(model: PreTrainedModel, ids: Tensor, attention: Tensor) -> Tensor:
    """[B, LENGTH]: of the last LENGTH tokens."""
    logits = model(input_ids=ids, attention_mask=attention).logits[:, -LENGTH - 1 : -1]
    chosen: Tensor = logits.log_softmax(-1).gather(-1, ids[:, -LENGTH:].unsqueeze(-1)).squeeze(-1)
    return chosen


def sampled() -> tuple[PreTrainedModel, Tensor, Tensor, TokenBatch]:
    """(policy, token ids, attention mask, the batch of its method)."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from evals.data import prompts
    from evals.grading import Grader
    from harness.backends.common import prompt_rows
    from harness.data.base_models import locate
    from harness.step.rewards import score_responses
    from tests.experiments import experiment

    base = locate("tiny")
    tokenizer = AutoTokenizer.from_pretrained(base, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32).eval()
    declared = experiment()
    rows = prompt_rows(declared, tokenizer, seed=0)[0][:PROMPTS]
    encoded = tokenizer([row["prompt"] for row in rows for _ in range(GROUP)], return_tensors="pt", padding=True)
    torch.manual_seed(0)
    ids = model.generate(
        **encoded, do_sample=True, min_new_tokens=0, max_new_tokens=LENGTH, pad_token_id=tokenizer.pad_token_id
    )
    ids = torch.nn.functional.pad(ids, (0, encoded["input_ids"].shape[1] + LENGTH - ids.shape[1]))
    responses = ids[:, -LENGTH:]
    ended = (responses == tokenizer.eos_token_id).cumsum(1)
    mask = (ended == 0) | (ended == 1) & (responses == tokenizer.eos_token_id)
    attention = torch.cat([encoded["attention_mask"], mask.long()], dim=1)
    texts = [tokenizer.decode(row[keep], skip_special_tokens=True) for row, keep in zip(responses, mask, strict=True)]
    golds = [row["answer"] for row in rows for _ in range(GROUP)]
    grader = Grader()
    policy = prompts.get(declared.prompt.value).policy
    scores = score_responses(("accuracy",), texts, golds, grader, policy=policy)["accuracy"]
    trained, reference = noisy(model, POLICY_NOISE, 1), noisy(model, REFERENCE_NOISE, 2)
    with torch.no_grad():
        old_logp = log_probabilities(model, ids, attention)
        batch = TokenBatch(
            rewards=torch.tensor([float("nan") if s is None else s for s in scores]),
            groups=torch.arange(len(scores)) // GROUP,
            mask=mask,
            vocab_size=model.config.vocab_size,
            max_tokens=LENGTH,
            step=0,
            seed=0,
            logp=log_probabilities(trained, ids, attention),
            old_logp=old_logp,
            ref_logp=log_probabilities(reference, ids, attention),
        )
    return trained, ids, attention, batch


def gradient(e: Experiment, policy: PreTrainedModel, ids: Tensor, attention: Tensor, batch: TokenBatch) -> Tensor:
    """The gradient of the experiment's loss on the batch, all weights in one vector, float64."""
    applied = apply_method(e, batch, 0.0)
    logp = log_probabilities(policy, ids, attention).masked_fill(~batch.mask, 0.0)
    loss = micro_batch_loss(
        e,
        logp,
        batch.need("old_logp"),
        {name: getattr(applied.shaped, name) for name in SHAPED},
        batch.mask,
        ref_logp=batch.need("ref_logp"),
        entropies=logp,
        coefficient=0.0,
    )
    return torch.cat([part.flatten().double() for part in torch.autograd.grad(loss, [*policy.parameters()])])


def described(e: Experiment) -> list[str]:
    """The values that differ: advantage, epsilon, KL, clip, aggregation."""
    method = e.method
    values = {key: source.value for use in method.uses() for key, source in use.values.items()}
    advantage = {"none": "r - mean", "sample": "/ std, n - 1"}.get(str(values.get("std")), "mean, std of the others")
    shaped = "".join(f", then {use.name}" for use in method.shaping)
    in_reward = next(
        (f"{u.values['beta'].value:g} k1 in the reward" for u in method.shaping if "beta" in u.values), None
    )
    kl = f"{e.kl_beta.value:g} k3 in the loss" if e.kl_beta.value else "none"
    clip = f"{e.clip_low.value:g}" if e.clip_low.value is not None else f"TV {values.get('low', 0):g}"
    dual = f", dual {e.dual_clip.value:g}" if e.dual_clip.value else ""
    return [advantage + shaped, f"{values.get('epsilon', 0):g}", in_reward or kl, clip + dual, method.aggregation.value]


def page() -> str:
    policy, ids, attention, batch = sampled()
    arms = frameworks(RECIPE)
    vectors = {key: gradient(e, policy, ids, attention, batch) for key, (_, e) in arms.items()}
    reference = vectors["grpo_trl"]
    rows = []
    for key, (title, e) in arms.items():
        v = vectors[key]
        cosine = float(v @ reference / (v.norm() * reference.norm()))
        rows.append(
            [
                key,
                title.removeprefix("GRPO of "),
                *described(e),
                *FILTERS[key],
                f"{cosine:.4f}",
                f"{v.norm() / reference.norm():.3f}",
            ]
        )
    gaps = (batch.need("logp") - batch.need("old_logp"))[batch.mask]
    header = ["arm", "framework", "advantage", "epsilon", "KL term", "clip", "aggregation"]
    header += ["truncated masked", "groups filtered", "cosine", "norm ratio"]
    notes = "\n".join(f"- `{key}`: {text}." for key, text in DIFFERS.items())
    solved = float(batch.rewards.nanmean())
    made = made_by("python -m benchmarks.frameworks") if "--write" in sys.argv else ""
    return "\n\n".join(
        [
            "# What GRPO means in eight frameworks",
            made,
            "The table has the defaults of each framework at a stated commit. `baselines/frameworks.py` has the "
            "source of each value. Each framework has an arm (`rlvr run paper=baselines arm=grpo_verl`). You can "
            "also use its defaults in the arms of any paper (`rlvr run paper=egsw arm=grpo like=verl`). *Cosine* and "
            "*norm ratio* compare the gradient of its loss with the gradient of TRL's loss, on the same batch.",
            markdown_table(header, rows, left=9),
            f"The batch contains {PROMPTS} tiny problems with {GROUP} responses each of the tiny base model "
            f"({100 * solved:.0f} % correct). The log-ratios to the sampling policy have a deviation of "
            f"{float(gaps.std()):.3f}, so clipping hardly acts. **Tiny scale: a model of under 2M parameters on "
            "made-up arithmetic.** Our declarations differ from the frameworks in these points:",
            notes,
        ]
    )


def main() -> None:
    text = page()
    print(text)
    if "--write" in sys.argv[1:]:
        write(PAGE, text)


if __name__ == "__main__":
    main()
