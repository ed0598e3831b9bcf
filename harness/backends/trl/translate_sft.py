"""A supervised fine-tuning -> the arguments of TRL 1.16's SFTConfig. Pure. Imports neither TRL nor torch.

The rows reach TRL as token ids with labels (`harness.backends.trl.finetune.encode`), so no default decides which tokens
count in the loss. Every other default that could change the mathematics is set by name.
"""

from __future__ import annotations

from pathlib import Path

from harness.backends.common import cut_update, needs_gpu
from harness.backends.trl.common import trainer_arguments
from harness.backends.trl.hardware import TrlHardware
from harness.spec import Finetune


def to_sft_config(
    declared: Finetune, hardware: TrlHardware, *, seed: int, out_dir: Path, rows: int | None = None
) -> dict[str, object]:
    """Keyword arguments for `trl.SFTConfig`.

    Args:
        rows: training rows of one start. None: those that are declared.
    Raises:
        ValueError: the batch cannot be cut.
    """
    needs_gpu(declared, hardware)
    share, micro_batch = cut_update(declared.batch_size.value, hardware)
    return {
        **trainer_arguments(declared, hardware, seed=seed, out_dir=out_dir, rows=rows),
        "per_device_train_batch_size": micro_batch,
        "gradient_accumulation_steps": share // micro_batch,
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
