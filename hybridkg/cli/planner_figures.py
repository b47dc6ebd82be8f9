"""Output of `hybridkg stats --statistics` and `--cost`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybridkg.cli.echo import echo
from hybridkg.cli.output import print_figures

PREDICATES_SHOWN = 20
"""Most frequent predicates in the table; the JSON has all that the statistics list."""

CLASSES_SHOWN = 10


def print_statistics(found: dict[str, Any] | None, known: Mapping[str, str]) -> None:
    """Prints counts of the graph, its most frequent predicates and classes, and the sums of the rest; `known` prefixes
    abbreviate IRIs.
    """
    from hybridkg.rdf.well_known import shortened

    if found is None:
        echo("no statistics of this graph: they are counted by: hybridkg index KB")
        return
    for name in ("triples", "subjects", "entities", "nodes", "terms"):
        echo(f"{name}: {found[name]:,}")
    sets, others = found["characteristic_sets"]["sets"], found["characteristic_sets"]["others"]
    merged = "many" if others["sets"] is None else f"{others['sets']:,}"
    rest = f", and {merged} rarer ones of {others['subjects']:,} subjects, merged" if others["subjects"] else ""
    echo(f"characteristic sets: {len(sets):,} of {sum(one[0] for one in sets):,} subjects{rest}")
    if found["omitted"]:
        names = ", ".join(shortened(iri, known) for iri in found["omitted"])
        echo(f"predicates with triples that are not counted: {names}")
    classes = list(found["classes"].items())[:CLASSES_SHOWN]
    if classes:
        print_figures(["class", "instances"], [[shortened(iri, known), f"{n:,}"] for iri, n in classes])
        _print_rest(len(found["classes"]) - len(classes), found["other_classes"], "class", "classes")
    rows = [_row(one, shortened(one["iri"], known)) for one in found["predicates"][:PREDICATES_SHOWN]]
    if rows:
        heads = ["predicate", "triples", "subjects", "objects", "literals", "out P50/P99/max", "in P50/P99/max"]
        print_figures(heads, rows)
        _print_rest(len(found["predicates"]) - len(rows), found["other_predicates"], "predicate", "predicates")


def _row(one: dict[str, Any], name: str) -> list[str]:
    literals = one["triples"] - one["kinds"].get("node", 0)
    degrees = ["/".join(f"{of[i]:,}" for i in (0, 2, 3)) for of in (one["out_degrees"], one["in_degrees"])]
    return [name, *(f"{n:,}" for n in (one["triples"], one["subjects"], one["objects"], literals)), *degrees]


def _print_rest(listed: int, others: list[int], one: str, many: str) -> None:
    names, triples, _ = others
    parts = [f"{listed:,} more with --format json"] if listed else []
    parts += [f"{names:,} rarer {one if names == 1 else many} with {triples:,} triples summed up"] if names else []
    if parts:
        echo(f"({'; '.join(parts)})")


def print_costs(found: dict[str, Any]) -> None:
    """Prints each unit cost with its origin."""
    echo(f"text engine: {found['engine']}")
    echo(f"unit costs: {found['state']}")
    rows = []
    for unit in found["unit_costs"]:
        name = unit["name"].removeprefix("us_").replace("_", " ")
        rows.append([name, f"{unit['us']:,.4g}", f"{unit['default_us']:,.4g}", unit["origin"]])
    print_figures(["unit cost", "microseconds", "default", "origin"], rows, left=("unit cost", "origin"))
