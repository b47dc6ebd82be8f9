"""Paths from a node along classes and predicates, `author>paper`: each step names the one or the other.

A class leads to its instances among the neighbours, in either direction; a predicate leads to its objects, and `^` in
front of it to its subjects. A path visits no node twice.

Source: `get_all_paths` of snap-stanford/stark, whose steps are types of nodes and of edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from hybridkg.entities.triple_lookups import TripleLookups, in_term_order
from hybridkg.errors import UnknownNameError, UserError
from hybridkg.rdf.namespaces import last_part
from hybridkg.rdf.similar import similar_iris
from hybridkg.rdf.terms import RDF_TYPE, BlankNode, NamedNode, Node

if TYPE_CHECKING:
    from hybridkg.kb.search.base import SearchedBase

MAX_STEPS = 6
"""Steps of a path."""

MAX_PATHS = 10_000
"""Paths that are followed by a step, the first in the order of their nodes."""

MAX_EDGES = 200_000
"""Triples that are read for a step; about 2 us each."""


@dataclass(frozen=True)
class NodePaths:
    """Paths from a node.

    Args:
        steps: as they were given.
        paths: the first paths; the nodes of each without the start, with their labels.
        count: number of paths that were found.
        is_complete: whether these are all; otherwise a step had more than MAX_PATHS or MAX_EDGES.
    """

    steps: str
    paths: tuple[tuple[tuple[Node, str], ...], ...]
    count: int
    is_complete: bool

    def to_json(self) -> dict[str, Any]:
        """JSON data, with terms in N-Triples syntax."""
        found = [[{"node": str(node), "label": label} for node, label in path] for path in self.paths]
        return {"steps": self.steps, "count": self.count, "complete": self.is_complete, "paths": found}


@dataclass(frozen=True)
class _Step:
    """A class, or a predicate in one direction."""

    iri: str
    is_class: bool
    is_inverse: bool


def find_paths(start: Node, steps: str, base: SearchedBase, *, limit: int) -> NodePaths:
    """Paths from a node.

    Args:
        start: the node.
        steps: names of classes and predicates, divided by `>`: local names, prefixed names or IRIs in angle brackets.
        base: the knowledge base.
        limit: paths that get labels.

    Raises:
        UserError: a step is empty, or there are more than MAX_STEPS.
        UnknownNameError: the graph has no class and no predicate of a name, or several.
    """
    walked: list[tuple[Node, ...]] = [(start,)]
    is_complete = True
    for step in _steps(steps, base):
        ends, whole = _neighbours(list(dict.fromkeys(path[-1] for path in walked)), step, base)
        longer = ((*path, end) for path in walked for end in ends.get(path[-1], ()) if end not in path)
        walked = list(islice(longer, MAX_PATHS + 1))
        is_complete = is_complete and whole and len(walked) <= MAX_PATHS
        walked = walked[:MAX_PATHS]
    shown = [path[1:] for path in walked[:limit]]
    labels = base.labels_of(chain.from_iterable(shown))
    named = tuple(tuple((node, labels.get(node) or base.shortened(node)) for node in path) for path in shown)
    return NodePaths(steps, named, len(walked), is_complete)


def _neighbours(nodes: Sequence[Node], step: _Step, base: SearchedBase) -> tuple[Mapping[Node, Sequence[Node]], bool]:
    """The nodes that a step leads to from each node, in the order of terms, and whether these are all."""
    lookups = TripleLookups(base.snapshot.store)
    only, without = (None, (RDF_TYPE,)) if step.is_class else ((step.iri,), ())
    pairs: Iterator[tuple[Node, object]] = iter(())
    if step.is_class or not step.is_inverse:
        pairs = chain(pairs, ((s, o) for s, _, o in lookups.outgoing(nodes, only, without)))
    if step.is_class or step.is_inverse:
        pairs = chain(pairs, ((o, s) for s, _, o in lookups.incoming(nodes, only, without)))  # type: ignore[misc]
    read = list(islice(pairs, MAX_EDGES + 1))
    found: dict[Node, set[Node]] = {}
    for node, end in read[:MAX_EDGES]:
        if isinstance(end, NamedNode | BlankNode):
            found.setdefault(node, set()).add(end)
    if step.is_class:
        members = lookups.instances(set().union(*found.values()), (step.iri,))
        found = {node: ends & members for node, ends in found.items()}
    return {node: in_term_order(ends) for node, ends in found.items()}, len(read) <= MAX_EDGES


def _steps(text: str, base: SearchedBase) -> list[_Step]:
    names = [name.strip() for name in _divided(text)]
    if not all(names) or len(names) > MAX_STEPS:
        raise UserError(
            f"{text!r} is not a path of 1 to {MAX_STEPS} steps",
            hint="names of classes and predicates, divided by '>': author>paper",
        )
    return [_step(name, base) for name in names]


def _divided(text: str) -> list[str]:
    """The names between the signs `>`, of which those that end an IRI do not count.

    >>> _divided("<http://e/author>>^writes")
    ['<http://e/author>', '^writes']
    """
    names: list[str] = []
    rest = text
    while True:
        start = rest.find(">", rest.find(">") + 1) if rest.lstrip(" ^").startswith("<") else rest.find(">")
        if start < 0:
            return [*names, rest]
        names.append(rest[:start])
        rest = rest[start + 1 :]


def _step(written: str, base: SearchedBase) -> _Step:
    name = written.removeprefix("^").strip()
    is_inverse = written.startswith("^")
    classes, predicates = base.classes, base.predicates()
    found = [] if is_inverse else [_Step(iri, True, False) for iri in classes if _means(name, iri, base)]
    found += [_Step(iri, False, is_inverse) for iri in predicates if _means(name, iri, base)]
    if len(found) == 1:
        return found[0]
    if found:
        kinds = (f"the {'class' if one.is_class else 'predicate'} <{one.iri}>" for one in found)
        raise UnknownNameError(f"{written!r} has several meanings: {', '.join(kinds)}", hint="write one of the IRIs")
    near = similar_iris(name, {**predicates, **classes})
    some = near or [*list(classes)[:3], *list(predicates)[:3]]
    raise UnknownNameError(
        f"no class and no predicate has the name {written!r}",
        hint=f"{'did you mean' if near else 'there are'} {', '.join(_shown(some[:6], base))}",
    )


def _means(name: str, iri: str, base: SearchedBase) -> bool:
    return name in (f"<{iri}>", iri, last_part(iri)) or (":" in name and name == base.shortened(NamedNode(iri)))


def _shown(iris: Iterable[str], base: SearchedBase) -> list[str]:
    return [base.shortened(NamedNode(iri)) for iri in iris]
