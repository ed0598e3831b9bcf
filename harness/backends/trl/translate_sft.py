"""A supervised fine-tuning -> the arguments of TRL 1.16's SFTConfig. Pure; imports neither TRL nor torch.

The rows reach TRL as token ids with labels (`harness.backends.trl.finetune.encode`), so no default decides which tokens
count in the loss; every other default that could change the mathematics is set by name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.backends.common import needs_gpu
from harness.backends.trl.common import trainer_arguments
from harness.backends.trl.hardware import TrlHardware
from harness.spec import Finetune


def accumulation(declared: Finetune, hardware: TrlHardware) -> tuple[int, int]:
    """(rows of one forward pass of one process, forward passes of one process in an optimiser step).

    Raises:
        ValueError: the counts do not divide (the key, its value and what was expected are named).
    """
    batch = declared.batch_size.value
    per_process, rest = divmod(batch, hardware.processes)
    if rest:
        raise ValueError(
            f"hardware.processes: expected a divisor of batch_size={batch} (rows of an optimiser step), "
            f"got {hardware.processes}"
        )
    micro = hardware.micro_batch or per_process
    if per_process % micro:
        raise ValueError(
            f"hardware.micro_batch: expected a divisor of the {per_process} rows that a process holds of an optimiser "
            f"step, got {micro}"
        )
    return micro, per_process // micro


def to_sft_config(declared: Finetune, hardware: TrlHardware, *, seed: int, out_dir: Path) -> dict[str, Any]:
    """Keyword arguments for `trl.SFTConfig`. Raises ValueError when the batch cannot be cut."""
    needs_gpu(declared, hardware)
    micro, passes = accumulation(declared, hardware)
    return {
        **trainer_arguments(declared, hardware, seed=seed, out_dir=out_dir),
        "per_device_train_batch_size": micro,
        "gradient_accumulation_steps": passes,
        "average_tokens_across_devices": True,  # the mean over the tokens of the whole step, not of each process
        "dataloader_drop_last": False,  # the last rows of an epoch make a smaller step
        "train_sampling_strategy": "random",
        # the loss: cross-entropy of the solution tokens
        "loss_type": "nll",
        "label_smoothing_factor": 0.0,
        "neftune_noise_alpha": None,
        "router_aux_loss_coef": None,
        "completion_only_loss": True,  # our labels say the same
        "assistant_only_loss": False,
        # the rows: ours as they are
        "dataset_kwargs": {"skip_prepare_dataset": True},
        "max_length": None,  # too long rows are cut or dropped already
        "packing": False,
        "eval_packing": False,
        "padding_free": False,
        "shuffle_dataset": False,  # the sampler shuffles, again in each epoch
        "chat_template_path": None,
        "eos_token": None,
        "pad_token": None,
        "activation_offloading": False,
        "use_liger_kernel": False,
    }
