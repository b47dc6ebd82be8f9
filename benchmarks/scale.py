"""Writes the tables and the curves of docs/scale.md out of the stored results, and computes what a billion would take.

    python -m benchmarks.scale            # after a benchmark has stored new figures
    python -m benchmarks.scale --check    # exit 1 where the page says something else

Nothing is measured here. A figure beyond the largest measured size stands between two that are computed: the same cost
for each triple as at that size, and the growth from the size before it to that one going on.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import log, log10
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS

ROOT = Path(__file__).resolve().parent.parent
PAGE, CURVES = ROOT / "docs" / "scale.md", ROOT / "docs" / "scale.svg"

BILLION = 1_000_000_000

DRAWN = ("load_s", "index_s", "megabytes", "query_mb", "median_ms", "p99_ms")
COLOURS = ("#0b6e99", "#d1495b", "#66a182", "#8d6a9f", "#edae49", "#30343f")


def results(name: str) -> Any:
    """A stored result."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def duration(seconds: float) -> str:
    """Seconds for people.

    >>> duration(4.9), duration(1463), duration(65_000)
    ('4.9 s', '24 min', '18 h')
    """
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.0f} h"


def size(megabytes: float) -> str:
    """Megabytes for people.

    >>> size(303), size(12_574.9), size(187_000)
    ('303 MB', '12.6 GB', '187 GB')
    """
    if megabytes < 1000:
        return f"{megabytes:,.0f} MB"
    return f"{megabytes / 1000:,.1f} GB" if megabytes < 100_000 else f"{megabytes / 1000:,.0f} GB"


COSTS: dict[str, tuple[str, Callable[[float], str]]] = {
    "load_s": ("load", duration),
    "index_s": ("index", duration),
    "load_mb": ("largest memory while writing", size),
    "megabytes": ("on disk", size),
    "query_mb": ("memory of a process that answers", size),
    "median_ms": ("hybrid question, median", lambda ms: f"{ms:,.1f} ms"),
    "p99_ms": ("hybrid question, P99", lambda ms: f"{ms:,.0f} ms" if ms >= 100 else f"{ms:,.1f} ms"),
}
"""Figures of the growth of benchmarks.hybrid: what they are, and how they are written."""


def exponent(small: Mapping[str, float], large: Mapping[str, float], key: str) -> float:
    """Of a cost ~ triples ** exponent, between two sizes.

    >>> exponent({"triples": 10, "s": 1}, {"triples": 1000, "s": 10}, "s")
    0.5
    """
    return log(large[key] / small[key]) / log(large["triples"] / small["triples"])


