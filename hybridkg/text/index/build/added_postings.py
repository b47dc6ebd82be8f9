"""The postings of a few entities, in the order of the lists that they enter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.entity_values import EntityValues
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.text.index.build.analysis_batch import BatchAnalyzer, TermBytes
from hybridkg.text.index.build.field_stream import MARKS
from hybridkg.text.index.build.runs import NEXT_VALUE, U32, PostingRun, sort_run
from hybridkg.text.index.build.sorting import table_of
from hybridkg.text.index.build.token_columns import TokenColumns
from hybridkg.text.index.language_view import LanguageRuns, places_of

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
    fields: Sequence[IndexedField], analysis: BatchAnalyzer, n_nodes: int, texts: Sequence[EntityValues]
) -> AddedPostings:
    """Analyses the texts of entities, given for each field, as the builder does.

    Raises:
        ValueError: an entity is not below `n_nodes`.
    """
    for own in texts:
        if len(own) and int(own.ids.max()) >= n_nodes:
            raise ValueError(f"an entity is not below {n_nodes}")
    streams, numbered = analysis.streams([(field.analyzer, own) for field, own in zip(fields, texts, strict=True)])
    terms, places = _sorted_terms(streams, numbered)
    table, parts, lengths, languages = table_of(places), list[tuple[int, PostingRun]](), [], []
    for i, (stream, own) in enumerate(zip(streams, texts, strict=True)):
        tokens, entities = table[stream.tokens + np.uint32(MARKS)], own.ids[stream.records]
        run, counts = sort_run(tokens, entities, stream.slots)
        parts.append((i, run))
        lengths.append((entities, counts))
        languages.append(_languages(stream, tokens, entities))
    term = np.concatenate([np.repeat(run.terms.astype(np.int64), run.df) for _, run in parts])
    field = np.concatenate([np.full(len(run.ids), i, np.int64) for i, run in parts])
    ids, tf, positions = (
        np.concatenate([getattr(run, name) for _, run in parts]) for name in ("ids", "tf", "positions")
    )
    order = np.argsort(term, kind="stable")  # those of a field ascend by (term, entity) already
    starts = (np.cumsum(tf, dtype=np.int64) - tf)[order]
    tf = tf[order]
    ends = np.cumsum(tf, dtype=np.int64)
    at = np.repeat(starts - (ends - tf), tf) + np.arange(int(ends[-1]) if len(ends) else 0)
    return AddedPostings(terms, term[order], field[order], ids[order], tf, positions[at], lengths, languages)


def _sorted_terms(streams: Sequence[TokenColumns], terms: TermBytes) -> tuple[list[bytes], U32]:
    """The terms of some streams in their order, and the place of each number of theirs among them."""
    is_met = np.zeros(len(terms), bool)
    for stream in streams:
        is_met[stream.tokens[stream.tokens < NEXT_VALUE]] = True
    numbers, found = terms.in_order(np.flatnonzero(is_met))
    places = np.zeros(len(terms), np.uint32)
    places[numbers] = np.arange(len(numbers), dtype=np.uint32)
    return found, places


def _languages(stream: TokenColumns, tokens: U32, entities: U32) -> LanguageRuns:
    positions, sizes = places_of(tokens, stream.slots, stream.changed, stream.changed_at)
    numbers = {tag: number for number, tag in enumerate(stream.languages)}
    return LanguageRuns.of(entities[stream.changed], positions, stream.tags, sizes, numbers)
