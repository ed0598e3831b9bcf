"""Released code beside its paper's equation: does the machinery find a fault that is there, and none that is not?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks.pages import ROOT
from benchmarks.released import checkout, papers
from benchmarks.released.batches import BRANCHES, Drawn, branches, drawn
from benchmarks.released.cases import CASES, Place
from benchmarks.released.measure import BlindBatch, compare
from benchmarks.released.page import Row, page
from benchmarks.released.papers import PAPERS, Difference, Paper
from benchmarks.released.processes import CaseResult, environment, released
from benchmarks.released.verdicts import CANNOT_RUN, COMPUTES, NEVER_ARRIVES, Judged, judge
from harness.spec import catalogue
from tests.benchmarks.released import toys

BATCHES = (drawn("drawn", 0), drawn("again", 1))


def forking(step: Drawn) -> torch.Tensor:
    return papers.forking(step, dual_clip=None)


TOP = Paper(forking, papers.dapo_loss, "the toys'")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("checkouts")
    toys.checkouts(place)
    return place


@pytest.fixture(scope="module")
def run(folder: Path) -> dict[str, CaseResult]:
    """Each toy in a process of its own, as they are checkouts of their own."""
    toy = "tests.benchmarks.released.toys"
    return {name: released(toy, [name], folder, BATCHES)[name] for name in toys.CASES}


def judged(gradients: CaseResult) -> Judged:
    return judge(gradients, TOP, BATCHES, (1, 2))


@pytest.mark.slow
def test_a_right_checkout_computes_the_equation(run: dict[str, CaseResult]) -> None:
    right = judged(run["right"])
    assert right.verdict == COMPUTES
    assert all(abs(c.presence - 1) < 1e-6 and c.residual < 1e-6 for c in right.comparisons.values())
    assert right.passes is not None and right.passes < 0.999  # its threshold and its mean are those of a forward pass


@pytest.mark.slow
def test_a_mask_that_is_never_applied_is_found(run: dict[str, CaseResult]) -> None:
    never = judged(run["never"])
    assert never.verdict == NEVER_ARRIVES
    assert all(abs(c.presence) < 1e-6 and abs(c.residual - 1) < 1e-6 for c in never.comparisons.values())


@pytest.mark.slow
def test_missing_imports_are_stubbed_and_named(run: dict[str, CaseResult]) -> None:
    stubbed = run["stubbed"]
    assert stubbed.stubs == ["absent_package", "torch.a_name_that_torch_lacks"] and stubbed.called == []
    assert judge(stubbed, TOP, BATCHES, (1,)).verdict == COMPUTES


@pytest.mark.slow
def test_a_checkout_that_writes_is_refused(run: dict[str, CaseResult]) -> None:
    writes = run["writes"]
    assert writes.refused == ["open for writing /tmp/rlvr-released-toy"]
    verdict = judge(writes, TOP, BATCHES, (1,)).verdict
    assert verdict.startswith(CANNOT_RUN) and "/tmp/rlvr-released-toy" in verdict
    assert not Path("/tmp/rlvr-released-toy").exists()


@pytest.mark.slow
def test_what_the_checkout_raises_is_the_finding(run: dict[str, CaseResult]) -> None:
    verdict = judged(run["broken"]).verdict
    assert verdict == f"{CANNOT_RUN}: NameError: name 'undefined_name' is not defined"


def test_presence_and_residual_by_hand() -> None:
    # b = (0, 0), m = (2, 0), r = (1, 1): <r - b, m - b> = 2 of |m - b|^2 = 4. |r - m| = sqrt(2), of |m - b| = 2
    b, m, r = torch.tensor([0.0, 0.0]), torch.tensor([2.0, 0.0]), torch.tensor([1.0, 1.0])
    half = compare(r, m, b)
    assert half.presence == pytest.approx(0.5) and half.residual == pytest.approx(2**0.5 / 2)
    assert half.cosine == pytest.approx(2**-0.5) and half.largest == 1 and not half.computes
    assert compare(m, m, b).computes and compare(b + 0, m, b).presence == 0 and compare(b, m, b).residual == 1
    with pytest.raises(BlindBatch):
        compare(r, m, m.clone())
    with pytest.raises(ValueError, match="released gradient is not finite"):
        compare(r * float("nan"), m, b)


def test_a_cosine_is_blind_where_presence_is_not() -> None:
    # low_ppl.sh: a factor of 1 - 0.01 w that is never applied leaves the gradient almost where it was
    batch = drawn("drawn", 0)
    method, baseline = (papers.gradient(PAPERS["low_ppl"].method, batch), papers.gradient(papers.dapo_loss, batch))
    absent = compare(baseline, method, baseline)
    assert absent.cosine > 0.999 and absent.presence == 0 and absent.residual == 1


def synthetic(gradients: list[torch.Tensor]) -> CaseResult:
    return CaseResult({(batch.name, 1): g for batch, g in zip(BATCHES, gradients, strict=True)})


def test_a_difference_is_named_only_if_it_explains_every_batch_that_differs() -> None:
    place = Place("losses.py", "def")
    wrong = Difference("it halves the loss", place, lambda step: forking(step) / 2)
    right = Difference("it doubles the loss", place, lambda step: forking(step) * 2)
    paper = Paper(forking, papers.dapo_loss, "", (wrong, right))
    method = [papers.gradient(forking, batch) for batch in BATCHES]
    assert judge(synthetic([2 * g for g in method]), paper, BATCHES, (1,)).difference is right
    mixed = judge(synthetic([method[0], 2 * method[1]]), paper, BATCHES, (1,))
    assert mixed.verdict == f"{COMPUTES}, except on 1 of 2 batches (again): it doubles the loss"
    unknown = judge(synthetic([3 * g for g in method]), paper, BATCHES, (1,))
    assert unknown.difference is None and unknown.verdict == "differs: what, is not known"


def test_the_page_has_a_value_in_every_column(tmp_path: Path) -> None:
    case = toys.CASES["right"]
    (tmp_path / case.folder).mkdir()
    (tmp_path / case.folder / "losses.py").write_text(toys.RIGHT, encoding="utf-8")
    measured = synthetic([papers.gradient(forking, batch) for batch in BATCHES])
    text = page(
        {"right": Row(case, TOP, measured, judge(measured, TOP, BATCHES, (1,)))}, tmp_path, {"drawn": "one"}, ""
    )
    header, _, row = (line.split("|")[1:-1] for line in text.splitlines() if line.startswith("|"))
    cells = dict(zip((name.strip() for name in header), (cell.strip() for cell in row), strict=True))
    assert cells["equation"] == "the toys'" and cells["verdict"] == COMPUTES and cells["two passes"] == "–"
    assert cells["presence"] == "1.000" and float(cells["residual"]) < 1e-5
    assert "`losses.py:9`" in text and "The authors' answer: none known to us." in text


def test_a_called_stub_makes_no_result() -> None:
    called = CaseResult({}, called=["flash_attn.kernel()"])
    assert judge(called, TOP, BATCHES, (1,)).verdict.startswith(f"{CANNOT_RUN}: its update step calls what is not")


def test_one_batch_is_not_enough() -> None:
    single = CaseResult({(BATCHES[0].name, 1): papers.gradient(forking, BATCHES[0])})
    with pytest.raises(ValueError, match=r"1 batches tell the method from its baseline\. Expected 2"):
        judge(single, TOP, BATCHES[:1], (1,))


def test_the_batches_reach_every_branch() -> None:
    tied = drawn("tied", 2, entropy_grid=0.5)
    assert branches(BATCHES[0]) | branches(tied) == BRANCHES
    mild = drawn("mild", 0, largest_log_ratio=0.58)
    assert not {name for name in branches(mild) if "10" in name}


def test_every_case_has_its_equation_and_differs_from_its_baseline() -> None:
    assert list(CASES) == list(PAPERS) and len(CASES) >= 10
    for key, paper in PAPERS.items():
        changes = [
            papers.gradient(paper.method, batch) - papers.gradient(paper.baseline, batch)
            for batch in (*BATCHES, drawn("mild", 0, largest_log_ratio=0.58))
        ]
        assert sum(float(change.norm()) > 1e-9 for change in changes) >= 2, key


def test_the_arm_of_a_case_is_declared() -> None:
    arms = [case.arm for case in CASES.values() if case.arm]
    assert ("forking_tokens", "top20_as_released") in arms
    for paper, arm in arms:
        assert arm in {declared.key for declared in catalogue.load(paper).arms}


def test_a_checkout_of_another_commit_is_noticed(tmp_path: Path) -> None:
    case = CASES["forking_tokens_before"]
    assert checkout.missing(case, tmp_path) == "FOLDER has no Beyond-the-80-20-Rule-RLVR@097092a5"
    core = tmp_path / case.folder / "verl/trainer/ppo/core_algos.py"
    core.parent.mkdir(parents=True)
    core.write_text("", encoding="utf-8")
    assert "is not the file of commit 097092a5" in checkout.missing(case, tmp_path)


def test_blob_is_gits_number(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    assert checkout.blob(tmp_path / "a") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"  # git's empty file, in every git


def test_a_place_is_found_by_its_text(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ndef loss(): ...\n", encoding="utf-8")
    assert checkout.line(Place("a.py", "def loss"), tmp_path) == "a.py:2"
    with pytest.raises(ValueError, match="has no line with 'def gone'"):
        checkout.line(Place("a.py", "def gone"), tmp_path)


def guarded(code: str, folder: Path) -> str:
    """The output of code in a process with the guard up, `folder` writable."""
    text = f"from pathlib import Path\nfrom benchmarks.released.guard import Guard\ng = Guard(Path({str(folder)!r}))\n"
    text += f"try:\n    {code}\nexcept PermissionError as error:\n    print(error)\nelse:\n    print('allowed')\n"
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, env=environment(folder), capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("open('/tmp/outside', 'w')", "open for writing /tmp/outside"),
        ("__import__('os').open('/tmp/outside', 1 | 64)", "open for writing /tmp/outside"),
        ("__import__('os').makedirs('/tmp/outside/a')", "os.mkdir /tmp/outside"),
        ("__import__('subprocess').run(['true'])", "subprocess.Popen"),
        ("__import__('os').system('true')", "os.system"),
        ("__import__('os').kill(1, 0)", "os.kill"),
        ("__import__('socket').create_connection(('127.0.0.1', 9))", "socket."),
        ("__import__('shutil').rmtree('/tmp/outside')", "shutil.rmtree /tmp/outside"),
    ],
)
def test_the_guard_refuses(code: str, refused: str, tmp_path: Path) -> None:
    assert guarded(code, tmp_path).startswith(f"refused: the checkout asked for {refused}")


def test_the_guard_allows_reading_and_its_own_folder(tmp_path: Path) -> None:
    assert guarded(f"open({str(tmp_path / 'inside')!r}, 'w').close()", tmp_path) == "allowed"
    assert guarded(f"open({__file__!r}).close()", tmp_path) == "allowed"


@pytest.mark.slow
def test_the_command_names_what_is_wrong() -> None:
    def message(*words: str) -> str:
        command = [sys.executable, "-m", "benchmarks.released", *words]
        return subprocess.run(command, cwd=ROOT, env=environment(ROOT), capture_output=True, text=True).stderr

    assert "FOLDER=/no/such: there is no such folder. Type --list" in message("/no/such")
    assert "CASE=nothing: there is no such case. The cases are forking_tokens_before" in message(str(ROOT), "nothing")
    assert "--write needs all cases. Leave out CASE." in message(str(ROOT), "dapo", "--write")


def test_a_stub_can_answer_what_a_checkout_asks_while_it_is_imported(tmp_path: Path) -> None:
    """Another function of the same module stays a stub, and the page says which one has an answer."""
    (tmp_path / "own_module_of_a_test.py").write_text(
        "from not_installed.hub.paths import folder, other\nplace = folder('models') + '/x'\n", encoding="utf-8"
    )
    code = (
        "from pathlib import Path\nfrom benchmarks.released.stubs import Stubs, answer, load\ns = Stubs()\n"
        "answer('not_installed.hub.paths', 'folder', '/nowhere', s)\n"
        f"m = load('own_module_of_a_test', [Path({str(tmp_path)!r})], s)\nprint(m.place, type(m.other).__name__)\n"
        "print(s.listed())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines() == [
        "/nowhere/x _StubType",
        "['not_installed', \"not_installed.hub.paths.folder (returns '/nowhere')\"]",
    ]
