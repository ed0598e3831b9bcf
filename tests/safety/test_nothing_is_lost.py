"""Nothing of the user's is overwritten or deleted: names, outputs that are inputs, links, pipes, modes, owners."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import rlvr
from evals.files import write_text
from harness.record.archive import import_archive, write_archive
from harness.record.find import runs
from harness.record.run import Run
from rlvr.cli import main
from tests.evals.sampling.chat_server import completion, serving
from tests.harness.record.folders import finished

CURVE = "step,critic/score/mean,acc\n1,0.1,0.2\n2,0.3,0.4\n"
ROWS = [
    {"problem_id": "a", "gold": "2", "response": "so \\boxed{2}", "expected": True},
    {"problem_id": "b", "gold": "3", "response": "so \\boxed{4}", "expected": True},
]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with RLVR_HOME beside it."""
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    Path("c1.csv").write_text(CURVE)
    Path("b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return work


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file under a folder, but for those of RLVR_HOME that any command may write."""
    return {
        str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and "home/logs" not in str(path)
    }


def message_of(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


# ------------------------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize(
    "name",
    [
        "../run",
        "../x",
        "..",
        ".",
        ".hidden",
        "/nowhere/absolute",
        "a/b",
        "a\\b",
        "a*",
        "a?",
        "[ab]",
        "",
        " ",
        "a\nb",
        "a\x00b",
        "a\x1b[31m",
        "a\u202eb",
        "-rf",
        "x" * 300,
        "~root",
    ],
)
def test_a_curve_is_called_by_a_plain_name(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`name=../run` removed the folder run-seed1234 beside RLVR_HOME/curves."""
    foreign = tmp_path / "home" / "run-seed1234"
    foreign.mkdir(parents=True)
    (foreign / "thesis.tex").write_text("years")
    before = snapshot(tmp_path)
    assert main(["curves", "c1.csv", f"name={name}"]) == 2
    assert snapshot(tmp_path) == before
    assert "name" in message_of(capsys)


@pytest.mark.parametrize("name", ["GRPO", "my method", "lr=1e-6", "Qwen2.5-7B+DAPO", "méthode", "方法", "v1.2"])
def test_plain_names_stay_possible(name: str) -> None:
    assert main(["curves", "c1.csv", f"name={name}"]) == 0
    assert (Path(os.environ["RLVR_HOME"]) / "curves" / f"{name}-seed0" / "run.json").is_file()


def test_the_name_of_a_file_is_checked_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without name=, the method is called like its first file, which strangers name as they like."""
    odd = Path("run*.csv")
    odd.write_text(CURVE)
    (tmp_path / "home" / "curves" / "runner-seed7").mkdir(parents=True)
    assert main(["curves", str(odd)]) == 2
    assert "name=NAME" in message_of(capsys)
    assert (tmp_path / "home" / "curves" / "runner-seed7").is_dir()


# --------------------------------------------------------------------------------------------------------- deletions


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("record", [None, "{}", '{"kind": "arm"}', "[]", "no JSON"])
def test_a_folder_that_is_no_import_is_not_deleted(
    record: str | None, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seed 0 would be written anew, seed 3 would be deleted as one more seed of an earlier import."""
    folder = tmp_path / "home" / "curves" / f"GRPO-seed{seed}"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    if record is not None:
        (folder / "run.json").write_text(record)
    before = snapshot(folder)
    assert main(["curves", "c1.csv", "name=GRPO"]) == 2
    assert snapshot(folder) == before
    assert str(folder) in message_of(capsys)


def test_a_link_among_the_seeds_is_not_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder elsewhere, which holds an import by its record, is reached by a link: it is not deleted."""
    assert main(["curves", "c1.csv", "name=GRPO"]) == 0
    made = tmp_path / "home" / "curves" / "GRPO-seed0"
    away = tmp_path / "away"
    made.rename(away)
    made.symlink_to(away, target_is_directory=True)
    before = snapshot(away)
    assert main(["curves", "c1.csv", "name=GRPO"]) == 2
    assert snapshot(away) == before


def test_a_file_that_the_user_put_into_an_import_keeps_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["curves", "c1.csv", "name=GRPO"]) == 0
    notes = tmp_path / "home" / "curves" / "GRPO-seed0" / "notes.txt"
    notes.write_text("mine")
    assert main(["curves", "c1.csv", "name=GRPO"]) == 2
    assert notes.read_text() == "mine"
    assert "notes.txt" in message_of(capsys)


def test_an_import_is_replaced_and_its_other_seeds_go(tmp_path: Path) -> None:
    Path("c2.csv").write_text(CURVE.replace("0.4", "0.5"))
    assert main(["curves", "c1.csv", "c2.csv", "name=GRPO"]) == 0
    assert main(["curves", "c1.csv", "name=GRPO"]) == 0
    assert sorted(p.name for p in (tmp_path / "home" / "curves").iterdir()) == ["GRPO-seed0"]


def test_a_curve_whose_file_is_refused_leaves_the_import_before(tmp_path: Path) -> None:
    """The second file has no metric: nothing of the first import is gone, and no half of the second is there."""
    Path("c2.csv").write_text(CURVE.replace("0.4", "0.5"))
    assert main(["curves", "c1.csv", "c2.csv", "name=GRPO"]) == 0
    before = snapshot(tmp_path / "home" / "curves")
    Path("bad.csv").write_text("step,strange\n1,2\n")
    assert main(["curves", "c1.csv", "bad.csv", "name=GRPO"]) == 2
    assert snapshot(tmp_path / "home" / "curves") == before


# ------------------------------------------------------------------------------------------- outputs that are inputs


def under_other_names(file: str) -> list[str]:
    """The names under which one file can be given: itself, by ./, by .., absolute, by a link, by a hard link."""
    suffix = Path(file).suffix[1:]
    Path(f"soft.{suffix}").symlink_to(file)
    os.link(file, f"hard.{suffix}")
    Path("sub").mkdir()
    return [file, f"./{file}", f"sub/../{file}", str(Path(file).absolute()), f"soft.{suffix}", f"hard.{suffix}"]


def refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(Path.cwd())
    assert main(command) == 2, command
    assert "is an input" in message_of(capsys)
    assert snapshot(Path.cwd()) == before, command


def test_the_page_of_a_grade_is_not_its_responses(capsys: pytest.CaptureFixture[str]) -> None:
    for name in under_other_names("b.jsonl"):
        refused(["grade", "b.jsonl", f"page={name}"], capsys)


def test_the_rows_of_a_grade_are_not_its_golds(capsys: pytest.CaptureFixture[str]) -> None:
    Path("g.jsonl").write_text(
        "".join(json.dumps({"problem_id": r["problem_id"], "gold": r["gold"]}) + "\n" for r in ROWS)
    )
    Path("r.jsonl").write_text(
        "".join(json.dumps({"problem_id": r["problem_id"], "response": r["response"]}) + "\n" for r in ROWS)
    )
    for name in under_other_names("g.jsonl"):
        refused(["grade", "r.jsonl", "gold=g.jsonl", f"out={name}"], capsys)
        refused(["grade", "r.jsonl", "gold=g.jsonl", f"page={name}"], capsys)


def test_the_rows_of_a_grade_are_not_its_responses(capsys: pytest.CaptureFixture[str]) -> None:
    for name in under_other_names("b.jsonl"):
        refused(["grade", "b.jsonl", f"out={name}"], capsys)


def test_the_table_of_an_audit_is_not_a_curve(capsys: pytest.CaptureFixture[str]) -> None:
    Path("c2.csv").write_text(CURVE.replace("0.4", "0.5"))
    for name in under_other_names("c1.csv"):
        refused(["audit", "c1.csv", "c2.csv", "printed=40", "metric=acc", f"out={name}"], capsys)
        refused(["audit", "c2.csv", "base=[c1.csv]", "printed=40", "metric=acc", f"out={name}"], capsys)
        refused(["audit", "c[12].csv", "printed=40", "metric=acc", f"out={name}"], capsys)  # a glob of ours


def test_out_and_page_are_two_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", "b.jsonl", "out=o.jsonl", "page=./o.jsonl"]) == 2
    assert not Path("o.jsonl").exists()


def test_the_files_of_a_run_are_no_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`out=` inside the folder of a run that is read, by its path and by its name in `rlvr show`."""
    assert main(["curves", "c1.csv", "name=GRPO"]) == 0
    folder = tmp_path / "home" / "curves" / "GRPO-seed0"
    before = snapshot(folder)
    for run in (str(folder), "GRPO"):
        assert main(["show", run, f"out={folder / 'run.json'}"]) == 2
        assert snapshot(folder) == before


def test_in_python_too(capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(Path.cwd())
    with pytest.raises(rlvr.UsageError, match="is an input"):
        rlvr.grade("b.jsonl", page="b.jsonl")
    with pytest.raises(rlvr.UsageError, match="is an input"):
        rlvr.grade(Path("b.jsonl"), out=Path("./b.jsonl"))
    result = rlvr.audit("c1.csv", printed=40, metric="acc")
    with pytest.raises(rlvr.UsageError, match="is an input"):
        result.save("c1.csv")
    assert snapshot(Path.cwd()) == before


def test_nothing_starts_before_the_output_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: object, **__: object) -> None:
        raise AssertionError("graded first")

    monkeypatch.setattr("evals.answer_files.grade_file", started)
    assert main(["grade", "b.jsonl", "out=b.jsonl"]) == 2


def test_a_folder_with_a_page_of_the_users_is_not_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    """`rlvr analyze … out=.` writes README.md: the user's README.md is not ours to replace."""
    assert main(["curves", "c1.csv", "name=GRPO"]) == 0
    Path("README.md").write_text("mine")
    assert main(["analyze", "GRPO", "out=."]) == 2
    assert Path("README.md").read_text() == "mine"
    assert "README.md" in message_of(capsys)


# ------------------------------------------------------------------------------- links, pipes, devices, modes, owners


def test_a_link_is_written_through(place: Path) -> None:
    real = place / "store" / "real.jsonl"
    real.parent.mkdir()
    real.write_text("old\n")
    Path("o.jsonl").symlink_to(real)
    assert main(["grade", "b.jsonl", "out=o.jsonl"]) == 0
    assert Path("o.jsonl").is_symlink()
    assert len(real.read_text().splitlines()) == 2


def test_a_link_to_a_link_and_to_nothing_yet(place: Path) -> None:
    Path("o.csv").symlink_to("middle.csv")
    Path("middle.csv").symlink_to("end.csv")
    assert main(["audit", "c1.csv", "printed=40", "metric=acc", "out=o.csv"]) == 0
    assert Path("o.csv").is_symlink() and Path("middle.csv").is_symlink()
    assert Path("end.csv").read_text().startswith("printed,")


def test_a_pipe_is_written_into(place: Path) -> None:
    for command in (
        ["grade", "b.jsonl", "out=pipe.jsonl"],
        ["grade", "b.jsonl", "page=pipe.md"],
        ["audit", "c1.csv", "printed=40", "metric=acc", "out=pipe.csv"],
    ):
        pipe = Path(command[-1].partition("=")[2])
        os.mkfifo(pipe)
        came: list[bytes] = []
        reader = threading.Thread(target=lambda at=pipe, to=came: to.append(at.read_bytes()), daemon=True)
        reader.start()
        assert main(command) == 0
        reader.join(timeout=60)
        assert came and came[0], command
        assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_is_written_into(place: Path) -> None:
    Path("null.jsonl").symlink_to("/dev/null")
    Path("null.md").symlink_to("/dev/null")
    assert main(["grade", "b.jsonl", "out=null.jsonl", "page=null.md"]) == 0
    assert os.readlink("null.jsonl") == "/dev/null"
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o666])
def test_the_mode_of_a_file_stays(mode: int) -> None:
    for command in (
        ["grade", "b.jsonl", "out=o.jsonl"],
        ["audit", "c1.csv", "printed=40", "metric=acc", "out=o.csv"],
        ["grade", "b.jsonl", "page=o.md"],
    ):
        out = Path(command[-1].partition("=")[2])
        out.touch()
        out.chmod(mode)
        assert main(command) == 0
        assert stat.S_IMODE(out.stat().st_mode) == mode
        assert out.read_text()


