"""lighteval: its pipeline, metrics and details writer, with a model that recites. `python lighteval_details.py OUT`."""

import json
import sys
import types
from pathlib import Path

import xxhash
from canned import PROBLEMS, RESPONSES

_hash = xxhash.xxh64
xxhash.xxh64 = lambda text=b"": _hash(
    text.encode() if isinstance(text, str) else text
)  # lighteval 0.13 hands texts to an xxhash that takes bytes
from lighteval.logging.evaluation_tracker import EvaluationTracker  # noqa: E402
from lighteval.models.dummy.dummy_model import DummyModel, DummyModelConfig  # noqa: E402
from lighteval.models.model_output import ModelResponse  # noqa: E402

sys.modules["lighteval.tasks.tasks.tiny_benchmarks"] = types.SimpleNamespace(TASKS_TABLE=[])  # it downloads on import
from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters  # noqa: E402

OUT = Path(sys.argv[1])
OUT.mkdir(parents=True, exist_ok=True)
(OUT / "data").mkdir(exist_ok=True)
(OUT / "data" / "data.jsonl").write_text(
    "".join(json.dumps({"question": q, "answer": a}) + "\n" for _, q, a in PROBLEMS)
)
(OUT / "task.py").write_text(
    f"""
from lighteval.metrics.metrics import Metrics
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc


def ask(line, task_name=None):
    return Doc(task_name=task_name, query=line["question"], choices=[line["answer"]], gold_index=0)


TASKS_TABLE = [
    LightevalTaskConfig(
        name="six_sums",
        prompt_function=ask,
        hf_repo={str(OUT / "data")!r},
        hf_subset="default",
        hf_avail_splits=["train"],
        evaluation_splits=["train"],
        metrics=[Metrics.exact_match],
        generation_size=8,
        stop_sequence=[],
    )
]
"""
)


class Reciter(DummyModel):
    def greedy_until(self, docs):
        found = []
        for doc in docs:
            name = next(n for n, question, _ in PROBLEMS if question in doc.query)
            text = RESPONSES[name][0]
            found.append(ModelResponse(input=doc.query, text=[text], output_tokens=[list(range(len(text.split())))]))
        return found


tracker = EvaluationTracker(output_dir=str(OUT), save_details=True)
pipeline = Pipeline(
    tasks="six_sums|0",
    pipeline_parameters=PipelineParameters(
        launcher_type=ParallelismManager.NONE, custom_tasks_directory=str(OUT / "task.py"), bootstrap_iters=0
    ),
    evaluation_tracker=tracker,
    model=Reciter(DummyModelConfig(model_name="reciter/six")),
)
pipeline.evaluate()
pipeline.save_and_push_results()
