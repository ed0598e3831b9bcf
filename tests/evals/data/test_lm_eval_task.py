"""One definition, two runners: lm-eval and our evaluator, given the same responses, report the same numbers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evals.data import benchmarks, protocols
from evals.provenance import Origin
from evals.sampling.engines import Completion, Decoding, Request
from evals.sampling.evaluate import evaluate
from evals.stats.score import score

lm_eval = pytest.importorskip("lm_eval")
from lm_eval.api.model import LM  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402

from evals.data import lm_eval_task  # noqa: E402

pytestmark = pytest.mark.slow

N, KS = 6, (1, 2, 3, 6)
SAMPLING = {"do_sample": True, "temperature": 1.0}
UNREAD = r"\boxed{\text{So }24^{2}\text{ divides }9!\text{ and the power }24^{3}\text{ does not.}}"  # unscored
CUT, CUT_IN_A_BOX, ENDED_IN_A_BOX = "well, let us", "so \\boxed{1", "so \\boxed{2"  # the last as if by an end token
SCRIPTS = [
    "RRRRRR", "WWWWWW", "RWWVNC", "VRWRVC", "NCNCNB", "RBEWRR", "UURWVN", "UUUUUR", "UUUUUU", "WVRNCU", "RRVVWW",
]  # fmt: skip


def response(letter: str, gold: str) -> tuple[str, str]:
    """(text, finish reason). W and V are wrong in two ways of which the first is written in two. N has no box."""
    return {
        "R": (f"so \\boxed{{{gold}}}", "stop"),
        "W": ("so \\boxed{-7}", "stop"),
        "V": ("\\boxed{-7.0} or rather \\boxed{-8}", "stop"),
        "N": ("no idea", "stop"),
        "C": (CUT, "length"),
        "B": (CUT_IN_A_BOX, "length"),
        "E": (ENDED_IN_A_BOX, "stop"),
        "U": (UNREAD, "stop"),
    }[letter]


class OurEngine:
    """Answers by the script, from problem and sample number."""

    tokenizer = None
    context = None
    chunk_rows = 4

    def __init__(self, script: dict[str, list[tuple[str, str]]]) -> None:
        self.script = script

    def describe(self) -> dict[str, Any]:
        return {"name": "scripted"}

    def generate(
        self, requests: Sequence[Request], decoding: Decoding, on_step: Any = None
    ) -> Iterator[list[Completion]]:
        for request in requests:
            text, finish = self.script[request.key[0]][request.key[1]]
            yield [Completion(request.key, text, 3, finish)]


class TheirModel(LM):  # type: ignore[misc]
    """Answers by the script, from the prompt and how often it was seen."""

    def __init__(self, script: dict[str, list[tuple[str, str]]]) -> None:
        super().__init__()
        self.script, self.seen = script, Counter[str]()

    def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
        texts = []
        for request in requests:
            prompt = request.args[0]
            texts.append(self.script[prompt][self.seen[prompt]][0])
            self.seen[prompt] += 1
        return texts

    def loglikelihood(self, requests: Any) -> Any:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: Any) -> Any:
        raise NotImplementedError


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """tiny_short's first problems, one for each script, under ids whose order shows in the last bit of a plain mean."""
    from harness.data.tiny import write_benchmarks

    folder = tmp_path_factory.mktemp("data")
    write_benchmarks(folder)
    path = folder / "tiny_short.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()][: len(SCRIPTS)]
    path.write_text("".join(json.dumps(row | {"id": f"p{2 * i % 11}"}) + "\n" for i, row in enumerate(rows)))
    return folder


def run_lm_eval(data: Path, key: Any = None, gen_kwargs: Any = SAMPLING, **metadata: Any) -> Any:
    """lm-eval's result. `key` gives a task other than tiny_short."""
    problems = benchmarks.load("tiny_short", data_dir=data, allow_changed_data=True).problems
    script = {p.problem: [response(x, p.answer) for x in s] for p, s in zip(problems, SCRIPTS, strict=True)}
    metadata |= {"data_dir": str(data), "allow_changed_data": True}
    manager = TaskManager(include_path=str(benchmarks.TASKS), include_defaults=False, metadata=metadata)
    return lm_eval.simple_evaluate(
        TheirModel(script), tasks=[str(key or "tiny_short")], task_manager=manager, gen_kwargs=gen_kwargs
    )


def values(result: Any, name: str = "tiny_short") -> dict[str, float]:
    """The metrics by their name, without lm-eval's name of the filter."""
    known = {key.partition(",")[0]: value for key, value in result["results"][name].items() if "," in key}
    return {key: value for key, value in known.items() if not key.endswith("_stderr")}


