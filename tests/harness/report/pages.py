"""A small report with everything in it, hostile text included. Needs the standard library alone."""

from __future__ import annotations

from dataclasses import replace

from harness.report.page import ClaimRow, Document, Figure
from harness.report.viewer import Shown, pack
from harness.tables.grid import Grid

HOSTILE = "</script><script>window.hit=1</script><img src=x onerror='window.hit=2'>]]>--><!--\u2028\u2029 &lt;b&gt;"
PATH = '<path d="M 0 0 L 300 200" style="stroke: #06c"/>'
SVG = f'<svg xmlns="http://www.w3.org/2000/svg" width="300pt" height="200pt" viewBox="0 0 300 200">{PATH}</svg>'


def response(run: str, problem: str, sample: int, verdict: str = "correct") -> Shown:
    """Four tokens, of which the second is uncertain."""
    return Shown(
        run=run,
        benchmark="b",
        problem=problem,
        sample=sample,
        seed=None,
        verdict=verdict,
        answer="4",
        gold="4",
        prompt=f"What is {problem}?",
        text="first so 2+2 4",
        tokens=("first", " so", " 2+2", " 4"),
        entropies=(0.1, 1.5, 0.0, 0.4),
        length=4,
    )


def responses() -> list[Shown]:
    """Two runs, two problems, four samples each: the fourth of p1 is wrong and hostile. One of p2 was not read."""
    made = []
    for run in ("base", "grpo"):
        made += [response(run, "p1", sample) for sample in range(3)]
        hostile = replace(response(run, "p1", 3, "wrong"), text=HOSTILE, answer=HOSTILE, gold="4")
        made.append(replace(hostile, tokens=(HOSTILE, " end"), entropies=(0.2, 0.3)))
        made += [replace(response(run, "p2", sample, "truncated"), answer=None) for sample in range(3)]
        made.append(replace(response(run, "p2", 3, "no_answer"), tokens=None, entropies=None, text=HOSTILE))
    return made


def document(**changes: object) -> Document:
    """All sections, with hostile text wherever text goes."""
    wide = Grid("Table of many columns", ("method", *(f"benchmark {i} measured" for i in range(12))), (
        ("GRPO", *(["52.4 [50.1, 54.7]"] * 12)),
        (HOSTILE, *(["–"] * 12)),
    ), (HOSTILE,))  # fmt: skip
    evidence = Grid("new − old", ("benchmark", "difference"), (("b", "+1.0"),))
    made = Document(
        paper="made_up",
        title=f"A paper {HOSTILE}",
        arxiv="0000.00000",
        scale="tiny",
        scale_label="tiny scale: a test",
        made_by=("rlvr run paper=made_up",),
        claims=(
            ClaimRow("New is better.", "table 1", "holds", evidence, ()),
            ClaimRow(HOSTILE, HOSTILE, "not measured", None, (HOSTILE,)),
        ),
        results=(wide,),
        tables=(Grid("The paper's table", ("method", "b"), ((HOSTILE, "74.1"),)),),
        figures=(("A family", (Figure("fig", "A figure", f"n = 4 {HOSTILE}", "arXiv 1, Fig. 1", SVG, "x,y\n0,1\n"),)),),
        values=Grid("All values", ("value", "is"), (("alpha", "0.4"),)),
        assumed=Grid("Assumed", ("value", "is"), (("alpha", HOSTILE),)),
        departures=(HOSTILE,),
        doubts=("A doubt.",),
        environment=Grid("Environment", ("", "all runs"), (("python", "3.11"),)),
        notes=("Something was skipped.",),
        viewer=pack(responses(), {"base": 1.0, "grpo": 1.0}, total=20),
    )
    return replace(made, **changes)  # type: ignore[arg-type]
