"""Partitioning of a dump into a spill: each triple goes to the entities whose text or facts it becomes.

A line of a spill is `key TAB predicate TAB object`; the key is the IRI without the namespace of resources. The
predicate is marked with `^` if the key was the object, with `?` if the third column requests the name of the key, and
with `=` in an answer to that (naming.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hybridkg.datasets.dbpedia.routing import MAX_CACHED, DBpediaRoute, DBpediaRouting
from hybridkg.datasets.dbpedia.rules import REVERSE
from hybridkg.datasets.dbpedia.spill import EntitySpill, Sample
from hybridkg.datasets.dbpedia.triples import Lines, Triple, triples_of
from hybridkg.interfaces.progress import Progress

WANTED, ANSWER = b"?", b"="


@dataclass(frozen=True)
class Dump:
    """A file of triples: its name without endings, such as `labels_en`, and its path."""

    name: str
    path: Path


def choose_splits(labels: Dump, resources: bytes, ranges: int, progress: Progress, *, lenient: bool) -> list[bytes]:
    """First keys of ranges with about the same number of labels. Raises LoadError: a line is wrong."""
    sample, skipped = Sample(), len(resources)
    for subject, _, _ in triples_of(labels.path, progress, Lines(), lenient=lenient):
        if subject.startswith(resources):
            sample.add(subject[skipped:])
    return sample.splits(ranges)


def partition(
    dump: Dump, routing: DBpediaRouting, splits: Sequence[bytes], out: Path, progress: Progress, *, lenient: bool
) -> Lines:
    """Writes the spill of a dump in about 150 MB, and counts its lines. Raises LoadError: a wrong line."""
    lines = Lines()
    spill = EntitySpill(out, splits)
    try:
        _spread(triples_of(dump.path, progress, lines, lenient=lenient), routing, spill)
    except BaseException:
        spill.discard()
        raise
    spill.close()
    return lines


def _spread(triples: Iterator[Triple], routing: DBpediaRouting, spill: EntitySpill) -> None:
    resources = routing.rules.resources
    cut, add = len(resources), spill.add
    own_object, files = b"<" + resources, b"<" + resources + b"File:"
    file_names = routing.rules.file_names
    routes: dict[bytes, tuple[DBpediaRoute, bool, bool]] = {}
    for subject, predicate, target in triples:
        if not subject.startswith(resources):
            continue
        if predicate not in routes:
            if len(routes) == MAX_CACHED:
                routes.clear()
            route = routing.route(predicate)
            text = bool(route.links) and not (route.by_name and not route.graph_links and not route.counts)
            routes[predicate] = route, text or route.graph_links or route.counts, routing.reverse(predicate)
        route, keeps_links, reverse = routes[predicate]
        key = subject[cut:]
        if target.startswith(b'"'):
            if (route.literals or route.graph_literals or route.counts) and target[1:2] != b'"':
                add(key, predicate + b"\t" + target)
            continue
        own = target.startswith(own_object)
        if keeps_links or (file_names and target.startswith(files)):
            add(key, predicate + b"\t" + target)
        if own and route.by_name and route.links:
            add(target[cut + 1 : -1], WANTED + predicate + b"\t<" + subject + b">")
        if own and reverse:
            back = routing.route(REVERSE + predicate)
            if back.by_name:
                add(key, WANTED + REVERSE + predicate + b"\t" + target)
            else:
                add(target[cut + 1 : -1], REVERSE + predicate + b"\t<" + subject + b">")
