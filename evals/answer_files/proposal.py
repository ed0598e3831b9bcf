"""Which columns of unknown rows may be the gold, the response and the rest: by their names, types and contents.

It proposes what `columns=` takes, and decides nothing: a user types it. Names are read as words (`RANKS`). Contents
weigh too: a gold is short and stands in responses, a response is long, a verdict is one for each response, and an id
tells problems apart. Where rows cannot be read with a column, it is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from evals.answer_files import columns as our_columns
from evals.answer_files.leaves import SEEN, Leaf, Objects, items, leaves, snake, text_in
from evals.answer_files.sample import Sample
from evals.data.rows import is_nothing
from evals.paths import ABSENT, opened

Ranks = Sequence[tuple[str, float]]
GOLD: Ranks = (
    (
        r"gold|ground_?truth|(^|_)gts?(_|$)|answer_?key|references?|^ref_|_ref$|^(expected|targets?|ideal|truth|oracle)$"
        r"|(^|_)(correct|right|true|expected|target|ideal|official|std|standard|real)_(answers?|outputs?|responses?|solution"
        r"|label|value|result|choice|option)",
        10,
    ),
    (r"^(final_?)?answers?$|^final_ans(wer)?$|_answer$", 6),
    (r"^(labels?|key|ans)$", 4),
    (r"^(solutions?|rationale)$", 3),
    (r"^correct$", 2),
)
NO_GOLD = (
    r"model|pred|gener|extract|pars|llm|gpt|student|their|sampled|respon|complet|best|given|candidate|^raw|judg|attempt"
    r"|num|len|count|idx|(^|_)(ids?|is|type|time|cost|tokens?|score)(_|$)"
)
RESPONSE: Ranks = (
    (
        r"respon|resps?$|complet|generat|prediction|rollouts?$|^traj|decoded|repl(y|ies)|^outputs?$|output_texts?$"
        r"|(model|gpt|llm|assistant|student|full|raw|final|agent)_\w*(solution|answer|output|text|code|result)|^samples?$"
        r"|^programs?$|^sampled|^attempts?$|^candidates?$",
        8,
    ),
    (r"^pred(ict)?s?$", 4),
    (r"^(messages|conversations?|chat|dialog\w*|transcript|history|\w+_messages)$", 5),
    (r"^(text|content|code|solutions?|answers?|result|value|raw|turns|message)$", 3),
)
NO_RESPONSE = (
    r"prompt|question|problem|instruction|input|system|user|reason(?!ing)|gold|truth|reference|expected|target|extract"
    r"|pars|tokens?$|(^|_)(ids?|type|role|name|status|date|time|model|url|path|file|hash|source|dataset|provider)$"
    r"|logprob|scores?$|reward|correct|label|expla|error|stderr|comment|metric|finish|stop|judg|^best_"
)
VERDICT: Ranks = (
    (r"correct|^acc(uracy)?$|^pass(ed)?$|^em$|exact_match|solved$|^success(es)?$|verdict|^right$|is_right|judg", 8),
    (
        r"scores?$|rewards?$|^labels?$|status$|^matche?[sd]?$|^ok$|(^|_)grade[ds]?$|resolved$|^results?$|outcome|^equal|_acc$|^eval",
        5,
    ),
)
NO_VERDICT = (
    r"trunc|\bcut|error|abort|valid|format|cache|stream|finish|stop|timeout|flag|done|mean|best|avg|advantage|turn|use"
    r"|train|(^|_)(n|num|len|count|step|seed|idx|index|level|id)(_|$)|penalty|length"
)
OF_A_REQUEST = r"success|^ok$|status|^results?$"  # of a request, where all rows have the same
PROBLEM: Ranks = (
    (r"^(problem|question)s?$|^(problem|question)_text$|^query$|^body$", 8),
    (r"^(prompts?|instructions?|inputs?|user_message|task_prompt)$", 5),
)
IDS: Ranks = (
    (r"^(problem|question)_?(id|idx|index|uid|hash)$", 9),
    (r"^(task|doc|example|prompt|instance|unique|test|data|item|query|input)_?(id|idx|index|uid|hash)$|^[uqp]id$", 8),
    (r"^(id|uid|idx|index|key|_index|name|problem|question|test_idx)$", 6),
)
NO_ID = r"sample|respon|complet|generat|choice|answer|request|batch|call|session|run|response|rollout|prompt\.id"
ENDS: Ranks = ((r"finish|stop_?reason", 5),)
ENDED = {"stop", "length", "eos", "end_turn", "max_tokens", "STOP", "MAX_TOKENS"}
BENCHMARKS: Ranks = ((r"^(benchmark|dataset|data_source|task)(_name)?$", 5),)
MODELS: Ranks = ((r"^(model|generator)(_(name|id))?$", 5),)
GOOD = ("correct", "ok", "pass", "passed", "success", "succeeded", "true", "yes", "accepted", "ac", "solved", "right")
SHORT = 30  # characters of an answer alone, in the median
CHECKED = 20  # rows that are read with the proposal


@dataclass(frozen=True)
class Proposal:
    """Attributes:
    columns: our name -> a path; without `answer` or `response` where none is seen.
    score: how well gold and response fit.
    several: a row lists several golds that differ.
    columnar: gold and response are lists of one length, a value for each sample.
    models: the column of the models, where several wrote the responses.
    texts: the paths of all texts.
    extracted: the path of short answers that the authors took from the responses.
    """

    columns: Mapping[str, str]
    score: float
    several: bool
    columnar: bool
    models: tuple[str, str] | None
    texts: tuple[str, ...]
    extracted: str | None


def proposal(rows: Objects) -> Proposal:
    """What the columns of rows with responses may be."""
    found = leaves(rows)
    gold, response, score = _pair(found)
    used = {leaf.path for leaf in (gold, response) if leaf is not None}
    rest = [leaf for leaf in found if leaf.path not in used]
    problem = _best(rest, _problem_rank)
    key = _key(rest, gold, problem)
    verdict = verdict_in([leaf for leaf in rest if leaf not in (key, problem)], response)
    end = _best(rest, lambda leaf: _ended(leaf, response))
    seen = len(rows[:SEEN])
    named = key or problem
    of_problem = range(seen) if named is None else [*map(str, named.values)]
    chosen = {
        "problem_id": None if key is None or key.path == "problem_id" else key.path,
        "problem": problem and problem.path,
        "answer": gold and gold.path,
        "response": response and _answer_inside(response),
        "expected": verdict,
        "finish_reason": None if end is None or end.path == "finish_reason" else end.path,
        "benchmark": _of_several(rest, BENCHMARKS, of_problem, but="benchmark"),
    }
    model = _of_several(rest, MODELS, range(seen))
    models = None if model is None else (model, str(next(leaf for leaf in rest if leaf.path == model).flat[0]))
    several = gold is not None and any(len({*map(str, items(of))}) > 1 for of in gold.values)
    columns = _readable(rows, {ours: path for ours, path in chosen.items() if path})
    taken = next((leaf.path for leaf in rest if response and _extracted(leaf, response)), None)
    columnar = several and gold is not None and response is not None and gold.counts == response.counts
    return Proposal(columns, score, several, columnar, models, tuple(leaf.path for leaf in found if leaf.texts), taken)


def verdict_columns(rows: Objects) -> dict[str, str]:
    """The columns of a table of verdicts without responses, as they may be meant; {} without verdicts."""
    found = leaves(rows)
    verdict = verdict_in(found, None) or next((leaf.path for leaf in found if _may_be_verdict(leaf)), None)
    if verdict is None:
        return {}
    rest = [leaf for leaf in found if leaf.path != verdict.partition("?")[0]]
    key = _key(rest, None, None) or _best(rest, _problem_rank)
    key = key or next((leaf for leaf in rest if leaf.scalar and leaf.whole and isinstance(leaf.values[0], str)), None)
    return {"id": key.path if key else "THEIRS", "correct": verdict}


def holds_rows(whole: Mapping[str, object], rows: Objects) -> bool:
    """Whether an object is no row itself, but holds a list of them: it has no id or problem, or they have their own."""
    own = [name for name, of in whole.items() if isinstance(of, str | int) and _named(name, (*IDS, *PROBLEM))]
    return not own or any(_named(name, (*IDS, *PROBLEM, *GOLD)) for name in rows[0])


def _named(name: str, ranks: Ranks) -> bool:
    return any(re.search(pattern, snake(name)) for pattern, _ in ranks)


def verdict_in(found: Sequence[Leaf], response: Leaf | None) -> str | None:
    """The path of the verdicts on responses; of words or numbers that are none, with `?` and the good one."""
    fitting = [
        leaf
        for leaf in found
        if leaf.flat and (response is None or leaf.counts == response.counts) and not isinstance(leaf.flat[0], list)
    ]
    alike = [leaf for leaf in fitting if response is None or leaf.listed == response.listed] or fitting
    known = _best([leaf for leaf in alike if leaf.verdicts], _verdict_rank)
    if known is not None:
        return known.path
    named = _best([leaf for leaf in fitting if _verdict_rank(leaf) > 0 and _good(leaf)], _verdict_rank)
    return None if named is None else f"{named.path}?{_good(named)}"


def _may_be_verdict(leaf: Leaf) -> bool:
    """Whether a column of any name has 0 and 1 alone, and both."""
    return leaf.verdicts and not re.search(NO_VERDICT, leaf.name) and len({*map(str, leaf.flat)}) == 2


def _good(leaf: Leaf) -> str | None:
    """The value that says correct, where the others are not known as verdicts: a word, or the larger of two numbers."""
    values = {*(item for item in leaf.flat if isinstance(item, str | int | float))}
    if len(values) == 2 and all(isinstance(value, int | float) for value in values):
        return f"{max(float(value) for value in values):g}"
    words = {str(value).strip().lower(): str(value).strip() for value in values}
    return next((words[word] for word in GOOD if word in words), None) if len(words) <= 12 else None


def _rank(leaf: Leaf, ranks: Ranks, never: str = r"(?!)") -> float:
    """How well the names on a path fit: the best of them, the outer ones less; -inf for one that says otherwise."""
    if re.search(never, leaf.name):
        return -math.inf
    found = [
        weight - 2 * depth
        for depth, name in enumerate(leaf.names[:4])
        for pattern, weight in ranks
        if re.search(pattern, name) and not re.search(never, name)
    ]
    blamed = sum(1.5 for name in leaf.names[1:] if re.search(never, name))
    inner = sum(0.5 for pattern, _ in ranks if re.search(pattern, leaf.name))
    return max(found) + inner - blamed if found else -math.inf


def _best(found: Sequence[Leaf], rank: Callable[[Leaf], float]) -> Leaf | None:
    ranked = [(rank(leaf), -at) for at, leaf in enumerate(found)]
    best, at = max(ranked, default=(-math.inf, 0))
    return None if best == -math.inf else found[-at]


def _pair(found: Sequence[Leaf]) -> tuple[Leaf | None, Leaf | None, float]:
    """The gold and the response that fit best together, each by itself where the other is not there; and how well."""
    golds = [(_gold_rank(leaf), leaf) for leaf in found if _gold_rank(leaf) > -math.inf]
    responses = [(_response_rank(leaf), leaf) for leaf in found if _response_rank(leaf) > -math.inf]
    pairs = [
        (a + b + _together(gold, response), -at, gold, response)
        for at, ((a, gold), (b, response)) in enumerate((g, r) for g in golds for r in responses)
        if gold.path != response.path and not response.path.startswith(f"{gold.path}.")
    ]
    if pairs:
        score, _, gold, response = max(pairs, key=lambda pair: pair[:2])
        return gold, response, score
    best = max(golds or responses, key=lambda one: one[0], default=None)
    alone = None if best is None else best[1]
    return (alone, None, 0.0) if golds else (None, alone, 0.0)


def _gold_rank(leaf: Leaf) -> float:
    flat = leaf.flat
    if not flat or not all(isinstance(item, str | int | float) and not isinstance(item, bool) for item in flat):
        return -math.inf
    if any(item is None for value in leaf.values for item in items(value)[1:]):
        return -math.inf  # a list with nothing in it is no gold
    verdicts = leaf.verdicts and leaf.name in ("correct", "label", "labels")
    return -math.inf if verdicts else _rank(leaf, GOLD, NO_GOLD) - 4 * (None in leaf.values)


def _response_rank(leaf: Leaf) -> float:
    if not leaf.texts or leaf.verdicts:
        return -math.inf
    rank = _rank(leaf, RESPONSE, NO_RESPONSE)
    return rank + min(4.0, math.log2(leaf.length + 1) / 2)


def _extracted(leaf: Leaf, response: Leaf) -> bool:
    """Whether a column may hold what the authors took from each response."""
    named = re.search(r"^(model|extracted|parsed|pred\w*|llm)_(answer|ans|choice)s?$|^pred(iction)?s?$", leaf.name)
    return bool(named and leaf.texts and leaf.whole and leaf.length < min(SHORT, response.length / 2))


def _answer_inside(response: Leaf) -> str:
    """The path of the responses; of texts that are JSON with an answer in it, that of the answer, or else the text."""
    inside = [opened(text) for text in response.texts]
    objects = [of for of in inside if isinstance(of, dict)]
    names = [str(name) for of in objects for name in of if re.fullmatch(r"(final_)?answer", snake(str(name)))]
    if 2 * len(objects) <= len(inside) or len(names) < len(objects):
        return response.path
    return f"{response.path}{'.*' if response.listed else ''}.{names[0]}|{response.path}"


def _together(gold: Leaf, response: Leaf) -> float:
    """How well a gold and a response fit by their contents: the gold stands in responses, and is no longer than they
    are."""
    if any(count not in (1, len(items(value))) for count, value in zip(gold.counts, gold.values, strict=True)):
        return -math.inf
    inside = [
        any(form and form in (text or "") for form in _forms(value) for text in map(_as_text, items(said)))
        for value, said in zip(gold.values, response.values, strict=True)
    ]
    longer = max((len(str(item)) for item in gold.flat), default=0) > 2 * max(map(len, response.texts))
    return 6 * sum(inside) / len(inside) - 3 * longer


def _forms(value: object) -> list[str]:
    """A gold as a response may have it: without what stands around it, and 51.0 as 51."""
    texts = [str(item).rpartition("####")[2].strip(" $#\n") for item in items(value) if not is_nothing(item)]
    return [*texts, *(text.removesuffix(".0") for text in texts)]


def _as_text(value: object) -> str | None:
    return value if isinstance(value, str) else text_in(value)


def _problem_rank(leaf: Leaf) -> float:
    return _rank(leaf, PROBLEM) if leaf.texts and leaf.whole and not leaf.listed else -math.inf


def _verdict_rank(leaf: Leaf) -> float:
    if re.search(OF_A_REQUEST, leaf.name) and len({*map(str, leaf.flat)}) == 1:
        return -math.inf
    rank = _rank(leaf, VERDICT, NO_VERDICT) if _named(leaf.name, VERDICT) else -math.inf
    bare = 1.0 if leaf.truths and not re.search(NO_VERDICT, leaf.name) else -math.inf
    return max(rank, bare)


def _ended(leaf: Leaf, response: Leaf | None) -> float:
    known = {str(item) for item in leaf.flat} <= ENDED
    fits = response is not None and leaf.counts == response.counts
    return _rank(leaf, ENDS) if leaf.flat and known and fits else -math.inf


def _key(rest: Sequence[Leaf], gold: Leaf | None, problem: Leaf | None) -> Leaf | None:
    """The id of the problem: one for each problem's text, with one gold each."""

    def rank(leaf: Leaf) -> float:
        plain = all(isinstance(value, str | int) and not isinstance(value, bool) for value in leaf.values)
        if not plain or not leaf.whole or re.search(NO_ID, ".".join(leaf.names)) or leaf in (problem, gold):
            return -math.inf
        ids = [str(value) for value in leaf.values]
        for other in (problem, gold):
            if other is not None and not _one_each(ids, other, both=other is problem):
                return -math.inf
        return _rank(leaf, IDS)

    return _best(rest, rank)


