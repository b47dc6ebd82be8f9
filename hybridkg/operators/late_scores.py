"""Scores of a MATCH that no clause names, computed when a row's scores are read.

`?p MATCH "fish"` without AS has a score that only `row.scores`, a snippet or a reranker reads, mostly for the few rows
of a LIMIT. COUNT, GROUP BY and DISTINCT read none, so the relation is the union of posting lists alone (Lucene's
ScoreMode.COMPLETE_NO_SCORES).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.graph_index import UNBOUND
from hybridkg.interfaces.ranked_index import RankedIndex, RankedQuery
from hybridkg.interfaces.text_index import Ids
from hybridkg.operators.columns import Column
from hybridkg.operators.mixed_numbers import DOUBLE, NO_NUMBER, mixed
from hybridkg.operators.partition import Keys, Places
from hybridkg.query import ast
from hybridkg.rdf.terms import Term, double

T = TypeVar("T")


def is_late(match: ast.RankedItem, index: RankedIndex | None) -> bool:
    """Whether the complete relation of a MATCH is read without its scores: none has a name, and the index is local."""
    if match.score is not None or match.top is not None or not isinstance(match, ast.Match):
        return False
    return index is not None and not index.text_is_remote


@dataclass(frozen=True, eq=False)
class LateScores:
    """Column of the scores of some entities, each of which matches.

    Args:
        ids: uint32[n], the entity of each row; repeats allowed. UNBOUND for a row without a score, as of another branch
            of a UNION.
        query: the MATCH.
        index: gives each entity the score that it has in the complete relation.
    """

    ids: Ids
    query: RankedQuery
    index: RankedIndex

    @cached_property
    def scores(self) -> Column:
        """The scores."""
        is_bound, scores = self.ids != UNBOUND, np.zeros(len(self.ids))
        scores[is_bound] = self.index.score(self.query, self.ids[is_bound])
        return mixed(scores, np.where(is_bound, np.uint8(DOUBLE), np.uint8(NO_NUMBER)), double)

    @property
    def keys(self) -> Keys:
        """As Column has it."""
        return self.scores.keys

    @property
    def is_bound(self) -> NDArray[np.bool_] | None:
        """As Column has it."""
        return np.asarray(self.ids != UNBOUND) if self.has_unbound else None

    @property
    def has_unbound(self) -> bool:
        """As Column has it."""
        return len(self.ids) > 0 and bool(self.ids.max() == UNBOUND)

    def order(self, *, total: bool) -> Keys:
        """As Column has it."""
        return self.scores.order(total=total)

    def cells(self) -> list[Term | None]:
        """As Column has it."""
        return self.scores.cells()

    def take(self, places: Places) -> LateScores:
        """As Column has it."""
        return LateScores(self.ids[places], self.query, self.index)

    def mapped(self, make: Callable[[Term | None], T]) -> list[T]:
        """As Column has it."""
        return self.scores.mapped(make)

    def each(self) -> tuple[Column, Places]:
        """As Column has it."""
        return self.scores.each()

    def texts(self) -> None:
        """As Column has it."""
