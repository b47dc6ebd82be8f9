"""The anchors and paths of a query, to compare a reading of a question with the query that it was made from."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from hybridkg.asking.slots import PathConstraint
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.rdf.terms import RDF_TYPE

Step = frozenset[tuple[str, bool]]
"""Predicates of one step, each with its direction; several are alternatives."""

Steps = tuple[Step, ...]
Edge = tuple[object, Step, object]


def paths_of(query: str, symmetric: Collection[str]) -> list[tuple[str, Steps]]:
    """(IRI of the anchor, steps to ?x) of each path in a query; classes and filters are left out.

    Args:
        query: of a template, with its anchors.
        symmetric: predicates whose direction means nothing.
    """
    form = parse(query).form
    assert isinstance(form, ast.SelectQuery)
    edges: list[Edge] = []
    for element in form.where.elements:
        if isinstance(element, ast.Triples):
            for triple in element.items:
                if isinstance(triple, ast.TriplePattern) and triple.predicate != ast.Iri(RDF_TYPE):
                    edges += _edges(triple.subject, triple.predicate, triple.object, symmetric)
    anchors = dict.fromkeys(end for edge in edges for end in (edge[0], edge[2]) if isinstance(end, ast.Iri))
    return [(anchor.value, steps) for anchor in anchors for steps in _walks(anchor, edges, symmetric)]


def path_of(constraint: PathConstraint, symmetric: Collection[str]) -> tuple[str, Steps]:
    """The same for a constraint."""
    steps = (
        frozenset((predicate, inverse and predicate not in symmetric) for predicate, inverse in step.alternatives)
        for step in constraint.steps
    )
    return constraint.anchor.iri, tuple(steps)


def _edges(subject: object, path: object, target: object, symmetric: Collection[str]) -> Iterator[Edge]:
    if isinstance(path, ast.PathSequence):
        nodes = [subject, *(object() for _ in path.parts[1:]), target]
        for start, part, end in zip(nodes, path.parts, nodes[1:], strict=False):
            yield from _edges(start, part, end, symmetric)
    else:
        parts = path.parts if isinstance(path, ast.PathAlternative) else (path,)
        yield subject, frozenset(_direction(part, symmetric) for part in parts), target


def _direction(path: object, symmetric: Collection[str]) -> tuple[str, bool]:
    inverse = isinstance(path, ast.PathInverse)
    iri = path.path if isinstance(path, ast.PathInverse) else path
    assert isinstance(iri, ast.Iri)
    return iri.value, inverse and iri.value not in symmetric


def _walks(anchor: object, edges: list[Edge], symmetric: Collection[str]) -> Iterator[Steps]:
    """The paths from an anchor to ?x that visit no node twice."""
    stack: list[tuple[object, Steps, tuple[object, ...]]] = [(anchor, (), (anchor,))]
    while stack:
        here, steps, seen = stack.pop()
        if here == ast.Var("x"):
            yield steps
            continue
        for subject, step, target in edges:
            for start, end, turned in ((subject, target, step), (target, subject, _turned(step, symmetric))):
                if start == here and end not in seen and not (isinstance(end, ast.Iri)):
                    stack.append((end, (*steps, turned), (*seen, end)))


def _turned(step: Step, symmetric: Collection[str]) -> Step:
    return frozenset((predicate, not inverse and predicate not in symmetric) for predicate, inverse in step)
