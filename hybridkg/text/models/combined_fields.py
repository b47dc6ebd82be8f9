"""Elasticsearch's `combined_fields`: BM25 over a virtual field made of weighted copies of the ON fields.

A field of weight w counts as if its text were written w times. Unlike in a real field, df and N are the largest of any
one field, and lengths are rounded to a byte twice: each field's, then their weighted sum. Source: Lucene's
CombinedFieldQuery (BM25F-simple of Robertson, Zaragoza and Taylor, 2004). tests/text/models/test_combined_fields.py
repeats the formula.

A query word written n times is one clause with boost n, as in Elasticsearch. A phrase, which Elasticsearch's query does
not have, is one term with its own df.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.explanation import TermShare
from hybridkg.interfaces.ranking_model import ModelArgument, ModelTraits, ScoredField, ScoredTerm, ScoringTask
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.text.models.lucene import (
    ARGUMENTS,
    DEFAULT_B,
    DEFAULT_K1,
    LENGTHS,
    MAX_LENGTH,
    Floats,
    TermView,
    explain_terms,
    inverse_norms,
    length_bytes,
    score_terms,
)

MAX_LONG = 2**63 - 1


class CombinedFields:
    """`combined_fields(k1=1.2, b=0.75)`; weights are at least 1, and there is one b for all fields."""

    arguments: ClassVar = ARGUMENTS
    field_arguments: ClassVar[tuple[ModelArgument, ...]] = ()
    traits: ClassVar = ModelTraits(least_weight=1, one_analyzer=True, least_score=0.0)

    def score(self, task: ScoringTask) -> tuple[Ids, Scores]:
        """(ids ascending, scores) of every entity in the task's postings; each score is exactly a float32.

        A word that is restricted to some fields (`title:red`) is scored as if only those were searched.
        """
        return score_terms(task, *self._view(task))

    def explain(self, task: ScoringTask) -> list[TermShare]:
        return explain_terms(task, *self._view(task))

    def _view(self, task: ScoringTask) -> tuple[float, Callable[[ScoredTerm, Ids], TermView]]:
        k1 = task.arguments.get("k1", DEFAULT_K1)
        weights = [np.float32(field.weight) for field in task.fields]
        order = sorted(range(len(weights)), key=lambda i: java_order(task.fields[i].name))
        inverses: dict[tuple[bool, ...], Floats] = {}

        def view_of(term: ScoredTerm, ids: Ids) -> TermView:
            chosen = [i for i in order if term.allowed[i]]
            fields, w = [task.fields[i] for i in chosen], [weights[i] for i in chosen]
            n = max(field.entities for field in fields)
            if term.allowed not in inverses:
                mean = np.float32(tokens_in_all(fields, w) / n)
                norms = inverse_norms(k1, task.arguments.get("b", DEFAULT_B), mean)
                inverses[term.allowed] = norms[_combined_bytes(task, fields, w, ids)]
            return TermView(chosen, w, max(term.field_df[i] for i in chosen), n, inverses[term.allowed])

        return k1, view_of


def java_order(name: str) -> bytes:
    """The sort key of Java strings: UTF-16 code units.

    >>> sorted(["title", "abstract"], key=java_order)
    ['abstract', 'title']
    """
    return name.encode("utf-16-be", "surrogatepass")


def tokens_in_all(fields: list[ScoredField], weights: list[np.float32]) -> int:
    """The weighted sum of the fields' tokens, truncated to an integer after every field.

    >>> one = ScoredField("title", 0, 1.5, 0.75, 2, 5, {})
    >>> tokens_in_all([one, one], [np.float32(1.5), np.float32(1.5)])  # 7.5 -> 7, 7 + 7.5 -> 14
    14
    """
    total = 0
    for field, weight in zip(fields, weights, strict=True):
        total = int(min(total + float(weight) * field.tokens, MAX_LONG))
    return total


def _combined_bytes(
    task: ScoringTask, fields: list[ScoredField], weights: list[np.float32], ids: Ids
) -> NDArray[np.uint8]:
    """uint8[len(ids)]: the length byte of the weighted sum of the decoded length bytes of the fields."""
    total = np.zeros(len(ids), np.float32)
    of_byte = LENGTHS.astype(np.float32)
    with np.errstate(over="ignore"):
        for field, weight in zip(fields, weights, strict=True):
            total += (weight * of_byte)[length_bytes(task.lengths[field.row, ids])]
    rounded = np.floor(np.minimum(total.astype(np.float64), MAX_LENGTH) + 0.5)
    return length_bytes(np.minimum(rounded, MAX_LENGTH).astype(np.int64))
