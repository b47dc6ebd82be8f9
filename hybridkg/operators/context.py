"""The state of one run: where operators find the indexes, and where they are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice, repeat
from time import perf_counter_ns
from typing import TYPE_CHECKING, Protocol, TypeVar

from hybridkg.errors import QueryLimitError, QueryStoppedError, QueryWarning, Span
from hybridkg.interfaces.graph_index import AskedPattern, GraphIndex, IdTable, PreparedPattern
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.meter import OPERATORS, ROWS, ROWS_PASSED, Meter, Price
from hybridkg.interfaces.ranked_index import RankedIndex, RankedQuery, RankedRequest, is_remote_relation
from hybridkg.interfaces.reranker import RerankPlace
from hybridkg.interfaces.text_index import Ids, Scores, TextQuery
from hybridkg.operators.columns import Column, IdColumn, InColumns
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import Node, Triple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hybridkg.operators.base import PhysicalOperator
    from hybridkg.operators.rerank import Reordering
    from hybridkg.operators.topk.relation_prefix import RelationPrefix
    from hybridkg.query import ast

T = TypeVar("T")

MAX_ROWS = 10_000_000
"""Rows that one operator may hold; about 2 GB of tuples. A product of two large relations ends here, not in swap."""

MAX_BYTES = 4_000_000_000
"""Memory that the rows of one operator may take, as `row_bytes` estimates it."""

CELL_BYTES = 130
"""Of one term in a row: measured with IRIs of 30 characters and texts of 25."""

ROW_BYTES = 64
"""Of the tuple of a row, and of its place in the list."""

ROWS_AT_ONCE = 2048
"""Rows that are collected between two looks at the time: about a millisecond."""

JOINED = "joined"
"""Note: entities that satisfy the pattern and match the text."""

CANDIDATES = "candidates"
"""Note of a pattern: entities that satisfy it, whatever their text."""

TOTAL = "total"
"""Note of the outermost OFFSET and LIMIT: rows that were there to choose from."""

MAX_QUESTIONS = 64
"""Questions that a text index is asked together."""

MAX_ANSWERED = 50_000_000
"""Entities in all answers that it gives together; 12 bytes each."""


class Nodes(Protocol):
    """Names of the dense ids: the NodeTable."""

    def nodes(self, ids: Ids) -> list[Node]:
        """The node of each id."""

    def find_many(self, nodes: Sequence[Node]) -> NDArray[np.int64]:
        """int64[len(nodes)]: the id of each node, -1 for one that has none."""

    def rank(self, ids: Ids) -> Ids:
        """uint32[len(ids)]: the place of each node in SPARQL order."""


@dataclass
class Actual:
    """What an operator did: rows given, and its own time in nanoseconds, children excluded."""

    rows: int
    own_ns: int


@dataclass(frozen=True, slots=True)
class MatchCount:
    """How many entities match a text: `n`, or at least so many where they have not all been looked at."""

    n: int
    is_all: bool


@dataclass
class ExecutionContext:
    """Everything a run may touch.

    Args:
        store: the graph.
        text: the text index, None before the first index.
        nodes: names of the text index's ids.
        texts: for passages, (field, text, language) of each of some entities; fields () means all.
        scratch: a store in memory with the given triples, to evaluate expressions in.
        max_rows: the most rows an operator may hold.
        meter: counts work, and stops a run that is over its time.
        price: microseconds of work, by the cost model.
        max_bytes: about the most memory that the rows of an operator may take.
        graph: the projection, None where there is none or it is behind the graph.
        reranking: where rerankers find their files and their server.
    """

    store: GraphStore
    text: RankedIndex | None
    nodes: Nodes | None
    texts: Callable[[Sequence[Node], Sequence[str]], list[list[tuple[str, str, str]]]]
    scratch: Callable[[Iterable[Triple]], GraphStore]
    max_rows: int = MAX_ROWS
    meter: Meter = field(default_factory=Meter)
    max_bytes: int = MAX_BYTES
    price: Price = field(kw_only=True)
    graph: GraphIndex | None = None
    reranking: RerankPlace = field(default_factory=RerankPlace)
    counts_by_match: dict[tuple[str, int], int] = field(default_factory=dict)
    """What operators found out on their way (`note`)."""
    found: dict[RankedQuery, MatchCount] = field(default_factory=dict)
    """How many entities each text was seen to match."""
    actuals: dict[int, Actual] = field(default_factory=dict)
    details: dict[int, dict[str, int]] = field(default_factory=dict)
    """How operators went about their work (`tell`)."""
    query_strings: dict[TextQuery, Span] = field(default_factory=dict)
    """Texts of rows that were read as query strings (MATCH QUERY ?text), and the place of their variable."""
    exact: bool = True
    """Whether every answer of an index was surely the true one."""
    reorderings: dict[str, Reordering] = field(default_factory=dict)
    """What each RERANK did, by the variable of its score."""
    warnings: list[QueryWarning] = field(default_factory=list)
    """What the run has found wrong with the query."""
    running: list[PhysicalOperator] = field(default_factory=list)
    """The operators that are at work, the innermost last."""
    slice: RelationPrefix | None = None
    """The part of the ranked relations that the plan below a BestRows runs over."""
    slice_depth: int = 0
    """How many operators are running, down to that BestRows."""
    _prepared: dict[int, PreparedPattern | None] = field(default_factory=dict)
    _answers: dict[RankedRequest, tuple[Ids, Scores]] = field(default_factory=dict)
    _below_ns: list[int] = field(default_factory=lambda: [0])

    def run_plan(self, root: PhysicalOperator) -> Solutions:
        """Runs a whole plan. What is far away is first asked together what the plan will ask it for sure.

        What an operator asks that does not run after all is asked for nothing.
        """
        if self.text is not None and self.text.is_remote:
            operators = list(root.walk())
            self.text.prefetch_counts([query for operator in operators for query in operator.sized(self.text)])
            asked = dict.fromkeys(question for operator in operators for question in operator.questions(self.text))
            far = [question for question in asked if is_remote_relation(self.text, question.query)]
            questions = far[: together(self.text)]
            if len(questions) > 1:
                self._answers = dict(zip(questions, self.text.batch(questions), strict=True))
        return self.run(root)

    def spent(self) -> float:
        """Microseconds of the work counted so far, by the cost model: the same in every run."""
        return self.price(self.meter.counts)

    def answer(self, index: RankedIndex, question: RankedRequest) -> tuple[Ids, Scores]:
        """The relation that a question asks for, from the index unless the plan has asked for it already."""
        self.note_exactness(index, question)
        answer = self._answers.get(question)
        if answer is None:
            query, k = question.query, question.k
            answer = index.score_all(query) if k is None else index.topk(query, k)
        found = MatchCount(len(answer[0]), question.k is None or len(answer[0]) < question.k)
        before = self.found.get(question.query)
        if before is None or found.n > before.n or found.is_all:
            self.found[question.query] = found
        return answer

    def is_answered(self, question: RankedRequest) -> bool:
        """Whether the plan has asked this already."""
        return question in self._answers

    def note_exactness(self, index: RankedIndex, question: RankedRequest, among: int | None = None) -> None:
        """Remembers, where an index is asked for the best, of so many candidates or of everyone, that it may err."""
        if question.k is not None and self.exact:
            self.exact = index.is_exact(question.query, question.k, among)

    def run(self, operator: PhysicalOperator) -> Solutions:
        """Runs an operator and counts its rows and its own time."""
        below, running, meter = self._below_ns, self.running, self.meter
        below.append(0)
        running.append(operator)
        started = perf_counter_ns()
        try:
            solutions = operator.run(self)
            if len(running) == 1:
                solutions = solutions.in_rows()
            meter.check()
        except QueryStoppedError as e:
            e.doing = e.doing or operator.describe()
            raise
        running.pop()
        spent, rows = perf_counter_ns() - started, solutions.size
        meter.add(OPERATORS, 1)
        meter.add(ROWS_PASSED, rows)
        own = spent - below.pop()
        below[-1] += spent
        actual = self.actuals.get(id(operator))
        if actual is None:
            self.actuals[id(operator)] = Actual(rows, own)
        else:
            actual.rows += rows
            actual.own_ns += own
        return solutions

    def doing(self) -> str:
        """What the run is at: the innermost operator; empty before the first one."""
        running = self.running[-1:]  # another thread may ask
        return running[0].describe() if running else ""

    def record_count(self, kind: str, n: int, match: ast.RankedItem | None = None) -> None:
        """Remembers a number that says why there are no more rows (CANDIDATES, JOINED, TOTAL).

        Args:
            kind: what is counted.
            n: how many; of several counts of the same thing the greatest is kept.
            match: what it is about; None where the query has nothing else that it could be about.
        """
        key = kind, -1 if match is None else match.span.start
        self.counts_by_match[key] = max(n, self.counts_by_match.get(key, 0))

    def counts(self, kind: str, match: ast.RankedItem | None = None) -> int | None:
        """What has been noted; None where nothing has."""
        return self.counts_by_match.get((kind, -1 if match is None else match.span.start))

    def record_detail(self, operator: PhysicalOperator, **numbers: int) -> None:
        """Remembers how an operator went about its work, for EXPLAIN ANALYZE; of several numbers the last is kept."""
        self.details.setdefault(id(operator), {}).update(numbers)

    def compile(self, pattern: AskedPattern) -> PreparedPattern | None:
        """A pattern of the plan, ready to be asked; None where there is no projection or it does not hold the pattern.

        Prepared once in a run.
        """
        if self.graph is None:
            return None
        if id(pattern) not in self._prepared:
            self._prepared[id(pattern)] = self.graph.compile(pattern)
        return self._prepared[id(pattern)]

    def allow(self, rows: int) -> None:
        """Refuses an intermediate result of so many rows.

        Raises:
            QueryLimitError: there are more than `max_rows`.
        """
        if rows > self.max_rows:
            raise QueryLimitError(
                f"an intermediate result has more than {self.max_rows:,} rows",
                hint="join the parts of the pattern by a common variable, add a condition, or raise max_rows",
            )

    def in_columns(self, table: IdTable, names: Sequence[str]) -> InColumns:
        """A table of the projection as solutions.

        Args:
            table: solutions in ids.
            names: the columns wanted, in this order; one that the table lacks is unbound.

        Raises:
            QueryLimitError: there are more rows than `max_rows`; once they are made, that they take more memory than
                `max_bytes`.
        """
        self.allow(table.size)
        assert self.graph is not None
        held = {name: IdColumn(table.column(name), self.graph.terms) for name in names if name in table.variables}
        return InColumns(held, table.size, self.made).select(names)

    def made(self, columns: Sequence[Column], size: int) -> list[Row]:
        """The rows of some columns.

        Raises:
            QueryLimitError: there are more rows than `max_rows`, or they take more memory than `max_bytes`.
        """
        self.allow(size)
        self.meter.add(ROWS, size)
        cells = [column.cells() for column in columns]
        return self.collect(zip(*cells, strict=True) if cells else repeat((), size))

    def collect(self, rows: Iterable[T]) -> list[T]:
        """The rows as a list.

        Raises:
            QueryLimitError: there are more than `max_rows`, or they take more memory than `max_bytes`.
            QueryStoppedError: the time is over, or somebody has cancelled the run.
        """
        collected: list[T] = []
        source, most = iter(rows), self.max_bytes // ROW_BYTES
        while True:
            before = len(collected)
            collected += islice(source, ROWS_AT_ONCE)
            self.allow(len(collected))
            if len(collected) - before < ROWS_AT_ONCE:
                return collected
            self.meter.check()
            if before == 0:
                most = self.max_bytes // row_bytes(collected[0])
            if len(collected) > most:
                raise QueryLimitError(
                    f"an intermediate result takes more than {self.max_bytes / 1e6:,g} MB: {len(collected):,} rows",
                    hint="ask for fewer columns, add a condition, or raise the limit on memory",
                )


def row_bytes(row: object) -> int:
    """About how much memory a row takes; rows that are no tuples count as one cell.

    >>> row_bytes((None, None))
    324
    """
    return ROW_BYTES + CELL_BYTES * (len(row) if isinstance(row, tuple) else 1)


def together(text: RankedIndex) -> int:
    """How many questions to ask the index at once: one where each relation is at hand."""
    if not text.is_remote:
        return 1
    return max(1, min(MAX_QUESTIONS, MAX_ANSWERED // max(1, text.counts.get("entities", 1))))
