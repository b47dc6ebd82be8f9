"""Execution context: the state of one run, with its indexes, limits and counters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, repeat
from time import perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypeVar

from hybridkg.compute.garbage_collector import collector_paused
from hybridkg.errors import QueryLimitError, QueryStoppedError, QueryWarning, Span
from hybridkg.interfaces.graph_index import AskedPattern, GraphIndex, IdTable, PreparedPattern
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.meter import COLUMN_CELLS, OPERATORS, ROWS, ROWS_PASSED, Meter, NotBriefError, Price
from hybridkg.interfaces.ranked_index import RankedIndex, RankedQuery, RankedRequest, is_remote_relation
from hybridkg.interfaces.reranker import RerankPlace
from hybridkg.interfaces.text_index import Ids, Scores, TextQuery
from hybridkg.operators.columns import Column, ColumnsDeclined, IdColumn, InColumns, columns_of
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.text_query import checked_query
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import NamedNode, Node, Triple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hybridkg.operators.base import PhysicalOperator
    from hybridkg.operators.rerank import Reordering
    from hybridkg.operators.topk.relation_prefix import RelationPrefix
    from hybridkg.query import ast

T = TypeVar("T")
E = TypeVar("E", bound=Exception)

MAX_ROWS = 10_000_000
"""Maximum rows of one operator; about 2 GB of tuples. A product of two large relations fails here, not in swap."""

MAX_BYTES = 4_000_000_000
"""Maximum memory of the rows of one operator, as `allow_memory` and `hold` estimate it."""

CELL_BYTES = 130
"""Bytes of one term in a row: measured with IRIs of 30 characters and texts of 25."""

ROW_BYTES = 64
"""Bytes of the tuple of a row and its list entry."""

WORK_BYTES = 32
"""Bytes of a cell that an operator works on in columns: 4 of an id or 8 of a number, and the places and sorted copies
of a partition of the rows."""

ROWS_AT_ONCE = 2048
"""Rows collected between two checks of the time: about a millisecond."""

PAIR_US, TEXT_US, EVALUATION_US = 0.05, 0.3, 5.0
"""Microseconds of a pair of joined rows in columns, of a function of one text, and of an expression that Oxigraph
evaluates for one row (2-core machine)."""

JOINED = "joined"
"""Count: entities that satisfy the pattern and match the text."""

CANDIDATES = "candidates"
"""Count of a pattern: entities that satisfy it, whatever their text."""

TOTAL = "total"
"""Count of the outermost OFFSET and LIMIT: rows before they apply."""

MAX_QUESTIONS = 64
"""Maximum requests to a text index in one batch."""

MAX_ANSWERED = 50_000_000
"""Maximum entities in all answers of a batch; 12 bytes each."""


class Nodes(Protocol):
    """Names of the dense ids: the NodeTable."""

    def nodes(self, ids: Ids) -> list[Node]:
        """Node of each id."""

    def find_many(self, nodes: Sequence[Node]) -> NDArray[np.int64]:
        """int64[len(nodes)]: id of each node, -1 for a node without one."""

    def rank(self, ids: Ids) -> Ids:
        """uint32[len(ids)]: position of each node in SPARQL order."""


OperatorRun: TypeAlias = "tuple[PhysicalOperator, int, int, int]"
"""(operator, rows, start, end in nanoseconds). A question runs about seven operators and is rarely explained, so their
figures are added up on demand (`ExecutionContext.actuals`)."""


@dataclass(slots=True)
class Actual:
    """Rows of an operator, and its own time in nanoseconds, children excluded."""

    rows: int
    own_ns: int


class MatchCount(NamedTuple):
    """Number of entities that match a text: `n`, a lower bound unless `is_all`."""

    n: int
    is_all: bool


@dataclass
class ExecutionContext:
    """State of a run.

    Args:
        store: the graph.
        text: the text index, None before the first index.
        nodes: names of the text index's ids.
        texts: for passages, (field, text, language) of each entity; fields () means all.
        scratch: in-memory store with the given triples, to evaluate expressions.
        max_rows: maximum rows of terms of an operator.
        meter: counts work, and stops a run at its time limit.
        price: microseconds of work, by the cost model.
        max_bytes: approximate maximum memory of the rows of an operator.
        graph: the projection, None without an up-to-date one.
        reranking: files and server of rerankers.
        encoded_fields: the fields whose text has vectors, in the order of the profile; empty for all.
        anchors: the nodes that a question names, for rerankers; None where questions are not read.
        question: what a question says about nodes (interfaces/reranker.py); None where questions are not read.
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
    encoded_fields: Sequence[str] = ()
    anchors: Callable[[str], Sequence[NamedNode]] | None = None
    question: Callable[[str, NDArray[np.int64]], NDArray[np.float64]] | None = None
    counts_by_match: dict[tuple[str, int], int] = field(init=False, default_factory=dict)
    """Counts recorded by `record_count`."""
    found: dict[RankedQuery, MatchCount] = field(init=False, default_factory=dict)
    """Match counts observed, by query."""
    runs: list[OperatorRun] = field(init=False, default_factory=list)
    """Every run of an operator that has ended, in the order of their ends."""
    details: dict[int, dict[str, int]] = field(init=False, default_factory=dict)
    """Figures recorded by `record_detail`."""
    reasons: dict[int, str] = field(init=False, default_factory=dict)
    """Why an operator left its work to the store, by the identity of the operator."""
    query_strings: dict[TextQuery, Span] = field(init=False, default_factory=dict)
    """Texts of rows parsed as query strings (MATCH QUERY ?text), and the span of their variable."""
    declines: bool = field(init=False, default=False)
    """Whether operators raise ColumnsDeclined where an answer of the SPARQL engine is not certain to be theirs."""
    brief_us: float | None = field(init=False, default=None)
    """Microseconds that are left to a run that has to be brief; None for any other run."""
    exact: bool = field(init=False, default=True)
    """Whether every index answer was certainly exact."""
    reorderings: dict[str, Reordering] = field(init=False, default_factory=dict)
    """Report of each RERANK, by its score variable."""
    warnings: list[QueryWarning] = field(init=False, default_factory=list)
    """Warnings about the query raised during the run."""
    running: list[PhysicalOperator] = field(init=False, default_factory=list)
    """Operators in progress, innermost last."""
    slice: RelationPrefix | None = field(init=False, default=None)
    """Prefix of the ranked relations for the plan below a TopKRows."""
    slice_depth: int = field(init=False, default=0)
    """Number of operators in progress, down to that TopKRows."""
    blocks: dict[int, InColumns] = field(init=False, default_factory=dict)
    """The block of rows of an operator that is worked on, by the identity of the operator."""
    bounds: dict[int, Mapping[str, Ids]] = field(init=False, default_factory=dict)
    """Ids to which an operator is restricted, for a block or for the rows that it joins, by its identity."""
    whole_fragments: dict[int, InColumns | None] = field(init=False, default_factory=dict)
    """Rows of fragments that no pattern expresses, by the identity of the operator."""
    narrow_runs: dict[int, int] = field(init=False, default_factory=dict)
    """How often operators over columns have run for such a fragment and some ids only, by its identity."""
    _prepared: dict[int, PreparedPattern | None] = field(init=False, default_factory=dict)
    _checked: dict[int, tuple[RankedIndex, RankedQuery, ast.RankedItem]] = field(init=False, default_factory=dict)
    """Queries by the identity of their MATCH, which is referenced so that its id is not reused."""
    _answers: dict[RankedRequest, tuple[Ids, Scores]] = field(init=False, default_factory=dict)

    def run_plan(self, root: PhysicalOperator) -> Solutions:
        """Rows of a whole plan. Requests to a remote index that are certain are sent first, in one batch; an operator
        that does not run after all wastes its request.
        """
        if self.text is not None and self.text.is_remote:
            operators = list(root.walk())
            self.text.prefetch_counts([query for operator in operators for query in operator.sized(self.text)])
            requests = dict.fromkeys(question for operator in operators for question in operator.questions(self.text))
            remote = [question for question in requests if is_remote_relation(self.text, question.query)]
            questions = remote[: together(self.text)]
            if len(questions) > 1:
                self._answers = dict(zip(questions, self.text.batch(questions), strict=True))
        return self.run(root)

    @cached_property
    def estimates(self) -> EstimationContext:
        """Row estimates of the indexes of the run; without a text index that is a request away."""
        text = None if self.text is None or self.text.is_remote else self.text
        return EstimationContext(text, self.graph)

    def spent(self) -> float:
        """Microseconds of the work counted so far, by the cost model; deterministic."""
        return self.price(self.meter.counts)

    def checked(self, item: ast.RankedItem) -> tuple[RankedIndex, RankedQuery]:
        """The index and the query of a MATCH or NEAR, empty in place of a variable; made and checked once in a run.

        Raises as `checked_query`.
        """
        known = self._checked.get(id(item))
        if known is None:
            known = self._checked[id(item)] = *checked_query(self.text, item), item
        return known[0], known[1]

    def answer(self, index: RankedIndex, question: RankedRequest) -> tuple[Ids, Scores]:
        """Answer to a request, prefetched or from the index."""
        self.note_exactness(index, question)
        answer = self._answers.get(question) if self._answers else None
        if answer is None:
            query, k = question.query, question.k
            answer = index.score_all(query) if k is None else index.topk(query, k)
        self._record_found(question, len(answer[0]))
        return answer

    def matches(self, index: RankedIndex, question: RankedRequest) -> Ids:
        """Entities of a complete relation, ascending, without their scores."""
        self.note_exactness(index, question)
        ids = index.matches(question.query)
        self._record_found(question, len(ids))
        return ids

    def _record_found(self, question: RankedRequest, n: int) -> None:
        count = MatchCount(n, question.k is None or n < question.k)
        known_count = self.found.setdefault(question.query, count)
        if count.n > known_count.n or (count.is_all and count is not known_count):
            self.found[question.query] = count

    def is_answered(self, question: RankedRequest) -> bool:
        """Whether the request has been prefetched."""
        return question in self._answers

    def note_exactness(self, index: RankedIndex, question: RankedRequest, among: int | None = None) -> None:
        """Record that a top-k answer, among some candidates or all entities, may be approximate."""
        if question.k is not None and self.exact:
            self.exact = index.is_exact(question.query, question.k, among)

    def run(self, operator: PhysicalOperator) -> Solutions:
        """Rows of an operator; counts them and its own time."""
        if self.blocks and (block := self.blocks.get(id(operator))) is not None:
            return block
        running, meter = self.running, self.meter
        running.append(operator)
        started = perf_counter_ns()
        try:
            solutions = operator.run(self)
            rows = solutions.size
            if len(running) == 1:
                self.allow(rows)
                self.allow_memory(rows, len(solutions.variables))
            meter.check()
        except QueryStoppedError as e:
            e.doing = e.doing or operator.at_work()
            raise
        running.pop()
        counts = meter.counts
        counts[OPERATORS] += 1
        counts[COLUMN_CELLS if isinstance(solutions, InColumns) else ROWS_PASSED] += rows
        self.runs.append((operator, rows, started, perf_counter_ns()))
        return solutions

    @property
    def actuals(self) -> dict[int, Actual]:
        """Rows and own time of each operator that has run, by its identity; over all its runs."""
        actuals: dict[int, Actual] = {}
        ended: list[tuple[int, int]] = []  # (start, length) of runs whose parent has not been met yet
        for operator, rows, start, end in self.runs:
            own = end - start
            while ended and ended[-1][0] >= start:
                own -= ended.pop()[1]
            ended.append((start, end - start))
            actual = actuals.setdefault(id(operator), Actual(0, 0))
            actual.rows += rows
            actual.own_ns += own
        return actuals

    def run_in_columns(self, root: PhysicalOperator, asked_by: PhysicalOperator) -> InColumns | None:
        """Solutions of operators over columns; None if one of them declines, for a reason that EXPLAIN shows, or an
        intermediate result is too large to be held, which the store may stream.
        """
        before = self.declines
        self.declines = True
        try:
            solutions = self.unless(lambda: self.run(root), ColumnsDeclined, QueryLimitError)
        finally:
            self.declines = before
        if isinstance(solutions, Solutions):
            return columns_of(solutions, self.made)
        self.reasons[id(asked_by)] = str(solutions).partition("\n")[0]
        return None

    @contextmanager
    def working_on(self, operator: PhysicalOperator, block: InColumns) -> Iterator[None]:
        """While it is open, the rows of an operator are those of a block."""
        self.blocks[id(operator)] = block
        try:
            yield
        finally:
            del self.blocks[id(operator)]

    @contextmanager
    def narrowed(self, operators: Sequence[PhysicalOperator], variable: str, ids: Ids) -> Iterator[None]:
        """While it is open, operators that are `restrictable` read only the rows with some values of a variable."""
        outer = [(id(one), self.bounds.get(id(one))) for one in operators]
        self.bounds.update({key: {variable: ids} for key, _ in outer})
        try:
            yield
        finally:
            for key, bound in outer:
                if bound is None:
                    self.bounds.pop(key, None)
                else:
                    self.bounds[key] = bound

    def unless(self, work: Callable[[], T], *errors: type[E]) -> T | E:
        """The result of some work, or the error of these kinds that ended it; only a stop of the run is raised."""
        depth = len(self.running)
        try:
            return work()
        except QueryStoppedError:
            raise
        except errors as e:
            del self.running[depth:]
            return e.with_traceback(None)  # whose frames hold what was too large

    def doing(self) -> str:
        """Description of the innermost operator in progress; empty before the first one."""
        running = self.running[-1:]  # may be called from another thread
        return running[0].at_work() if running else ""

    def record_count(self, kind: str, n: int, match: ast.RankedItem | None = None) -> None:
        """Record of a number (CANDIDATES, JOINED, TOTAL) that explains why there are no more rows; of several, the
        maximum. `match` is None for the whole query.
        """
        key = kind, -1 if match is None else match.span.start
        if n >= self.counts_by_match.get(key, 0):
            self.counts_by_match[key] = n

    def counts(self, kind: str, match: ast.RankedItem | None = None) -> int | None:
        """Recorded number; None without one."""
        return self.counts_by_match.get((kind, -1 if match is None else match.span.start))

    def record_detail(self, operator: PhysicalOperator, **numbers: int) -> None:
        """Record of figures of an operator for EXPLAIN ANALYZE; later values replace earlier ones."""
        known = self.details.get(id(operator))
        self.details[id(operator)] = numbers if known is None else known | numbers

    def compile(self, pattern: AskedPattern) -> PreparedPattern | None:
        """Compiled pattern, once in a run; None without a projection that holds it."""
        if self.graph is None:
            return None
        key = id(pattern)
        if key not in self._prepared:
            self._prepared[key] = self.graph.compile(pattern)
        return self._prepared[key]

    def allow(self, rows: int) -> None:
        """Limit check of an intermediate result.

        Raises:
            QueryLimitError: more than `max_rows` rows.
        """
        if rows > self.max_rows:
            raise QueryLimitError(
                f"an intermediate result has more than {self.max_rows:,} rows",
                hint="join the parts of the pattern by a common variable, add a condition, or raise max_rows",
            )

    def allow_memory(self, rows: int, width: int) -> None:
        """Limit check of the memory that rows of `width` cells take, or will take when they are made.

        Raises:
            QueryLimitError: more memory than `max_bytes`.
        """
        if rows >= ROWS_AT_ONCE and rows > self.max_bytes // (ROW_BYTES + CELL_BYTES * width):
            raise QueryLimitError(
                f"an intermediate result takes more than {self.max_bytes / 1e6:,g} MB: {rows:,} rows",
                hint="ask for fewer columns, add a condition, or raise the limit on memory",
            )

    def rows_at_once(self, width: int) -> int:
        """Maximum rows of `width` ids or numbers that an operator works on in memory; at least 1."""
        return max(1, self.max_bytes // (WORK_BYTES * (width + 1)))

    def expect(self, us: float) -> None:
        """Announcement of work that takes about so many microseconds before the meter is checked again.

        Raises:
            NotBriefError: the run has to be brief.
        """
        if self.brief_us is not None:
            self.brief_us -= us
            if self.brief_us < 0:
                raise NotBriefError

    def hold(self, rows: int, width: int) -> None:
        """Limit check of the memory in which an operator works on rows of `width` ids or numbers. Where every row
        becomes terms, `max_rows` limits them, too.

        Raises:
            QueryLimitError: more memory than `max_bytes`, or more than `max_rows` rows that will be terms.
        """
        if rows > self.max_rows and not self.declines:
            self.allow(rows)
        if rows > 1 and WORK_BYTES * (width + 1) * rows > self.max_bytes:  # more than `rows_at_once`
            self.hold_bytes(WORK_BYTES * (width + 1) * rows, f": {rows:,} rows of ids")

    def hold_bytes(self, n: int, what: str = "") -> None:
        """Limit check of memory.

        Raises:
            QueryLimitError: more than `max_bytes`.
        """
        if n > self.max_bytes:
            raise QueryLimitError(
                f"an intermediate result takes more than {self.max_bytes / 1e6:,g} MB{what}",
                hint="ask for fewer columns, add a condition, or raise the limit on memory",
            )

    def in_columns(self, table: IdTable, names: Sequence[str]) -> InColumns:
        """Table of the projection as solutions with columns `names`; one that the table lacks is unbound.

        Raises:
            QueryLimitError: more memory than `max_bytes`, or more than `max_rows` rows that will be terms; on access to
                the rows, more of those.
        """
        self.hold(table.size, len(names))
        assert self.graph is not None
        held = dict(zip(table.variables, table.columns, strict=True))
        columns = {name: IdColumn(held[name], self.graph) for name in names if name in held}
        return InColumns(columns, table.size, self.made).select(names)

    def made(self, columns: Sequence[Column], size: int) -> list[Row]:
        """Rows of some columns.

        Raises:
            QueryLimitError: more rows than `max_rows`, or more memory than `max_bytes`.
        """
        self.allow(size)
        self.meter.add(ROWS, size)
        with collector_paused():
            cells = [column.cells() for column in columns]
            return self.collect(zip(*cells, strict=True) if cells else repeat((), size))

    def collect(self, rows: Iterable[T]) -> list[T]:
        """Rows as a list.

        Raises:
            QueryLimitError: more rows than `max_rows`, or more memory than `max_bytes`.
            QueryStoppedError: the run is over its time limit or cancelled.
        """
        collected: list[T] = []
        source, width = iter(rows), 0
        while True:
            before = len(collected)
            collected += islice(source, ROWS_AT_ONCE)
            self.allow(len(collected))
            if len(collected) - before < ROWS_AT_ONCE:
                return collected
            self.meter.check()
            if before == 0:
                width = cells_of(collected[0])
            self.allow_memory(len(collected), width)


def cells_of(row: object) -> int:
    """Number of cells of a row; anything but a tuple is one.

    >>> cells_of((None, None)), cells_of("one")
    (2, 1)
    """
    return len(row) if isinstance(row, tuple) else 1


def together(text: RankedIndex) -> int:
    """Requests to send to the index in one batch: one for a local index."""
    if not text.is_remote:
        return 1
    return max(1, min(MAX_QUESTIONS, MAX_ANSWERED // max(1, text.counts.get("entities", 1))))
