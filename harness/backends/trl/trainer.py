"""Our methods inside TRL's GRPOTrainer.

TRL samples, scores, and computes log-probabilities and entropies. Advantage, shaping, weights and loss come from our
functions, which every backend uses. A method gets the sequences of one whole optimiser step (all micro-batches, all
processes), because a softmax over the batch or a statistic of a group is meaningless on a slice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from accelerate.utils import gather_object
from torch import Tensor
from transformers import AutoModelForCausalLM, Qwen2ForCausalLM
from trl import GRPOTrainer
from trl.models import unwrap_model_for_generation

from evals.data.prompts import get as named
from evals.files import write_json
from evals.sampling.engines.base import EngineError
from evals.sampling.engines.encode import before_stop, ended_after, prompt_tokens, texts_of
from evals.sampling.engines.transformers import as_generate, by_text, decode
from harness.backends.common import RESPONSE, is_self_taught
from harness.backends.method_step import SHAPED, apply_method, micro_batch_loss
from harness.backends.trl.common import StopAtNonFinite
from harness.backends.trl.positions import positioned
from harness.spec import Experiment
from harness.step.batch import DRAWS, SEQUENCE_SIGNALS, TokenBatch
from harness.step.draws import response_draws
from harness.step.finite import Diverged
from harness.step.likeliest import Distribution, likeliest_tokens
from harness.step.loss import clipped_tokens, k3
from harness.step.mismatch import mismatch_metrics
from harness.step.step_metrics import correct_responses

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Inputs = dict[str, Any]  # a batch in TRL: tensors by name, and lists of other columns
Turn = Callable[[list[list[int]]], tuple[Any, Any]]
"""Prompts, in token ids -> their responses, and what TRL has beside them."""

# The most probable token, whatever the generation configuration of the base model says
GREEDY: dict[str, Any] = {
    "do_sample": False,
    "num_beams": 1,
    "top_p": None,
    "top_k": None,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
}
LEAST_ROWS = 16  # a matrix product of fewer rows uses a kernel that rounds differently from `generate`'s
SEARCH_FILE, REFERENCE_FILE = "entropy_search.json", "reference.pt"  # in a checkpoint, if needed


class MethodTrainer(StopAtNonFinite, GRPOTrainer):
    """GRPOTrainer that trains `experiment.method`.

    A method that reads entropies or log-probabilities gets those of the current policy, on the whole step, before any
    update. The first micro-batch's come from the loss's own pass. The others get an extra pass without gradients.
    """

    # a hook, which a rehearsal sets: it samples in place of a turn, which it gets with the prompts
    around_turn: ClassVar[Callable[[MethodTrainer, Turn, list[list[int]]], tuple[Any, Any]] | None] = None

    def __init__(self, experiment: Experiment, *, reference_model: str | None = None, **kwargs: Any) -> None:
        """`reference_model`: folder or hub id. None: the model that is trained, as it is before the training."""
        self.experiment = experiment
        self._stop = named(experiment.prompt.value).stop  # texts that end a response
        self._ended_by_text: list[bool] = []  # the responses of this process's rollout
        self.phase = ""  # what is under way beside updates and the policy's log-probabilities, for `Pulse`
        self._buffered_inputs: list[Inputs] | None = None
        self._pending: list[Inputs] | None = None  # the next step, before its method has run
        self._entropies: list[Tensor] = []  # from the step's micro-batches so far
        self._sums: dict[str, Tensor] = {}  # from the micro-batches too: name -> (sum over tokens, tokens)
        self._rollout_gaps: list[Tensor] = []  # likewise, [3, b, T]: trainer's and sampler's log-probabilities, mask
        # the search for an entropy target: the coefficient of this step, and the start value of the next one
        self._coefficient = self._next_coefficient = experiment.entropy_coefficient.value
        self._teacher = reference_model
        super().__init__(**kwargs)

    @property
    def ref_model(self) -> object:
        """The reference. None: there is none, or it is the policy without its adapter."""
        return self._reference

    @ref_model.setter
    def ref_model(self, model: PreTrainedModel) -> None:
        # TRL creates it from the policy's own id, then wraps it. A teacher takes its place before
        if model is not None and self._teacher is not None:
            how = {"dtype": model.dtype, "attn_implementation": model.config._attn_implementation}
            model, self._teacher = AutoModelForCausalLM.from_pretrained(self._teacher, **how), None
        self._reference = model

    # -- rollout -------------------------------------------------------------------------------------------------

    def _calculate_rewards(
        self, inputs: list[Inputs], prompts: list[str], completions: list[str], ids: list[list[int]]
    ) -> Tensor:
        """Keep the rewards of all processes: TRL passes on only its own advantages. Rewards read what evaluations do:
        TRL's own text of a response has no marker of a thought where that is a special token."""
        with self._during("rewards"):
            texts = self._texts(ids)
            rewards: Tensor = super()._calculate_rewards(inputs, prompts, texts, ids)
        self._rewards_per_function = rewards
        names = [name for name in DRAWS if name in self.experiment.method.reads]
        how = {"policy": named(self.experiment.prompt.value).policy, "reasoning": self.experiment.reasoning.value}
        draws = [response_draws(names, prompt, text, **how) for prompt, text in zip(prompts, texts, strict=True)]
        self._draws = {name: torch.tensor([draw[name] for draw in draws], device=rewards.device) for name in names}
        return rewards

    def _texts(self, rows: list[list[int]]) -> list[str]:
        """The text of each response, without what ends it."""
        return [before_stop(text, self._stop) for text in texts_of(self.processing_class, rows)]

    def _tokenize_prompts(self, prompts: list[str]) -> tuple[list[list[int]], None, dict[str, object]]:
        """The same token ids as in every sampler. TRL would add a second beginning-of-text token."""
        tokens = {prompt: prompt_tokens(self.processing_class, prompt) for prompt in dict.fromkeys(prompts)}
        return [list(tokens[prompt]) for prompt in prompts], None, {}

    @contextmanager
    def _during(self, phase: str) -> Iterator[None]:
        """Let `phase` say what the model's passes are for, in the block."""
        self.phase = phase
        try:
            yield
        finally:
            self.phase = ""

    def _generate_single_turn(
        self, prompt_ids: list[list[int]], *arguments: object, **named: object
    ) -> tuple[object, object]:
        """TRL's method. A response ends with the token that completes a stop text of the prompt, as it ends with an end
        token.

        Raises:
            Diverged: the model's output is not finite.
        """

        def turn(prompts: list[list[int]]) -> tuple[Any, Any]:
            return self._sampled(prompts, *arguments, **named)

        around = type(self).around_turn
        responses, logps = turn(prompt_ids) if around is None else around(self, turn, prompt_ids)
        if not self._stop:
            return responses, logps
        ends = [ended_after(self.processing_class, row, self._stop) for row in responses]
        self._ended_by_text = [end is not None for end in ends]
        cut = [row[:end] for row, end in zip(responses, ends, strict=True)]
        return cut, None if logps is None else [row[:end] for row, end in zip(logps, ends, strict=True)]

    def _sampled(self, prompt_ids: list[list[int]], *arguments: object, **named: object) -> tuple[object, object]:
        """TRL's method. For a Qwen2 on a CPU the same responses from the same random numbers, in half the time. Also
        for other models on a CPU where texts end a response: `generate` reads no text, and goes on to the limit.

        Raises:
            Diverged: the model's output is not finite.
        """
        model, c = self.accelerator.unwrap_model(self.model_wrapped), self.args
        plain = c.top_p == 1 and not c.top_k and c.min_p is None and c.repetition_penalty == 1
        full_precision = model.dtype == torch.float32 and not c.bf16 and not c.fp16
        known = isinstance(model, Qwen2ForCausalLM) or bool(self._stop)
        exact = known and model.device.type == "cpu" and full_precision
        cached = not model.is_gradient_checkpointing and self.accelerator.num_processes == 1
        if self.use_vllm or not (plain and exact and cached):
            with self._during("sampling"):
                return super()._generate_single_turn(prompt_ids, *arguments, **named)  # type: ignore[no-any-return]
        try:
            with self._during("sampling"):
                responses, _ = decode(
                    model,
                    [tuple(prompt) for prompt in prompt_ids],
                    [self.max_completion_length] * len(prompt_ids),
                    self.eos_token_ids,
                    self.processing_class.pad_token_id,
                    as_generate(c.temperature, len(prompt_ids)),
                    least_rows=LEAST_ROWS,
                    ended=by_text(self.processing_class, self._stop) if self._stop else None,
                )
        except EngineError as error:
            raise Diverged(self.state.global_step + 1, "probability of a sampled token", "nan") from error
        return responses, None

    def _generate_and_score_completions(self, inputs: list[Inputs]) -> Inputs:
        try:
            output: Inputs = super()._generate_and_score_completions(inputs)
        except RuntimeError as error:
            if "probability tensor contains" not in str(error):  # torch.multinomial, of logits that are not finite
                raise
            raise Diverged(self.state.global_step + 1, "probability of a sampled token", "nan") from error
        if self._stop:  # TRL counts every response that ends without an end token as truncated
            by_text = torch.tensor(self._ended_by_text, device=self.accelerator.device)
            share = self.accelerator.gather(by_text.float()).mean().item()
            self._metrics["train"]["completions/clipped_ratio"][-1] -= share
        scored = self._rewards_per_function
        infinite = scored[scored.isinf()]  # NaN is a response that could not be scored
        if infinite.numel():
            raise Diverged(self.state.global_step + 1, "reward", str(infinite[0].item()))
        # A response that any reward function could not score has no reward: NaN, never 0.
        rewards = (scored * self.reward_weights.to(scored.device)).sum(dim=1)
        groups = torch.arange(len(rewards), device=rewards.device) // self.num_generations
        first = self.accelerator.process_index * len(inputs)
        output["rewards"] = rewards[first : first + len(inputs)]
        output["reward_parts"] = scored[first : first + len(inputs)].to(rewards.dtype)
        if self.experiment.old_policy.value == "sampler":
            output["old_per_token_logps"] = output["sampling_per_token_logps"]
        output["groups"] = groups[first : first + len(inputs)]
        output |= self._draws
        if "old_entropies" in self.experiment.method.reads and "old_per_token_logps" in output:
            output["old_entropies"] = self._now_entropies(output)  # before the updates that make it the old policy
        if "base_accuracy" in self.experiment.method.reads:
            shares = [float(row["base_accuracy"]) for row in inputs]
            output["base_accuracy"] = torch.tensor(shares, device=rewards.device)
        if "greedy_rewards" in self.experiment.method.reads:
            output["greedy_rewards"] = self._greedy_rewards(inputs).to(rewards.device)
        correct = correct_responses(dict(zip(self.experiment.rewards.value, scored.unbind(1), strict=True)))
        if correct is not None:
            output["correct"] = correct[first : first + len(inputs)]
            if is_self_taught(self.experiment):
                output["ref_per_token_logps"] = self._self_taught(inputs, output, correct.tolist())
        return output

    @torch.no_grad()
    def _now_entropies(self, output: Inputs) -> Tensor:
        """The policy's entropies at the completion tokens, [b, T], from a pass of its own."""
        return self._signals(self.model, output, batch_size=self.args.per_device_train_batch_size)[1]

    @torch.no_grad()
    def _self_taught(self, inputs: list[Inputs], output: Inputs, correct: list[float]) -> Tensor:
        """Log-probabilities of the responses, [b, T], under the policy with the first other correct response of the
        group in its prompt. Without one, with the prompt as it is.

        Args:
            correct: of the responses of all processes.
        """
        own_ids = [
            ids[mask.bool()] for ids, mask in zip(output["completion_ids"], output["completion_mask"], strict=True)
        ]
        responses = self.processing_class.batch_decode(own_ids, skip_special_tokens=True)
        texts = gather_object([before_stop(text, self._stop) for text in responses])
        ids = []
        for i, row in enumerate(inputs, start=self.accelerator.process_index * len(inputs)):
            first = i - i % self.num_generations
            solved = [j for j in range(first, first + self.num_generations) if correct[j] == 1 and j != i]
            text = row["with_response"].replace(RESPONSE, texts[solved[0]]) if solved else row["prompt"]
            ids.append({"input_ids": prompt_tokens(self.processing_class, text)})
        shown = self.processing_class.pad(ids, return_tensors="pt", padding_side="left").to(self.accelerator.device)
        taught = output | {"prompt_ids": shown["input_ids"], "prompt_mask": shown["attention_mask"]}
        return self._signals(self.model, taught, batch_size=self.args.per_device_train_batch_size)[0]

    @torch.no_grad()
    def _greedy_rewards(self, inputs: list[Inputs]) -> Tensor:
        """The reward of the greedy response to each row's prompt, [b]. The trainer generates one for each prompt."""
        rows = list({row["prompt"]: row for row in inputs}.values())
        ids = [{"input_ids": list(prompt_tokens(self.processing_class, row["prompt"]))} for row in rows]
        encoded = self.processing_class.pad(ids, return_tensors="pt", padding_side="left").to(self.accelerator.device)
        unwrapped = unwrap_model_for_generation(self.model_wrapped, self.accelerator)
        with self._during("greedy responses"), unwrapped as model:
            ends = {"eos_token_id": self.eos_token_ids, "pad_token_id": self.processing_class.pad_token_id}
            generated_ids = model.generate(**encoded, **GREEDY, max_new_tokens=self.max_completion_length, **ends)
        responses = generated_ids[:, encoded["input_ids"].size(1) :]
        texts = self._texts(responses.tolist())
        total = torch.zeros(len(rows))
        for function, weight in zip(self.reward_funcs, self.reward_weights.tolist(), strict=True):
            columns = {name: [row[name] for row in rows] for name in ("prompt", "answer")}
            scores = function(prompts=columns["prompt"], completions=texts, answer=columns["answer"])
            total += weight * torch.tensor([float("nan") if score is None else score for score in scores])
        reward_of = dict(zip((row["prompt"] for row in rows), total.tolist(), strict=True))
        return torch.tensor([reward_of[row["prompt"]] for row in inputs])

    def _prepare_inputs(self, generation_batch: Any) -> Inputs:
        """TRL's buffering with two differences: groups stay whole, and the method runs at the start of a step."""
        if not self.model.training:
            raise NotImplementedError("evaluation is done by `evals`, on saved checkpoints")
        micro_batches = self.args.steps_per_generation
        if self._step % micro_batches == 0 or self._buffered_inputs is None:
            rollout = self._generate_and_score_completions(generation_batch)
            self._buffered_inputs = _split(rollout, micro_batches)
        position = self._step % micro_batches
        window = self.args.gradient_accumulation_steps
        if position % window == 0:
            step = self._buffered_inputs[position : position + window]
            if self._reads_signals:
                self._pending = step  # `_compute_loss` gets the first one's signals from its own pass
            else:
                self._apply_method(step, None)
        inputs: Inputs = self._buffered_inputs[position]
        return inputs

    # -- method --------------------------------------------------------------------------------------------------

    @property
    def _reads_signals(self) -> bool:
        return not self.experiment.method.reads <= {*SEQUENCE_SIGNALS} or self.experiment.entropy_search is not None

    @torch.no_grad()
    def _apply_method(self, micro_batches: list[Inputs], first: tuple[Tensor, Tensor] | None) -> None:
        """Give each micro-batch of one optimiser step its part of the method's output for the whole step.

        `first`: log-probabilities and entropies of the first micro-batch, if its own pass has computed them.
        """
        fields: dict[str, Tensor] = {
            name: torch.cat([m[name] for m in micro_batches])
            for name in ("rewards", "reward_parts", "groups", *SEQUENCE_SIGNALS)
            if name in micro_batches[0]
        }
        fields["mask"] = torch.cat([m["completion_mask"] for m in micro_batches]).bool()
        sizes = torch.tensor([len(m["rewards"]) for m in micro_batches], device=fields["groups"].device)
        fields["micro_batches"] = torch.arange(len(micro_batches), device=sizes.device).repeat_interleave(sizes)
        if self._reads_signals:
            fields |= self._token_signals(micro_batches, first)
        rows, width = fields["mask"].shape
        fields = {name: self._gather(tensor) for name, tensor in fields.items()}
        batch = TokenBatch(
            vocab_size=self.model.config.vocab_size,
            max_tokens=self.max_completion_length,
            step=self.state.global_step,
            seed=self.args.seed,
            reward_weights=self.experiment.reward_weights.value,
            **fields,
        )
        applied = apply_method(self.experiment, batch, self._next_coefficient)
        self._coefficient, self._next_coefficient = applied.coefficient, applied.next_coefficient
        if self.experiment.entropy_search is not None:
            self._metrics["train"]["entropy_coefficient"].append(self._coefficient)
        self._applied, self._micro_batches = applied, len(micro_batches)
        start = self.accelerator.process_index * rows
        for micro in micro_batches:
            stop = start + len(micro["rewards"])
            for name in SHAPED:
                values = getattr(applied.shaped, name)
                micro[name] = None if values is None else values[start:stop, :width]
            start = stop

    def _token_signals(self, micro_batches: list[Inputs], first: tuple[Tensor, Tensor] | None) -> dict[str, Tensor]:
        """The signals of each token that the method reads, [b, T] each."""

        def stored(key: str, computed: tuple[Tensor, ...]) -> Tensor:
            return torch.cat([micro.get(key, value) for micro, value in zip(micro_batches, computed, strict=True)])

        signals = [] if first is None else [first]
        signals += [self._signals(self.model, micro) for micro in micro_batches[len(signals) :]]
        logp, entropies = zip(*((p.detach(), h.detach()) for p, h in signals), strict=True)
        fields = {"logp": torch.cat(logp), "entropies": torch.cat(entropies)}
        fields["old_logp"] = stored("old_per_token_logps", logp)
        if "old_entropies" in self.experiment.method.reads:
            fields["old_entropies"] = stored("old_entropies", entropies)
        if "pi_squared" in self.experiment.method.reads:
            fields["pi_squared"] = torch.cat([self._pi_squared(micro) for micro in micro_batches])
        for signal, of_trl in (("rollout_logp", "sampling_per_token_logps"), ("ref_logp", "ref_per_token_logps")):
            if of_trl in micro_batches[0]:
                fields[signal] = torch.cat([m[of_trl] for m in micro_batches])
        return fields

    def _gather(self, tensor: Tensor) -> Tensor:
        """[b, ...] of each process -> [B, ...] of all, token axes padded to the longest."""
        if self.accelerator.num_processes == 1:
            return tensor
        if tensor.dtype == torch.bool:  # padding makes integers of it, in the processes that pad alone
            return self._gather(tensor.int()).bool()
        for axis in range(1, tensor.dim()):
            tensor = self.accelerator.pad_across_processes(tensor, dim=axis)
        gathered: Tensor = self.accelerator.gather(tensor)
        return gathered

    def _pi_squared(self, micro: Inputs) -> Tensor:
        """The sum of the squared probabilities at each completion token, [b, T], from a pass of its own."""
        logits = self._logits(self.model, micro)
        squared: Tensor = ((2 * logits).logsumexp(-1) - 2 * logits.logsumexp(-1)).exp()
        return squared

    def _logits(self, model: object, micro: Inputs) -> Tensor:
        """At the completion tokens and the temperature, [b, T, V]: TRL's fused head keeps no logits."""
        ids = torch.cat([micro["prompt_ids"], micro["completion_ids"]], dim=1)
        attention = torch.cat([micro["prompt_mask"], micro["completion_mask"]], dim=1)
        with self.accelerator.autocast():
            logits: Tensor = positioned(model)(input_ids=ids, attention_mask=attention).logits
        scaled: Tensor = logits[:, -micro["completion_ids"].size(1) - 1 : -1].float() / self.temperature
        return scaled

    def _distribution(self, model: object, micro: Inputs) -> tuple[Tensor, Distribution]:
        """(log-probabilities of the completion tokens, [b, T], the whole distributions), in one pass with gradient."""
        logits, ids = self._logits(model, micro), micro["completion_ids"]
        logs = logits.log_softmax(-1)
        top, likeliest = likeliest_tokens(logits, self.experiment.method.likeliest)
        now = Distribution(-(logs.exp() * logs).sum(-1), top, ids == likeliest)
        return logs.gather(-1, ids.unsqueeze(-1)).squeeze(-1), now

    def _signals(self, model: object, micro: Inputs, batch_size: int | None = None) -> tuple[Tensor, Tensor]:
        """(log-probabilities, entropies) of the completion tokens under `model`, [b, T] each."""
        ids = torch.cat([micro["prompt_ids"], micro["completion_ids"]], dim=1)
        attention = torch.cat([micro["prompt_mask"], micro["completion_mask"]], dim=1)
        logp, entropies, _ = self._get_per_token_logps_and_entropies(
            model, ids, attention, micro["completion_ids"].size(1), batch_size, compute_entropy=True
        )
        return logp, entropies

    def _get_per_token_logps_and_entropies(self, model: object, *arguments: object, **named: object) -> Any:
        """TRL's method, with position ids where they matter and a name for the reference model's passes."""
        of_reference = self._reference is not None and model is self._reference
        with self._during("reference log-probabilities") if of_reference else nullcontext():
            return super()._get_per_token_logps_and_entropies(positioned(model), *arguments, **named)

    # -- loss ----------------------------------------------------------------------------------------------------

    def _compute_loss(self, model: object, inputs: Inputs) -> Tensor:
        """This micro-batch's part of the step's loss. The token weights already include the step's normaliser."""
        mask = inputs["completion_mask"].bool()
        pending, self._pending = self._pending, None
        sharded = self.is_deepspeed_enabled or self.is_fsdp_enabled  # no other pass between a pass and its backward
        if pending is not None and sharded and len(pending) > 1:
            self._apply_method(pending, None)
            pending = None
        now = None
        if self.experiment.method.likeliest:
            logp, now = self._distribution(model, inputs)
            entropies = now.entropies
        else:
            logp, entropies = self._signals(model, inputs)
        if pending is not None:
            self._apply_method(pending, (logp, entropies))
        logp = logp.masked_fill(~mask, 0.0)
        old_logp = inputs.get("old_per_token_logps", logp.detach()).masked_fill(~mask, 0.0)
        ref_logp = inputs.get("ref_per_token_logps")
        loss = micro_batch_loss(
            self.experiment,
            logp,
            old_logp,
            inputs,
            mask,
            ref_logp=None if ref_logp is None else ref_logp.masked_fill(~mask, 0.0),
            entropies=entropies,
            coefficient=self._coefficient,
            now=now,
        )
        self._log_signals(logp.detach(), old_logp, mask, inputs["advantages"], ref_logp)
        if "sampling_per_token_logps" in inputs:
            trainers = logp if self.experiment.old_policy.value == "sampler" else old_logp
            self._rollout_gaps.append(
                torch.stack([trainers.detach(), inputs["sampling_per_token_logps"], mask.to(logp.dtype)])
            )
        self._log_step(entropies.detach())
        # Processes average their gradients. The token weights sum to the whole step over all of them.
        total: Tensor = loss * self.accelerator.num_processes
        return total

    @torch.no_grad()
    def _log_signals(
        self,
        logp: Tensor,
        old_logp: Tensor,
        mask: Tensor,
        advantages: Tensor,
        ref_logp: Tensor | None,
    ) -> None:
        """Add this micro-batch's sums and counts of tokens: clipped ones of those with an advantage. KL to the
        reference (k3, nats)."""
        e = self.experiment
        bounds = {"clip_low": e.clip_low.value, "clip_high": e.clip_high.value}
        signals = {}
        if e.method.objective is None:
            signals["clip_fraction"] = (clipped_tokens(logp, old_logp, advantages, **bounds), mask & (advantages != 0))
        if ref_logp is not None:
            signals["kl"] = (k3(logp, ref_logp), mask)
        for name, (values, counted) in signals.items():
            sums = torch.stack([values.masked_fill(~counted, 0).sum().double(), counted.sum().double()])
            self._sums[name] = self._sums[name] + sums if name in self._sums else sums

    @torch.no_grad()
    def _log_step(self, entropies: Tensor) -> None:
        """After the last micro-batch, log the metrics of the whole step. Entropies [b, T] are from the loss's pass."""
        self._entropies.append(entropies)
        if len(self._entropies) < self._micro_batches:
            return
        metrics = self._applied.metrics(self._gather(torch.cat(self._entropies)))
        self._entropies = []
        if self._rollout_gaps:
            old_logp, rollout_logp, mask = self._gather(torch.cat(self._rollout_gaps, dim=1).transpose(0, 1)).unbind(1)
            self._rollout_gaps = []
            metrics |= mismatch_metrics(old_logp, rollout_logp, mask.bool())
        for name, sums in self._sums.items():
            total, count = self.accelerator.reduce(sums, reduction="sum").tolist()
            if count:  # else absent, never 0
                metrics[name] = total / count
        self._sums = {}
        for name, value in metrics.items():
            self._metrics["train"][name].append(value)

    # -- checkpoints ---------------------------------------------------------------------------------------------

    def _save_checkpoint(self, model: object, trial: object) -> None:
        """Save, beside TRL's files, the state of the entropy search and a reference that is no longer the base
        model."""
        super()._save_checkpoint(model, trial)
        if not self.args.should_save:
            return
        folder = Path(self._get_output_dir(trial=trial)) / f"checkpoint-{self.state.global_step}"
        if self.experiment.entropy_search is not None:
            write_json(folder / SEARCH_FILE, {"next_coefficient": self._next_coefficient})
        if self._reference_was_reset():
            torch.save(self.accelerator.unwrap_model(self.ref_model).state_dict(), folder / REFERENCE_FILE)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        if self.experiment.entropy_search is not None:
            self._next_coefficient = json.loads((Path(checkpoint) / SEARCH_FILE).read_text())["next_coefficient"]
        if self._reference_was_reset():
            weights = torch.load(Path(checkpoint) / REFERENCE_FILE, map_location="cpu", weights_only=True)
            self.accelerator.unwrap_model(self.ref_model).load_state_dict(weights)

    def _reference_was_reset(self) -> bool:
        every = self.experiment.reference_reset_every.value
        return every is not None and self.state.global_step >= every


def _split(rollout: Inputs, parts: int) -> list[Inputs]:
    """Cut the sequences of a rollout into equal parts, in order. Prompt groups stay together."""
    rows = len(rollout["rewards"])
    size = rows // parts

    def part(value: Any, index: int) -> Any:
        whole = isinstance(value, Tensor) and value.dim() >= 1 and value.shape[0] == rows
        return value[index * size : (index + 1) * size] if whole else value

    return [{key: part(value, index) for key, value in rollout.items()} for index in range(parts)]
