"""Estimation context: the inputs of row estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from hybridkg.algebra.to_pattern import DeclinedPattern
from hybridkg.errors import HybridkgError
from hybridkg.interfaces.graph_index import AskedPattern, GraphIndex, PreparedPattern
from hybridkg.interfaces.meter import COLUMN_CELLS, Work
from hybridkg.interfaces.ranked_index import RankedIndex
from hybridkg.operators.text_query import ranked_query
from hybridkg.query import ast

if TYPE_CHECKING:
    from hybridkg.operators.base import PhysicalOperator
    from hybridkg.operators.bind_join import FragmentProbe
    from hybridkg.operators.join_size import JoinSize


class VariableSize(NamedTuple):
    """Expected figures of a variable among the rows of an operator.

    Args:
        values: distinct values.
        domain: distinct values before constants and tests restrict the rows.
        unbound: share of the rows that leave it unbound, 0..1.
    """

    values: float
    domain: float
    unbound: float = 0.0


@dataclass(frozen=True)
class EstimationContext:
    """Indexes for row estimates, with memoized requests.

    Expected rows assume independence between the parts of a query, as do the planner's costs. None if unknown.

    Args:
        text: the text index; None before the first index.
        graph: the projection; None without an up-to-date one.
        store: the graph store, in a word: `Oxigraph`, or `endpoint`.
        sliced: below a TopKRows, the expected entities of the prefix of each score variable.
        narrowed: identities of the fragments and MATCHes by which those entities have been tested.

    >>> context = EstimationContext()
    >>> context.entities, context.match_count_bound(ast.Match(ast.Var("f"), ast.Lit("space")))
    (0.0, None)
    """

    text: RankedIndex | None = None
    graph: GraphIndex | None = None
    store: str = "Oxigraph"
    sliced: Mapping[str, float | None] = field(default_factory=dict)
    narrowed: frozenset[int] = frozenset()
    _prepared: dict[int, tuple[AskedPattern, PreparedPattern | None]] = field(default_factory=dict)
    _most: dict[ast.RankedItem, float | None] = field(default_factory=dict)
    _rows: dict[int, tuple[PhysicalOperator, float | None]] = field(default_factory=dict)
    _work: dict[int, tuple[PhysicalOperator, Work | None]] = field(default_factory=dict)
    _variables: dict[tuple[int, str], tuple[PhysicalOperator, VariableSize | None]] = field(default_factory=dict)
    _sizes: dict[int, tuple[FragmentProbe, JoinSize | None]] = field(default_factory=dict)
    """By the identity of nodes, which are referenced so that their ids are not reused."""

    @property
    def entities(self) -> float:
        """Entities of the text index."""
        return 0.0 if self.text is None else float(self.text.counts.get("entities", 0))

    def rows(self, operator: PhysicalOperator) -> float | None:
        """Expected rows of an operator."""
        key = id(operator)
        entry = self._rows.get(key)
        if entry is None:
            entry = self._rows[key] = operator, operator.estimate(self)
        return entry[1]

    def work(self, operator: PhysicalOperator) -> Work | None:
        """Expected work of an operator."""
        key = id(operator)
        entry = self._work.get(key)
        if entry is None:
            entry = self._work[key] = operator, operator.work(self)
        return entry[1]

    def variable_size(self, operator: PhysicalOperator, name: str) -> VariableSize | None:
        """Expected figures of a variable of an operator, which has no more values than rows."""
        key = id(operator), name
        entry = self._variables.get(key)
        if entry is None:
            found, rows = operator.variable_size(name, self), self.rows(operator)
            if found is not None and rows is not None and found.values > rows:
                found = found._replace(values=rows)
            entry = self._variables[key] = operator, found
        return entry[1]

    def join_size(self, probe: FragmentProbe) -> JoinSize | None:
        """Expected pairs of a probe and its fragment."""
        entry = self._sizes.get(id(probe))
        if entry is None:
            entry = self._sizes[id(probe)] = probe, probe.find_size(self)
        return entry[1]

    def match_count_bound(self, match: ast.RankedItem) -> float | None:
        """Upper bound on the entities that match, at most TOP. None if the index rejects the query, or the text is a
        variable.
        """
        if match not in self._most:
            self._most[match] = self._find_bound(match)
        return self._most[match]

    def _find_bound(self, match: ast.RankedItem) -> float | None:
        if self.text is None or isinstance(match.text, ast.Var):
            return None
        try:
            bound = float(self.text.match_count_bound(ranked_query(match)))
        except HybridkgError:
            return None
        return bound if match.top is None else min(bound, float(match.top))

    def share(self, match: ast.RankedItem) -> float | None:
        """Share of all entities that match, 0..1."""
        if id(match) in self.narrowed:
            return 1.0
        bound = self.match_count_bound(match)
        return None if bound is None else min(1.0, bound / max(self.entities, 1.0))

    def prepared(self, pattern: AskedPattern | DeclinedPattern) -> PreparedPattern | None:
        """Compiled pattern; None if only the store can evaluate it."""
        if isinstance(pattern, DeclinedPattern) or self.graph is None:
            return None
        key = id(pattern)
        entry = self._prepared.get(key)
        if entry is None:
            entry = self._prepared[key] = pattern, self.graph.compile(pattern)
        return entry[1]

    def assume(self, pattern: AskedPattern, prepared: PreparedPattern | None) -> None:
        """Makes a pattern with open parameters the compiled one of some values."""
        self._prepared[id(pattern)] = pattern, prepared

    def size(self, pattern: AskedPattern | DeclinedPattern, variable: str | None = None) -> float | None:
        """Expected solutions of a pattern, or values of one of its variables."""
        prepared = self.prepared(pattern)
        return None if prepared is None else prepared.size(variable).estimate

    def below(self, sliced: Mapping[str, float | None], narrowed: frozenset[int]) -> EstimationContext:
        """Context below an operator that selects prefixes of some relations."""
        return replace(
            self,
            sliced={**self.sliced, **sliced},
            narrowed=self.narrowed | narrowed,
            _rows={},
            _work={},
            _variables={},
            _sizes={},
        )


def work_of(counts: Mapping[str, float | None]) -> Work | None:
    """Expected work by kind; None if a count is unknown.

    >>> work_of({"rows": 2.0}), work_of({"rows": None})
    ({'rows': 2.0}, None)
    """
    return None if None in counts.values() else counts  # type: ignore[return-value]


def cells(*rows: float | None) -> Work | None:
    """Expected work of an operator over columns that handles so many rows of its children and of its own.

    >>> cells(2.0, 3.0), cells(2.0, None)
    ({'column cells': 5.0}, None)
    """
    return None if None in rows else {COLUMN_CELLS: float(sum(n for n in rows if n is not None))}


def times(*factors: float | None) -> float | None:
    """Product; None if a factor is unknown.

    >>> times(2.0, 3.0), times(2.0, None)
    (6.0, None)
    """
    product = 1.0
    for factor in factors:
        if factor is None:
            return None
        product *= factor
    return product
