"""BM25F: BM25 over several weighted fields.

Combines the fields into one pseudo term frequency before the saturation, so a
term that occurs in two fields is not counted as two pieces of evidence.
Source: Zaragoza et al., "Microsoft Cambridge at TREC 13" (2004); restated in
Robertson and Zaragoza, "BM25 and Beyond" (2009). The idf is the non-negative
one, ln(1 + x), as in Lucene; `form=galago` has that of the BM25F-CA of
DBpedia-Entity v2. tests/text/test_bm25f.py repeats the formula.

`bm25f_kernel.py` does the same in compiled code, in the same order of
operations: change both together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.explanation import TERM, FieldShare, TermShare, shares
from hybridkg.interfaces.ranking_model import ModelArgument, ModelTraits, ScoringTask
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.text.kernels import LazyKernel
from hybridkg.text.sets import NONE, union

DEFAULT_K1 = 1.2


def idf(df: int, n_entities: int) -> float:
    """ln(1 + (N - df + 0.5) / (df + 0.5)), at least 0.

    >>> round(idf(1, 10), 4)
    1.9924
    """
    return math.log(1 + (n_entities - df + 0.5) / (df + 0.5))


def galago_idf(df: int, n_entities: int) -> float:
    """ln(N / (df + 0.5)), below 0 where every entity has the term: that of BM25F-CA (design/ranking.md 1.3).

    >>> round(galago_idf(1, 10), 4)
    1.8971
    """
    return math.log(max(n_entities, 1) / (df + 0.5))


IDF = {"lucene": idf, "galago": galago_idf}

KERNEL = LazyKernel("hybridkg.text.models.bm25f_kernel")


@dataclass(frozen=True)
class Bm25fInput:
    """A task in numbers: what the kernel and its numpy twin take.

    Args:
        ids: uint32[p], the postings of term 0 in field 0, of term 0 in field 1, ..., each ascending.
        tf: uint32[p], occurrences.
        starts: int64[terms * fields + 1], where each of those lists begins.
        lengths: uint32[index fields, nodes], tokens.
        rows: int64[fields], row of each field in `lengths`.
        weight: float64[fields].
        b: float64[fields], in 0..1.
        mean: float64[fields], mean length over the entities that have the field.
        gain: float64[terms], idf times the number of times the query has the term.
        k1: saturation, above 0.
    """

    ids: Ids
    tf: NDArray[np.uint32]
    starts: NDArray[np.int64]
    lengths: NDArray[np.uint32]
    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    b: NDArray[np.float64]
    mean: NDArray[np.float64]
    gain: NDArray[np.float64]
    k1: float


class BM25F:
    """`bm25f(k1=1.2, b=..., form=lucene)`; b may also stand behind a field, where it wins over the model's."""

    arguments: ClassVar = (
        ModelArgument("k1", 0, above_low=True),
        ModelArgument("b", 0, 1),
        ModelArgument("form", words=tuple(IDF)),
    )
    field_arguments: ClassVar = (ModelArgument("b", 0, 1),)
    traits: ClassVar = ModelTraits()

    def score(self, task: ScoringTask) -> tuple[Ids, Scores]:
        """(ids ascending, scores) of every entity in the task's postings."""
        numbers = as_numbers(task)
        kernel = KERNEL.for_work(len(numbers.ids))
        return score_numpy(numbers) if kernel is None else score_compiled(kernel, numbers)

    def explain(self, task: ScoringTask) -> list[TermShare]:
        """The parts of the score of the task's only entity."""
        q = as_numbers(task)
        entity = int(q.ids[0])
        found = []
        for t, term in enumerate(task.terms):
            fields = []
            for i, (f, postings) in enumerate(zip(task.fields, term.postings, strict=True)):
                tf = int(postings.tf[0]) if len(postings.ids) else 0
                length = int(task.lengths[f.row, entity])
                relative = (1.0 - q.b[i]) + q.b[i] * length / q.mean[i]
                values = {"b": float(q.b[i]), "mean_length": float(q.mean[i])}
                fields.append(FieldShare(f.name, tf, length, f.weight, float(f.weight * tf / relative), values))
            x = sum(f.contribution for f in fields)
            contribution = float(q.gain[t] * x / (q.k1 + x))
            own = shares(contribution, [f.contribution for f in fields])
            divided = tuple(replace(f, contribution=part) for f, part in zip(fields, own, strict=True))
            values = {"idf": float(q.gain[t]) / term.count, "x": x, "k1": q.k1}
            found.append(TermShare(term.shown, TERM, term.count, term.df, contribution, values, divided))
        return found


def as_numbers(task: ScoringTask) -> Bm25fInput:
    """Flattens a task; a field that no entity has gets mean 1, which nothing reads."""
    lists = [postings for term in task.terms for postings in term.postings]
    model_b = task.arguments.get("b")
    idf_of = IDF[task.choices.get("form", "lucene")]
    return Bm25fInput(
        ids=np.concatenate([p.ids for p in lists]) if lists else NONE,
        tf=np.concatenate([p.tf for p in lists], dtype=np.uint32) if lists else NONE,
        starts=np.cumsum([0, *(len(p.ids) for p in lists)], dtype=np.int64),
        lengths=task.lengths,
        rows=np.array([f.row for f in task.fields], np.int64),
        weight=np.array([f.weight for f in task.fields], np.float64),
        b=np.array([f.arguments.get("b", f.b if model_b is None else model_b) for f in task.fields], np.float64),
        mean=np.array([f.tokens / f.entities if f.entities else 1.0 for f in task.fields], np.float64),
        gain=np.array([term.count * idf_of(term.df, task.n_entities) for term in task.terms], np.float64),
        k1=task.arguments.get("k1", DEFAULT_K1),
    )


def score_numpy(q: Bm25fInput) -> tuple[Ids, Scores]:
    """The kernel's twin: one term at a time, whole arrays."""
    n_fields = len(q.rows)
    parts: list[tuple[Ids, Scores]] = []
    for term in range(len(q.gain)):
        occurrences = []
        for field in range(n_fields):
            start, end = q.starts[term * n_fields + field : term * n_fields + field + 2]
            if end > start:
                ids = q.ids[start:end]
                length = q.lengths[q.rows[field], ids]
                relative = (1.0 - q.b[field]) + q.b[field] * length / q.mean[field]
                occurrences.append((ids, q.weight[field] * q.tf[start:end] / relative))
        if occurrences:
            ids, x = _summed(occurrences)
            parts.append((ids, q.gain[term] * x / (q.k1 + x)))
    return _summed(parts) if parts else (NONE, np.zeros(0))


def _summed(parts: list[tuple[Ids, Scores]]) -> tuple[Ids, Scores]:
    """The sum per id, added in the order of the parts."""
    if len(parts) == 1:
        return parts[0]
    ids = union([part_ids for part_ids, _ in parts])
    total = np.zeros(len(ids))
    for part_ids, values in parts:
        total[np.searchsorted(ids, part_ids)] += values
    return ids, total


def score_compiled(kernel: Any, q: Bm25fInput) -> tuple[Ids, Scores]:
    """The same numbers from the kernel, which sees fewer arrays and releases the GIL."""
    ids = np.empty(len(q.ids), np.uint32)
    scores = np.empty(len(q.ids), np.float64)
    n = kernel.score(q.ids, q.tf, q.starts, q.lengths, q.rows, q.weight, q.b, q.mean, q.gain, q.k1, ids, scores)
    return ids[:n], scores[:n]
