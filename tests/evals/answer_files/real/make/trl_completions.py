"""TRL: two steps of its own GRPOTrainer with log_completions. `python trl_completions.py MODEL OUT`.

MODEL is this repository's tiny base model, `harness/data/tiny/models/tiny`.
"""

import sys

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

MODEL, OUT = sys.argv[1:]
SUMS = [
    ("W is 7. W times 4 is M. M plus 7 is P. What is P?", "35"),
    ("D is 4. D times 4 is H. H plus 7 is N. What is N?", "23"),
    ("K is 12. K minus 2 is G. G plus 5 is B. What is B?", "15"),
    ("A is 3. A plus 4 is C. What is C?", "7"),
]


def boxed(completions, answer, log_extra, **_):
    log_extra("answer", list(answer))
    return [float(f"\\boxed{{{gold}}}" in text["content"]) for (text,), gold in zip(completions, answer, strict=True)]


trainer = GRPOTrainer(
    model=MODEL,
    reward_funcs=boxed,
    train_dataset=Dataset.from_list([{"prompt": [{"role": "user", "content": q}], "answer": a} for q, a in SUMS]),
    args=GRPOConfig(
        OUT,
        log_completions=True,
        logging_steps=1,
        max_steps=2,
        per_device_train_batch_size=16,
        num_generations=4,
        max_completion_length=48,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        seed=1,
    ),
)
trainer.train()
