"""What estimates of rows are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hybridkg.algebra.to_pattern import DeclinedPattern
from hybridkg.errors import HybridkgError
from hybridkg.interfaces.graph_index import AskedPattern, GraphIndex, PreparedPattern
from hybridkg.interfaces.meter import Work
from hybridkg.interfaces.ranked_index import RankedIndex
from hybridkg.operators.text_query import ranked_query
from hybridkg.query import ast

if TYPE_CHECKING:
    from hybridkg.operators.base import PhysicalOperator


@dataclass(frozen=True)
class EstimationContext:
    """The indexes that operators ask what to expect; what several of them ask is found out once.

    Expected rows are best guesses: what different parts of a query ask is taken to be independent, as in the
    planner's costs. None where nothing is known.

    Args:
        text: the text index; None before the first index.
        graph: the projection; None where there is none that is up to date.
        store: what has the graph, in a word: `Oxigraph`, or `endpoint`.
        sliced: below a BestRows, the entities that it takes of the relation of each score variable.
        narrowed: identities of the fragments and MATCHes that those entities have been tested by.

    >>> Known().entities, Known().most(ast.Match(ast.Var("f"), ast.Lit("space")))
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
    """Of nodes that are kept, so that no other gets their identity."""

    @property
    def entities(self) -> float:
        """Entities of the text index; 0 where there are none."""
        return 0.0 if self.text is None else float(self.text.counts.get("entities", 0))

    def rows(self, operator: PhysicalOperator) -> float | None:
        """Rows that an operator expects to give."""
        if id(operator) not in self._rows:
            self._rows[id(operator)] = operator, operator.estimate(self)
        return self._rows[id(operator)][1]

    def match_count_bound(self, match: ast.RankedItem) -> float | None:
        """No fewer entities match; with TOP no more than that. None where the index has an objection, or the text is
        that of a variable.
        """
        if match not in self._most:
            self._most[match] = self._asked(match)
        return self._most[match]

    def _asked(self, match: ast.RankedItem) -> float | None:
        if self.text is None or isinstance(match.text, ast.Var):
            return None
        try:
            most = float(self.text.match_count_bound(ranked_query(match)))
        except HybridkgError:
            return None
        return most if match.top is None else min(most, float(match.top))

    def share(self, match: ast.RankedItem) -> float | None:
        """The share of all entities that match, 0..1."""
        if id(match) in self.narrowed:
            return 1.0
        most = self.match_count_bound(match)
        return None if most is None else min(1.0, most / max(self.entities, 1.0))

    def prepared(self, pattern: AskedPattern | DeclinedPattern) -> PreparedPattern | None:
        """A pattern, ready to be asked; None where only the store can answer it."""
        if isinstance(pattern, DeclinedPattern) or self.graph is None:
            return None
        if id(pattern) not in self._prepared:
            self._prepared[id(pattern)] = pattern, self.graph.compile(pattern)
        return self._prepared[id(pattern)][1]

    def size(self, pattern: AskedPattern | DeclinedPattern, variable: str | None = None) -> float | None:
        """How many solutions a pattern has, or how many values one of its variables."""
        prepared = self.prepared(pattern)
        return None if prepared is None else prepared.size(variable).estimate

    def below(self, sliced: Mapping[str, float | None], narrowed: frozenset[int]) -> EstimationContext:
        """What is known below an operator that takes a part of some relations."""
        return replace(self, sliced={**self.sliced, **sliced}, narrowed=self.narrowed | narrowed, _rows={})


def work_of(counts: Mapping[str, float | None]) -> Work | None:
    """Expected work by kind; None where a count is not known.

    >>> work_of({"rows": 2.0}), work_of({"rows": None})
    ({'rows': 2.0}, None)
    """
    known = {kind: n for kind, n in counts.items() if n is not None}
    return known if len(known) == len(counts) else None


def times(*factors: float | None) -> float | None:
    """The product; None where a factor is not known.

    >>> times(2.0, 3.0), times(2.0, None)
    (6.0, None)
    """
    product = 1.0
    for factor in factors:
        if factor is None:
            return None
        product *= factor
    return product
