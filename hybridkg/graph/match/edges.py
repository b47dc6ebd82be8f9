"""Triple patterns inside a join: a relation between two variables, or a variable and a constant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from hybridkg.graph.match.conditions import IdTest
from hybridkg.graph.match.ids import IdRanges, Mask, both, inside
from hybridkg.graph.match.relations import Pairs, Relation, chunks, singleton
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable
from hybridkg.interfaces.graph_index import Ids
from hybridkg.interfaces.parameter import Parameter

End = str | int
"""A variable, or the id of a constant."""

Sets = Mapping[str, Ids]
Conditions = Mapping[str, IdTest]


class IdParameter(int):
    """Stands for the id of a constant: that of the parameter whose number it is."""


class Edge:
    """`subject relation object`.

    Args:
        subject: a variable or a constant.
        relation: what links it.
        object_: a variable or a constant.
        is_type: whether the relation is rdf:type. That a paper is a Paper says nothing that its authors do not say:
            estimates take the instances of a class to be all of those that have anything else in common.
        like: an edge of the same relation, whose counts it takes over.
    """

    __slots__ = (
        "_least", "_listed", "exact", "is_type", "object", "pairs", "relation", "sources", "subject", "variables",
    )  # fmt: skip

    def __init__(
        self, subject: End, relation: Relation, object_: End, *, is_type: bool = False, like: Edge | None = None
    ):
        self.subject, self.relation, self.object, self.is_type = subject, relation, object_, is_type
        self.variables: tuple[str, ...] = (subject,) if isinstance(subject, str) else ()
        """One, two or none."""
        if isinstance(object_, str) and object_ != subject:
            self.variables += (object_,)
        self.exact = relation.exact
        self.pairs: tuple[float, float] = (
            (relation.work(None, False), relation.work(None, True)) if like is None else like.pairs
        )
        """About how many, counted from the objects or (at True) from the subjects."""
        self.sources: tuple[float, float] = (
            (relation.sources(False), relation.sources(True)) if like is None else like.sources
        )
        """About how many objects and (at True) subjects."""
        self._listed: dict[bool, float] = {}
        self._least: float | None = None

    def listed(self, forward: bool) -> float:
        """Entries of the constant that is the subject (forward) or the object; counted once, estimates ask often."""
        found = self._listed.get(forward)
        if found is None:
            end = self.subject if forward else self.object
            assert not isinstance(end, str)
            found = self._listed[forward] = self.relation.near_one(end, forward)
        return found

    def least(self) -> float:
        """How many entries it has, or its constants have."""
        if self._least is None:
            least = self.pairs[True]
            if not isinstance(self.subject, str):
                least = min(least, self.listed(True))
            if not isinstance(self.object, str):
                least = min(least, self.listed(False))
            self._least = least
        return self._least

    def domain(self, forward: bool) -> float:
        """About how many values its subject (forward) or object could have by what the relation is about."""
        return self.listed(False) if self.is_type and not isinstance(self.object, str) else self.sources[forward]

    def from_subject(self, variable: str) -> bool:
        """Whether the variable is the subject."""
        return self.subject == variable

    def other(self, variable: str) -> End:
        """The end that is not this variable."""
        return self.object if self.subject == variable else self.subject


class OpenEdge(Edge, Parameter):
    """An edge of which an end is an IdParameter, in a pattern for all values of its parameters."""

    def value_in(self, bindings: Any) -> Edge:
        """The edge with an id in place of each parameter.

        >>> from hybridkg.graph.columns import Adjacency, Predicate
        >>> from hybridkg.graph.match.relations import Link
        >>> from hybridkg.interfaces.parameter import Bindings
        >>> ids = np.array([1], np.uint32)
        >>> link = Link(Predicate(*[Adjacency(ids, np.array([0, 1], np.uint8), ids)] * 2))
        >>> OpenEdge("x", link, IdParameter(0)).value_in(Bindings([17])).object
        17
        """
        subject, object_ = self.subject, self.object
        subject = bindings.values[subject] if isinstance(subject, IdParameter) else subject
        object_ = bindings.values[object_] if isinstance(object_, IdParameter) else object_
        return Edge(subject, self.relation, object_, is_type=self.is_type, like=self)


def edge_of(subject: End, relation: Relation, object_: End, is_type: bool) -> Edge:
    """The edge of a triple pattern; an OpenEdge where a constant is a parameter."""
    is_open = isinstance(subject, IdParameter) or isinstance(object_, IdParameter)
    return (OpenEdge if is_open else Edge)(subject, relation, object_, is_type=is_type)


def of_constant(edge: Edge, variable: str, run: PatternRun) -> Ids:
    """The values of the variable of an edge whose other end is a constant."""
    forward = not edge.from_subject(variable)
    other = edge.other(variable)
    assert isinstance(other, int)
    return edge.relation.reach(singleton(other), forward, run)


def kept(ids: Ids, variable: End, sets: Sets, conditions: Conditions, run: PatternRun) -> Mask | None:
    """bool[len(ids)]: which values the variable may have; None for all. In any order, repeats allowed."""
    mask: Mask | None = None
    if not isinstance(variable, str):
        return np.asarray(ids == np.uint32(variable))
    if (members := sets.get(variable)) is not None:
        mask = inside(ids, members)
    if (condition := conditions.get(variable)) is not None:
        found = condition.holds(ids, run)
        mask = found if mask is None else mask & found
    return mask


class EdgeSource(NamedTuple):
    """A way to enumerate an edge: from the subjects (forward) or the objects in a set, or in ranges, or from all."""

    forward: bool
    ids: Ids | None
    span: IdRanges | None
    work: float


def source(edge: Edge, sets: Sets, conditions: Conditions) -> EdgeSource:
    """The cheapest way to enumerate an edge."""
    found = EdgeSource(True, None, None, edge.relation.work(None, True))
    for forward, end in ((True, edge.subject), (False, edge.object)):
        if not isinstance(end, str):
            if (work := edge.listed(forward)) < found.work:
                found = EdgeSource(forward, singleton(end), None, work)
        elif (members := sets.get(end)) is not None:
            if (work := edge.relation.near(members, forward) + len(members)) < found.work:
                found = EdgeSource(forward, members, None, work)
        elif (condition := conditions.get(end)) is not None:
            work = edge.relation.work_ranges(condition.span, forward)
            found = EdgeSource(forward, None, condition.span, work) if work < found.work else found
    return found


def entries(edge: Edge, conditions: Conditions) -> float:
    """How many entries `source` finds that it takes when no sets are known."""
    found = edge.least()
    if conditions:
        for forward, end in ((True, edge.subject), (False, edge.object)):
            if isinstance(end, str) and (condition := conditions.get(end)) is not None:
                found = min(found, edge.relation.work_ranges(condition.span, forward))
    return found


def enumerated(edge: Edge, sets: Sets, conditions: Conditions, run: PatternRun) -> SolutionTable:
    """All solutions of an edge whose values the sets and conditions allow."""
    chosen = source(edge, sets, conditions)
    here, there = (edge.subject, edge.object) if chosen.forward else (edge.object, edge.subject)
    ids = chosen.ids
    if ids is None:
        ids = edge.relation.ends(chosen.forward, run)
        if chosen.span is not None:
            ids = chosen.span.of_set(ids)
    if not isinstance(here, str):
        ids = singleton(here)
    else:
        if ids is not chosen.ids and here in sets:
            ids = both(ids, sets[here])
        if here in conditions:
            ids = conditions[here].of_set(ids, run)
    index, targets = expanded(edge, ids, chosen.forward, sets, conditions, run)
    columns = {}
    if isinstance(here, str):
        columns[here] = ids[index]
    if isinstance(there, str):
        columns[there] = targets
    return SolutionTable(columns, len(targets))


def expanded(edge: Edge, ids: Ids, forward: bool, sets: Sets, conditions: Conditions, run: PatternRun) -> Pairs:
    """The pairs of these ids (in any order, repeats allowed) whose far end the sets and conditions allow."""
    here, there = (edge.subject, edge.object) if forward else (edge.object, edge.subject)
    found: list[Pairs] = []
    rows = 0
    for first, part in chunks(edge.relation, ids, forward):
        index, targets = edge.relation.expand(part, forward, run)
        mask = kept(targets, there, sets, conditions, run)
        if here == there:
            same = part[index] == targets
            mask = same if mask is None else mask & same
        if mask is not None:
            index, targets = index[mask], targets[mask]
        rows += len(targets)
        run.room_for(rows)
        found.append((index + first if first else index, targets))
    if len(found) == 1:
        return found[0]
    return np.concatenate([index for index, _ in found]), np.concatenate([targets for _, targets in found])
