"""Triple patterns with a variable predicate: the union of the triple patterns of all predicates.

Each predicate is read from the end that is constant or has the fewest values, so that `:x ?p ?o` reads only the triples
of `:x`. The sizes of predicates are known, so that counting by predicate lists nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.match.conditions import IdTest
from hybridkg.graph.match.edges import Conditions, Edge, End, IdParameter, enumerated
from hybridkg.graph.match.ids import NONE, IdRanges, both, distinct, either, inside
from hybridkg.graph.match.nodes import Hints
from hybridkg.graph.match.relations import PredicateRelation, chunks
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable, concatenated, empty
from hybridkg.interfaces.graph_index import Ids
from hybridkg.interfaces.parameter import Parameter

Numbers = NDArray[np.intp]
"""Places of predicates in a PredicateTable."""


class PredicateTable:
    """All predicates of a projection.

    Args:
        ids: uint32[n], distinct, in any order.
        relations: of each predicate, not empty.
    """

    __slots__ = ("ids", "objects", "relations", "subjects", "triples")

    def __init__(self, ids: Ids, relations: Sequence[PredicateRelation]):
        order = np.argsort(ids)
        self.ids = ids[order]
        """Ascending."""
        self.relations = [relations[at] for at in order.tolist()]
        self.triples = [relation.work(None, True) for relation in self.relations]
        self.subjects = [relation.sources(True) for relation in self.relations]
        self.objects = [relation.sources(False) for relation in self.relations]


@dataclass(frozen=True, eq=False)
class AnyPredicateNode:
    """The node of `subject ?predicate object`.

    Args:
        subject, object: variables, or ids of constants.
        predicate: the variable.
        table: all predicates.
        conditions: tests of its variables that the caller applies again; they only save reading.
    """

    subject: End
    predicate: str
    object: End
    table: PredicateTable
    conditions: Conditions

    @cached_property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(e for e in (self.subject, self.predicate, self.object) if isinstance(e, str)))

    @property
    def certain(self) -> frozenset[str]:
        return frozenset(self.variables)

    def under(self, conditions: Conditions) -> AnyPredicateNode:
        """The node with the tests of its variables."""
        own = {name: test for name, test in conditions.items() if name in self.variables}
        return replace(self, conditions=own) if own else self

    # --- predicates --------------------------------------------------------------------

    def ids(self, hints: Hints, run: PatternRun) -> Ids:
        """The ids of the predicates that the hints and tests of the variable allow."""
        ids = self.table.ids
        if (among := hints.get(self.predicate)) is not None:
            ids = both(ids, among)
        condition = self.conditions.get(self.predicate)
        return ids if condition is None else condition.of_set(ids, run)

    def edges(self, ids: Ids) -> Iterator[tuple[int, Edge]]:
        """(id, triple pattern) of some predicates."""
        for number, i in zip(self.table.ids.searchsorted(ids).tolist(), ids.tolist(), strict=True):
            yield i, self.edge(number)

    def edge(self, number: int) -> Edge:
        """The triple pattern of a predicate; its own id stands where the variable does."""
        own = int(self.table.ids[number])
        subject = own if self.subject == self.predicate else self.subject
        object_ = own if self.object == self.predicate else self.object
        return Edge(subject, self.table.relations[number], object_)

    @cached_property
    def edge_conditions(self) -> Mapping[str, IdTest]:
        return {name: test for name, test in self.conditions.items() if name != self.predicate}

    @cached_property
    def is_repeated(self) -> bool:
        """Whether a variable stands in two places."""
        places = [end for end in (self.subject, self.predicate, self.object) if isinstance(end, str)]
        return len(places) > len(self.variables)

    @cached_property
    def constant(self) -> tuple[int, bool] | None:
        """(id, whether it is the subject) of the only constant; None for another number, or for repeated variables."""
        if self.is_repeated or isinstance(self.subject, str) == isinstance(self.object, str):
            return None
        if isinstance(self.subject, str):
            assert not isinstance(self.object, str)
            return self.object, False
        return self.subject, True

    # --- the protocol of nodes ---------------------------------------------------------

    def rows(self, wanted: frozenset[str], hints: Hints, run: PatternRun) -> SolutionTable:
        names = [name for name in self.variables if name in wanted]
        ids = self.ids(hints, run)
        if self.constant is not None and not self.edge_conditions:
            return self._rows_of_constant(ids, *self.constant, run).only(wanted)
        hinted = self._hinted_end(hints)
        if hinted is not None:
            return self._rows_of_set(ids, hinted, hints, run).only(wanted)
        parts, rows = [], 0
        for i, edge in self.edges(ids):
            part = enumerated(edge, hints, self.edge_conditions, run)
            if part.size:
                rows += part.size
                run.room_for(rows)
                parts.append(self._with_predicate(part, i, wanted))
        return concatenated(parts, names, run) if parts else empty(names)

    def _with_predicate(self, part: SolutionTable, i: int, wanted: frozenset[str]) -> SolutionTable:
        if self.predicate not in wanted:
            return part
        return SolutionTable({**part.columns, self.predicate: np.full(part.size, i, np.uint32)}, part.size)

    def _rows_of_constant(self, ids: Ids, constant: int, forward: bool, run: PatternRun) -> SolutionTable:
        """All rows of one constant."""
        relations, lists, counts = self.table.relations, [], []
        run.read(len(ids))
        for number in self.table.ids.searchsorted(ids).tolist():
            targets = relations[number].side(forward).one(constant)
            lists.append(targets)
            counts.append(len(targets))
        run.read(sum(counts))
        there = self.object if forward else self.subject
        assert isinstance(there, str)
        columns = {self.predicate: ids.repeat(counts), there: np.concatenate(lists) if lists else NONE}
        return SolutionTable(columns, len(columns[there]))

    def _hinted_end(self, hints: Hints) -> str | None:
        """The end with the fewest hints, from which rows can be read; None where other things restrict the ends."""
        if self.edge_conditions or self.is_repeated or len(self.variables) < 3:
            return None
        ends = [end for end in (self.subject, self.object) if isinstance(end, str) and end in hints]
        return min(ends, key=lambda end: len(hints[end]), default=None)

    def _rows_of_set(self, ids: Ids, here: str, hints: Hints, run: PatternRun) -> SolutionTable:
        """All rows in which an end has one of the hints."""
        members, forward = hints[here], here == self.subject
        there = self.object if forward else self.subject
        assert isinstance(there, str)
        among = hints.get(there)
        if len(members) == 1 and among is None:
            table = self._rows_of_constant(ids, int(members[0]), forward, run)
            return SolutionTable({**table.columns, here: members.repeat(table.size)}, table.size)
        found: list[Ids] = []
        targets: list[Ids] = []
        counts = np.zeros(len(ids), np.int64)
        run.read(len(ids))
        for place, number in enumerate(self.table.ids.searchsorted(ids).tolist()):
            relation = self.table.relations[number]
            if not relation.has_any(members, forward):
                continue
            for first, part in chunks(relation, members, forward):
                index, some = relation.expand(part, forward, run)
                if among is not None:
                    kept = inside(some, among)
                    index, some = index[kept], some[kept]
                found.append(members[index + first if first else index])
                targets.append(some)
                counts[place] += len(some)
                run.room_for(int(counts.sum()))
        columns = {
            here: np.concatenate(found) if found else NONE,
            self.predicate: ids.repeat(counts),
            there: np.concatenate(targets) if targets else NONE,
        }
        return SolutionTable(columns, int(counts.sum()))

    def values(self, variable: str, among: Ids | None, run: PatternRun) -> Ids:
        hints = {} if among is None else {variable: among}
        ids = self.ids(hints, run)
        if self.constant is not None and not self.edge_conditions:
            found = distinct(self._rows_of_constant(ids, *self.constant, run).columns[variable])
            return found if among is None else both(found, among)
        run.read(len(ids))
        if variable == self.predicate:
            found = np.array([i for i, edge in self.edges(ids) if self._has_any(edge, run)], np.uint32)
        else:
            found = either([self._ends(edge, variable, hints, run) for _, edge in self.edges(ids)])
        return found if among is None else both(found, among)

    def _has_any(self, edge: Edge, run: PatternRun) -> bool:
        if len(edge.variables) == 2 and not self.edge_conditions:
            return True
        return enumerated(edge, {}, self.edge_conditions, run).size > 0

    def _ends(self, edge: Edge, variable: str, hints: Hints, run: PatternRun) -> Ids:
        """The values of one end in the triples of a predicate."""
        if len(edge.variables) == 2 and not self.edge_conditions:
            ids = edge.relation.ends(edge.from_subject(variable), run)
            return both(ids, hints[variable]) if variable in hints else ids
        return distinct(enumerated(edge, hints, self.edge_conditions, run).columns[variable])

    # --- estimates ---------------------------------------------------------------------

    @cached_property
    def _allowed(self) -> list[int]:
        """The numbers of the predicates that may pass the test of the variable."""
        condition = self.conditions.get(self.predicate)
        if condition is None:
            return list(range(len(self.table.ids)))
        return [place for first, end in condition.span.slices(self.table.ids) for place in range(first, end)]

    @cached_property
    def size(self) -> float:
        """The triples of the constants, at most those of the ids that pass the tests; exact without tests, repeated
        variables, and two constants.
        """
        if self.constant is not None and not self.edge_conditions:
            i, forward = self.constant
            return float(sum(self.table.relations[number].near_one(i, forward) for number in self._allowed))
        if not self.edge_conditions and not self.is_repeated and len(self.variables) == 3:
            return float(sum(self.table.triples[number] for number in self._allowed))
        total = 0.0
        for number in self._allowed:
            edge = self.edge(number)
            pairs = edge.least() if edge.variables else min(1.0, edge.least())
            for name, test in self.edge_conditions.items():
                pairs = min(pairs, edge.relation.work_ranges(test.span, edge.subject == name))
            total += pairs
        return total

    @property
    def is_exact(self) -> bool:
        """Whether `size` is the number of solutions."""
        return not self.conditions and not self.is_repeated and len(self.variables) > 1

    def estimate(self, variable: str | None) -> float:
        if variable is None:
            return self.size
        if variable == self.predicate:
            return min(self.size, float(len(self._allowed)))
        sources = self.table.subjects if variable == self.subject else self.table.objects
        return min(self.size, max((float(sources[number]) for number in self._allowed), default=0.0))

    def domain(self, variable: str) -> float:
        return self.estimate(variable)

    def unbound_share(self, variable: str) -> float:
        return 0.0

    def bounds(self, variable: str | None) -> tuple[float, float]:
        """(lower, upper) bound on the solutions, or on the distinct values of a variable."""
        low = self.size if self.is_exact and variable is None else 0.0
        if variable is None:
            return low, self.size
        if variable == self.predicate:
            return 0.0, min(self.size, float(len(self._allowed)))
        return 0.0, self.size

    def work(self, variable: str | None) -> float:
        """The estimated entries that `values`, or without a variable `rows`, reads."""
        if variable is None or self.constant is not None or self.is_repeated or self.edge_conditions:
            return len(self._allowed) + self.size
        if variable == self.predicate:
            return float(len(self._allowed))
        sources = self.table.subjects if variable == self.subject else self.table.objects
        return float(sum(sources[number] for number in self._allowed))

    def sources_in(self, variable: str, ranges: IdRanges) -> float:
        """An upper bound on the values of a variable in ranges."""
        if variable == self.predicate:
            return float(len(ranges.of_set(self.table.ids)))
        forward = variable == self.subject
        return float(sum(self.table.relations[number].sources_in(ranges, forward) for number in self._allowed))

    def rows_each(self, names: frozenset[str]) -> float:
        """The estimated solutions for one combination of values of some of its variables."""
        rows = max(1.0, self.size)
        for name in self.variables:
            if name in names:
                rows /= max(1.0, self.estimate(name))
        return rows


class OpenAnyPredicateNode(AnyPredicateNode, Parameter):
    """A node with an IdParameter, in the template of a pattern."""

    def value_in(self, bindings: Any) -> AnyPredicateNode:
        """The node with the ids of its parameters."""
        subject, object_ = (
            bindings.values[end] if isinstance(end, IdParameter) else end for end in (self.subject, self.object)
        )
        return AnyPredicateNode(subject, self.predicate, object_, self.table, self.conditions)
