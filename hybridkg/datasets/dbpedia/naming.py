"""Names of resources for the entities that link to them: the label, or else the first of the names.

The paper takes "one arbitrary name"; the label is one, and reproducible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from hybridkg.datasets.dbpedia.partition import ANSWER, WANTED
from hybridkg.datasets.dbpedia.routing import DBpediaRouting
from hybridkg.datasets.dbpedia.rules import LABEL
from hybridkg.datasets.dbpedia.spill import EntitySpill, lines_of
from hybridkg.datasets.dbpedia.triples import Lines, triples_of
from hybridkg.datasets.dbpedia.words import literal_text
from hybridkg.interfaces.progress import Progress


def answer(
    spills: Sequence[Path],
    ranges: range,
    routing: DBpediaRouting,
    splits: Sequence[bytes],
    out: Path,
    progress: Progress,
) -> int:
    """Writes a spill with the requested names of the resources of some ranges; returns their number."""
    cut = len(routing.rules.resources) + 1
    spill = EntitySpill(out, splits)
    total = 0
    try:
        for number in ranges:
            answers = 0
            for wanting, predicate, name in _answers(lines_of(spills, number), routing):
                spill.add(wanting[cut:-1], ANSWER + predicate + b"\t" + name)
                answers += 1
            progress.advance(1, answers)
            total += answers
    except BaseException:
        spill.discard()
        raise
    spill.close()
    return total


def _answers(lines: list[bytes], routing: DBpediaRouting) -> Iterator[tuple[bytes, bytes, bytes]]:
    """(requesting entity, predicate, name as a literal)."""
    for _, group in groupby(lines, key=lambda line: line[: line.index(b"\t")]):
        label = name = b""
        requests: list[tuple[bytes, bytes]] = []
        for line in group:
            _, predicate, target = line[:-1].split(b"\t", 2)
            if predicate.startswith(WANTED):
                requests.append((target, predicate[1:]))
            elif target.startswith(b'"'):
                route = routing.route(predicate)
                label = label or (target if route.is_label else b"")
                name = name or (target if route.is_name else b"")
        if label or name:
            for wanting, predicate in requests:
                yield wanting, predicate, label or name


def labels_of_predicates(path: Path, progress: Progress, *, lenient: bool) -> dict[bytes, str]:
    """The first label in byte order of each predicate, about 60,000. Raises LoadError: a line is wrong."""
    labels: dict[bytes, bytes] = {}
    for subject, predicate, target in triples_of(path, progress, Lines(), lenient=lenient):
        if predicate == LABEL and target.startswith(b'"'):
            labels[subject] = min(target, labels.get(subject, target))
    return {iri: literal_text(label) for iri, label in labels.items()}
