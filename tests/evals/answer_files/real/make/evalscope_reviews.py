"""evalscope: its own task runner with its mock model. `python evalscope_reviews.py OUT`."""

import json
import sys
from pathlib import Path

from canned import PROBLEMS, RESPONSES
from evalscope import TaskConfig, run_task
from evalscope.api.model import Model, ModelOutput
from evalscope.models.mockllm import MockLLM

OUT = Path(sys.argv[1])
data = OUT / "data"
data.mkdir(parents=True, exist_ok=True)
(data / "main").mkdir(exist_ok=True)
(data / "test.jsonl").write_text(
    "".join(json.dumps({"question": q, "answer": f"So it is. #### {a}"}) + "\n" for _, q, a in PROBLEMS)
)


class Reciter(MockLLM):
    def generate(self, input, tools, tool_choice, config):
        asked = input[-1].text
        name = next(n for n, question, _ in PROBLEMS if question in asked)
        return ModelOutput.from_content(model="reciter", content=RESPONSES[name][0])


from evalscope.api.model import GenerateConfig  # noqa: E402

run_task(
    TaskConfig(
        model=Model(api=Reciter("reciter"), config=GenerateConfig(temperature=0.0, max_tokens=256)),
        model_id="reciter",
        datasets=["gsm8k"],
        dataset_args={"gsm8k": {"local_path": str(data), "few_shot_num": 0, "subset_list": ["default"]}},
        work_dir=str(OUT / "work"),
        no_timestamp=True,
        eval_batch_size=1,
        generation_config={"temperature": 0.0, "max_tokens": 256},
    )
)
