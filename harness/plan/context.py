"""Whether a base model's context holds what an arm trains and is measured with."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from harness.errors import UsageError
from harness.spec.architecture import positions
from harness.spec.job import Job


@dataclass(frozen=True)
class ContextNeed:
    """Tokens of the longest sequence, and the positions of the model. None: not known on this machine.

    Args:
        training: prompt and response while training, 0 if it is not trained. evaluation: the longest response, without
            its prompt.
    """

    training: int
    evaluation: int
    positions: int | None

    @property
    def fits(self) -> bool:
        """Whether nothing known is too long. A prompt has at least one token."""
        return self.positions is None or max(self.training, self.evaluation + 1) <= self.positions

    @property
    def remark(self) -> str:
        """A context that is too short or not known, in words, or "" for one that fits."""
        longest = f"context: {max(self.training, self.evaluation + 1):,} tokens"
        if self.positions is None:
            return f"{longest}; the model's positions are not known here: checked before a run"
        return "" if self.fits else f"{longest} do not fit {self.positions:,} positions; see context.positions"

    def as_dict(self) -> dict[str, int | bool | None]:
        return {**asdict(self), "fits": self.fits}


def context_need(job: Job) -> ContextNeed:
    """The context that a job needs, and the one that its base model has."""
    training = 0 if job.experiment is None else job.experiment.sequence_tokens
    limit = positions(job.base_model.value) if job.context is None else job.context.positions.value
    return ContextNeed(training, job.protocol.longest, limit)


def check_context(job: Job) -> None:
    """Raise UsageError for sequences longer than the model's positions, before anything starts."""
    need = context_need(job)
    if need.positions is None or need.fits:
        return
    what = "trained" if need.training > need.evaluation else "measured"
    longest = max(need.training, need.evaluation + 1)
    extended = f"context.positions={longest}" + (" context.rope_theta=BASE" if job.context is None else "")
    raise UsageError(
        f"context.positions: {job.label} is {what} with {longest:,} tokens, and {job.base_model.value} has "
        f"{need.positions:,} positions. Shorten {' and '.join(_lengths(job, need, need.positions))}, or extend its "
        f"context: {extended}"
    )


def _lengths(job: Job, need: ContextNeed, limit: int) -> list[str]:
    """The keys of this job whose sequences are too long. An arm has only some of them."""
    trained = ("max_prompt_tokens", "max_completion_tokens", "max_tokens") if need.training > limit else ()
    measured = ("protocol.max_tokens",) if need.evaluation >= limit else ()
    return [*(key for key in trained if key in job.settings()), *measured]
