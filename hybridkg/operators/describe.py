"""DESCRIBE: the triples of each node that the solutions have, and of the blank nodes that these lead to.

SPARQL leaves the description of a node open. Here it is Oxigraph's, a concise bounded description: the triples with the
node as subject and, for each blank node among their objects, the description of that one. Over ranked rows the
descriptions of the best nodes come first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hybridkg.algebra.nodes import GRAPH_COLUMNS
from hybridkg.interfaces.graph_index import GraphIndex, Ids, PreparedPattern
from hybridkg.interfaces.meter import ADJACENCY, GRAPH_QUESTIONS, Work
from hybridkg.operators.base import OneChild
from hybridkg.operators.column_join import stacked
from hybridkg.operators.columns import ColumnsDeclined, IdColumn, InColumns, Terms, columns_of
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, times, work_of
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.partition import FEW, Places, partition
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.order import sorted_rows
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.term_texts import BLANK_KIND
from hybridkg.rdf.terms import BlankNode, NamedNode, Node, Term
from hybridkg.storage.distinct import sorted_distinct

SUBJECT, _, OBJECT = GRAPH_COLUMNS

MAX_DEPTH = 64
"""Steps from a node along blank nodes that are followed in ids, each for all nodes at once; a longer list of RDF is
left to the store, which follows one link in a few microseconds.
"""


@dataclass(frozen=True)
class Describe(OneChild):
    """Description of each node, each triple once.

    Args:
        subjects: variables whose nodes are described, and IRIs.
        dataset: FROM of the query.
        triples: all triples of the graph, with the columns of GRAPH_COLUMNS: where the projection holds them, and the
            store is no endpoint, which may describe in another way, nothing is asked of the store.
    """

    subjects: tuple[ast.Var | ast.Iri, ...]
    dataset: tuple[ast.DatasetClause, ...]
    triples: GraphFragment | None = None

    def estimate(self, estimates: EstimationContext) -> float | None:
        prepared, rows = self._expected(estimates), estimates.rows(self.child)
        if prepared is None or rows is None:
            return None
        return described_nodes(self.subjects, rows) * triples_each(prepared)

    def work(self, estimates: EstimationContext) -> Work | None:
        prepared, rows = self._expected(estimates), estimates.rows(self.child)
        if prepared is None or rows is None:
            return None
        entries = times(described_nodes(self.subjects, rows), prepared.work_each(SUBJECT))
        return work_of({GRAPH_QUESTIONS: 1, ADJACENCY: entries})

    def _expected(self, estimates: EstimationContext) -> PreparedPattern | None:
        if self.triples is None or estimates.store != "Oxigraph":
            return None
        return estimates.prepared(self.triples.pattern)

    def run(self, context: ExecutionContext) -> Solutions:
        solutions = columns_of(context.run(self.child), context.made)
        prepared = None if self.triples is None or context.store.url else self.triples.prepared(context)
        if prepared is not None and context.graph is not None:
            described = _Described.of(self._ids(solutions, context.graph), prepared, context.graph, context)
            if described is not None:
                # A plain answer is a set; over ranked rows each description is in the order of its terms.
                return described.triples if context.declines else described.in_order()
        if context.declines:
            raise ColumnsDeclined(f"blank nodes more than {MAX_DEPTH} steps from a described node")
        text = self.sparql
        triples: dict[Row, None] = {}
        for node in dict.fromkeys(self._nodes(solutions)):
            context.meter.check()
            rows: list[Row] = [(t.subject, t.predicate, t.object) for t in context.store.triples(text, {"node": node})]
            triples.update(dict.fromkeys(sorted_rows(rows, range(len(GRAPH_COLUMNS)))))
        return Solutions(GRAPH_COLUMNS, context.collect(triples))

    @cached_property
    def _variables(self) -> tuple[str, ...]:
        return tuple(subject.name for subject in self.subjects if isinstance(subject, ast.Var))

    def _iris(self, solutions: InColumns) -> list[NamedNode]:
        """Without a solution Oxigraph describes nothing, named or not."""
        return [NamedNode(one.value) for one in self.subjects if isinstance(one, ast.Iri)] if solutions.size else []

    def _nodes(self, solutions: InColumns) -> Iterator[Node]:
        for row in zip(*(solutions.cells(name) for name in self._variables), strict=True):
            yield from (cell for cell in row if isinstance(cell, NamedNode | BlankNode))
        yield from self._iris(solutions)

    def _ids(self, solutions: InColumns, graph: GraphIndex) -> Ids:
        """Distinct ids of the nodes, in the order of the rows."""
        named = graph.find(self._iris(solutions))
        columns = [_ids_of(solutions, name, graph) for name in self._variables]
        ids = np.concatenate([np.stack(columns, axis=1).ravel(), named]) if columns else named
        ids = ids[(ids >= 0) & (ids < graph.n_nodes)].astype(np.uint32)
        _, first = partition([ids], len(ids))
        return np.asarray(ids[np.sort(first)], np.uint32)

    @property
    def sparql(self) -> str:
        """Query to the store for one node."""
        return write(ast.DescribeQuery((ast.Var("node"),), ast.Group(()), self.dataset))

    def asks(self, estimates: EstimationContext) -> str:
        return self.sparql if self._expected(estimates) is None else ""

    def describe(self) -> str:
        return " ".join(["Describe", *map(write, self.subjects)])


def described_nodes(subjects: tuple[ast.Var | ast.Iri, ...], rows: float) -> float:
    """Expected nodes of a DESCRIBE with a number of solutions.

    >>> described_nodes((ast.Var("film"), ast.Iri("x:mars")), 7.0)
    8.0
    """
    named = sum(isinstance(subject, ast.Iri) for subject in subjects)
    return rows * (len(subjects) - named) + named


def triples_each(prepared: PreparedPattern) -> float:
    """Mean number of triples of a subject; `prepared` has all triples, with the columns of GRAPH_COLUMNS."""
    return prepared.size().estimate / max(1.0, prepared.size(SUBJECT).estimate)


def _ids_of(solutions: InColumns, name: str, graph: GraphIndex) -> NDArray[np.int64]:
    """Id of each cell of a column, -1 for a term that is not in the graph; UNBOUND is above those of all nodes."""
    column = solutions.column(name)
    if isinstance(column, IdColumn):
        return column.ids.astype(np.int64)
    distinct, place = column.each()
    cells = distinct.cells()
    found = np.full(len(cells), -1, np.int64)
    nodes: list[tuple[int, Term]] = [
        (n, cell) for n, cell in enumerate(cells) if isinstance(cell, NamedNode | BlankNode)
    ]
    found[[n for n, _ in nodes]] = graph.find([cell for _, cell in nodes])
    return found[place]


@dataclass(frozen=True, eq=False)
class _Described:
    """Descriptions in ids.

    Args:
        triples: of the nodes and of the blank nodes that they lead to, each once.
        subjects: the distinct subjects, ascending.
        ranks: of each subject, the number of the node that it stands below; its own for a node without one above.
    """

    triples: InColumns
    subjects: Ids
    ranks: Places

    @classmethod
    def of(
        cls, nodes: Ids, prepared: PreparedPattern, graph: GraphIndex, context: ExecutionContext
    ) -> _Described | None:
        """Descriptions of distinct nodes; `prepared` has all triples. None beyond MAX_DEPTH."""
        parts: list[InColumns] = []
        subjects, ranks, described = [nodes], [np.arange(len(nodes))], nodes
        while len(nodes) or not parts:
            if len(parts) == MAX_DEPTH:
                return None
            context.meter.add(GRAPH_QUESTIONS, 1)
            table = prepared.rows(GRAPH_COLUMNS, context.meter, {SUBJECT: np.sort(nodes)})
            parts.append(context.in_columns(table, GRAPH_COLUMNS))
            context.allow(sum(part.size for part in parts))
            nodes = _blank_nodes(table.column(OBJECT), graph)
            nodes = nodes[~np.isin(nodes, described)] if len(nodes) else nodes
            subjects.append(nodes)
            ranks.append(np.full(len(nodes), np.iinfo(np.intp).max))
            described = np.concatenate([described, nodes])
        every = np.concatenate(subjects)
        order = np.argsort(every)
        triples = stacked(parts) if len(parts) > 1 else parts[0]
        return cls(triples, every[order], np.concatenate(ranks)[order])

    def in_order(self) -> InColumns:
        """The triples by the first node whose description has them, then in the order of their terms."""
        subject, target = self.triples.ids(SUBJECT), self.triples.ids(OBJECT)
        assert subject is not None
        assert target is not None
        source = self.subjects.searchsorted(subject.ids)
        links = np.flatnonzero(np.isin(target.ids, _blank_nodes(self.subjects, subject.graph)))
        above, below = source[links], self.subjects.searchsorted(target.ids[links])
        ranks = self.ranks
        while True:  # a blank node may have its least rank by a longer way
            lower = ranks.copy()
            np.minimum.at(lower, below, ranks[above])
            if (lower == ranks).all():
                break
            ranks = lower
        keys = [self.triples.columns[name].order(total=True) for name in reversed(GRAPH_COLUMNS)]
        return self.triples.take(np.lexsort([*keys, ranks[source]]))


def _blank_nodes(ids: Ids, graph: Terms) -> Ids:
    """Distinct blank nodes among some ids, ascending."""
    nodes = sorted_distinct(ids[ids < graph.n_nodes])
    if len(nodes) <= FEW:
        is_blank = np.array([isinstance(term, BlankNode) for term in graph.terms(nodes)], np.bool_)
    else:
        is_blank = graph.texts(nodes).kinds == BLANK_KIND
    return np.asarray(nodes[is_blank], np.uint32)
