"""GROUP BY of more than 50 million groups with 1 GB of memory: bibliographic coupling, pairs of papers that cite the
same paper (Kessler, "Bibliographic coupling between scientific papers", 1963).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.hybrid.writing import BASE
from benchmarks.relational.contract import Places
from benchmarks.relational.memory import AnonymousMemory, peak_mb

MEGABYTES = 1000
FIRST_YEAR = 2019
LEAST_GROUPS = 50_000_000
BEST = 10
PAIRS = (
    f"SELECT ?a ?b (COUNT(?c) AS ?n) {{ ?a :year ?y . FILTER(?y >= {FIRST_YEAR}) ?a :cites ?c . ?b :cites ?c "
    "FILTER(?a != ?b) } GROUP BY ?a ?b"
)
STRONGEST = f"PREFIX : <{BASE}> {PAIRS} ORDER BY DESC(?n) ?a ?b LIMIT {BEST}"
SIZES = f"PREFIX : <{BASE}> SELECT ?n (COUNT(*) AS ?groups) {{ {{ {PAIRS} }} }} GROUP BY ?n ORDER BY ?n"
"""Number of groups of each count: it reads every group."""

Say = Callable[[dict[str, Any]], None]


def groups_on_disk(engine: str, places: Places, say: Say) -> None:
    """Asks both questions under the limit; tells seconds, peak memory of the process, bytes written, and answers."""
    from hybridkg import KnowledgeBase

    kb = KnowledgeBase.open(places.data.engines / "kb", warm_up=True)
    limits = {"strategy": "columns", "max_megabytes": MEGABYTES, "timeout": 0}
    say({"engine": engine, "max_megabytes": MEGABYTES, "before_mb": peak_mb()})
    for name, query in (("strongest", STRONGEST), ("sizes", SIZES)):
        anonymous = AnonymousMemory()
        started = time.perf_counter()
        rows = [[text(cell) for cell in row] for row in kb.query(query, **limits).rows()]
        seconds = round(time.perf_counter() - started, 1)
        say({name: rows, f"{name}_s": seconds, f"{name}_anonymous_mb": anonymous.stop(), "peak_mb": peak_mb()})
    plan = kb.explain(STRONGEST, analyze=True, **limits).to_json()
    say({"written": written(plan["operator"]), "done": True})


def text(cell: Any) -> Any:
    """A cell of the answer: the local name of a paper, or a number."""
    return cell.value.removeprefix(BASE) if cell.value.startswith(BASE) else int(cell.value)


def written(node: dict[str, Any]) -> list[dict[str, Any]]:
    """What each operator wrote to disk."""
    own = [{key: node[key] for key in ("description", "partitions", "bytes_on_disk")}] if "partitions" in node else []
    return own + [below for child in node["children"] for below in written(child)]


def expected(places: Places) -> dict[str, Any]:
    """Both answers from the tables, by numpy alone: pairs of a thousand papers at a time, sorted and counted."""
    cites = np.loadtxt(places.data.tables / "cites.csv", delimiter=",", dtype=np.int64)
    with (places.data.tables / "papers.csv").open() as lines:
        year = np.array([int(line.split(",", 2)[1] or 0) for line in lines])
    return coupled(cites, np.flatnonzero(year >= FIRST_YEAR), len(year))


def coupled(cites: NDArray[np.int64], papers: NDArray[np.int64], n: int) -> dict[str, Any]:
    """Pairs of one of some papers and any that cites the same: the strongest ones, and the number of each strength.

    >>> coupled(np.array([[0, 2], [1, 2], [1, 3], [0, 3]]), np.array([0]), 4)
    {'strongest': [['p0', 'p1', 2]], 'sizes': [[2, 1]]}
    """
    cites = np.unique(cites, axis=0)
    out_ends = np.searchsorted(cites[:, 0], np.arange(n + 1))
    by_cited = cites[np.argsort(cites[:, 1], kind="stable")]
    in_ends = np.searchsorted(by_cited[:, 1], np.arange(n + 1))
    sizes = np.zeros(1, np.int64)
    best: list[tuple[int, str, str]] = []
    for begin in range(0, len(papers), 1000):
        some = papers[begin : begin + 1000]
        cited = np.concatenate([cites[out_ends[paper] : out_ends[paper + 1], 1] for paper in some])
        source = np.repeat(some, out_ends[some + 1] - out_ends[some])
        lengths = in_ends[cited + 1] - in_ends[cited]
        citing = np.concatenate([by_cited[in_ends[c] : in_ends[c + 1], 0] for c in cited] or [cited])
        source = np.repeat(source, lengths)
        others = source != citing
        pairs, counts = np.unique(source[others] * n + citing[others], return_counts=True)
        found = np.bincount(counts, minlength=len(sizes))
        found[: len(sizes)] += sizes
        sizes = found
        least = np.sort(counts)[-BEST] if len(counts) > BEST else 0
        strong = counts >= least
        named = zip(counts[strong].tolist(), *np.divmod(pairs[strong], n), strict=True)
        best = sorted([*best, *((-count, f"p{a}", f"p{b}") for count, a, b in named)])[:BEST]
    return {
        "strongest": [[a, b, -count] for count, a, b in best],
        "sizes": [[count, int(sizes[count])] for count in np.flatnonzero(sizes).tolist() if count],
    }