@pytest.fixture(scope="module")
def table(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Our verdict table."""
    problems = benchmarks.load("tiny_short", data_dir=data, allow_changed_data=True).problems
    script = {p.id: [response(x, p.answer) for x in s] for p, s in zip(problems, SCRIPTS, strict=True)}
    wanted = {"benchmarks": ("tiny_short",), "n": N, "ks": KS}
    protocol = protocols.get("tiny").override(wanted, Origin.USER, "a test")
    out = tmp_path_factory.mktemp("out")
    tables = evaluate(
        "scripted", protocol, out_dir=out, data_dir=data, engine=OurEngine(script), progress=False,
        allow_changed_data=True,
    )  # fmt: skip
    return pq.read_table(tables["tiny_short"])


@pytest.fixture(scope="module")
def result(data: Path) -> Any:
    return run_lm_eval(data, repeats=N, ks=list(KS))


def test_the_lm_eval_task_and_our_score_give_the_same_numbers(table: Any, result: Any) -> None:
    scores = score(table, ks=KS, metrics=("avg", "pass", "maj"))
    unscored = scores[0].unscored / scores[0].samples
    assert values(result) == {s.name: s.value for s in scores} | {"unscored": pytest.approx(unscored, rel=1e-15)}
    assert unscored == pytest.approx((2 + 5 + 6 + 1) / 66)
    # 11 scripts, of which UUUUUU has no scored sample. 4 have fewer than 6 scored ones, so no value. Of the other 7,
    # all but WWWWWW and NCNCNB have an R in their six.
    assert values(result)["pass@6"] == pytest.approx(5 / 7)
    # shares of R: 1, 0, 1/6, 2/6, 0, 3/6, 1/4, 1, -, 1/5, 2/6
    assert values(result)["avg@6"] == pytest.approx((1 + 1 / 6 + 2 / 6 + 3 / 6 + 1 / 4 + 1 + 1 / 5 + 2 / 6) / 10)


def test_verdict_rows_differ_only_in_the_finish_reason(table: Any, data: Path, result: Any) -> None:
    samples = result["samples"]["tiny_short"]
    assert all(len(s["resps"][0]) == len(s["filtered_resps"][0]) == N for s in samples)
    rows = [row for s in samples for row in lm_eval_task.verdicts(s["doc"], s["filtered_resps"][0])]
    our_rows = table.to_pylist()
    assert [s["doc"]["id"] for s in samples] == list(dict.fromkeys(row["problem_id"] for row in our_rows))
    assert [s["target"] for s in samples] == [row["gold"] for row in our_rows[::N]]
    different = {CUT: ("truncated", "no_answer"), ENDED_IN_A_BOX: ("no_answer", "truncated")}
    for our_row, lm_eval_row in zip(our_rows, rows, strict=True):
        expected = different.get(our_row["response"], (our_row["verdict"],) * 2)
        assert (our_row["verdict"], lm_eval_row["verdict"]) == expected
        assert {key: our_row[key] for key in lm_eval_row if key != "verdict"} == {
            k: v for k, v in lm_eval_row.items() if k != "verdict"
        }
    assert {row["verdict"] for row in our_rows} == {"correct", "wrong", "no_answer", "truncated", "unscored"}


def test_one_sample_is_the_default(table: Any, data: Path) -> None:
    first = table.filter([sample == 0 for sample in table["sample"].to_pylist()])
    our_values = {s.name: s.value for s in score(first, ks=(1,), metrics=("avg", "pass", "maj"))}
    assert values(run_lm_eval(data, gen_kwargs=None)) == our_values | {"unscored": pytest.approx(3 / 11)}


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"repeats": 0}, "repeats=0, expected a whole number >= 1"),
        ({"repeats": 4, "ks": [1, 5]}, r"ks=\[1, 5\], expected a list of whole numbers from 1 to repeats=4"),
        ({"ks": []}, r"ks=\[\], expected a list"),
    ],
)
def test_what_does_not_fit_is_refused(data: Path, metadata: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run_lm_eval(data, **metadata)


def test_greedy_samples_are_not_repeated(data: Path) -> None:
    for gen_kwargs in ({"do_sample": True, "temperature": 0.0}, {"temperature": 1.0}):
        with pytest.raises(ValueError, match=r"greedy samples are all the same\. Type --gen_kwargs do_sample=True"):
            run_lm_eval(data, gen_kwargs=gen_kwargs, repeats=2)
