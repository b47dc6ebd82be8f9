"""The tail of a build: languages, presence, term sets, block maxima and headers follow from the posting lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hybridkg.interfaces.text_index import IndexedField
from hybridkg.text.index.field_presence import FieldTotals, describe_fields
from hybridkg.text.index.language_view import LanguageRuns
from hybridkg.text.index.layout import Array, ArrayReader, ArrayWriter
from hybridkg.text.index.postings import SegmentPostings
from hybridkg.text.index.term_field_sets import TermSets, write_changed_term_sets, write_term_sets
from hybridkg.text.index.topk.block_max_writer import EarlierSegment, write_block_maxima

SEGMENT = "1"
"""Name of the only segment."""


@dataclass(frozen=True)
class WrittenLists:
    """A segment whose terms and posting lists have been written.

    Args:
        out: its writer.
        terms: number of distinct terms.
        postings: number of postings.
        lengths: uint32[fields, nodes], written.
        languages: of each field.
        text_bytes: of the text.
        earlier: the segment that this one follows; None for none.
    """

    out: ArrayWriter
    terms: int
    postings: int
    lengths: Array
    languages: Sequence[LanguageRuns]
    text_bytes: int
    earlier: EarlierSegment | None = None


def finish_index(
    folder: Path, fields: Sequence[IndexedField], chains: Mapping[str, str], lists: WrittenLists
) -> dict[str, int]:
    """Writes everything else of an index of one segment, and returns its counts; `chains` are those of analyzers."""
    out, lengths = lists.out, lists.lengths
    n_nodes = int(lengths.shape[1])
    for i, own in enumerate(lists.languages):
        own.write(out, f"field{i}")
    totals = _totals(lists)
    described = describe_fields([(f.name, f.weight, f.b, f.analyzer) for f in fields], totals)
    for about, own in zip(described, lists.languages, strict=True):
        about["languages"] = list(own.languages)
    counts = {
        "entities": totals.write_sets(out),
        "terms": lists.terms,
        "postings": lists.postings,
        "tokens": sum(totals.tokens),
        "text_bytes": lists.text_bytes,
    }
    of_fields = {"entities": list(totals.entities), "tokens": list(totals.tokens)}
    about_segment: dict[str, object] = {"n_nodes": n_nodes, "counts": counts, "fields": of_fields}
    _write_derived(folder, fields, lists, about_segment, totals)
    about_index = {"n_nodes": n_nodes, "fields": described, "analyzers": dict(chains), "counts": counts}
    ArrayWriter(folder).finish({**about_index, "segments": [SEGMENT]})
    return counts


def _totals(lists: WrittenLists) -> FieldTotals:
    """The totals of the lengths, from those of the earlier segment where few entities have others."""
    earlier, lengths = lists.earlier, lists.lengths
    if earlier is not None and earlier.ids_stay and earlier.reader.has("peaks.longest"):
        before = earlier.reader.array("lengths")[:, earlier.changed]
        totals = FieldTotals.stored(earlier.reader).changed(before, lengths[:, earlier.changed])
        if totals is not None:
            return totals
    return FieldTotals.of(lengths)


def _write_derived(
    folder: Path,
    fields: Sequence[IndexedField],
    written: WrittenLists,
    about: dict[str, object],
    totals: FieldTotals,
) -> None:
    """Writes the term sets and block maxima, derived from the lists, and the header of the segment."""
    out = written.out
    lists = SegmentPostings(ArrayReader(folder, SEGMENT, out.header(about)), written.terms * len(fields))
    earlier = written.earlier
    if earlier is None:
        write_term_sets(out, lists, written.terms, len(fields))
    else:
        sets = TermSets(earlier.reader, earlier.n_terms)
        write_changed_term_sets(out, lists, len(fields), earlier.same, sets)
    reader = ArrayReader(folder, SEGMENT, out.header(about))
    defaults = [(field.weight, field.b) for field in fields]
    maxima = write_block_maxima(out, reader, lists, reader.array("lengths"), defaults, totals, earlier)
    out.finish({**about, **maxima})
