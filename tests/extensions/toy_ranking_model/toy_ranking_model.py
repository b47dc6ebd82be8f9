"""A ranking model from outside: a word counts as often as it occurs, times `factor`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hybridkg.interfaces.explanation import TermShare
from hybridkg.interfaces.ranking_model import ModelArgument, ModelTraits, ScoringTask
from hybridkg.interfaces.text_index import Ids, Scores


class ToyModel:
    """`toymodel(factor=1)`: sum over words and fields of count * weight * occurrences."""

    arguments: ClassVar = (ModelArgument("factor", 0, above_low=True),)
    field_arguments: ClassVar[tuple[ModelArgument, ...]] = ()
    traits: ClassVar = ModelTraits(least_score=0.0)

    def score(self, task: ScoringTask) -> tuple[Ids, Scores]:
        """(ids ascending, scores) of every entity in the postings."""
        scores = np.zeros(task.lengths.shape[1])
        matches = np.zeros(task.lengths.shape[1], bool)
        for term in task.terms:
            for field, postings in zip(task.fields, term.postings, strict=True):
                scores[postings.ids] += term.count * field.weight * postings.tf
                matches[postings.ids] = True
        ids = np.flatnonzero(matches).astype(np.uint32)
        return ids, scores[ids] * task.arguments.get("factor", 1.0)

    def explain(self, task: ScoringTask) -> list[TermShare]:
        """A part for each word."""
        factor = task.arguments.get("factor", 1.0)
        return [
            TermShare(term.shown, "term", term.count, term.df, factor * part, {}, ())
            for term in task.terms
            if (
                part := sum(
                    term.count * field.weight * float(postings.tf.sum())
                    for field, postings in zip(task.fields, term.postings, strict=True)
                )
            )
        ]
