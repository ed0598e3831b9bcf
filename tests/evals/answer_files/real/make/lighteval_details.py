"""lighteval: its own pipeline with a model that recites. `python lighteval_details.py OUT`.

One metric asks for four samples of a problem, and the model gives one: lighteval divides by four all the same.
"""

import sys
from pathlib import Path

import datasets
import xxhash
from canned import PROBLEMS, RESPONSES
from lighteval.logging.evaluation_tracker import EvaluationTracker
from lighteval.metrics.metrics import Metrics
from lighteval.models.abstract_model import LightevalModel
from lighteval.models.dummy.dummy_model import DummyModelConfig
from lighteval.models.model_output import ModelResponse
from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters
from lighteval.tasks.lighteval_task import LightevalTask, LightevalTaskConfig
from lighteval.tasks.registry import Registry
from lighteval.tasks.requests import Doc
from lighteval.utils.cache_management import SampleCache

OUT = Path(sys.argv[1])
TASK = "six_sums"


def as_doc(line, task_name):
    return Doc(task_name=task_name, query=line["problem"], choices=[f"${line['answer']}$"], gold_index=0)


config = LightevalTaskConfig(
    name=TASK,
    prompt_function=as_doc,
    hf_repo="local",
    hf_subset="default",
    hf_avail_splits=["test"],
    evaluation_splits=["test"],
    generation_size=256,
    metrics=[Metrics.pass_at_k_math(sample_params={"k": 1, "n": n}) for n in (1, 4)],
)


class Reciter(LightevalModel):
    def __init__(self):
        self.config = DummyModelConfig(model_name="reciter")
        self._cache = SampleCache(self.config)

    def greedy_until(self, docs):
        name = {question: name for name, question, _ in PROBLEMS}
        texts = [RESPONSES[name[doc.query]][0] for doc in docs]
        return [
            ModelResponse(input=doc.query, text=[text], output_tokens=[list(range(len(text.split())))])
            for doc, text in zip(docs, texts, strict=True)
        ]

    tokenizer = add_special_tokens = max_length = None

    def loglikelihood(self, docs):
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


TASKS_TABLE = [config]
rows = datasets.Dataset.from_list([{"problem": q, "answer": a} for _, q, a in PROBLEMS])
LightevalTask.download_dataset_worker = staticmethod(lambda task: datasets.DatasetDict(test=rows))
Registry._load_from_files = staticmethod(lambda *_: {})  # its own tasks, of which one asks the network
hashed = xxhash.xxh64
xxhash.xxh64 = lambda text=b"": hashed(text.encode() if isinstance(text, str) else text)  # xxhash 4 wants bytes
tracker = EvaluationTracker(output_dir=str(OUT), save_details=True)
pipeline = Pipeline(
    tasks=f"{TASK}|0",
    pipeline_parameters=PipelineParameters(
        launcher_type=ParallelismManager.NONE, custom_tasks_directory=sys.modules[__name__], bootstrap_iters=0
    ),
    evaluation_tracker=tracker,
    model=Reciter(),
)
pipeline.evaluate()
pipeline.save_and_push_results()
