"""The next text index from the earlier one and the texts of a few entities, with the content of a build from scratch.

Where few lists of a large index change, they are written to a tail; otherwise the files have the bytes of a build.
Nothing else is analysed: the postings of fields that have changed leave their lists, and the new ones enter. Where no
entity comes or goes, the earlier texts tell which lists these are, and all others are copied in bulk. Otherwise ids are
renumbered, and every list is read, in chunks of terms. What follows from the lists is derived as a build does it; only
the levels of block maxima may be others (topk/patched_block_max.py).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.analyzer import ANALYZERS
from hybridkg.interfaces.entity_values import EntityValues
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.interfaces.staying import Staying
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.storage.array_edit import ArrayEdit
from hybridkg.storage.distinct import are_among, sorted_distinct
from hybridkg.text.index.build.added_postings import AddedPostings, added_postings
from hybridkg.text.index.build.held_postings import are_held
from hybridkg.text.index.build.kept_analysis import kept_analysis
from hybridkg.text.index.build.list_edits import EditedLists, Entering, ListEditor, edited_in_chunks, reentering
from hybridkg.text.index.build.list_places import tail_lists
from hybridkg.text.index.build.list_splicing import ListSplice
from hybridkg.text.index.build.posting_lists import ListsWriter, Piece
from hybridkg.text.index.build.segment_tail import SEGMENT, WrittenLists, finish_index
from hybridkg.text.index.language_view import PARTS, LanguageRuns
from hybridkg.text.index.layout import Array, ArrayReader, ArrayWriter, smallest_unsigned
from hybridkg.text.index.postings import SegmentPostings, TermDictionary, prefixes_of
from hybridkg.text.index.topk.block_max_writer import EarlierSegment

_log = logging.getLogger(__name__)

MAX_ANALYSED = 2_000
"""Earlier texts that are always analysed to find the lists that they leave."""

POSTINGS_OF_TEXT = 300
"""Postings of an index for each further text that is analysed. The earlier texts share most of their values with the
later ones, so 10,000 keywords of 100,000 papers, 6 million postings, take 0.47 s in place of the 0.61 of reading all
lists, and 8,000 of 50,000 papers 0.48 in place of 0.60 (2-core machine)."""

CHUNK_POSTINGS = 1_000_000
"""Postings of a chunk of terms, or of one larger term; about 30 bytes of memory each, 60 with numpy."""

MAX_SPLICED = 0.5
"""Share of the postings in lists that change, above which all lists are read and nothing is copied."""

MIN_EXTENDED = 1_000_000
"""Postings of an index below which all posting lists are written: copying them takes some milliseconds."""

MAX_TAIL = 0.2
"""Share of the postings in the tail above which all posting lists are written: each commit writes the tail anew, and
the base holds the lists of the tail in their earlier state, too."""

OTHER_TEXTS = "the earlier texts of entities are not those of the text index; all its lists are read"

EDITORS = 2
"""Chunks that are edited at the same time, while another one is written."""

POSITIONS_AT_ONCE = 1 << 17
"""Positions among which large ones are looked for at once; most texts have one among the first."""

PLACES_AT_ONCE = 1 << 8
"""Large positions whose lists are looked up at once."""

I64 = NDArray[np.int64]


def merge_text(
    previous: Path,
    folder: Path,
    fields: Sequence[IndexedField],
    staying: Sequence[Staying],
    n_nodes: int,
    before: Sequence[EntityValues],
    changed: Sequence[EntityValues],
    text_bytes: int,
    *,
    chunk_postings: int = CHUNK_POSTINGS,
    progress: Progress = SILENT,
) -> dict[str, int]:
    """Writes the next index into an empty folder, and returns its counts.

    Args:
        previous: folder of the earlier index, of the same fields and analyzers.
        folder: an existing empty folder.
        fields: of both indexes.
        staying: for each field, the earlier entities that have the same values in it.
        n_nodes: exclusive upper bound of the next ids.
        before: for each field, the values before, with earlier ids, of the entities that had other values in it; they
            spare work, and where they are not those of the earlier index, all of it is done.
        changed: for each field, the values, with next ids, of the entities with other values in it.
        text_bytes: bytes of the whole text, for the counts.
        chunk_postings: bounds the memory, and does not change the result.
        progress: counts postings.

    Raises:
        ValueError: the fields or analyzers are not those of the earlier index.
        CorruptError: a file of the earlier index is missing or has another size.
        OSError: the disk is full or fails.
    """
    header = ArrayReader(previous)
    analyzers = {name: ANALYZERS.get(name)() for name in sorted({one.analyzer for one in fields})}
    chains = {name: analyzer.chain for name, analyzer in analyzers.items()}
    names = [(one["name"], one["analyzer"]) for one in header.about("fields")]
    if names != [(one.name, one.analyzer) for one in fields] or header.about("analyzers") != chains:
        raise ValueError("the earlier index has other fields or analyzers")
    reader, out = ArrayReader(previous, SEGMENT), ArrayWriter(folder, SEGMENT)
    terms, ids_stay = TermDictionary(reader), all(one.n == n_nodes and one.ids is None for one in staying)
    n_postings, n_fields = int(reader.array("lists.postings")[-1]), len(fields)
    leave = ids_stay and sum(map(len, before)) <= max(MAX_ANALYSED, n_postings // POSTINGS_OF_TEXT)
    analysed = (fields, changed) if not leave else ([*fields, *fields], [*changed, *before])
    with kept_analysis(analyzers) as analysis:
        both = added_postings(analysed[0], analysis, n_nodes, analysed[1])
    added = both.of_fields(0, n_fields)
    lengths = _lengths(out, reader, staying, n_nodes, added, ids_stay=ids_stay)
    lists = _Lists(SegmentPostings(reader, len(terms) * len(fields)), terms, added, staying, len(fields))
    progress.start("merging postings", n_postings)
    postings = None
    if leave:
        postings = lists.splice(out, reader, both.of_fields(n_fields, 2 * n_fields), chunk_postings)
    if postings is None:
        postings = lists.write(out, chunk_postings, progress)
    progress.done(postings)
    n_terms = _write_terms(out, reader, terms, added, lists)
    languages = [
        _languages(reader, f"field{i}", header.about("fields")[i]["languages"], staying[i], own)
        for i, own in enumerate(added.languages)
    ]
    same = np.concatenate(lists.same)
    same_scores = np.where(are_among(same, lists.rescored), -1, same)
    entities = _with_other_values(staying, added) if ids_stay else np.zeros(0, np.int64)
    earlier = EarlierSegment(reader, len(terms), same, same_scores, ids_stay, entities)
    written = WrittenLists(out, n_terms, postings, lengths, languages, text_bytes, earlier)
    return finish_index(folder, fields, chains, written)


def _with_other_values(staying: Sequence[Staying], added: AddedPostings) -> I64:
    """int64[n], ascending: the entities with other values in a field, by ids that stay."""
    gone = [own.leaving for own in staying]
    return sorted_distinct(np.concatenate([*gone, *(ids.astype(np.int64) for ids, _ in added.lengths)]))


def _lengths(
    out: ArrayWriter,
    reader: ArrayReader,
    staying: Sequence[Staying],
    n_nodes: int,
    added: AddedPostings,
    *,
    ids_stay: bool,
) -> Array:
    old = reader.array("lengths")
    lengths = (np.empty if ids_stay else np.zeros)((len(old), n_nodes), np.uint32)
    for row, own, stay, (ids, tokens) in zip(lengths, old, staying, added.lengths, strict=True):
        if ids_stay:
            row[:] = own
            row[stay.leaving] = 0
        else:
            stays = np.flatnonzero(stay.array >= 0)
            row[stay.array[stays]] = own[stays]
        row[ids] = tokens
    out.write("lengths", lengths)
    return lengths


def _languages(
    reader: ArrayReader, prefix: str, tags: Sequence[str], staying: Staying, added: LanguageRuns
) -> LanguageRuns:
    """The language runs of a field: those of the entities that stay, and those of the others."""
    numbers: dict[str, int] = {"": 0}
    parts = [(added, np.ones(len(added.entities), bool), added.entities)]
    if tags:
        stored = [reader.array(f"{prefix}.languages.{part}").astype(np.uint32) for part in PARTS]
        old = LanguageRuns(stored[0], stored[1], stored[2], stored[3], tuple(tags))
        after = staying.to_new(old.entities)
        parts.append((old, after >= 0, after.astype(np.uint32)))
    columns = []
    for runs, own, ids in parts:
        renumbered = np.array([numbers.setdefault(tag, len(numbers)) for tag in ("", *runs.languages)], np.uint32)
        columns.append((ids[own], runs.starts[own], renumbered[runs.tags[own]], runs.tokens[own]))
    entities, starts, of_tag, tokens = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.lexsort((starts, entities))
    return LanguageRuns.of(entities[order], starts[order], of_tag[order], tokens[order], numbers)


@dataclass
class _Lists:
    """The posting lists of the next index.

    Args:
        old: the earlier lists.
        terms: the earlier terms.
        added: the new postings.
        staying: of each field.
        n_fields: of both indexes.
    """

    old: SegmentPostings
    terms: TermDictionary
    added: AddedPostings
    staying: Sequence[Staying]
    n_fields: int
    gone: list[I64] = field(default_factory=list)
    """Numbers of the earlier terms that lost their last posting, chunk by chunk."""
    same: list[I64] = field(default_factory=list)
    """The earlier number of each next term with the entities and tf of before, -1 for the others, chunk by chunk."""
    rescored: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    """Earlier terms with the entities and tf of before, some of them in fields that have another length now."""

    def __post_init__(self) -> None:
        # Where a term stands among the earlier ones, whether it is one of them, and whether an added one is not.
        self.place, self.known = self.terms.places(self.added.terms)
        self.is_new = np.zeros(len(self.known), bool)
        self.is_new[self.added.term] = True
        self.is_new &= ~self.known

    def write(self, out: ArrayWriter, chunk_postings: int, progress: Progress) -> int:
        """Writes the lists; returns the number of postings."""
        writer = ListsWriter(out, None, self._largest_position())
        editor = ListEditor(self.old, self.staying, writer.positions_type)
        editors = [editor, *(editor.another() for _ in range(EDITORS - 1))]
        waiting: deque[tuple[Future[EditedLists], int, int]] = deque()
        try:
            with ThreadPoolExecutor(EDITORS, "hybridkg-commit") as threads:
                for number, (first, end) in enumerate(self._chunks(chunk_postings)):
                    if number >= EDITORS:
                        self._write_chunk(writer, *waiting.popleft(), progress)
                    edited = threads.submit(self._edited, editors[number % EDITORS], first, end)
                    waiting.append((edited, first, end))
                while waiting:
                    self._write_chunk(writer, *waiting.popleft(), progress)
        except BaseException:
            writer.close()
            raise
        return writer.finish()

    def splice(self, out: ArrayWriter, reader: ArrayReader, leaving: AddedPostings, chunk_postings: int) -> int | None:
        """Writes the lists where ids stay: copies those in which no posting leaves or enters, or keeps their base.

        Args:
            out: of the next segment.
            reader: of the earlier one.
            leaving: the earlier postings of the fields that have changed, as far as is known; its terms are those of
                `added`.
            chunk_postings: postings of the lists that are edited at once.

        Returns:
            The number of postings; None where most postings are in lists that change, where positions need
            another type, or where `leaving` are not the postings that leave. Nothing is written then.
        """
        n_fields, added, old = self.n_fields, self.added, self.old
        kept = ~self.is_new[added.term]
        of_leaving = self.place[leaving.term] * n_fields + leaving.field
        of_added = self.place[added.term] * n_fields + added.field
        left = Entering(of_leaving, leaving.ids, leaving.tf, leaving.positions).only(self.known[leaving.term])
        entered = Entering(of_added, added.ids, added.tf, added.positions)
        enters = np.ones(len(of_added), bool)
        stay, moved = reentering(left, entered.only(kept))
        enters[kept] = ~are_among(of_added[kept], stay)
        numbers = sorted_distinct(np.concatenate([left.lists, of_added[kept & enters]]))
        numbers = numbers[~are_among(numbers, stay)]
        extends = self._extends(numbers, int(np.count_nonzero(enters)))
        dtype = old.all_positions.dtype if extends else smallest_unsigned(self._largest_position())
        most = max(chunk_postings, int(MAX_SPLICED * old.ends[-1]))
        if dtype != old.all_positions.dtype or int(old.sizes(np.concatenate([numbers, stay])).sum()) > most:
            return None
        if not are_held(old, stay, entered.only(~enters), chunk_postings):
            _log.warning(OTHER_TEXTS)
            return None
        new_places = np.repeat(self.place[self.is_new] * n_fields, n_fields)
        new_before: I64 = np.subtract(np.cumsum(self.is_new), self.is_new) * n_fields
        rows = np.where(
            kept, np.searchsorted(numbers, of_added), np.searchsorted(numbers, of_added - added.field) + added.field
        )
        entering = replace(entered, lists=rows + new_before[added.term]).only(enters)
        editor = ListEditor(old, self.staying, dtype)
        edited = edited_in_chunks(editor, numbers, old.sizes(numbers), new_places, entering, chunk_postings)
        lists = ListSplice(old, n_fields, numbers, new_places, edited).with_same_tf(moved)
        if self._tokens_that_left(lists) != self._tokens_that_leave(reader):
            _log.warning(OTHER_TEXTS)
            return None
        done = lists.extend(out, reader) if extends else lists.write(out, reader)
        self.gone.append(done.gone)
        self.same.append(done.same)
        self.rescored = sorted_distinct(np.concatenate([stay, moved]) // n_fields)
        return done.postings

    def _extends(self, edited: I64, entering: int) -> bool:
        """Whether lists are written to a tail: where the index is large, and the lists outside the base are few.

        Args:
            edited: the earlier lists that are edited.
            entering: postings that enter lists.
        """
        old, total = self.old, int(self.old.ends[-1]) + entering
        largest = smallest_unsigned(int(self.added.positions.max(initial=0)))
        if total < MIN_EXTENDED or largest.itemsize > old.all_positions.itemsize:
            return False
        in_tail = old.sizes(sorted_distinct(np.concatenate([tail_lists(old), edited])))
        return int(in_tail.sum()) + entering <= MAX_TAIL * total

    def _tokens_that_left(self, lists: ListSplice) -> list[int]:
        """Occurrences that have left lists, by field; also those that have entered lists again which are not edited."""
        added, tokens = self.added, self.old.arrays[1]
        before = np.bincount(
            lists.numbers % self.n_fields,
            tokens[lists.numbers + 1].astype(np.int64) - tokens[lists.numbers].astype(np.int64),
            self.n_fields,
        )
        entered = np.bincount(added.field, added.tf, self.n_fields)
        is_new = lists.is_new()
        fields = np.zeros(len(is_new), np.int64)
        fields[~is_new] = lists.numbers % self.n_fields
        fields[is_new] = np.tile(np.arange(self.n_fields), int(is_new.sum()) // self.n_fields)
        after = np.bincount(fields, lists.edited.cf, self.n_fields)
        left: list[int] = (before + entered - after).astype(np.int64).tolist()
        return left

    def _tokens_that_leave(self, reader: ArrayReader) -> list[int]:
        """Occurrences of the fields that have changed, by field: their earlier lengths."""
        lengths = reader.array("lengths")
        return [int(own[stay.leaving].sum(dtype=np.int64)) for own, stay in zip(lengths, self.staying, strict=True)]

    def _chunks(self, limit: int) -> Iterator[tuple[int, int]]:
        ends, first, n_terms = self.old.ends[:: self.n_fields], 0, len(self.terms)
        while first < n_terms or first == 0:
            end = max(first + 1, int(np.searchsorted(ends, int(ends[first]) + limit, "right")) - 1)
            yield first, min(end, n_terms)
            if (first := end) >= n_terms:
                break

    def _edited(self, editor: ListEditor, first: int, end: int) -> EditedLists:
        """The lists of the earlier terms first..end-1, and of the new ones before any of them, afterwards."""
        n_fields = self.n_fields
        inside = self._inside(first, end)
        new = self.place[inside & self.is_new] - first
        return editor.edited(
            first * n_fields, end * n_fields, np.repeat(new * n_fields, n_fields), self._entering(inside, first)
        )

    def _write_chunk(
        self, writer: ListsWriter, edited: Future[EditedLists], first: int, end: int, progress: Progress
    ) -> None:
        """Writes the lists that `_edited` gives."""
        n_fields, lists = self.n_fields, edited.result()
        new = self.place[self._inside(first, end) & self.is_new] - first
        df, cf = lists.df.reshape(-1, n_fields), lists.cf.reshape(-1, n_fields)
        source = np.insert(np.arange(first, end), new, -1)
        has_posting = df.any(axis=1)
        self.gone.append(source[~has_posting])
        same = np.where(lists.is_edited.reshape(-1, n_fields).any(axis=1), -1, source)
        self.same.append(same[has_posting])
        counts = [own[has_posting].reshape(-1).astype(np.uint32) for own in (df, cf)]
        writer.add(Piece(counts[0], counts[1], lists.packed, lists.positions))
        done = int(self.old.ends[end * n_fields]) - int(self.old.ends[first * n_fields])
        progress.advance(done, done)

    def _inside(self, first: int, end: int) -> NDArray[np.bool_]:
        """Whether an added term stands among the earlier terms first..end-1, or before one of them."""
        return (self.place >= first) & ((self.place < end) | (end == len(self.terms)))

    def _entering(self, inside: NDArray[np.bool_], first: int) -> Entering:
        """The added postings of the terms that are `inside` a chunk."""
        added = self.added
        terms = np.flatnonzero(inside)
        begin, end = (int(terms[0]), int(terms[-1]) + 1) if len(terms) else (0, 0)
        own = slice(*np.searchsorted(added.term, [begin, end]).tolist())
        rows = self.place - first + np.cumsum(self.is_new & inside) - (self.is_new & inside)
        ends = np.concatenate(([0], np.cumsum(added.tf, dtype=np.int64)))
        return Entering(
            rows[added.term[own]] * self.n_fields + added.field[own],
            added.ids[own],
            added.tf[own],
            added.positions[int(ends[own.start]) : int(ends[own.stop])],
        )

    def _largest_position(self) -> int:
        """The largest position of the next index, or a number of the same width."""
        added = int(self.added.positions.max(initial=0))
        positions = self.old.all_positions
        if positions.dtype.itemsize == 1:
            return added
        if self.old.tail is None and not any(len(own.leaving) for own in self.staying):
            return max(added, int(positions.max(initial=0)))
        return max(added, self._largest_that_stays())

    def _largest_that_stays(self) -> int:
        """The largest position of an entity that stays, to the width of its type."""
        positions, starts = self.old.all_positions, self.old.position_starts
        for width in range(positions.dtype.itemsize - 1, 0, -1):
            for places in _places_from(1 << 8 * width, positions):
                for place, number in zip(places.tolist(), self.old.owners(places).tolist(), strict=True):
                    if number < 0:
                        continue
                    postings = self.old.postings(number)
                    ends = np.cumsum(postings.tf, dtype=np.int64) + int(starts[number])
                    entity = postings.ids[int(np.searchsorted(ends, place, "right"))]
                    if self.staying[number % self.n_fields].to_new(np.array([entity]))[0] >= 0:
                        return int(positions[place])
        return 0


def _places_from(least: int, positions: Array) -> Iterator[I64]:
    """The places of positions that are at least `least`, ascending, a few at a time; found as they are asked for."""
    for begin in range(0, len(positions), POSITIONS_AT_ONCE):
        found = np.flatnonzero(positions[begin : begin + POSITIONS_AT_ONCE] >= least) + begin
        yield from (found[first : first + PLACES_AT_ONCE] for first in range(0, len(found), PLACES_AT_ONCE))


def _write_terms(
    out: ArrayWriter, reader: ArrayReader, terms: TermDictionary, added: AddedPostings, lists: _Lists
) -> int:
    """Writes the terms that have a posting; returns their number."""
    new = [term for term, is_new in zip(added.terms, lists.is_new.tolist(), strict=True) if is_new]
    gone = np.concatenate([np.zeros(0, np.int64), *lists.gone])
    edit = ArrayEdit(len(terms), gone, lists.place[lists.is_new])
    if not edit:
        out.link(reader, ("terms.text", "terms.offsets", "terms.prefixes"))
        return len(terms)
    prefixes, offsets, text = terms.arrays
    stream = out.stream("terms.text", np.uint8)
    for part in edit.text_parts(text, offsets, new):
        stream.append(part)
    stream.close()
    out.write("terms.offsets", edit.offsets(offsets, [len(term) for term in new]))
    out.write("terms.prefixes", edit.apply(prefixes, prefixes_of(new)))
    return edit.new_size
