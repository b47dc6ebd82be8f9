"""Joins what the phases measured into one result, tables in Markdown and verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from benchmarks.hybrid.verdicts import Verdict
from benchmarks.relational import rows, verdicts
from benchmarks.relational.engines import CONTENDERS, OURS
from benchmarks.relational.groups import GROUPS, WITH_TEXT
from benchmarks.relational.session import Session
from benchmarks.relational.summary import Table, disagreements, medians
from benchmarks.relational.tasks import AGAIN, COLD, FIRST, FRESH, KNOWN, LONG_MS, LONG_REPEATS

HOW = {
    "times": "milliseconds from the text to all rows in Python, one core, one thread; median over repetitions and "
    "passes; engines in turns, each pass a process",
    FRESH: "constants, names of variables and white space of its own; kernels and files are warm",
    AGAIN: "the same text once more",
    KNOWN: "other constants, the names of all other texts of the question",
    FIRST: "the first text of its shape in the process",
    COLD: "a process that has just opened its files, after the kernel has dropped them from its cache",
    "long": f"a question over {LONG_MS:g} ms is asked in at most {LONG_REPEATS} repetitions",
    "keys": "IRIs in every engine; DuckDB has an index on every key",
    "answers": "compared between engines as multisets; where an order with a LIMIT has ties, its keys are",
    "arrays": "loops by hand over the projection; terms of the answer included, the match of a text not",
    "given": "hybrid questions in DuckDB are over a table of the matches and scores, made before the clock starts",
    "hybrid": "the match alone is timed beside the arrays: the complete relation of the embedded text index",
}


def parts_of(session: Session, papers: int) -> tuple[dict[str, list[dict[str, Any]]], dict[str, dict[str, str]]]:
    """By engine: the lines of all passes and of cold files, and the questions that were left out."""
    lines: dict[str, list[dict[str, Any]]] = {}
    left_out: dict[str, dict[str, str]] = {}
    for engine in CONTENDERS:
        for number in range(session.passes):
            part = session.part(f"ask-{engine}-{papers}-{number}") or {"lines": [], "left_out": {}}
            lines.setdefault(engine, []).extend({**line, "pass": number} for line in part["lines"])
            left_out.setdefault(engine, {}).update(part["left_out"])
        lines[engine] += (session.part(f"cold-{engine}-{papers}") or {"lines": []})["lines"]
    return {engine: own for engine, own in lines.items() if own}, {k: v for k, v in left_out.items() if v}


def of_size(session: Session, papers: int) -> tuple[dict[str, Any], Table, list[Verdict], list[str]]:
    """Everything about one size."""
    lines, left_out = parts_of(session, papers)
    table = medians(lines)
    compared, differing = disagreements(lines)
    row_counts = {line["name"]: line["rows"] for line in lines.get(OURS, []) if "rows" in line}
    out_of = {
        f"{engine}-{form}-{limit}": part
        for engine, forms in rows.FORMS.items()
        for form, limit in forms
        if (part := session.part(f"rows-{engine}-{form}-{limit}-{papers}"))
    }
    found = [
        *verdicts.small(table), *verdicts.whole(table), *verdicts.around(table, row_counts), *verdicts.cliffs(table),
        *verdicts.million(out_of),
        Verdict("answers that differ between engines", f"{len(differing)} of {compared}", "0", not differing),
    ]  # fmt: skip
    figures = {
        "data": session.part(f"data-{papers}"),
        "load": {name: own for name in CONTENDERS if (own := session.part(f"load-{name}-{papers}"))},
        "ms": {group: {one.name: table[one.name] for one in own if one.name in table} for group, own in GROUPS.items()},
        "rows": row_counts, "left_out": left_out, "differing": differing, "a_million_rows": out_of,
    }  # fmt: skip
    return figures, table, found, list(_lines(papers, table, left_out, differing, out_of))


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def _lines(
    papers: int, table: Table, left_out: dict[str, dict[str, str]], differing: list[str], out_of: dict[str, Any]
) -> Iterator[str]:
    for group, questions in GROUPS.items():
        asked = [one for one in questions if one.name in table]
        if not asked:
            continue
        engines = [name for name in CONTENDERS if any(name in table[one.name] for one in asked)]
        others = [name for name in engines if name != OURS]
        modes = [mode for mode in (FRESH, KNOWN, AGAIN, FIRST, COLD) if any(
            verdicts.at(table, one.name, OURS, mode) is not None for one in asked)]  # fmt: skip
        yield f"\n### {group}, {papers:,} papers, ms\n"
        head = [f"{OURS}, {mode}" for mode in modes] + others + [f"x {name}" for name in others]
        yield "| question | " + " | ".join(head) + " |"
        yield "|---|" + "--:|" * len(head)
        for one in asked:
            own = verdicts.at(table, one.name, OURS)
            cells = [_cell(verdicts.at(table, one.name, OURS, mode)) for mode in modes]
            theirs = [verdicts.at(table, one.name, name) for name in others]
            cells += [
                f"({left_out[name][one.name][:14]})" if one.name in left_out.get(name, {}) else _cell(value)
                for name, value in zip(others, theirs, strict=True)
            ]
            cells += [f"{own / value:.3g}" if own and value else "-" for value in theirs]
            yield f"| {one.name} | " + " | ".join(cells) + " |"
    yield from _cold_lines(papers, table)
    for name, own in out_of.items():
        memory = f"{own.get('anonymous_mb')} MB anonymous"
        yield f"- {papers:,} papers, {name} rows: {own.get('ms')} ms, {own.get('rows')} rows, {memory}"
    for engine, own in left_out.items():
        yield from (f"- {engine} left out {name}: {why}" for name, why in own.items())
    yield from (f"- DIFFERS: {text}" for text in differing)


def _cold_lines(papers: int, table: Table) -> Iterator[str]:
    names = [one.name for group, own in GROUPS.items() if group not in WITH_TEXT for one in own]
    for engine in CONTENDERS:
        own = [value for name in names if (value := verdicts.at(table, name, engine, COLD)) is not None]
        if own:
            middle, most = _cell(median(own)), _cell(max(own))
            yield f"- {papers:,} papers, cold files, {engine}: median {middle} ms, greatest {most} ms"


def join(session: Session) -> tuple[dict[str, Any], list[str]]:
    """All parts as one result, and what to print."""
    sizes, tables, found, lines = dict[str, Any](), dict[int, Table](), list[Verdict](), list[str]()
    for papers in session.sizes:
        figures, tables[papers], own, text = of_size(session, papers)
        sizes[str(papers)] = figures
        found += [Verdict(f"{one.what}, {papers:,} papers", one.figure, one.bound, one.met) for one in own]
        lines += text
    coupled = session.part(f"groups-on-disk-{session.sizes[-1]}")
    found += [*verdicts.growth(tables), verdicts.many_groups(coupled)]
    lines += ["\nverdicts", *(verdict.line() for verdict in found)]
    result = {
        "run": session.name, "how": HOW, "repeats": session.repeats, "passes": session.passes,
        "patience_s": session.patience_s, "engines": session.part("engines"),
        "groups_on_disk": coupled,
        "verdicts": [[one.word, one.what, one.figure, one.bound] for one in found], "sizes": sizes,
    }  # fmt: skip
    return result, lines
