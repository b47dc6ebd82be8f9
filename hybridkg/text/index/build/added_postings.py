"""The postings of a few entities, in the order of the lists that they enter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.text.index.build.field_stream import FieldStream
from hybridkg.text.index.build.runs import U32
from hybridkg.text.index.build.sorting import FieldInOrder, table_of
from hybridkg.text.index.build.tokens import TermNumberer, TokenStream, Values
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


def added_postings(
    fields: Sequence[IndexedField],
    analyzers: Mapping[str, Analyzer],
    n_nodes: int,
    texts: Sequence[Iterable[tuple[int, Values]]],
    work: Path,
) -> AddedPostings:
    """Analyses the texts of entities, (id, values) for each field, as the builder does; `work` has temporary files."""
    analysis, streams = TermNumberer(analyzers), []
    for one, records in zip(fields, texts, strict=True):
        stream = TokenStream()
        analysis.add(one.analyzer, iter(records), stream, n_nodes, float("inf"))
        streams.append(stream)
    numbers = analysis.numbers
    terms = sorted(numbers, key=lambda term: term.encode("utf-8", "surrogatepass"))
    places = np.zeros(len(terms), np.uint32)
    places[[numbers[term] for term in terms]] = np.arange(len(terms))
    parts: list[tuple[I64, I64, U32, U32, U32]] = []
    lengths, languages = [], []
    for i, stream in enumerate(streams):
        own = FieldStream(work / f"added{i}.tmp")
        own.add_stream(stream, len(terms))
        own.finish()
        ordered = FieldInOrder(fields[i].name, i, own)
        run, entities, counts, _ = ordered.sorted(0, len(stream.slots), table_of(places))
        own.remove()
        lengths.append((entities, counts))
        languages.append(ordered.languages())
        term = np.repeat(run.terms.astype(np.int64), run.df)
        parts.append((term, np.full(len(term), i, np.int64), run.ids, run.tf, run.positions))
    term, field, ids, tf, positions = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((ids, field, term))
    starts = (np.cumsum(tf, dtype=np.int64) - tf)[order]
    tf = tf[order]
    ends = np.cumsum(tf, dtype=np.int64)
    at = np.repeat(starts - (ends - tf), tf) + np.arange(int(ends[-1]) if len(ends) else 0)
    encoded = [one.encode("utf-8", "surrogatepass") for one in terms]
    return AddedPostings(encoded, term[order], field[order], ids[order], tf, positions[at], lengths, languages)