def points() -> list[dict[str, float]]:
    """The measured sizes of benchmarks.hybrid, ascending, each with `papers`."""
    found = results("hybrid")["growth"]["points"]
    return [{"papers": int(papers), **found[papers]} for papers in sorted(found, key=int)]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown; figures stand right."""
    marks = ["---", *["--:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, marks, *rows))


def growth() -> str:
    """What each measured size takes, and how it grows over the last step."""
    measured = points()
    head = ["triples", *(f"{point['triples'] / 1e6:,.1f} M" for point in measured), "grows over the last step as"]
    rows = [["papers", *(f"{point['papers']:,}" for point in measured), ""]]
    for key, (name, written) in COSTS.items():
        last = exponent(measured[-2], measured[-1], key)
        rows.append([name, *(written(point[key]) for point in measured), f"triples ^ {last:.2f}"])
    rows.append(
        ["bytes on disk for each triple", *(f"{p['megabytes'] * 1e6 / p['triples']:,.0f}" for p in measured), ""]
    )
    return table(head, rows)


def to_a_billion() -> str:
    """The largest measured size times what is lacking, and with the growth of the last step."""
    before, last = points()[-2:]
    more = BILLION / last["triples"]
    rows = []
    for key, (name, written) in COSTS.items():
        power = exponent(before, last, key)
        in_proportion, going_on = written(last[key] * more), written(last[key] * more**power)
        if key.endswith("_ms"):  # a question does not read every triple
            in_proportion = ""
        if key == "megabytes":  # nothing says why a triple should take ever less
            going_on = ""
        rows.append([name, written(last[key]), in_proportion, going_on])
    head = ["", f"{last['triples'] / 1e6:,.1f} M, measured", f"times {more:.1f}", "growth goes on"]
    return table(head, rows)


def text() -> str:
    """The text index at its two measured sizes."""
    built = results("text")["build"]
    rows: list[list[str]] = []
    for key in ("build-five-500000", "build-five-4600000"):
        one, counts = built[key], built[key]["counts"]
        rows.append(
            [
                f"{counts['entities']:,}",
                f"{counts['tokens'] / 1e6:,.0f} M",
                duration(one["build_s"]),
                size(one["process"]["peak_rss_mb"]),
                size(one["bytes"] / 1e6),
                f"{one['bytes'] / counts['tokens']:.1f}",
            ]
        )
    head = ["entities, five fields", "tokens", "build", "largest memory", "on disk", "bytes for each token"]
    return table(head, rows)


def server() -> str:
    """The same questions embedded and in Elasticsearch, medians in ms."""
    found = results("elastic")
    rows = []
    for kind in ("rare", "middle", "common", "six"):
        one = found["latency"]["top10_ms"][f"bm25, title: {kind}"]
        other = found["latency"]["top10_ms"][f"bm25, all fields: {kind}"]
        rows.append(
            [kind, *(f"{value[engine]:,.1f}" for value in (one, other) for engine in ("embedded", "elasticsearch"))]
        )
    head = ["words", "title: embedded", "Elasticsearch", "all fields: embedded", "Elasticsearch"]
    return table(head, rows)


def curves() -> str:
    """An SVG: every cost in multiples of its value at the smallest size, both axes logarithmic."""
    measured = points()
    first = measured[0]
    width, height, left, top, below = 640, 400, 56, 16, 40
    most_x, most_y = log10(measured[-1]["triples"] / first["triples"]), 3.0

    def at(triples: float, times: float) -> tuple[float, float]:
        x = left + (width - left - 170) * log10(triples / first["triples"]) / most_x
        return round(x, 1), round(height - below - (height - below - top) * log10(times) / most_y, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for power in range(4):
        (x, y), (end, _) = at(first["triples"], 10**power), at(measured[-1]["triples"], 10**power)
        parts.append(f'<path d="M{x} {y}H{end}" stroke="#ddd"/>')
        parts.append(f'<text x="{x - 6}" y="{y + 4}" text-anchor="end">{10**power:,}</text>')
    for point in measured:
        x, y = at(point["triples"], 1)
        parts.append(f'<text x="{x}" y="{y + 18}" text-anchor="middle">{point["triples"] / 1e6:.1f} M</text>')
    (x, y), (end, high) = at(first["triples"], 1), at(measured[-1]["triples"], 10**most_x)
    parts.append(f'<path d="M{x} {y}L{end} {high}" stroke="#999" stroke-dasharray="4 4"/>')
    names = [(high, "as many times as triples", "#999")]
    for key, colour in zip(DRAWN, COLOURS, strict=True):
        line = [at(point["triples"], max(1.0, point[key] / first[key])) for point in measured]
        path = "L".join(f"{x} {y}" for x, y in line)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        names.append((line[-1][1], COSTS[key][0], colour))
    last = 0.0
    for y, name, colour in sorted(names):
        last = max(y + 4, last + 14)
        parts.append(f'<text x="{end + 6}" y="{last:.1f}" fill="{colour}">{name}</text>')
    middle = f'x="{left}" y="{height - 6}"'
    parts.append(f"<text {middle}>triples; up: times what the smallest takes</text>")
    return "\n".join([*parts, "</svg>", ""])


TABLES: dict[str, Callable[[], str]] = {
    "growth": growth,
    "billion": to_a_billion,
    "text": text,
    "server": server,
}


def filled(page: str) -> str:
    """The page with every table as the stored results have it."""

    def block(found: re.Match[str]) -> str:
        return f"<!-- scale: {found[1]} -->\n\n{TABLES[found[1]]()}\n\n<!-- end -->"

    return re.sub(r"<!-- scale: (\w+) -->\n.*?<!-- end -->", block, page, flags=re.DOTALL)


def stale() -> Iterator[Path]:
    """The files that say something else than the stored results."""
    page = PAGE.read_text(encoding="utf-8")
    if filled(page) != page:
        yield PAGE
    if not CURVES.exists() or CURVES.read_text(encoding="utf-8") != curves():
        yield CURVES


def main(arguments: Sequence[str]) -> int:
    """The program."""
    old = list(stale())
    if "--check" in arguments:
        for path in old:
            print(f"{path} says something else than the stored results: python -m benchmarks.scale")
        return 1 if old else 0
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    CURVES.write_text(curves(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
