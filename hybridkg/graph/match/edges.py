"""Triple patterns inside a join: a relation between two variables, or a variable and a constant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hybridkg.graph.match.conditions import Condition
from hybridkg.graph.match.ids import Mask, Ranges, both, inside
from hybridkg.graph.match.relations import Pairs, Relation, chunks, singleton
from hybridkg.graph.match.run import Run
from hybridkg.graph.match.tables import Table
from hybridkg.interfaces.graph_index import Ids

End = str | int
"""A variable, or the id of a constant."""

Sets = Mapping[str, Ids]
Conditions = Mapping[str, Condition]


class Edge:
    """`subject relation object`.

    Args:
        subject: a variable or a constant.
        relation: what links it.
        object_: a variable or a constant.
        is_type: whether the relation is rdf:type. That a paper is a Paper says nothing that its authors do not say:
            estimates take the instances of a class to be all of those that have anything else in common.
    """

    __slots__ = ("_least", "_listed", "is_type", "object", "relation", "subject", "variables")

    def __init__(self, subject: End, relation: Relation, object_: End, *, is_type: bool = False):
        self.subject, self.relation, self.object, self.is_type = subject, relation, object_, is_type
        self.variables: tuple[str, ...] = (subject,) if isinstance(subject, str) else ()
        """One, two or none."""
        if isinstance(object_, str) and object_ != subject:
            self.variables += (object_,)
        self._listed: dict[bool, float] = {}
        self._least: float | None = None

    def listed(self, forward: bool) -> float:
        """Entries of the constant that is the subject (forward) or the object; counted once, estimates ask often."""
        if forward not in self._listed:
            end = self.subject if forward else self.object
            assert isinstance(end, int)
            self._listed[forward] = self.relation.near_one(end, forward)
        return self._listed[forward]

    def least(self) -> float:
        """How many entries it has, or its constants have."""
        if self._least is None:
            least = self.relation.work(None, True)
            if not isinstance(self.subject, str):
                least = min(least, self.listed(True))
            if not isinstance(self.object, str):
                least = min(least, self.listed(False))
            self._least = least
        return self._least

    def domain(self, variable: str) -> float:
        """About how many values the variable could have by what the relation is about, at least 1."""
        if self.is_type and not isinstance(self.object, str):
            return max(1.0, self.listed(False))
        return max(1.0, self.relation.sources(self.subject == variable))

    def from_subject(self, variable: str) -> bool:
        """Whether the variable is the subject."""
        return self.subject == variable

    def other(self, variable: str) -> End:
        """The end that is not this variable."""
        return self.object if self.subject == variable else self.subject


def of_constant(edge: Edge, variable: str, run: Run) -> Ids:
    """The values of the variable of an edge whose other end is a constant."""
    forward = not edge.from_subject(variable)
    other = edge.other(variable)
    assert isinstance(other, int)
    return edge.relation.reach(singleton(other), forward, run)


def kept(ids: Ids, variable: End, sets: Sets, conditions: Conditions, run: Run) -> Mask | None:
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


class Source(NamedTuple):
    """A way to enumerate an edge: from the subjects (forward) or the objects in a set, or in ranges, or from all."""

    forward: bool
    ids: Ids | None
    span: Ranges | None
    work: float


def source(edge: Edge, sets: Sets, conditions: Conditions) -> Source:
    """The cheapest way to enumerate an edge."""
    found = Source(True, None, None, edge.relation.work(None, True))
    for forward, end in ((True, edge.subject), (False, edge.object)):
        if not isinstance(end, str):
            if (work := edge.listed(forward)) < found.work:
                found = Source(forward, singleton(end), None, work)
        elif (members := sets.get(end)) is not None:
            if (work := edge.relation.near(members, forward) + len(members)) < found.work:
                found = Source(forward, members, None, work)
        elif (condition := conditions.get(end)) is not None:
            work = edge.relation.work_ranges(condition.span, forward)
            found = Source(forward, None, condition.span, work) if work < found.work else found
    return found


def entries(edge: Edge, conditions: Conditions) -> float:
    """How many entries `source` finds that it takes when no sets are known."""
    found = edge.least()
    if conditions:
        for forward, end in ((True, edge.subject), (False, edge.object)):
            if isinstance(end, str) and (condition := conditions.get(end)) is not None:
                found = min(found, edge.relation.work_ranges(condition.span, forward))
    return found


def enumerated(edge: Edge, sets: Sets, conditions: Conditions, run: Run) -> Table:
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
    return Table(columns, len(targets))


def expanded(edge: Edge, ids: Ids, forward: bool, sets: Sets, conditions: Conditions, run: Run) -> Pairs:
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