def test_a_file_without_the_right_to_write_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    out = Path("o.jsonl")
    out.write_text("final")
    out.chmod(0o444)
    assert main(["grade", "b.jsonl", "out=o.jsonl"]) == 2
    assert out.read_text() == "final"
    assert "read-only" in message_of(capsys)


def test_a_failed_command_leaves_the_file_that_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of a disk in the middle of the writing: the file before is whole."""
    Path("o.jsonl").write_text("before")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    assert main(["grade", "b.jsonl", "out=o.jsonl"]) == 2
    assert Path("o.jsonl").read_text() == "before"
    assert sorted(p.name for p in Path.cwd().iterdir()) == ["b.jsonl", "c1.csv", "o.jsonl"]


# --------------------------------------------------------------------------------------------- folders that were given


@pytest.fixture
def evaluation(place: Path) -> Iterator[list[str]]:
    """A command that measures a served model on two problems, without out=."""
    rows = [{"problem": f"{i} + 1 = ?", "answer": str(i + 1)} for i in range(2)]
    Path("lost_sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving() as server:
        server.usual = lambda handler, body: handler.reply(200, completion(body, "\\boxed{2}"))
        yield ["eval", "model=some/model", "benchmarks=[lost_sums.jsonl]", "n=1", "ks=[1]", "engine=openai",
               f"engine.url={server.url}"]  # fmt: skip


@pytest.mark.parametrize("file", ["error.json", "scores.json", "run.json"])
@pytest.mark.parametrize("content", ['{"mine": 1}', "[1, 2]", "not JSON"])
def test_an_evaluation_takes_no_file_of_the_users_for_its_own(
    file: str, content: str, evaluation: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """`out=.`: error.json was deleted before anything was sampled, scores.json and run.json were written over."""
    Path(file).write_text(content)
    assert main([*evaluation, "out=."]) == 2
    assert Path(file).read_text() == content
    assert file in message_of(capsys)


def test_an_evaluation_does_not_make_a_training_run_into_one(
    evaluation: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = finished(tmp_path / "home")
    before = snapshot(run.folder)
    assert main([*evaluation, f"out={run.folder}"]) == 2
    assert snapshot(run.folder) == before


def test_an_evaluation_resumes_in_its_own_folder(evaluation: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("own").mkdir()
    Path("own/notes.txt").write_text("mine")
    assert main([*evaluation, "out=own"]) == 0
    assert main([*evaluation, "out=own"]) == 0
    assert Path("own/notes.txt").read_text() == "mine"


def test_a_parquet_file_beside_the_samples_is_not_deleted(evaluation: list[str], tmp_path: Path) -> None:
    assert main([*evaluation, "out=own"]) == 0
    shards = next(Path("own").rglob("*-*.parquet")).parent
    for name in ("backup.parquet", "000000-copy.parquet", "1.parquet"):
        (shards / name).write_text("mine")
    assert main([word.replace("n=1", "n=2") for word in evaluation] + ["out=own"]) == 0
    assert all((shards / name).read_text() == "mine" for name in ("backup.parquet", "000000-copy.parquet", "1.parquet"))


def test_a_model_of_an_odd_name_stays_in_the_folder_of_evaluations(evaluation: list[str], tmp_path: Path) -> None:
    for name in ("..", "a/..", "m*", "[m]", "m\x1bx", "-m"):
        assert main([evaluation[0], f"model={name}", *evaluation[2:]]) == 0
    home = tmp_path / "home"
    assert {p.name for p in tmp_path.iterdir()} == {"home", "work"}
    for folder in (home / "evaluations").iterdir():
        assert not set("*?[]\x1b") & set(folder.name) and folder.name[0] not in ".-"


def test_an_import_of_responses_keeps_a_file_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = finished(tmp_path / "home")
    for responses in (True, False):
        write_archive([run], tmp_path / f"{responses}.tar.xz", responses=responses)
    monkeypatch.setenv("RLVR_HOME", str(tmp_path / "other"))
    assert import_archive(tmp_path / "False.tar.xz") == (1, 0, 0)
    (imported,) = runs()
    (imported.folder / "notes.txt").write_text("mine")
    (imported.folder / "deep").mkdir()
    (imported.folder / "deep" / "er.txt").write_text("mine")
    assert import_archive(tmp_path / "True.tar.xz") == (0, 1, 0)
    assert (imported.folder / "notes.txt").read_text() == (imported.folder / "deep" / "er.txt").read_text() == "mine"
    assert Run(imported.folder).keeps_responses and Run(imported.folder).damage() == []


@pytest.mark.parametrize("names", [["..", "x"], ["a*", "b"], [".hidden", "b"], ["x\x1b", "y"]])
def test_the_names_of_figures_make_no_folder_elsewhere(names: list[str], tmp_path: Path) -> None:
    Path("c2.csv").write_text(CURVE)
    assert main(["curves", "c1.csv", "name=A"]) == 0 and main(["curves", "c2.csv", "name=B"]) == 0
    result = rlvr.analyze(["A", "B"], names=names, only=["training"])
    folder = Path(result["folder"])
    assert folder.parent == tmp_path / "home" / "results" / "analyses"
    assert not set("*\x1b") & set(folder.name) and folder.name[0] != "."


def test_the_probe_of_leaks_does_not_write_over_its_problems() -> None:
    from benchmarks import leaks

    Path("p.csv").write_text("problem,answer\n1+1,2\n")
    with pytest.raises(ValueError, match="is an input"):
        leaks.main(["some/model", "own=p.csv", "out=p.csv"])
    assert Path("p.csv").read_text() == "problem,answer\n1+1,2\n"


def test_an_owner_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of another owner gets it back. Where that is forbidden, it is written in place. No test is root."""
    file = Path("o.txt")
    file.write_text("old")
    number = file.stat().st_ino
    owners_set: list[tuple[int, int]] = []
    real = Path.stat

    def of_another(path: Path, **options: bool) -> os.stat_result:
        status = real(path, **options)
        return os.stat_result((*status[:4], 4321, 8765, *status[6:])) if path == file else status

    monkeypatch.setattr(Path, "stat", of_another)
    monkeypatch.setattr(os, "chown", lambda _, user, group: owners_set.append((user, group)))
    write_text(file, "new")
    assert owners_set == [(4321, 8765)] and file.read_text() == "new" and real(file).st_ino != number

    def forbidden(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", forbidden)
    number = real(file).st_ino
    write_text(file, "newer")
    assert file.read_text() == "newer" and real(file).st_ino == number
