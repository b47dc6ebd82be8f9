"""The state of one run: where operators find the indexes, and where they are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter_ns
from typing import TYPE_CHECKING, Protocol, TypeVar

from hybridkg.errors import QueryLimitError, Span
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.text_index import Ids, Scores, TextIndex, TextQuery, TextQuestion
from hybridkg.rdf.batch import Solutions
from hybridkg.rdf.terms import Node, Triple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hybridkg.operators.base import PhysicalOperator

T = TypeVar("T")

MAX_ROWS = 10_000_000
"""Rows that one operator may hold; about 2 GB of tuples. A product of two large relations ends here, not in swap."""


MOST_QUESTIONS = 64
"""Questions that a text index is asked together."""

MOST_ANSWERED = 50_000_000
"""Entities in all answers that it gives together; 12 bytes each."""


class Nodes(Protocol):
    """Names of the dense ids: the NodeTable."""

    def nodes(self, ids: Ids) -> list[Node]:
        """The node of each id."""

    def find_many(self, nodes: Sequence[Node]) -> NDArray[np.int64]:
        """int64[len(nodes)]: the id of each node, -1 for one that has none."""


@dataclass
class Actual:
    """What an operator did: rows given, and its own time in nanoseconds, children excluded."""

    rows: int
    own_ns: int


@dataclass
class ExecutionContext:
    """Everything a run may touch.

    Args:
        store: the graph.
        text: the text index, None before the first index.
        nodes: names of the text index's ids.
        texts: (field, text, language) of one entity, for passages; fields () means all.
        scratch: a store in memory with the given triples, to evaluate expressions in.
        max_rows: the most rows an operator may hold.
    """

    store: GraphStore
    text: TextIndex | None
    nodes: Nodes | None
    texts: Callable[[Node, Sequence[str]], list[tuple[str, str, str]]]
    scratch: Callable[[Iterable[Triple]], GraphStore]
    max_rows: int = MAX_ROWS
    actuals: dict[int, Actual] = field(default_factory=dict)
    query_strings: dict[TextQuery, Span] = field(default_factory=dict)
    """Texts of rows that were read as query strings (MATCH QUERY ?text), and the place of their variable."""
    _answers: dict[TextQuestion, tuple[Ids, Scores]] = field(default_factory=dict)
    _below_ns: list[int] = field(default_factory=lambda: [0])

    def run_plan(self, root: PhysicalOperator) -> Solutions:
        """Runs a whole plan. A text index that is far away is first asked together what the plan will ask it for sure.

        What an operator asks that does not run after all is asked for nothing.
        """
        if self.text is not None and self.text.scan_limit is not None:
            operators = list(_operators(root))
            self.text.prepare([query for operator in operators for query in operator.sized(self.text)])
            asked = dict.fromkeys(question for operator in operators for question in operator.questions(self.text))
            questions = list(islice(asked, together(self.text)))
            if len(questions) > 1:
                self._answers = dict(zip(questions, self.text.answers(questions), strict=True))
        return self.run(root)

    def answer(self, index: TextIndex, question: TextQuestion) -> tuple[Ids, Scores]:
        """The relation that a question asks for, from the index unless the plan has asked for it already."""
        known = self._answers.get(question)
        if known is not None:
            return known
        return index.matching(question.query) if question.k is None else index.topk(question.query, question.k)

    def run(self, operator: PhysicalOperator) -> Solutions:
        """Runs an operator and counts its rows and its own time."""
        self._below_ns.append(0)
        started = perf_counter_ns()
        solutions = operator.run(self)
        spent = perf_counter_ns() - started
        below = self._below_ns.pop()
        self._below_ns[-1] += spent
        before = self.actuals.get(id(operator), Actual(0, 0))
        self.actuals[id(operator)] = Actual(before.rows + len(solutions.rows), before.own_ns + spent - below)
        return solutions

    def collect(self, rows: Iterable[T]) -> list[T]:
        """The rows as a list.

        Raises:
            QueryLimitError: there are more than `max_rows`.
        """
        collected = list(islice(rows, self.max_rows + 1))
        if len(collected) > self.max_rows:
            raise QueryLimitError(
                f"an intermediate result has more than {self.max_rows:,} rows",
                hint="join the parts of the pattern by a common variable, or add a condition",
            )
        return collected


def together(text: TextIndex) -> int:
    """How many questions to ask the index at once: one where each relation is at hand."""
    if text.scan_limit is None:
        return 1
    return max(1, min(MOST_QUESTIONS, MOST_ANSWERED // max(1, text.counts.get("entities", 1))))


def _operators(root: PhysicalOperator) -> Iterator[PhysicalOperator]:
    """An operator and all below it, in the order of EXPLAIN."""
    waiting = [root]
    while waiting:
        operator = waiting.pop()
        yield operator
        waiting += reversed(operator.children)
