"""BM25 as Lucene and Elasticsearch compute it, over the ON fields read as one text.

With one field the scores equal those of Elasticsearch's `match` query on it; with several, those of a `match` on a
field into which all of them are copied. Source: Robertson and Walker (1994) in the form of Lucene's BM25Similarity.
tests/text/models/test_bm25.py repeats the formula.

Lengths are rounded down to one byte, exact up to 40 tokens; the score has the factor 1 + k1 of Elasticsearch. A query
word written n times is one clause with boost n, as in Elasticsearch. A phrase is one term with its own df; Lucene sums
the idf of its words instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from hybridkg.interfaces.explanation import TermShare
from hybridkg.interfaces.ranking_model import ModelArgument, ModelTraits, ScoredTerm, ScoringTask
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.text.models.lucene import (
    ARGUMENTS,
    DEFAULT_B,
    DEFAULT_K1,
    ONE,
    Floats,
    TermView,
    explain_terms,
    inverse_norms,
    length_bytes,
    score_terms,
)


class BM25:
    """`bm25(k1=1.2, b=0.75)`; fields have neither weight nor b."""

    arguments: ClassVar = ARGUMENTS
    field_arguments: ClassVar[tuple[ModelArgument, ...]] = ()
    traits: ClassVar = ModelTraits(weights=False, least_score=0.0)

    def score(self, task: ScoringTask) -> tuple[Ids, Scores]:
        """(ids ascending, scores) of every entity in the task's postings; each score is exactly a float32.

        A word that is restricted to some fields (`title:red`) is counted in those; lengths, their mean and N remain
        those of all ON fields.
        """
        return score_terms(task, *self._view(task))

    def explain(self, task: ScoringTask) -> list[TermShare]:
        return explain_terms(task, *self._view(task))

    def _view(self, task: ScoringTask) -> tuple[float, Callable[[ScoredTerm, Ids], TermView]]:
        k1 = task.arguments.get("k1", DEFAULT_K1)
        fields = range(len(task.fields))
        weights = [ONE] * len(task.fields)
        inverse: list[Floats] = []

        def view_of(term: ScoredTerm, ids: Ids) -> TermView:
            if not inverse:
                inverse.append(_inverse(task, k1, ids))
            return TermView(fields, weights, term.df, task.n_entities, inverse[0])

        return k1, view_of


def _inverse(task: ScoringTask, k1: float, ids: Ids) -> Floats:
    """The inverse norm of each entity, by the length byte of the summed exact lengths."""
    lengths = np.zeros(len(ids), np.int64)
    for field in task.fields:
        lengths += task.lengths[field.row, ids]
    mean = np.float32(sum(field.tokens for field in task.fields) / task.n_entities)
    return inverse_norms(k1, task.arguments.get("b", DEFAULT_B), mean)[length_bytes(lengths)]
