"""The projection as a GraphIndex: graph patterns over ids, evaluated on sorted adjacency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.around import around, degrees
from hybridkg.graph.columns import ProjectionColumns
from hybridkg.graph.match.cardinality_bounds import bounds_of, work_each_of, work_of
from hybridkg.graph.match.combine import EmptyNode, SelectNode
from hybridkg.graph.match.compile import PatternCompiler, Truth
from hybridkg.graph.match.conditions import ColumnsInOrder, ColumnTest, Combined, IdTest, SameColumns
from hybridkg.graph.match.counting import counted
from hybridkg.graph.match.counts_work import counts_work_of
from hybridkg.graph.match.existence import any_work, has_any
from hybridkg.graph.match.grouping import ascending, grouped
from hybridkg.graph.match.ids import distinct, inside
from hybridkg.graph.match.join import JoinNode
from hybridkg.graph.match.join_counting import as_join
from hybridkg.graph.match.join_shape import JoinShape
from hybridkg.graph.match.lacking import lacking
from hybridkg.graph.match.nodes import PatternNode
from hybridkg.graph.match.open_parts import PatternBindings
from hybridkg.graph.match.paths import Relations
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.shape import PatternDeclined
from hybridkg.graph.match.strings import TermStrings
from hybridkg.graph.match.tables import SolutionTable
from hybridkg.graph.predicate_terms import PredicateTerms
from hybridkg.graph.term_order import TermOrder
from hybridkg.interfaces.graph_index import (
    AskedPattern,
    BoundPattern,
    Cardinality,
    CountTable,
    Ids,
    IdTable,
    Pattern,
    PredicatePath,
    Test,
)
from hybridkg.interfaces.graph_links import GraphLinks
from hybridkg.interfaces.meter import Meter
from hybridkg.interfaces.parameter import Substitution
from hybridkg.rdf.term_texts import TaggedTexts, TermTexts
from hybridkg.rdf.terms import NamedNode, Term

MAX_ROWS = 10_000_000
"""The maximum size of an intermediate result, as in operators/context.py."""

MAX_PREPARED = 256
"""The size of the caches of compiled patterns and of templates."""

CLOSED = (JoinShape, SolutionTable, dict, ColumnTest, SameColumns, ColumnsInOrder, Combined)
"""Parts of a compiled pattern without parameters."""


class NodeTemplate(NamedTuple):
    """The compiled pattern with open ids; `node` is None where the terms decide what it looks like."""

    pattern: Pattern
    node: Substitution | None
    id_parameters: tuple[int, ...]


class Projection:
    """A GraphIndex over the columns of a graph, in memory or mapped.

    `truth` is Oxigraph's evaluation of an expression; `max_rows` is the maximum size of an intermediate result.
    """

    def __init__(self, columns: ProjectionColumns, truth: Truth, max_rows: int = MAX_ROWS):
        self._columns, self._truth, self._max_rows = columns, truth, max_rows
        self.n_entities, self.n_nodes = columns.terms.n_entities, columns.terms.n_nodes
        self._strings = TermStrings(columns.terms)
        self._order = TermOrder(columns.terms, self._strings)
        self._terms = PredicateTerms(columns)
        self._relations = Relations(columns)
        self._tests: dict[Test, IdTest] = {}
        self._prepared: dict[int, tuple[Pattern, Prepared | None]] = {}
        self._templates: dict[int, NodeTemplate] = {}

    def compile(self, pattern: AskedPattern) -> Prepared | None:
        """Cached, because a plan that runs again compiles the same patterns: by the identity of a pattern, or in one
        with values, of which each question has its own.
        """
        if isinstance(pattern, BoundPattern):
            for index, compiled in pattern.compiled:
                if index is self:
                    return cast("Prepared | None", compiled)
            node = self._bound(pattern)
            prepared = None if node is None else Prepared(node, self._max_rows)
            pattern.compiled.append((self, prepared))
            return prepared
        key = id(pattern)
        cached = self._prepared.get(key)
        if cached is not None:
            return cached[1]
        node = self._node(pattern)
        prepared = None if node is None else Prepared(node, self._max_rows)
        if len(self._prepared) >= MAX_PREPARED:
            self._prepared.clear()
        self._prepared[key] = pattern, prepared  # the reference to the pattern keeps its id valid
        return prepared

    def around(self, ids: Ids, most: int) -> GraphLinks:
        return around(self._columns, ids, most)

    def degrees(self, ids: Ids, without: str) -> NDArray[np.int64]:
        return degrees(self._columns, ids, without)

    def _bound(self, pattern: BoundPattern) -> PatternNode | None:
        """The template's node with the ids of the values. With a value that is not in the graph, it is empty if every
        solution needs the value, and is compiled from terms otherwise.
        """
        key = id(pattern.template)
        cached = self._templates.get(key)
        if cached is None:
            if len(self._templates) >= MAX_PREPARED:
                self._templates.clear()
            cached = self._templates[key] = self._template(pattern.template)
        template = cached.node
        if template is not None:
            terms, id_of = pattern.values, self._columns.terms.id_of
            ids = [0] * len(terms)
            for number in cached.id_parameters:
                ids[number] = -1 if (term := terms[number]) is None else id_of(term)
            if -1 not in ids:
                try:
                    bound: PatternNode = template(PatternBindings(ids, terms))
                except PatternDeclined:
                    return None
                return bound
            node = template.tree
            if isinstance(node, JoinNode) and not node.members and any(edge.has_absent(ids) for edge in node.edges):
                return EmptyNode(node.variables)
        return self._node(pattern.template, pattern.values)

    def _template(self, pattern: Pattern) -> NodeTemplate:
        compiler = self._compiler(pattern)
        try:
            node = Substitution(compiler.compiled(), CLOSED)
        except PatternDeclined:
            return NodeTemplate(pattern, None, ())
        return NodeTemplate(pattern, node, tuple(compiler.id_parameters))

    def _node(self, pattern: Pattern, values: Sequence[Term | None] | None = None) -> PatternNode | None:
        try:
            return self._compiler(pattern, values).compiled()
        except PatternDeclined:
            return None

    def _compiler(self, pattern: Pattern, values: Sequence[Term | None] | None = None) -> PatternCompiler:
        return PatternCompiler(
            self._columns,
            self._terms,
            self._relations,
            self._strings,
            self._order,
            self._truth,
            self._tests,
            pattern,
            values,
        )

    def lacks(self, pattern: AskedPattern) -> tuple[str, ...]:
        return lacking(pattern, self._columns.omitted)

    def has_nodes_only(self, predicate: str) -> bool:
        objects = self._objects(predicate)
        return objects is not None and (len(objects) == 0 or int(objects[-1]) < self.n_nodes)

    def object_kinds(self, predicate: str) -> frozenset[str] | None:
        objects = self._objects(predicate)
        if objects is None:
            return None
        parts = self._columns.terms.parts
        ranges = [("node", (0, self.n_nodes)), *(pair for part in parts for pair in part.segments.items())]
        ends = np.searchsorted(objects, np.array([ids for _, ids in ranges], np.int64))
        return frozenset(kind for (kind, _), (first, end) in zip(ranges, ends.tolist(), strict=True) if first < end)

    def orders_objects(self, *predicates: str) -> bool:
        ends: list[int] = []
        for predicate in predicates:
            objects = self._objects(predicate)
            if objects is None:
                return False
            ends += [int(objects[at]) for at in (0, -1) if len(objects)]
        if not ends or max(ends) >= self.n_nodes or min(ends) < self.n_entities <= max(ends):
            return False
        # Blank nodes come before IRIs, among the entities and among the other nodes.
        return isinstance(self.terms(np.array([min(ends)], np.uint32))[0], NamedNode)

    def _objects(self, predicate: str) -> Ids | None:
        relation = self._relations.of(PredicatePath(predicate))
        return None if relation is None else relation.ends(False, PatternRun(Meter(), self._max_rows))

    def terms(self, ids: Ids) -> list[Term | None]:
        return self._terms.terms(ids)

    def tagged(self, ids: Ids) -> TaggedTexts:
        return self._terms.tagged(ids)

    def texts(self, ids: Ids) -> TermTexts:
        return self._terms.texts(ids)

    def order_keys(self, ids: Ids, *, total: bool) -> NDArray[Any] | None:
        return self._order.keys(ids, total=total)

    def find(self, terms: Sequence[Term]) -> NDArray[np.int64]:
        return self._terms.find(terms)


@dataclass(frozen=True)
class Prepared:
    """A PreparedPattern."""

    node: PatternNode
    max_rows: int
    _sizes: dict[str | None, Cardinality] = field(default_factory=dict, compare=False, repr=False)

    @property
    def variables(self) -> tuple[str, ...]:
        return self.node.variables

    def size(self, variable: str | None = None) -> Cardinality:
        size = self._sizes.get(variable)
        if size is None:
            low, high = bounds_of(self.node, variable)
            estimate = float(high) if low == high else min(max(self.node.estimate(variable), low), high)
            size = self._sizes[variable] = Cardinality(low, estimate, high)
        return size

    def domain(self, variable: str) -> float:
        return self.node.domain(variable)

    def unbound_share(self, variable: str) -> float:
        return self.node.unbound_share(variable) if variable in self.node.variables else 1.0

    def work(self, variable: str | None = None) -> float:
        return work_of(self.node, variable)

    def work_each(self, variable: str) -> float:
        return work_each_of(self.node, variable)

    def candidates(
        self, variable: str, meter: Meter, among: Ids | None = None, bound: Mapping[str, Ids] | None = None
    ) -> Ids:
        run = PatternRun(meter, self.max_rows)
        if not bound:
            return self.node.values(variable, among, run)
        if isinstance(self.node, JoinNode):
            ids = self.node.values_where(variable, among, bound, run)
            if ids is not None:
                return ids
        bound = bound if among is None else {**bound, variable: among}
        return distinct(self.rows([variable], meter, bound).column(variable))

    def range_of(self, variable: str, meter: Meter) -> Ids:
        run, node = PatternRun(meter, self.max_rows), self.node
        if isinstance(node, JoinNode) and not node.shape.is_tree(variable):
            edges = [edge for edge in node.edges if variable in edge.variables]
            if edges:
                ids = min((edge.relation.ends(edge.from_subject(variable), run) for edge in edges), key=len)
                return node.conditions[variable].of_set(ids, run) if variable in node.conditions else ids
        return node.values(variable, None, run)

    def rows(
        self,
        columns: Sequence[str],
        meter: Meter,
        bound: Mapping[str, Ids] | None = None,
        max_rows: int | None = None,
    ) -> IdTable:
        node, hints, run = self.node, dict(bound or {}), PatternRun(meter, max_rows or self.max_rows)
        table = node.rows(frozenset(columns).union(hints), hints, run)
        kept = frozenset[str]()
        if isinstance(node, JoinNode):
            kept = node.shape.restricted
        elif isinstance(node, SelectNode):
            kept = node.restricted
        for name, ids in hints.items():
            if name in kept or np.array_equal(table.columns[name], ids):
                continue
            mask = inside(table.columns[name], ids)
            if not mask.all():
                table = table.take(mask)
        return IdTable(tuple(columns), tuple([table.column(name) for name in columns]), table.size)

    def only_values(self, variable: str, ids: Ids, meter: Meter) -> tuple[str, Ids] | None:
        edge = self.node.shape.lookup(variable) if isinstance(self.node, JoinNode) else None
        if edge is None:
            return None
        (other,) = [name for name in edge.variables if name != variable]
        return other, edge.relation.lookup(ids, edge.from_subject(variable), PatternRun(meter, self.max_rows))

    def has_distinct_rows(self, columns: Sequence[str]) -> bool:
        node = self.node
        return isinstance(node, JoinNode) and not node.others and set(node.variables) <= set(columns)

    def has_any(self, meter: Meter) -> bool:
        return has_any(self.node, PatternRun(meter, self.max_rows))

    def any_work(self) -> float:
        return any_work(self.node)

    def counts(
        self,
        keys: Sequence[str],
        meter: Meter,
        bound: Mapping[str, Ids] | None = None,
        max_rows: int | None = None,
    ) -> CountTable:
        run, hints = PatternRun(meter, max_rows or self.max_rows), dict(bound or {})
        node = as_join(self.node) if hints else self.node
        found = counted(node, frozenset(keys), hints, run, keys[0] if keys else None)
        if not keys:
            return CountTable((), (), found.counts if len(found.counts) else np.zeros(1, np.int64))
        columns, counts = [found.table.column(name) for name in keys], found.counts
        if not ascending(columns):
            columns, counts = grouped(columns, found.table.size, counts, found.bound)
        return CountTable(tuple(keys), tuple(columns), counts)

    def counts_work(self, keys: Sequence[str]) -> float:
        return counts_work_of(self.node, frozenset(keys))
