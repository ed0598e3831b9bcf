"""inspect_ai: its own eval() with its mock model and its match scorer. `python inspect_log.py OUT`."""

import sys
from pathlib import Path

from canned import PROBLEMS, RESPONSES
from inspect_ai import Epochs, Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match

OUT = Path(sys.argv[1])
asked: dict[str, int] = {}


def recite(messages, tools, tool_choice, config):
    name = next(n for n, question, _ in PROBLEMS if question in messages[-1].text)
    text = RESPONSES[name][asked.get(name, 0)]
    asked[name] = asked.get(name, 0) + 1
    output = ModelOutput.from_content("mockllm/reciter", text, stop_reason="max_tokens" if "know" in text else "stop")
    output.usage = ModelUsage(input_tokens=10, output_tokens=len(text.split()), total_tokens=10 + len(text.split()))
    return output


task = Task(
    name="six_sums",
    dataset=[Sample(id=name, input=question, target=gold) for name, question, gold in PROBLEMS],
    scorer=match(location="any"),
    epochs=Epochs(2, "mean"),
    config=GenerateConfig(temperature=0.6, top_p=0.95, max_tokens=256),
)
for kind in ("eval", "json"):
    asked.clear()
    model = get_model("mockllm/reciter", custom_outputs=recite)
    eval(task, model=model, log_dir=str(OUT), log_format=kind, display="none", max_connections=1, max_samples=1)
