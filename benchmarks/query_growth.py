"""How the time of parse + write + check grows with the text, for shapes that a careless front end is quadratic in.

    python -m benchmarks.query_growth

Processor time between a text and one eight times as long, the least of five: 8 is linear, 64 quadratic. The
exponent is log8 of the ratio.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress

from benchmarks.record import record
from hybridkg.errors import HybridkgError
from hybridkg.query.checks.check import check
from hybridkg.query.parser import parse
from hybridkg.query.write import write

SMALL, LARGE = 500, 4_000
GROWING = {
    "triples": lambda n: "SELECT * { " + "?s ?p ?o . " * n + "}",
    "property list": lambda n: "SELECT * { ?s " + "; ".join(["<e:p> ?o"] * n) + " }",
    "objects": lambda n: "SELECT * { ?s ?p " + ", ".join(["?o"] * n) + " }",
    "semicolons": lambda n: "SELECT * { ?s ?p ?o " + ";" * n + " }",
    "path": lambda n: "SELECT * { ?s " + "/".join(["<e:p>"] * n) + " ?o }",
    "path alternatives": lambda n: "SELECT * { ?s " + "|".join(["<e:p>"] * n) + " ?o }",
    "prefixes": lambda n: "".join(f"PREFIX p{i}: <e:{i}> " for i in range(n)) + "SELECT * { ?s p0:x ?o }",
    "prefixes, none declared": lambda n: "".join(f"PREFIX p{i}: <e:{i}> " for i in range(n)) + "SELECT * { ?s q:x ?o }",
    "absolute bases": lambda n: "BASE <http://e/> " * n + "SELECT * { ?s <x> ?o }",
    "blank nodes": lambda n: "SELECT * { " + "[ ?p _:b ] . " * n + "}",
    "labels": lambda n: "SELECT * { " + "".join(f"_:b{i} ?p [] . " for i in range(n)) + "}",
    "collection": lambda n: "SELECT * { ?s ?p (" + "1 " * n + ") }",
    "list": lambda n: "SELECT * { FILTER(?x IN (" + ",".join(["1"] * n) + ")) }",
    "columns": lambda n: "SELECT " + "".join(f"(1 AS ?x{i}) " for i in range(n)) + "{}",
    "matches": lambda n: "SELECT * { " + "".join(f'?s MATCH "a" AS ?x{i} . ' for i in range(n)) + "} RANK BY ?x0",
    "unions": lambda n: "SELECT * { " + " UNION ".join(['{ ?x MATCH "a" AS ?s }'] * n) + " } RANK BY ?s",
    "sub-selects": lambda n: "SELECT * { " + "{ SELECT ?x { ?x ?y ?z } } " * n + "}",
    "escapes": lambda n: 'SELECT * { ?s ?p "' + "\\u0061" * n + '" }',
    "no end of a string": lambda n: 'SELECT * { ?s ?p "' + "\\n" * n,
    "lines before a mistake": lambda n: "SELECT * { " + "?s ?p ?o .\n" * n + " ] }",
    "a long wrong word": lambda n: "SELEC" + "T" * n,
}
"""Shapes: a number -> a text of that size."""


def seconds(text: str) -> float:
    """Processor time of the whole front end, errors included; the least of five."""
    times = []
    for _ in range(5):
        started = time.process_time()
        with suppress(HybridkgError):
            query = parse(text)
            write(query)
            check(query)
        times.append(time.process_time() - started)
    return min(times)


def main() -> None:
    figures = {}
    for name, shape in GROWING.items():
        small, large = seconds(shape(SMALL)), seconds(shape(LARGE))
        figures[name] = {
            "small_ms": round(small * 1e3, 3),
            "large_ms": round(large * 1e3, 3),
            "exponent": round(math.log(large / small, LARGE / SMALL), 2),
        }
        print(f"{name:28} {figures[name]}", flush=True)
    largest = max(one["exponent"] for one in figures.values())
    record("query_growth", {"sizes": [SMALL, LARGE], "largest_exponent": largest, "shapes": figures})


if __name__ == "__main__":
    main()
