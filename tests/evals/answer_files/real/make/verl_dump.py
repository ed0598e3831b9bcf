"""veRL: its own reward function and its trainer's own writer of validation dumps. `python verl_dump.py OUT`."""

import sys

from canned import PROBLEMS, RESPONSES
from verl.trainer.ppo.ray_trainer import RayPPOTrainer
from verl.utils.reward_score import default_compute_score

rows = [(question, text, gold) for name, question, gold in PROBLEMS for text in RESPONSES[name]]
scores = [default_compute_score("lighteval/MATH", text, gold) for _, text, gold in rows]
RayPPOTrainer._write_generations(
    inputs=[f"user\n{question}\nassistant\n" for question, _, _ in rows],
    outputs=[text for _, text, _ in rows],
    gts=[gold for _, _, gold in rows],
    scores=scores,
    reward_extra_infos_dict={"reward": scores},
    dump_path=sys.argv[1],
    global_steps=20,
)