def _one_each(ids: Sequence[str], of: Leaf, both: bool) -> bool:
    """Whether each id has one value; `both`: and each value one id."""
    pairs = {(key, repr(value)) for key, value in zip(ids, of.values, strict=True)}
    return len(pairs) == len({key for key, _ in pairs}) and (not both or len(pairs) == len({v for _, v in pairs}))


def _of_several(rest: Sequence[Leaf], ranks: Ranks, of: Sequence[object], but: str = "") -> str | None:
    """The path of a column with several names in it, of which each may stand for two problems.

    Args:
        of: the problem of each row.
    """
    named = [leaf for leaf in rest if leaf.path != but and _named(leaf.name, ranks)]
    varied = [leaf for leaf in named if leaf.scalar and leaf.texts and len({*leaf.texts}) > 1]
    few = [leaf for leaf in varied if len({*leaf.texts}) <= len({*zip(leaf.texts, of, strict=True)}) / 2 + 1]
    best = _best(few, lambda leaf: _rank(leaf, ranks))
    return None if best is None else best.path


def _readable(rows: Objects, columns: dict[str, str]) -> dict[str, str]:
    """The columns without those with which rows cannot be read."""
    for name in ("finish_reason", "benchmark", "expected", "problem_id", "problem", None):
        if _reads(rows, columns) or name is None:
            break
        if name in columns:
            without = {ours: path for ours, path in columns.items() if ours != name}
            columns = without if _reads(rows, without) else columns
    return columns


def _reads(rows: Objects, columns: Mapping[str, str]) -> bool:
    try:
        for row in rows[:CHECKED]:
            values = our_columns.given(row, columns, {})
            our_columns.with_values([Sample()], {n: v for n, v in values.items() if v is not ABSENT})
    except ValueError:
        return False
    return True
