"""The task files under lm-eval: the same rows, prompts, grades and metrics as our evaluator, from other samples.

    lm_eval --include_path evals/data/tasks --tasks math500 --gen_kwargs do_sample=True temperature=1.0 \\
        --metadata '{"data_dir": "path/to/files", "repeats": 16, "ks": [1, 16]}' ...

Without `data_dir` the rows come from the hub, as in `evals.data.benchmarks.load`. lm-eval 0.4.13 takes the number of
samples only from the task: `repeats` of `metadata`, or else of a YAML that includes one of ours. It reports avg@n, and
pass@k and maj@k for each of `ks`. The values equal those of `evals.stats.score` on the same responses. Remaining
differences:

- lm-eval does not say why a response ended. A truncated response without an answer is `no_answer` here unless it ends
  inside a box, and `truncated` in our evaluator. A response that stopped inside a box is `truncated` here. No metric
  differs.
- In both, a problem with fewer than k scored samples has no pass@k and maj@k. lm-eval warns, and omits a metric that no
  problem has.
- No standard errors: lm-eval has formulas only for its own means. `evals.stats.score` gives intervals.
"""

from __future__ import annotations

import atexit
import functools
import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from lm_eval.api.task import ConfigurableTask

from evals.code_execution.program_grader import ProgramGrader
from evals.code_execution.programs import POLICIES as PROGRAMS
from evals.data import benchmarks, prompts
from evals.grading import Grader
from evals.stats.score import metric_name
from evals.stats.verdict_table import COMPARED, OF_K, VerdictTable


class SampledTask(ConfigurableTask):  # type: ignore[misc]
    """The lm-eval task of a YAML, with n = `repeats` samples for each problem, all graded.

    `metadata` may hold `repeats` (else that of the YAML, else 1) and `ks` (else the powers of two up to n, and n).

    Raises:
        ValueError: `repeats` or `ks` does not fit, or the decoding is greedy and n > 1 (when the requests are made,
            since --gen_kwargs come late).
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        metadata = config.get("metadata") or {}
        n = _repeats(metadata.get("repeats", config.get("repeats", 1)))
        ks = _ks(metadata.get("ks"), n)
        marks = {
            "repeats": n,
            "filter_list": [{"name": "none", "filter": [{"function": "take_first_k", "k": n}]}],
            "process_results": functools.partial(process_results, ks=ks),
            "metric_list": [
                {"metric": name, "aggregation": fmean, "higher_is_better": name != "unscored"}
                for name in (*_names(n, ks), "unscored")
            ],
        }
        super().__init__(config={key: value for key, value in config.items() if key != "class"} | marks)

    def construct_requests(self, doc: Mapping[str, object], ctx: object, **kwargs: object) -> object:
        decoding = self.config.generation_kwargs
        if self.config.repeats > 1 and not (decoding.get("do_sample") and decoding.get("temperature") != 0):
            raise ValueError(
                f"repeats={self.config.repeats} with {decoding}: greedy samples are all the same. "
                "Type --gen_kwargs do_sample=True temperature=..."
            )
        return super().construct_requests(doc, ctx, **kwargs)


def dataset(
    *,
    benchmark: str,
    data_dir: str | None = None,
    allow_changed_data: bool = False,
    choice_seed: int = 0,
    policy: str | None = None,
    **_: object,
) -> Mapping[str, Any]:
    """The pinned rows as a dataset of id, problem (with its choices), answer, and the benchmark's own prompt: its text,
    the prefix of the response and the extraction policy. lm-eval passes the task's `metadata`, which may hold more.

    Raises:
        ValueError: as `benchmarks.load`.
    """
    from datasets import Dataset, DatasetDict

    loaded = benchmarks.load(
        benchmark, data_dir=data_dir, allow_changed_data=allow_changed_data, choice_seed=choice_seed
    )
    default_prompt = prompts.of_benchmark(benchmark)
    rows = [
        {
            "id": problem.id,
            "problem": prompts.question(problem),
            "answer": problem.answer,
            "prompt": default_prompt.user.replace("{problem}", prompts.question(problem)),
            "prefix": default_prompt.prefix,
            "policy": policy or default_prompt.policy,
        }
        for problem in loaded.problems
    ]
    splits: dict[str, object] = DatasetDict({benchmarks.task(benchmark)["test_split"]: Dataset.from_list(rows)})
    return splits


def process_results(
    doc: Mapping[str, str], results: Sequence[Sequence[str]], ks: Sequence[int] = (1,)
) -> dict[str, float]:
    """One problem's metrics by name, from its responses. Those without a value are absent. `unscored` is the
    share of responses without a verdict."""
    import pandas as pd

    rows = verdicts(doc, results[0])
    table = VerdictTable.of_rows(pd.DataFrame(rows))
    scores = {name: float(table.values(metric, k)[0, 0]) for name, (metric, k) in _names(len(rows), ks).items()}
    values = {name: value for name, value in scores.items() if not math.isnan(value)}
    return values | {"unscored": table.unscored / table.samples}


def verdicts(doc: Mapping[str, str], responses: Sequence[str]) -> list[dict[str, object]]:
    """The rows of one problem in the verdict table, in the columns that lm-eval's responses decide."""
    grader = _program_grader() if doc["policy"] in PROGRAMS else Grader()
    grades = grader.grade_responses([(doc["answer"], response, None) for response in responses], doc["policy"])
    classes = grader.answer_classes([grade.answer for grade in grades], grades)
    return [
        {
            "problem_id": doc["id"],
            "sample": sample,
            "boxed": grade.boxed,
            "answer": grade.answer,
            "answer_class": answer_class,
            "verdict": str(grade.verdict),
            "reason": grade.reason,
        }
        for sample, (grade, answer_class) in enumerate(zip(grades, classes, strict=True))
    ]


def _names(n: int, ks: Sequence[int]) -> dict[str, tuple[str, int]]:
    """Each metric's name, as `evals.stats.score` names it."""
    reported = [(metric, k) for metric in COMPARED for k in (ks if metric in OF_K else (n,))]
    return {metric_name(metric, k): (metric, k) for metric, k in reported}


def _repeats(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"repeats={value!r}, expected a whole number >= 1: the samples for each problem")
    return value


def _ks(value: Any, n: int) -> tuple[int, ...]:
    if value is None:
        return tuple(sorted({n, *(2**power for power in range(n.bit_length()))}))
    whole = isinstance(value, (list, tuple)) and all(isinstance(k, int) and not isinstance(k, bool) for k in value)
    if not (whole and value and all(1 <= k <= n for k in value)):
        raise ValueError(f"ks={value!r}, expected a list of whole numbers from 1 to repeats={n}")
    return tuple(value)


@functools.cache
def _program_grader() -> ProgramGrader:
    grader = ProgramGrader()
    atexit.register(grader.close)
    return grader
