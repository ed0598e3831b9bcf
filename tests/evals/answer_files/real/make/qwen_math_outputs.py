"""Qwen2.5-Math's evaluation (the copy in SimpleRL writes the same): its `math_eval.py`, with a vLLM that recites.

`python qwen_math_outputs.py OUT EVALUATION`, where EVALUATION is the folder `evaluation` of QwenLM/Qwen2.5-Math.
"""

import json
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

from canned import PROBLEMS, RESPONSES

OUT, EVALUATION = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
data = OUT / "data" / "math"
data.mkdir(parents=True, exist_ok=True)
rows = [{"idx": i, "problem": q, "solution": f"\\boxed{{{a}}}"} for i, (_, q, a) in enumerate(PROBLEMS)]
(data / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
(OUT / "outputs").mkdir(exist_ok=True)


class Reciter:
    def __init__(self, **settings):
        self.turn = {}

    def generate(self, prompts, parameters):
        found = []
        for number, prompt in enumerate(prompts):
            name = next(n for n, question, _ in PROBLEMS if question in prompt)
            turn = self.turn[name] = self.turn.get(name, -1) + 1
            found.append(SimpleNamespace(request_id=number, outputs=[SimpleNamespace(text=RESPONSES[name][turn])]))
        return found


vllm = ModuleType("vllm")
vllm.LLM, vllm.SamplingParams = Reciter, lambda **settings: settings
sys.modules["vllm"] = vllm
os.environ["CUDA_VISIBLE_DEVICES"] = "0"
sys.path[:0] = [str(EVALUATION), str(EVALUATION / "latex2sympy")]
os.chdir(EVALUATION)
import evaluate  # noqa: E402
import math_eval  # noqa: E402


class Patient(evaluate.ProcessPool):
    """Its 3 seconds a comparison are by the clock: on a busy machine they call correct answers incorrect."""

    def map(self, *given, timeout, **more):
        return super().map(*given, timeout=100 * timeout, **more)


evaluate.ProcessPool = Patient

sys.argv = (
    "math_eval.py --data_names math --prompt_type qwen25-math-cot --use_vllm --save_outputs "
    f"--temperature 0.6 --n_sampling 2 --data_dir {data.parent} --output_dir {OUT / 'outputs'} "
    "--model_name_or_path reciter"
).split()
arguments = math_eval.parse_args()
math_eval.set_seed(arguments.seed)
math_eval.setup(arguments)
