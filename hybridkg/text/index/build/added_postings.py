"""The postings of a few entities, in the order of the lists that they enter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.text_index import IndexedField
from hybridkg.text.index.build.analysis_batch import AnalyzedBatch, BatchAnalyzer, payload_of
from hybridkg.text.index.build.field_stream import FieldStream
from hybridkg.text.index.build.runs import U32
from hybridkg.text.index.build.sorting import FieldInOrder, table_of
from hybridkg.text.index.build.tokens import Values
from hybridkg.text.index.language_view import LanguageRuns

I64 = NDArray[np.int64]


@dataclass(frozen=True)
class AddedPostings:
    """Postings in the order of (term, field, entity).

    Args:
        terms: the distinct terms in UTF-8, ascending.
        term: int64[p], the place of the term of each posting in `terms`.
        field: int64[p].
        ids: uint32[p].
        tf: uint32[p].
        positions: uint32[sum(tf)], posting by posting.
        lengths: for each field (ids uint32[r], tokens of each int64[r]).
        languages: of each field.
    """

    terms: list[bytes]
    term: I64
    field: I64
    ids: U32
    tf: U32
    positions: U32
    lengths: list[tuple[U32, I64]]
    languages: list[LanguageRuns]

    def of_fields(self, first: int, end: int) -> AddedPostings:
        """The postings of the fields first..end-1, numbered from 0; `terms` are the same, also without a posting."""
        own = (self.field >= first) & (self.field < end)
        positions = self.positions[np.repeat(own, self.tf)]
        columns = self.term[own], self.field[own] - first, self.ids[own], self.tf[own], positions
        return AddedPostings(self.terms, *columns, self.lengths[first:end], self.languages[first:end])


def added_postings(
    fields: Sequence[IndexedField],
    analysis: BatchAnalyzer,
    n_nodes: int,
    texts: Sequence[Iterable[tuple[int, Values]]],
    work: Path,
) -> AddedPostings:
    """Analyses the texts of entities, (id, values) for each field, as the builder does; `work` has temporary files."""
    batches = [_analyzed(one.analyzer, analysis, records, n_nodes) for one, records in zip(fields, texts, strict=True)]
    terms = sorted({term for batch, _ in batches for term in batch.terms})  # code points have the order of UTF-8
    numbers = {term: number for number, term in enumerate(terms)}
    places = table_of(np.arange(len(terms), dtype=np.uint32))
    parts: list[tuple[I64, I64, U32, U32, U32]] = []
    lengths, languages = [], []
    for i, (batch, entities) in enumerate(batches):
        own = FieldStream(work / f"added{i}.tmp")
        own.add_batch(batch, entities, np.array([numbers[term] for term in batch.terms], np.uint32))
        own.finish()
        ordered = FieldInOrder(fields[i].name, i, own)
        run, ids, counts, _ = ordered.sorted(0, len(own.slots), places)
        own.remove()
        lengths.append((ids, counts))
        languages.append(ordered.languages())
        term = np.repeat(run.terms.astype(np.int64), run.df)
        parts.append((term, np.full(len(term), i, np.int64), run.ids, run.tf, run.positions))
    term, field, ids, tf, positions = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(term, kind="stable")  # those of a field ascend by (term, entity) already
    starts = (np.cumsum(tf, dtype=np.int64) - tf)[order]
    tf = tf[order]
    ends = np.cumsum(tf, dtype=np.int64)
    at = np.repeat(starts - (ends - tf), tf) + np.arange(int(ends[-1]) if len(ends) else 0)
    found = [term.encode("utf-8", "surrogatepass") for term in terms]
    return AddedPostings(found, term[order], field[order], ids[order], tf, positions[at], lengths, languages)


def _analyzed(
    analyzer: str, analysis: BatchAnalyzer, records: Iterable[tuple[int, Values]], n_nodes: int
) -> tuple[AnalyzedBatch, U32]:
    """The analysed texts of a field, and the entities of its records, all below `n_nodes`."""
    entities, held = [list(column) for column in zip(*records, strict=True)] or ([], [])
    if entities and not 0 <= min(entities) <= max(entities) < n_nodes:
        raise ValueError(f"an entity is not below {n_nodes}")
    texts = [text for values in held for text, _ in values]
    languages = [language for values in held for _, language in values]
    payload = payload_of(analyzer, analysis.chain(analyzer), texts, languages, [*map(len, held)])
    return analysis.analyze(payload), np.array(entities, np.uint32)
