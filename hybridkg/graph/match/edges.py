"""Edges, the triple patterns of a join: a relation between two ends, each a variable or a constant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hybridkg.graph.match.conditions import IdTest
from hybridkg.graph.match.ids import IdRanges, Mask, both, inside
from hybridkg.graph.match.relations import Pairs, Relation, chunks, singleton
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable
from hybridkg.interfaces.graph_index import UNBOUND, Ids
from hybridkg.interfaces.parameter import Parameter

End = str | int
"""A variable, or the id of a constant."""

Sets = Mapping[str, Ids]
Conditions = Mapping[str, IdTest]


class IdParameter(int):
    """A placeholder for the id of a parameter, by the number of the parameter."""


class Edge:
    """The triple pattern `subject relation object`; `like` is an edge with the same relation and counts.

    With `is_type`, the relation is rdf:type. A class adds no information to the other edges of its instances (a thing
    with authors is a Paper anyway), so estimates take the instances of the class as the domain.
    """

    __slots__ = (
        "_entries", "_listed", "_tested", "exact", "is_type", "object", "pairs", "relation", "sources", "subject",
        "variables",
    )  # fmt: skip

    def __init__(
        self, subject: End, relation: Relation, object_: End, *, is_type: bool = False, like: Edge | None = None
    ):
        self.subject, self.relation, self.object, self.is_type = subject, relation, object_, is_type
        self.variables: tuple[str, ...] = (subject,) if isinstance(subject, str) else ()
        if isinstance(object_, str) and object_ != subject:
            self.variables += (object_,)
        self.exact = relation.exact
        self.pairs: tuple[float, float] = (
            (relation.work(None, False), relation.work(None, True)) if like is None else like.pairs
        )
        """Estimated pairs, counted from the objects [False] and from the subjects [True]."""
        self.sources: tuple[float, float] = (
            (relation.sources(False), relation.sources(True)) if like is None else like.sources
        )
        """Estimated distinct objects [False] and subjects [True]."""
        self._listed: dict[bool, float] = {}
        self._entries: float | None = None
        self._tested: tuple[Conditions, float] | None = None

    def listed(self, forward: bool) -> float:
        """Entries of the constant subject (forward) or object; cached, because estimates request it often."""
        count = self._listed.get(forward)
        if count is None:
            end = self.subject if forward else self.object
            assert not isinstance(end, str)
            count = self._listed[forward] = self.relation.near_one(end, forward)
        return count

    def least(self) -> float:
        """The entries of the relation, or of the constant with the fewest."""
        if self._entries is None:
            entries = self.pairs[True]
            if not isinstance(self.subject, str):
                entries = min(entries, self.listed(True))
            if not isinstance(self.object, str):
                entries = min(entries, self.listed(False))
            self._entries = entries
        return self._entries

    def tested(self, conditions: Conditions) -> float:
        """`least` under conditions of its variables; those of the last call are remembered, as a join asks often."""
        known = self._tested
        if known is None or known[0] is not conditions:
            entries = self.least()
            for forward, end in ((True, self.subject), (False, self.object)):
                if isinstance(end, str) and (condition := conditions.get(end)) is not None:
                    entries = min(entries, self.relation.work_ranges(condition.span, forward))
            known = self._tested = conditions, entries
        return known[1]

    def domain(self, forward: bool) -> float:
        """The estimated domain size of the subject (forward) or the object."""
        return self.listed(False) if self.is_type and not isinstance(self.object, str) else self.sources[forward]

    def has_absent(self, ids: Sequence[int]) -> bool:
        """Whether an end is a parameter whose id, among those of all parameters, is -1: no term of the graph."""
        return any(isinstance(end, IdParameter) and ids[end] == -1 for end in (self.subject, self.object))

    def from_subject(self, variable: str) -> bool:
        return self.subject == variable

    def other(self, variable: str) -> End:
        return self.object if self.subject == variable else self.subject


class OpenEdge(Edge, Parameter):
    """An edge with an IdParameter, in the template of a pattern."""

    def value_in(self, bindings: Any) -> Edge:
        """The edge with the ids of its parameters.

        >>> from hybridkg.graph.columns import Adjacency, PredicateColumns
        >>> from hybridkg.graph.match.relations import PredicateRelation
        >>> from hybridkg.interfaces.parameter import Bindings
        >>> ids = np.array([1], np.uint32)
        >>> cites = PredicateRelation(PredicateColumns(*[Adjacency(ids, np.array([0, 1], np.uint8), ids)] * 2))
        >>> OpenEdge("x", cites, IdParameter(0)).value_in(Bindings([17])).object
        17
        """
        subject, object_ = self.subject, self.object
        subject = bindings.values[subject] if isinstance(subject, IdParameter) else subject
        object_ = bindings.values[object_] if isinstance(object_, IdParameter) else object_
        return Edge(subject, self.relation, object_, is_type=self.is_type, like=self)


def edge_of(subject: End, relation: Relation, object_: End, is_type: bool) -> Edge:
    is_open = isinstance(subject, IdParameter) or isinstance(object_, IdParameter)
    return (OpenEdge if is_open else Edge)(subject, relation, object_, is_type=is_type)


def of_constant(edge: Edge, variable: str, run: PatternRun) -> Ids:
    """The values of a variable that an edge links with the constant at its other end."""
    forward = edge.subject != variable
    other = edge.subject if forward else edge.object
    assert isinstance(other, int)
    return edge.relation.reach_one(other, forward, run)


def allowed(ids: Ids, variable: End, sets: Sets, conditions: Conditions, run: PatternRun) -> Mask | None:
    """bool[len(ids)]: which ids an end may have; None for all. In any order, repeats allowed."""
    mask: Mask | None = None
    if not isinstance(variable, str):
        return np.asarray(ids == np.uint32(variable))
    if (members := sets.get(variable)) is not None:
        mask = inside(ids, members)
    if (condition := conditions.get(variable)) is not None:
        passed = condition.holds(ids, run)
        mask = passed if mask is None else mask & passed
    return mask


class EdgeSource(NamedTuple):
    """An enumeration of an edge: from subjects (forward) or objects, of a set or a constant, of ranges, or all; `work`
    in entries.
    """

    forward: bool
    ids: Ids | int | None
    span: IdRanges | None
    work: float


def source(edge: Edge, sets: Sets, conditions: Conditions) -> EdgeSource:
    """The enumeration of an edge that reads the fewest entries."""
    best: tuple[bool, Ids | int | None, IdRanges | None] = (True, None, None)
    least = edge.relation.work(None, True)
    for forward, end in ((True, edge.subject), (False, edge.object)):
        if not isinstance(end, str):
            if (work := edge.listed(forward)) < least:
                best, least = (forward, end, None), work
        elif (members := sets.get(end)) is not None:
            if (work := edge.relation.near(members, forward) + len(members)) < least:
                best, least = (forward, members, None), work
        elif (condition := conditions.get(end)) is not None:
            work = edge.relation.work_ranges(condition.span, forward)
            best, least = ((forward, None, condition.span), work) if work < least else (best, least)
    return EdgeSource(*best, least)


def entries(edge: Edge, conditions: Conditions) -> float:
    """The `work` of `source` without sets."""
    return edge.tested(conditions) if conditions else edge.least()


def enumerated(edge: Edge, sets: Sets, conditions: Conditions, run: PatternRun) -> SolutionTable:
    chosen = source(edge, sets, conditions)
    here, there = (edge.subject, edge.object) if chosen.forward else (edge.object, edge.subject)
    if not isinstance(here, str):
        ids = singleton(here)
    else:
        if isinstance(chosen.ids, np.ndarray):
            ids = chosen.ids
        else:
            ids = edge.relation.ends(chosen.forward, run)
            if chosen.span is not None:
                ids = chosen.span.of_set(ids)
            if here in sets:
                ids = both(ids, sets[here])
        if here in conditions:
            ids = conditions[here].of_set(ids, run)
    if edge.relation.is_single(chosen.forward):
        mask, targets = looked_up(edge, ids, chosen.forward, sets, conditions, run)
        named = {name: ids for name, ids in ((here, ids), (there, targets)) if isinstance(name, str)}
        table = SolutionTable(named, len(ids))
        return table if mask is None else table.take(mask)
    index, targets = expanded(edge, ids, chosen.forward, sets, conditions, run)
    columns = {}
    if isinstance(here, str):
        columns[here] = ids[index]
    if isinstance(there, str):
        columns[there] = targets
    return SolutionTable(columns, len(targets))


def looked_up(
    edge: Edge, ids: Ids, forward: bool, sets: Sets, conditions: Conditions, run: PatternRun
) -> tuple[Mask | None, Ids]:
    """(mask, targets): the target of each id (in any order, repeats allowed) of a single-valued edge; None for all.

    Where the mask is false, the id has no target, or one that the sets and conditions do not allow.
    """
    here, there = (edge.subject, edge.object) if forward else (edge.object, edge.subject)
    run.room_for(len(ids))
    targets = edge.relation.lookup(ids, forward, run)
    mask = allowed(targets, there, sets, conditions, run)
    if mask is None:
        mask = targets != UNBOUND
    if here == there:
        mask &= ids == targets
    return (None if mask.all() else mask), targets


def expanded(edge: Edge, ids: Ids, forward: bool, sets: Sets, conditions: Conditions, run: PatternRun) -> Pairs:
    """The pairs of ids (in any order, repeats allowed) whose target the sets and conditions allow."""
    here, there = (edge.subject, edge.object) if forward else (edge.object, edge.subject)
    parts: list[Pairs] = []
    rows = 0
    for first, part in chunks(edge.relation, ids, forward):
        index, targets = edge.relation.expand(part, forward, run)
        mask = allowed(targets, there, sets, conditions, run)
        if here == there:
            same = part[index] == targets
            mask = same if mask is None else mask & same
        if mask is not None:
            index, targets = index[mask], targets[mask]
        rows += len(targets)
        run.room_for(rows)
        parts.append((index + first if first else index, targets))
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([index for index, _ in parts]), np.concatenate([targets for _, targets in parts])
