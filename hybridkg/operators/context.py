"""The state of one run: where operators find the indexes, and where they are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter_ns
from typing import TYPE_CHECKING, Protocol, TypeVar

from hybridkg.errors import QueryLimitError
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.text_index import Ids, TextIndex
from hybridkg.rdf.batch import Solutions
from hybridkg.rdf.terms import Node, Triple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hybridkg.operators.base import PhysicalOperator

T = TypeVar("T")

MAX_ROWS = 10_000_000
"""Rows that one operator may hold; about 2 GB of tuples. A product of two large relations ends here, not in swap."""


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
    _below_ns: list[int] = field(default_factory=lambda: [0])

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
