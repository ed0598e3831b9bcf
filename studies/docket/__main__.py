"""`python -m studies.docket`: make the docket's page and feed, docs/docket, of cases.toml."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import jsonschema

from evals.files import write_text
from evals.stats.agree import DIFFERENCE, NOISE, UNDECIDED
from studies.docket.cases import Ruled, read

OUT = Path(__file__).resolve().parents[2] / "docs" / "docket"
SCHEMA = Path(__file__).parent / "feed.schema.json"
WHY = {
    "unknown samples": "the number of samples is unknown, and the answer depends on it",
    "few samples": "the samples are too few for a gap of this size",
    "no numbers": "the thread does not state two scores as text",
    "unlike": "the sides measured different things, or a score is impossible with the assumed samples",
}


def feed(rows: Sequence[Ruled]) -> dict[str, object]:
    """The docket for machines, as `feed.schema.json` has it."""
    return {"version": 1, "made_by": "python -m studies.docket", "cases": [entry(row) for row in rows]}


def entry(row: Ruled) -> dict[str, object]:
    """One case of the feed. Probabilities have four digits."""
    case, agreement = row.case, row.agreement
    chance = agreement.worst.chance if agreement is not None and agreement.cases else None
    return {
        "id": case.id,
        "link": case.link,
        "what": case.what,
        "problems": list(case.sizes) if case.sizes else None,
        "printed": case.printed or None,
        "measured": case.measured or None,
        "samples": [None if n == "?" else int(n) for n in case.n],
        "seeds": list(case.seeds) if case.seeds else None,
        "best_of": list(case.best_of),
        "known": case.known,
        "assumed": case.assumed,
        "answer": row.answer,
        "sentence": row.sentence,
        "largest_probability": None if chance is None else round(chance.largest, 4),
        "typical_probability": None if chance is None or chance.typical is None else round(chance.typical, 4),
        "cause": case.cause or None,
        "kind": case.kind or None,
        "audit": case.audit or None,
        "overturn": row.overturn,
        "answers": [reply.model_dump() for reply in case.answers],
        "badge": row.badge,
    }


def page(rows: Sequence[Ruled]) -> str:
    """The docket for people."""
    return "\n".join([*_head(rows), *_table(rows), *(line for row in rows for line in _section(row))]) + "\n"


def _head(rows: Sequence[Ruled]) -> Iterator[str]:
    by_answer = {name: [row for row in rows if row.answer == name] for name in (NOISE, DIFFERENCE, UNDECIDED)}
    caused = [row for row in by_answer[DIFFERENCE] if row.case.cause]
    kinds = Counter(row.case.kind for row in rows if row.case.kind)
    yield "# The docket: published scores that others could not reproduce"
    yield (
        f"\nPeople measured published scores again and got other scores. This page lists {len(rows)} such cases from "
        f"{len({row.case.link for row in rows})} public threads. [`rlvr agree`](../how-to/agree.md) says for each pair "
        "of scores whether the gap may be noise. A *docket* is a list of open cases.\n"
    )
    yield "| Answer | Cases | Reason |"
    yield "| --- | ---: | --- |"
    noise = "for a typical model, noise gives such a gap in more than 5 % of cases"
    yield f"| may be noise | {len(by_answer[NOISE])} | {noise} |"
    yield (
        f"| a difference | {len(by_answer[DIFFERENCE])} | noise is too small for this gap. Something differs between "
        f"the two sides. In {len(caused)} of these cases, the thread names a cause |"
    )
    yield f"| {UNDECIDED} | {len(by_answer[UNDECIDED])} | one of these reasons: |"
    for key, words in WHY.items():
        count = sum(row.why_undecided == key for row in by_answer[UNDECIDED])
        yield f"| | {count} of {len(by_answer[UNDECIDED])} | {words} |"
    named = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
    causes = f"{sum(kinds.values())} of the {len(rows)} cases"
    yield f"\nIn {causes}, the thread names a cause, often as a suspicion: {named}."
    yield (
        "\nAn answer is about two numbers. It does not say which number is right, and it accuses nobody. Each pair is "
        "judged alone, without a correction for the number of pairs. Facts come from stored copies of the threads. "
        "These copies may lack pictures and late comments. Each row says what we assumed, and what would overturn the "
        "answer."
    )
    yield (
        "\nDo you know more about a row? Open an issue with the form *Docket: an answer*. The row then prints your "
        "answer. For programs, the same rows are in [a JSON file](feed.json) with [a schema](feed.schema.json). "
        "`python -m studies.docket` "
        "writes this page from `studies/docket/cases.toml`."
    )


def _table(rows: Sequence[Ruled]) -> Iterator[str]:
    yield "\n## All rows\n"
    yield "| Case | Printed | Measured | Answer |"
    yield "| --- | ---: | ---: | --- |"
    for row in rows:
        case = row.case
        printed, measured = case.printed or "–", case.measured or "–"
        yield f"| [{case.what}](#{_anchor(case.id)}) | {printed} | {measured} | {row.answer} |"


def _anchor(text: str) -> str:
    """As the site makes it of a heading."""
    return text.replace(".", "")


def _section(row: Ruled) -> Iterator[str]:
    case = row.case
    yield f"\n## {case.id}\n"
    yield f"{case.what}. [Thread]({case.link}).\n"
    sizes = {*(case.sizes or ())}
    numbers = [("Problems", " and ".join(f"{size:,}" for size in sorted(sizes))), ("Printed", case.printed)]
    numbers += [("Measured", case.measured), ("Samples per problem", _samples(row)), ("Known", case.known)]
    numbers += [("Assumed", case.assumed), ("Answer", row.sentence), ("Cause in the thread", case.cause)]
    settles = "What would decide it" if row.answer == UNDECIDED else "What would overturn it"
    numbers += [("`rlvr audit` on the public files", case.audit), (settles, f"{row.overturn}.")]
    numbers += [(f"Answer of {reply.date}", f"[{reply.text}]({reply.link})") for reply in case.answers]
    numbers.append(("Badge", f"`{row.badge}`"))
    for name, text in numbers:
        if text:
            yield f"- **{name}:** {text}"


def _samples(row: Ruled) -> str:
    if not row.case.printed and not row.case.measured:
        return ""
    shown = ["unknown" if n == "?" else n for n in row.case.n]
    return f"{shown[0]} printed, {shown[1]} measured"


def main(out: Path = OUT) -> None:
    """Write the page, the feed and its schema."""
    rows = read()
    document, schema = feed(rows), json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.validate(document, schema)
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "index.md", page(rows))
    write_text(out / "feed.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    write_text(out / "feed.schema.json", json.dumps(schema, indent=1) + "\n")


if __name__ == "__main__":
    main()
