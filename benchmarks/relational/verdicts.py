"""The figures of the design, each beside what was measured, with the cells that lose by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.hybrid.verdicts import Verdict
from benchmarks.relational import hybrid
from benchmarks.relational.engines import ARRAYS, DUCKDB, KUZU, ON_DISK, OURS
from benchmarks.relational.groups import AROUND_RANKS, CYCLES, GROUPS, SMALL_ONES, WHOLE_GRAPH
from benchmarks.relational.groups_on_disk import LEAST_GROUPS, MEGABYTES
from benchmarks.relational.matches import SHARES
from benchmarks.relational.question import Question
from benchmarks.relational.rows import ARROW, PANDAS, ROWS, STREAM
from benchmarks.relational.summary import Table, exponent
from benchmarks.relational.tasks import FRESH, KNOWN

SECONDS_MS = 1000.0
CLIFF_MS, TARGET_TIMES = 30.0, 3.0
ROW_MS = 0.001


def at(table: Table, name: str, engine: str, mode: str = FRESH) -> float | None:
    """One cell; None where it was not measured."""
    return table.get(name, {}).get(engine, {}).get(mode)


def judged(what: str, bound: str, asked: int, losing: list[str], measured: int) -> Verdict:
    """A verdict over cells: met where none loses and all were measured."""
    if not measured:
        return Verdict(what, "-", bound, None)
    missing = f"; {asked - measured} of {asked} not measured" if measured < asked else ""
    names = f": {'; '.join(losing)}" if losing else ""
    return Verdict(what, f"{len(losing)} of {measured} lose{names}{missing}", bound, not losing and not missing)


def against(
    what: str, bound: str, table: Table, questions: tuple[Question, ...], engine: str, times: float, more_ms: float
) -> Verdict:
    """Whether each fresh text of hybridkg takes at most so many times as long as an engine, and so much more."""
    losing, measured = list[str](), 0
    for one in questions:
        own, other = at(table, one.name, OURS), at(table, one.name, engine)
        if own is None or other is None:
            continue
        measured += 1
        if own > times * other + more_ms:
            losing.append(f"{one.name} {own:,.2f} ms, {engine} {other:,.3f}")
    return judged(what, bound, len(questions), losing, measured)


def small(table: Table) -> Iterator[Verdict]:
    """Small questions beside Oxigraph on disk."""
    questions = GROUPS[SMALL_ONES]
    yield against("small, fresh texts, each", "Oxigraph on disk + 0.3 ms", table, questions, ON_DISK, 1, 0.3)
    own = [value for one in questions if (value := at(table, one.name, OURS)) is not None]
    other = [value for one in questions if (value := at(table, one.name, ON_DISK)) is not None]
    known = [value for one in questions if (value := at(table, one.name, OURS, KNOWN)) is not None]
    if own and other:
        a, b = float(np.median(own)), float(np.median(other))
        yield Verdict("small, fresh texts, median", f"{a:.2f} ms, Oxigraph {b:.2f}", "below Oxigraph's", a < b)
    if known:
        a = float(np.median(known))
        yield Verdict("small, known shape, median", f"{a:.2f} ms", "0.4 ms", a <= 0.4)


def whole(table: Table) -> Iterator[Verdict]:
    """Whole-graph questions and cycles."""
    questions = GROUPS[WHOLE_GRAPH]
    yield against("whole graph, each", "3 times the arrays + 0.5 ms", table, questions, ARRAYS, 3, 0.5)
    yield against("whole graph, each beside DuckDB", "never slower", table, questions, DUCKDB, 1, 0)
    losing, slow = list[str](), 0
    for one in questions:
        own, other = at(table, one.name, OURS), at(table, one.name, ON_DISK)
        if own is not None and other is not None and other >= SECONDS_MS:
            slow += 1
            if other < 500 * own:
                losing.append(f"{one.name} {other / own:,.1f} times")
    yield judged("whole graph, where Oxigraph takes seconds", "500 times faster", slow, losing, slow)
    for engine in (KUZU, DUCKDB):
        what = f"triangles, each beside {engine}"
        yield against(what, "never slower", table, GROUPS[CYCLES], engine, 1, 0)


def around(table: Table, row_counts: Mapping[str, int]) -> Iterator[Verdict]:
    """Hybrid questions: what is beyond the match itself. A row of text may take 1 us."""
    losing, measured, asked = list[str](), 0, 0
    for share in SHARES:
        match = at(table, f"{hybrid.MATCH}, {share}", ARRAYS)
        for form in hybrid.FORMS:
            name, asked = f"{form}, {share}", asked + 1
            own, arrays = at(table, name, OURS), at(table, name, ARRAYS)
            if own is None or arrays is None or match is None:
                continue
            measured += 1
            beyond, able = own - match, 3 * arrays + 1 + ROW_MS * row_counts.get(name, 0)
            if beyond > able:
                losing.append(f"{name} {beyond:,.1f} ms beyond the match, allowed {able:,.1f}")
    yield judged("hybrid, each beyond the match", "3 times the arrays + 1 ms, rows 1 us", asked, losing, measured)


def cliffs(table: Table) -> Iterator[Verdict]:
    """Shapes around a ranked pattern."""
    questions = GROUPS[AROUND_RANKS]
    times = {one: own for one in questions if (own := at(table, one.name, OURS)) is not None}
    over = [f"{one.name} {own:,.0f} ms" for one, own in times.items() if own > CLIFF_MS]
    yield judged("cliffs, each", "below 30 ms", len(questions), over, len(times))
    aimed = {one: own for one, own in times.items() if one.target_ms}
    over = [
        f"{one.name} {own:,.0f} ms, target {one.target_ms:g}"
        for one, own in aimed.items()
        if own > TARGET_TIMES * (one.target_ms or 0)
    ]
    yield judged("cliffs, each", "3 times its target", sum(bool(one.target_ms) for one in questions), over, len(aimed))


def million(found: Mapping[str, Any]) -> Iterator[Verdict]:
    """A million rows."""
    for form, bound in ((ARROW, 300.0), (PANDAS, 1000.0)):
        own = found.get(f"{OURS}-{form}-{ROWS}", {})
        what = f"1,000,000 rows to {form}"
        if not own.get("ms"):
            yield Verdict(what, "-", f"{bound:,.0f} ms", None)
            continue
        took = float(np.median(own["ms"]))
        met = None if own["rows"] < ROWS else took <= bound
        yield Verdict(what, f"{took:,.0f} ms for {own['rows']:,} rows", f"{bound:,.0f} ms", met)
    few, many = (found.get(f"{OURS}-{STREAM}-{n}", {}) for n in (ROWS // 4, ROWS))
    if few.get("anonymous_mb") and many.get("anonymous_mb"):
        grown = many["anonymous_mb"] - few["anonymous_mb"]
        met = grown < 16 if many["rows"] > few["rows"] else None
        yield Verdict(
            f"anonymous memory while streaming, {few['rows']:,} and {many['rows']:,} rows",
            f"{few['anonymous_mb']} and {many['anonymous_mb']} MB",
            "does not grow",
            met,
        )


def growth(tables: Mapping[int, Table]) -> Iterator[Verdict]:
    """Exponents over the sizes of the run."""
    sizes = sorted(tables)
    for group, bound in ((WHOLE_GRAPH, 1.1), (SMALL_ONES, 0.2)):
        what = f"growth of {group} questions over {' and '.join(f'{size:,}' for size in sizes)} papers"
        slopes = {}
        for one in GROUPS[group]:
            own = [at(tables[size], one.name, OURS) for size in sizes]
            if len(sizes) > 1 and None not in own:
                slopes[one.name] = exponent(sizes, [value for value in own if value is not None])
        losing = [f"{name} {slope:.2f}" for name, slope in slopes.items() if slope > bound]
        yield judged(what, f"exponent at most {bound}", len(GROUPS[group]), losing, len(slopes))


def many_groups(found: Mapping[str, Any] | None) -> Verdict:
    """GROUP BY of more groups than memory holds."""
    what = f"GROUP BY of {LEAST_GROUPS // 1_000_000} M groups with max_megabytes = {MEGABYTES}"
    if not found or not found.get("done"):
        return Verdict(what, "-", "finishes, right", None)
    disk = sum(one["bytes_on_disk"] for one in found["written"])
    figure = (
        f"{found['groups']:,} groups in {found['strongest_s']} s, {found['peak_mb']} MB at most, "
        f"{disk / 1e6:,.0f} MB on disk, {'right' if all(found['right'].values()) else 'WRONG'}"
    )
    met = None if found["groups"] < LEAST_GROUPS else all(found["right"].values())
    return Verdict(what, figure, "finishes, right", met)
