"""lm-eval: its own evaluator and its own writer, with a model that recites. `python lm_eval_samples.py OUT`."""

import json
import sys
from pathlib import Path

import yaml
from canned import PROBLEMS, RESPONSES
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

OUT = Path(sys.argv[1])


@register_model("reciter")
class Reciter(LM):
    def __init__(self, **_):
        super().__init__()
        self.asked = {}

    def generate_until(self, requests, disable_tqdm=False):
        texts = []
        for request in requests:
            name = next(n for n, question, _ in PROBLEMS if question in request.args[0])
            texts.append(RESPONSES[name][self.asked.get(name, 0)])
            self.asked[name] = self.asked.get(name, 0) + 1
        return texts

    def loglikelihood(self, requests, disable_tqdm=False):
        raise NotImplementedError

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        raise NotImplementedError


tasks = OUT / "tasks"
tasks.mkdir(parents=True, exist_ok=True)
(tasks / "data.jsonl").write_text(
    "".join(json.dumps({"id": i, "question": q, "answer": a}) + "\n" for i, q, a in PROBLEMS)
)
TASK = {
    "task": "six_sums",
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": str(tasks / "data.jsonl")}},
    "output_type": "generate_until",
    "test_split": "test",
    "doc_to_text": "Question: {{question}}\nAnswer:",
    "doc_to_target": "{{answer}}",
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    "generation_kwargs": {
        "until": ["Question:"],
        "do_sample": True,
        "temperature": 0.6,
        "top_p": 0.95,
        "max_gen_toks": 256,
    },
    "metadata": {"version": 1.0},
}
BOX = [{"function": "regex", "regex_pattern": "boxed\\{(.*)\\}"}, {"function": "take_first"}]
NUMBER = [{"function": "regex", "regex_pattern": "(-?[0-9.]+)", "group_select": -1}, {"function": "take_first"}]
filters = [{"name": "box", "filter": BOX}, {"name": "last-number", "filter": NUMBER}]
(tasks / "six_sums.yaml").write_text(yaml.safe_dump({**TASK, "filter_list": filters}))
manager = TaskManager(include_path=str(tasks), include_defaults=False)
results = simple_evaluate(Reciter(), tasks=["six_sums"], task_manager=manager, log_samples=True, bootstrap_iters=0)
results["config"]["model_args"] = {"pretrained": "reciter"}
samples = results.pop("samples")
tracker = EvaluationTracker(output_path=str(OUT))
tracker.save_results_aggregated(results=results, samples=samples)
tracker.save_results_samples(task_name="six_sums", samples=samples["six_sums"])
