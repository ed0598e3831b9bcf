"""Which files of other projects `benchmarks.heldout` reads, and how their tests call what they test.

FIRST was read until 2026-11-22; its half with even hashes was in view of the rules' author from the start, the other
half since it was scored once on that day. SECOND was added then, before our grader saw any of it, and was scored
once. So was THIRD after the rules that followed; nobody had read its pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

Calls = Mapping[str, tuple[int, int]]


class Suite(NamedTuple):
    """One test file, or a JSON file of cases. `calls`: a checking function -> where its prediction and its gold are."""

    repository: str
    path: str
    licence: str
    calls: Calls = MappingProxyType({})
    lists: Mapping[str, bool] = MappingProxyType({})  # lists of (prediction, gold): their name -> the label of each


SYMMETRIC = {"is_equiv": (0, 1), "_test_is_equiv": (0, 1), "_test_is_not_equiv": (0, 1), "math_equal": (0, 1)}
SLIME = {name: (0, 1) for name in ("grade_answer_verl", "grade_answer_sympy", "grade_answer_mathd")}
MATH_VERIFY = tuple(
    Suite("huggingface/Math-Verify", f"tests/{name}.py", "Apache-2.0")
    for name in ("test_all", "test_boxed", "test_numina_cases", "test_open_thoughts", "test_strict", "test_yujianll")
)
FIRST = (
    *MATH_VERIFY,
    Suite("huggingface/lighteval", "tests/unit/metrics/test_extractive_match.py", "MIT"),
    Suite("MARIO-Math-Reasoning/MARIO_EVAL", "math_evaluation/tests/test_is_equiv.py", "none stated", SYMMETRIC),
    Suite("hendrycks/math", "modeling/math_equivalence_test.py", "MIT", SYMMETRIC),
    Suite("NVIDIA-NeMo/Skills", "tests/test_math_equal.py", "Apache-2.0"),
    Suite("inclusionAI/AReaL", "tests/test_math_verify_reward.py", "Apache-2.0", {"verify": (0, 1)}),
    Suite("modelscope/ms-swift", "tests/utils/test_rewards.py", "Apache-2.0", {"math_accuracy": (0, 1)}),
    Suite("huggingface/open-r1", "tests/test_rewards.py", "Apache-2.0", {"accuracy_reward": (0, 1)}),
    Suite("huggingface/trl", "tests/test_rewards.py", "Apache-2.0", {"accuracy_reward": (0, 1)}),
    Suite("PrimeIntellect-ai/verifiers", "tests/test_math_rubric.py", "MIT"),
    Suite("THUDM/slime", "tests/test_rm_math.py", "Apache-2.0", SLIME),
    Suite("THUDM/slime", "tests/test_rm_deepscaler.py", "Apache-2.0", {"get_deepscaler_rule_based_reward": (0, 1)}),
    Suite("rllm-org/rllm", "tests/rewards/test_math_reward.py", "Apache-2.0", {"grade_answer_verl": (0, 1)}),
)  # fmt: skip


def by(*names: str) -> Calls:
    return dict.fromkeys(names, (0, 1))


def gold_first(*names: str) -> Calls:
    return dict.fromkeys(names, (1, 0))


def tinker(path: str, calls: Calls) -> Suite:
    return Suite("thinking-machines-lab/tinker-cookbook", f"tinker_cookbook/{path}", "Apache-2.0", calls)


def sieval(path: str, calls: Calls) -> Suite:
    return Suite("scitix/sieval", f"tests/unit/{path}", "Apache-2.0", calls)


def gym(server: str, calls: Calls) -> Suite:
    return Suite("NVIDIA-NeMo/Gym", f"resources_servers/{server}/tests/test_app.py", "Apache-2.0", calls)


MOLT = {"MATCH": True, "MATCH_SYMPY": True, "NOMATCH": False}
SECOND = (
    Suite("UKGovernmentBEIS/inspect_ai", "tests/scorer/math_cases.json", "MIT"),
    Suite("google/tunix", "tests/utils/math_utils_test.py", "Apache-2.0", by("grade_answer_special_handling")),
    Suite("google-deepmind/simply", "simply/utils/math_eval_test.py", "Apache-2.0", by("match", "grade_answer_mathd")),
    tinker("recipes/math_rl/math_env_test.py", by("grade_answer")),
    tinker("eval/benchmarks/benchmark_test.py", by("_check_math_equal")),
    sieval("community/test_agieval.py", by("is_equiv")),
    sieval("community/test_deepseek_math.py", by("symbolic_equal")),
    sieval("community/test_imo_bench.py", gold_first("_grade", "verify_math_answer")),
    sieval("community/test_ugmathbench.py", by("judge_answer", "math_equal")),
    sieval("community/test_ugmath_latex_parser.py", by("judge_answers")),
    sieval("tasks/test_gsm_plus_0shot_gen.py", by("is_equivalent")),
    Suite("NVIDIA-NeMo/labs-molt", "tests/unit/test_math_grader.py", "Apache-2.0", lists=MOLT),
    gym("math_with_judge", gold_first("_verify_answer_with_library_async")),
    gym("ugphysics_judge", gold_first("_verify_answer_with_library_async")),
    gym("imo_proofbench_judge", gold_first("math_equal")),
    Suite("T41K1/LLM-jp-4-RL", "tests/test_ground_truth_utils.py", "none stated", by("_score")),
    Suite("StephenQSstarThomas/Skill-TTRL", "tests/test_math_grader.py", "none stated", by("grade_answer")),
    Suite("StephenQSstarThomas/Skill-TTRL", "tests/test_majority_vote.py", "none stated", by("answers_match")),
    Suite("sangwansahil/elmo-harness", "tests/test_math_eval.py", "Apache-2.0", by("math_equivalent")),
    Suite("apratim-mishra/llm-finetuning", "tests/test_math_reward.py", "none stated", by("answers_match")),
    Suite("michaelellis003/LMT", "tests/test_rewards.py", "Apache-2.0", {"math_reward": (1, 2)}),
    Suite("sudsho/grpo-rlvr-reasoning", "tests/test_math_verifier.py", "MIT", by("verify")),
)


# why ours disagrees with a label of SECOND, as read by hand after the one scoring: (gold, prediction) -> reason
REASONS = {
    (r"2.\overline{3}", "2.3"): "convention: two digits are no rounding",
    (r"\frac{3\sqrt{}{3}}{2}", r"\frac{3\sqrt{3}}{2}"): "damaged gold",
    (r"[-5,1]\cup[3,9]", r"$-5\lex\le1$or$3\lex\le9$"): r"damaged answer (`\lex`)",
    ("$180 - 2\\alpha$", r"180^\circ - 2\alpha"): "our error: a missing degree sign inside an expression",
    ("(-infinity,5)", r"(-\infty, 5)"): "our error: the word inside an interval is not read",
    (
        "1386.15*[e^{0.013*t}-1]",
        r"\frac{18.02}{0.013} ( e^{0.013t} - 1 )",
    ): "convention: no rounding inside expressions",
    ("0.333333+(-0.0185185)*(x-5)", r"\frac{23 - x}{54}"): "convention: no rounding inside expressions",
    ("2.71828182845905^{cosh(4*x)} * sinh(4*x) * 4", r"4 e^{\cosh(4x)} \sinh(4x)"): (
        "convention: no rounding inside expressions"
    ),
    ("1.09951162778E+12", "4^20"): "convention: an integer has no rounding",
    ("2/6", "1/3"): "equal in value; the label asks for the same fraction",
    ("ABC", "abc"): "convention: letters keep their case",
    ("x", "((x))"): "our error: one letter in parentheses was read as a choice (fixed after the scoring)",
    ("log(x, 10)", "log(x) / log(10)"): "our error: a base as second argument was not read (fixed after the scoring)",
    ("log(x,10)*x + ln(6)", "x*log(x)/log(10) + ln(3) + ln(2)"): "our error: as above (fixed after the scoring)",
    ("x", "sqrt(x**2)"): "convention: x may be negative; the label takes it for positive",
    (
        "1 + tan(x) + arcsin(x) + arccos(x) + arctan(x)",
        "ArcSin(x) + ArcCos(x) + ArcTan(x) + Sin(x)**2 + Cos(x)**2 + Tan(x)",
    ): "our error: names of functions with capitals are not read",
    ("Derivative(y, x)", "2 * Derivative(y, x) / 2"): "sympy's text for derivatives is not read",
    (
        "Derivative(y, x, x) == Derivative(sin(x) * y, x)",
        "Derivative(Derivative(y, x), x) == y*cos(x) + sin(x)*Derivative(y, x)",
    ): "sympy's text for derivatives is not read",
    ("v_zmf * v_zmf == v_x * v_x + v_y * v_y", "v_zmf**(2) == v_x**2 + v_y**2"): "the sign == of code is not read",
    ("test == abc", "test == abcd / d"): "convention: abc is a product; the label takes it for one name",
    ("a + b", "(a + b +"): "damaged answer; its project mends it",
    ("1/(n + 1)", "factorial(n)/factorial(n + 1)"): "our error: factorial() of code is not read",
    ("42", "the answer is 42"): "equal in value; the label asks for a box",
}


THIRD = (  # answers that students type, as text
    Suite("isaacphysics/equality-checker", "checker/tests/test_maths.py", "Apache-2.0", by("check")),
)

GOLDS = {
    "college_math": ("QwenLM/Qwen2.5-Math", "evaluation/data/college_math/test.jsonl", "answer"),
    "gaokao2023en": ("QwenLM/Qwen2.5-Math", "evaluation/data/gaokao2023en/test.jsonl", "answer"),
    "carp_en": ("QwenLM/Qwen2.5-Math", "evaluation/data/carp_en/test.jsonl", "answer"),
    "gaokao_math_cloze": ("QwenLM/Qwen2.5-Math", "evaluation/data/gaokao_math_cloze/test.jsonl", "answer"),
    "asdiv": ("QwenLM/Qwen2.5-Math", "evaluation/data/asdiv/test.jsonl", "answer"),
    "theorem_qa": ("OpenBMB/Eurus", "eval/Math/theorem_qa/theorem_qa.json", "Answer"),
    "hardverify": ("uw-nsl/TinyV", "benchmarks/HardVerify-Math.json", "ground_truth"),
}
