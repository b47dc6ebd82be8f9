"""Joins what the phases measured into one result and a table with its verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.text import corpus, ours
from benchmarks.text.queries import BANDS, KS, TERMS
from benchmarks.text.session import Session
from benchmarks.text.verdicts import Cells, Verdict, of_index, of_latency, of_pruning

ENGINES = (*ours.MODELS, "tantivy parsed", "tantivy flat", "flat bm25f", "bm25s")
HOW = {
    "corpus": "made up from a seed; in fields other than the names a token is, with the probability `from_names`, "
    "a word of the entity's names, so words of one entity correlate as in real texts",
    "build": "wall time of a process that reads the text field by field and builds; memory: largest sampled sum of "
    "VmRSS (mapped pages included) and of RssAnon + RssShmem over the process and its children",
    "first": "every text asked for the first time in its process, files in the page cache, one core; per question "
    "the median over passes, then P50 / P99 in ms over the questions of the cell",
    "again": "the same texts asked once more in the same process, first pass only",
    "tantivy": "index option freq, one segment, nothing stored, sum of BM25 over the five fields; "
    "the quicker of its two formulations counts in each cell",
    "bm25s": "numba mode, one thread, all text as one field; `flat bm25f` is hybridkg's index of that same field",
    "cells": "number of words, band, k",
    "same_ids": "mean share of common ids among the best 10 of engines with nearly the same formula",
    "growth": "geometric mean over 1, 3 and 6 words of bm25f's median, k = 10; cost ~ entities ** exponent",
}


def versions() -> dict[str, str]:
    """Of the peers."""
    found = {}
    for name in ("tantivy", "bm25s"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def pair(figures: dict[str, Any], which: str) -> str:
    """`P50 / P99`; how many questions, where fewer than all were asked."""
    found = figures.get(which)
    return f"{found[0]:.3f} / {found[1]:.3f}" if found else "-"


def table(cells: Cells, questions: int) -> dict[str, dict[str, Any]]:
    """Cell, engine: the pair of the first asking; and of the second for those that have it."""
    found: dict[str, dict[str, Any]] = {"first": {}, "again": {}, "fewer_questions": {}}
    for terms in TERMS:
        for band in BANDS:
            for k in KS:
                cell = f"{terms} {band} {k}"
                by_engine = cells.get(cell, {})
                for which in ("first", "again"):
                    own = {e: pair(by_engine[e], which) for e in ENGINES if which in by_engine.get(e, {})}
                    if own:
                        found[which][cell] = own
                fewer = {e: f["questions"] for e, f in by_engine.items() if f["questions"] < questions}
                if fewer:
                    found["fewer_questions"][cell] = fewer
    return found


def table_lines(cells: Cells, entities: int) -> Iterator[str]:
    """The first asking, engine by engine."""
    yield f"\nP50 / P99 in ms, first asking, {entities:,} entities"
    yield f"{'':16}" + "".join(f"{engine:>19}" for engine in ENGINES)
    for cell, by_engine in cells.items():
        yield f"{cell:16}" + "".join(f"{pair(by_engine.get(engine, {}), 'first'):>19}" for engine in ENGINES)


def growth_lines(growth: dict[str, Any]) -> Iterator[str]:
    """The points and the exponents."""
    short = {"bytes_per_posting_without_positions": "bytes/posting"}
    names = list(growth["exponents"])
    yield "\ngrowth\n" + f"{'entities':>12}" + "".join(f"{short.get(name, name):>14}" for name in names)
    for entities, point in growth["points"].items():
        yield f"{entities:>12}" + "".join(f"{point[name]:>14}" for name in names)
    yield f"{'exponent':>12}" + "".join(f"{growth['exponents'][name]:>14}" for name in names)


def of_bytes(session: Session) -> list[Verdict]:
    """Whether two builds of the same text gave the same bytes."""
    same = session.part("deterministic")
    what = f"built twice, {session.small:,} entities"
    if not same:
        return [Verdict(what, "-", "the same bytes", None)]
    equal = len(set(same["digests"])) == 1
    return [Verdict(what, "the same bytes" if equal else "other bytes", "the same bytes", equal)]


def join(session: Session) -> tuple[dict[str, Any], list[str]]:
    """All parts as one result, and what to print."""
    verdicts = of_bytes(session)
    lines: list[str] = []
    latency: dict[str, Any] = {}
    losing: list[str] = []
    for entities in session.sizes:
        part = session.part(f"latency-{entities}") or {}
        cells: Cells = part.get("cells", {})
        lines += table_lines(cells, entities)
        verdicts += [*of_index(session, entities), *of_pruning(session, entities)]
        ratios = {}
        for verdict, single in of_latency(session, entities):
            verdicts.append(verdict)
            ratios[f"{verdict.what} {verdict.bound}"] = {v.what: f"{v.figure} {v.word}" for v in single}
            losing += [f"{verdict.what}, {v.what}: {v.figure} (bound: {v.bound})" for v in single if v.met is False]
        rest = {key: value for key, value in part.items() if key != "cells"}
        latency[str(entities)] = {**rest, **table(cells, session.questions), "ratios": ratios}
    growth = session.part("growth")
    lines += growth_lines(growth) if growth else []
    lines += ["\ncells that lose", *losing, "\nverdicts", *(verdict.line() for verdict in verdicts)]
    kinds = [f"build-{kind}-{n}" for kind in (ours.FIVE, ours.FLAT, "tantivy", "bm25s") for n in session.sizes]
    by_size = {
        name: {str(n): session.part(f"{part}-{n}") for n in session.sizes}
        for name, part in (
            ("open", "open"),
            ("memory", "memory"),
            ("pruned_is_exhaustive", "same"),
            ("batch", "batch"),
        )
    }
    figures = {
        "run": session.name,
        "how": HOW,
        "peers": versions(),
        "verdicts": {v.what: f"{v.word}: {v.figure}; bound {v.bound}" for v in verdicts},
        "corpus": {**(session.part("corpus") or {}), "fields": {f.name: vars(f) for f in corpus.FIELDS}},
        "reading": session.part("reading"),
        "build": {name: session.part(name) for name in kinds},
        **by_size,
        "latency": latency,
        "growth": growth,
        "real_text": session.part("anthology"),
    }
    return figures, lines
