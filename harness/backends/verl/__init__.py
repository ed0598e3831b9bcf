"""veRL 0.9.1: Ray, FSDP and vLLM, from two CPU cores to a cluster. PPO with a critic, and dynamic sampling.

`translate` is pure: an experiment -> veRL's configuration. `launch` starts a `driver` process and watches it. The
driver starts Ray and runs `trainer.MethodTrainer`, in which `rollout`, `rewards` and `loss` plug our prompts, verifier
and methods into veRL. veRL loads `extension` in every process. veRL's source is neither changed nor copied. Files that
depend on its internals say so and run only on the tested version.
"""

TESTED = "0.9.1"
"""The version of veRL whose internals these files use."""

TRAINER = "rlvr"  # the name of our trainer, and of our agent loop, in veRL's registries
ROWS, STEPS, CHECKPOINTS = "rows.jsonl", "steps.jsonl", "checkpoints"  # in the folder of a training
PROMPT_NATS = "prompt_nats.json"  # there too: how well the base model predicts the first prompts
