"""A knowledge base as the interpretation of questions sees it: names, classes, relations, and the answers of paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np

from hybridkg.asking.lexicon import Lexicon, Said
from hybridkg.asking.names import Names
from hybridkg.asking.schema_graph import SchemaGraph, read_schema_graph
from hybridkg.asking.slots import Step
from hybridkg.entities.profile.paths import Path, ShaclInverse, ShaclPredicate
from hybridkg.entities.profile.paths import Sequence as PathSequence
from hybridkg.entities.profile.profile import Profile
from hybridkg.interfaces.graph_index import (
    AlternativePath,
    GraphIndex,
    Ids,
    InversePath,
    Join,
    Pattern,
    PredicatePath,
    Scan,
    Slot,
    Variable,
)
from hybridkg.interfaces.graph_index import Path as GraphPath
from hybridkg.interfaces.meter import Meter
from hybridkg.interfaces.statistics import PredicateStatistics
from hybridkg.interfaces.text_index import TextIndex, TextQuery
from hybridkg.rdf.terms import NamedNode, Node

MAX_REACHED = 4_000
"""Paths from nodes whose answers are kept: at most 4 bytes for each answer."""

MAX_TEXTS = 64
"""Texts whose best score is kept."""

SAMPLED = 40
"""Instances of a class whose text is measured."""

NO_CLASS = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2002/07/owl#",
)
"""Namespaces of classes that describe the vocabulary, not the data."""


class AskedBase:
    """One state of a knowledge base; what it reads of the schema is kept.

    Args:
        graph: the projection.
        text: the text index.
        profile: of the text index.
        classes: instances by class.
        predicates: their statistics.
        nodes: nodes of ids.
        labels: labels by IRI; those without one are missing.
        all_labels: all labels by node; those without one are missing.
        texts: characters of own text of each node.
        has_vectors: whether NEAR has vectors.
    """

    def __init__(
        self,
        graph: GraphIndex,
        text: TextIndex,
        profile: Profile,
        classes: Mapping[str, int],
        predicates: Sequence[PredicateStatistics],
        nodes: Callable[[Ids], list[Node]],
        labels: Callable[[Sequence[str]], Mapping[str, str]],
        all_labels: Callable[[Sequence[Node]], Mapping[Node, Sequence[str]]],
        text_lengths: Callable[[Sequence[Node]], Sequence[int]],
        *,
        has_vectors: bool,
    ):
        self.graph, self.text, self.profile, self.has_vectors = graph, text, profile, has_vectors
        self._classes, self.predicates = classes, predicates
        self._nodes, self._labels, self._text_lengths = nodes, labels, text_lengths
        self._all_labels = all_labels
        self.names = Names(text, profile, graph.n_entities, self.names_of, several=lambda: self._has_several_names)
        self.instances = lru_cache(64)(self._instances)
        self.best_score = lru_cache(MAX_TEXTS)(self._best_score)
        self._reached = lru_cache(MAX_REACHED)(self._reach)
        self.routes: dict[tuple[str, str], tuple[tuple[Step, ...], ...]] = {}

    def nodes(self, ids: Sequence[int]) -> list[Node]:
        """The nodes of some ids."""
        return self._nodes(np.array(ids, np.uint32))

    def labels_of(self, ids: Sequence[int]) -> dict[int, str]:
        """The label of each node that has one."""
        nodes = dict(zip(ids, self.nodes(ids), strict=True))
        found = self._labels([node.value for node in nodes.values() if isinstance(node, NamedNode)])
        return {id: found[node.value] for id, node in nodes.items() if node.value in found}

    def names_of(self, ids: Sequence[int]) -> dict[int, Sequence[str]]:
        """All labels of each node that has one, the one of `labels_of` first."""
        first = self.labels_of(ids)
        if not self._has_several_names:
            return {id: (label,) for id, label in first.items()}
        nodes = dict(zip(ids, self.nodes(ids), strict=True))
        every = self._all_labels(list(nodes.values()))
        return {id: tuple(dict.fromkeys((label, *every.get(nodes[id], ())))) for id, label in first.items()}

    @cached_property
    def _has_several_names(self) -> bool:
        """Whether some node has two labels: of one label predicate, or of two."""
        found = [one for one in self.predicates if one.iri in self.profile.labels]
        if any(one.triples > one.subjects for one in found):
            return True
        scans = [
            Scan(Variable("x"), PredicatePath(one.iri), Variable(f"v{number}")) for number, one in enumerate(found)
        ]
        return any(len(self.candidates(Join(pair))) for pair in combinations(scans, 2))

    def _best_score(self, text: str) -> float:
        """The highest text score of some words in the index; 0 for none."""
        _, scores = self.text.topk(TextQuery(text, syntax=False), 1)
        return max(0.0, float(scores[0])) if len(scores) else 0.0

    @cached_property
    def schema(self) -> SchemaGraph:
        """The graph of classes; of those in hk:entities, if the profile names some."""
        wanted = set(self.profile.entities)
        classes = {
            iri: n for iri, n in self._classes.items() if (iri in wanted if wanted else not iri.startswith(NO_CLASS))
        }
        types = set(self.types)
        predicates = {one.iri: one.triples for one in self.predicates if one.iri not in types}
        return read_schema_graph(self.graph, classes, predicates, self.types)

    @cached_property
    def mixed(self) -> frozenset[Step]:
        """The steps whose predicates also lead to other classes than their target."""
        return frozenset(
            Step(step.predicate, step.inverse, step.target, step.others)
            for steps in self.schema.steps.values()
            for step in steps
            if not self.schema.leads_to_one(step)
        )

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words for classes and predicates."""
        iris = [*self.schema.classes, *(one.iri for one in self.predicates)]
        return Lexicon(self.names.analyzer, self.schema.classes, self._labels(iris), said_of(self.profile))

    @cached_property
    def text_shares(self) -> Mapping[str, float]:
        """The mean length of the own text of each class, of SAMPLED instances, divided by the largest one."""
        means = {}
        for iri in self.schema.names[:64]:
            ids = self.instances(iri)
            chosen = ids[:: max(1, len(ids) // SAMPLED)][:SAMPLED]
            lengths = self._text_lengths(self.nodes(chosen[chosen < self.graph.n_entities].tolist()))
            means[iri] = sum(lengths) / len(lengths) if lengths else 0.0
        most = max(means.values(), default=0.0) or 1.0
        return {iri: mean / most for iri, mean in means.items()}

    def _instances(self, iri: str) -> Ids:
        """Ids of the instances of a class, ascending."""
        return self.candidates(Scan(Variable("x"), self.type_path, NamedNode(iri)))

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The predicates of hk:types that the graph has, at least one."""
        known = {one.iri for one in self.predicates}
        return tuple(iri for iri in self.profile.types if iri in known) or self.profile.types[:1]

    @property
    def type_path(self) -> PredicatePath | AlternativePath:
        """The path from a node to its classes."""
        steps = tuple(map(PredicatePath, self.types))
        return steps[0] if len(steps) == 1 else AlternativePath(steps)

    def reach(self, node: str, steps: Sequence[Step]) -> Ids:
        """Ids of the answers of a path from a node, ascending; the node is none of them, nor on the way to them.

        "Films that share actors with X" are other films than X, and so are those that lead to their directors.
        """
        return self._reached(node, tuple(steps), True)

    def _reach(self, node: str, steps: tuple[Step, ...], is_last: bool) -> Ids:
        step = steps[-1]
        here: Slot = NamedNode(node) if len(steps) == 1 else Variable("h")
        parts: list[Pattern] = [Scan(here, path_of(step), Variable("x"))]
        if is_last or step in self.mixed:  # as the queries have it (emit.py)
            parts.append(Scan(Variable("x"), self.type_path, NamedNode(step.target)))
        compiled = self.graph.compile(Join(tuple(parts)))
        if compiled is None:
            return np.zeros(0, np.uint32)
        bound = {} if len(steps) == 1 else {"h": self._reached(node, steps[:-1], False)}
        if any(not len(ids) for ids in bound.values()):
            return np.zeros(0, np.uint32)
        ids = compiled.candidates("x", Meter(), bound=bound)
        own = self.graph.find([NamedNode(node)])[0]
        others: Ids = ids[ids != own]
        return others

    def candidates(self, pattern: Pattern) -> Ids:
        """Ids of ?x in the solutions of a pattern, ascending; none where the projection lacks a predicate."""
        compiled = self.graph.compile(pattern)
        return np.zeros(0, np.uint32) if compiled is None else compiled.candidates("x", Meter())

    def statistics(self, predicate: str) -> PredicateStatistics | None:
        """The statistics of a predicate."""
        return next((one for one in self.predicates if one.iri == predicate), None)


def path_of(step: Step) -> GraphPath:
    """The path of a step in the projection."""
    paths = tuple(
        InversePath(PredicatePath(predicate)) if inverse else PredicatePath(predicate)
        for predicate, inverse in step.alternatives
    )
    return paths[0] if len(paths) == 1 else AlternativePath(paths)


def said_of(profile: Profile) -> Said:
    """The phrases of a profile: those of one IRI are for a class or a predicate, those of a path for the path."""
    paths, classes = {}, {}
    for path, phrases in profile.said:
        steps = _steps(path)
        if steps is not None:
            paths[steps] = phrases
        if isinstance(path, ShaclPredicate):
            classes[path.iri] = phrases
    return Said(paths, classes)


def _steps(path: Path) -> tuple[tuple[str, bool], ...] | None:
    """(predicate, whether against it) of each step; None for other paths."""
    match path:
        case ShaclPredicate(iri):
            return ((iri, False),)
        case ShaclInverse(ShaclPredicate(iri)):
            return ((iri, True),)
        case PathSequence(parts):
            steps = [_steps(part) for part in parts]
            return None if None in steps else tuple(step for some in steps if some for step in some)
    return None
