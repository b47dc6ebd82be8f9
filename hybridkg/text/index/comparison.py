"""Comparison of a stored text index with the texts of its entities, or with another build of the same texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.ranking_model import Postings
from hybridkg.interfaces.text_engine import Values
from hybridkg.interfaces.text_index import Ids
from hybridkg.text.index.build.runs import PostingRun, chunks, sort_run
from hybridkg.text.index.build.tokens import TermNumberer, TokenStream
from hybridkg.text.index.layout import Array, ArrayReader, header_name
from hybridkg.text.index.postings import SegmentPostings, TermDictionary
from hybridkg.text.index.stored_fields import stored_analyzers, stored_fields
from hybridkg.text.index.topk.block_max_check import DEPENDS_ON_COMMITS, wrong_block_maxima

AT_ONCE = 1 << 20
"""Elements of two arrays in memory at once."""


MAX_WHOLE_LIST = 50_000
"""Postings of a list that is unpacked whole for the positions of a few entities."""


PACKED = ("packed", "positions", "blocks.first", "blocks.at", "blocks.widths")
"""The arrays that may have a tail. They differ between two builds of which one has a tail, with the same lists."""

PLACES = ("lists.blocks", "lists.positions")
"""The arrays that tell where the lists are in these."""

CONTRADICTIONS = (IndexError, ValueError)
"""Errors of unpacking where arrays contradict each other."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where an index differs from its texts.

    Args:
        what: such as `postings` or `lengths`.
        field: name of the field; empty where no single one is concerned.
        term: the term; empty for none.
        entity: id of the entity; -1 for none.
    """

    what: str
    field: str = ""
    term: str = ""
    entity: int = -1


class StoredText:
    """The arrays of an embedded text index of one segment. Raises CorruptError: a file is missing or damaged."""

    def __init__(self, folder: Path):
        index = ArrayReader(folder)
        self.segment = str(index.about("segments")[0])
        self.reader = ArrayReader(folder, self.segment)
        self.fields, self.analyzers = stored_fields(index, folder), stored_analyzers(index, folder)
        self.terms = TermDictionary(self.reader)
        self.lists = SegmentPostings(self.reader, len(self.terms) * len(self.fields))
        self.lengths = self.reader.array("lengths")
        self.n_nodes = int(index.about("n_nodes"))
        self.totals = index.about("counts"), self.reader.about("counts"), self.reader.about("fields")
        self.arrays = sorted(self.reader.about("arrays"))


def compare_entities(
    index: StoredText, ids: Ids, texts: Sequence[Iterable[tuple[int, Values]]]
) -> tuple[Difference | None, int]:
    """Compares all that an index holds of some entities with their texts: lengths, postings and positions.

    A posting of an entity for a word that no text of `ids` has is found by `compare_builds` only, and so are positions
    of very common words.

    Args:
        index: the stored index.
        ids: uint32[n], ascending, distinct.
        texts: for each field, (entity, values) of the entities that have it, ascending.

    Returns:
        The first difference, or None; and the number of postings compared.
    """
    compared, is_own = 0, np.zeros(index.n_nodes, bool)
    is_own[ids] = True
    for number, (field, records) in enumerate(zip(index.fields, texts, strict=True)):
        analysis, stream = TermNumberer(index.analyzers), TokenStream()
        analysis.add(field.analyzer, iter(records), stream, index.n_nodes, float("inf"))
        tokens, entities, slots = (
            np.frombuffer(column, np.uint32) for column in (stream.tokens, stream.entities, stream.slots)
        )
        run, counts = sort_run(tokens, entities, slots)
        lengths = np.zeros(len(ids), np.int64)
        lengths[np.searchsorted(ids, entities)] = counts
        if len(wrong := np.flatnonzero(index.lengths[number, ids] != lengths)):
            return Difference("lengths", field.name, entity=int(ids[wrong[0]])), compared
        difference = _RunOfField(index, number, ids, is_own, run, list(analysis.numbers)).difference()
        if difference is not None:
            return difference, compared
        compared += len(run.ids)
    return None, compared


@dataclass(frozen=True)
class _RunOfField:
    """The postings of some entities in one field, in the index and as their texts have them.

    Args:
        index: the stored index.
        field: number of the field.
        ids: uint32[n], ascending: the entities.
        is_own: bool[nodes], whether a node is one of them.
        run: the postings of their texts.
        terms: the terms by their number in the run.
    """

    index: StoredText
    field: int
    ids: Ids
    is_own: NDArray[np.bool_]
    run: PostingRun
    terms: list[str]

    def difference(self) -> Difference | None:
        """The first difference; lists are unpacked many at a time."""
        lists, run = self.index.lists, self.run
        numbers = np.fromiter(map(self._list, run.terms.tolist()), np.int64, len(run.terms))
        if len(missing := np.flatnonzero(numbers < 0)):
            return self._place("words", int(missing[0]))
        sizes = lists.sizes(numbers)
        for first, last in chunks(sizes, AT_ONCE):
            own = np.arange(first, last)
            own = own[(sizes[first:last] > 0) & (sizes[first:last] <= MAX_WHOLE_LIST)]
            alone = np.arange(first, last)
            with suppress(*CONTRADICTIONS):
                if self._are_equal(own, numbers[own], sizes[own]):
                    alone = np.setdiff1d(alone, own, assume_unique=True)
            for i in alone.tolist():
                try:
                    difference = self._of_list(i, int(numbers[i]))
                except CONTRADICTIONS:
                    difference = self._place("postings", i)
                if difference is not None:
                    return difference
        return None

    def _list(self, number: int) -> int:
        """The number of the list of a term; -1 where the index does not have the term."""
        term = self.index.terms.number(self.terms[number])
        return -1 if term < 0 else term * len(self.index.fields) + self.field

    def _place(self, what: str, i: int, entity: int | None = None) -> Difference:
        run, name = self.run, self.index.fields[self.field].name
        first = int(run.ids[int(run.df[:i].sum(dtype=np.int64))])
        return Difference(what, name, self.terms[int(run.terms[i])], first if entity is None else entity)

    def _are_equal(self, own: NDArray[np.int64], numbers: NDArray[np.int64], sizes: NDArray[np.int64]) -> bool:
        """Whether some lists, which are not empty, have the postings and positions of the run."""
        if not len(own):
            return True
        lists, run = self.index.lists, self.run
        blocks = np.fromiter(map(lists.first_block, numbers.tolist()), np.int64, len(numbers))
        found = lists.several(blocks, sizes)
        ids, tf = np.concatenate([one.ids for one in found]), np.concatenate([one.tf for one in found])
        is_own = self.is_own[ids]
        df = np.add.reduceat(is_own, np.cumsum(sizes) - sizes, dtype=np.int64)
        expected = _ranges(np.cumsum(run.df, dtype=np.int64), run.df, own)
        places = _ranges(np.cumsum(run.cf, dtype=np.int64), run.cf, own)
        if not (
            np.array_equal(df, run.df[own])
            and np.array_equal(ids[is_own], run.ids[expected])
            and np.array_equal(tf[is_own], run.tf[expected])
        ):
            return False
        positions = np.concatenate([lists.positions(number) for number in numbers.tolist()])
        return np.array_equal(positions[np.repeat(is_own, tf.astype(np.int64))], run.positions[places])

    def _of_list(self, i: int, number: int) -> Difference | None:
        """The difference of one list; positions are not compared in a long one."""
        lists, run = self.index.lists, self.run
        at, place = (int(counts[:i].sum(dtype=np.int64)) for counts in (run.df, run.cf))
        own = slice(at, at + int(run.df[i]))
        expected = Postings(run.ids[own], run.tf[own])
        if lists.size(number) > MAX_WHOLE_LIST:
            entity = _differing(expected, lists.restricted(number, self.ids))
            return None if entity is None else self._place("postings", i, entity)
        whole = lists.postings(number)
        is_own = self.is_own[whole.ids]
        if (entity := _differing(expected, Postings(whole.ids[is_own], whole.tf[is_own]))) is not None:
            return self._place("postings", i, entity)
        positions = lists.positions(number)[np.repeat(is_own, whole.tf.astype(np.int64))]
        wrong = _first_place(run.positions[place : place + int(run.cf[i])], positions)
        return None if wrong is None else self._place("positions", i, _owner(expected, wrong))


def _ranges(ends: NDArray[np.int64], sizes: NDArray[Any], own: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of the elements of some of consecutive ranges.

    >>> _ranges(np.array([2, 3, 6]), np.array([2, 1, 3]), np.array([0, 2])).tolist()
    [0, 1, 3, 4, 5]
    """
    counts = sizes[own].astype(np.int64)
    starts = ends[own] - counts
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(starts, counts) + within


def _owner(postings: Postings, place: int) -> int:
    """The entity of the occurrence at a place among all of its list."""
    return int(postings.ids[int(np.searchsorted(np.cumsum(postings.tf), place, side="right"))])


def _differing(expected: Postings, found: Postings) -> int | None:
    """The first entity whose postings differ; None for equal lists."""
    if np.array_equal(expected.ids, found.ids) and np.array_equal(expected.tf, found.tf):
        return None
    a, b = (dict(zip(p.ids.tolist(), p.tf.tolist(), strict=True)) for p in (expected, found))
    return next((id for id in sorted({*a, *b}) if a.get(id) != b.get(id)), -1)


def compare_builds(expected: StoredText, found: StoredText) -> Difference | None:
    """The first difference between two indexes of the same nodes, array by array; None for equal ones.

    Where an index has a tail, its lists are compared instead of the arrays in which they are. Block maxima may have
    other levels, but must agree with the postings.
    """
    names = tuple(field.name for field in expected.fields)
    if names != tuple(field.name for field in found.fields):
        return Difference("fields")
    if not _equal(expected, found, "terms.offsets") or not _equal(expected, found, "terms.text"):
        return Difference("words", term=_first_term(expected.terms, found.terms))
    for row, name in enumerate(names):
        if (entity := _first_place(expected.lengths[row], found.lengths[row])) is not None:
            return Difference("lengths", name, entity=entity)
    if not _equal_lists(expected, found):
        return _first_list(expected, found)
    if expected.totals != found.totals:
        return Difference(f"totals in {header_name(found.segment)!r}")
    has_tail = expected.lists.tail is not None or found.lists.tail is not None
    compared, own = (
        [name for name in index.arrays if not (has_tail and name in (*PACKED, *PLACES))] for index in (expected, found)
    )
    if compared != own:
        return Difference("arrays")
    for name in own:
        if name not in DEPENDS_ON_COMMITS and not _equal(expected, found, name):
            return Difference(f"values of {name!r}")
    if all(_equal(expected, found, name) for name in DEPENDS_ON_COMMITS):
        return None
    wrong = wrong_block_maxima(found.reader, found.lists, found.lengths)
    return Difference(f"values of {wrong!r}") if wrong else None


def _equal_lists(expected: StoredText, found: StoredText) -> bool:
    """Whether all lists of two indexes with the same terms are equal."""
    if not all(_equal(expected, found, f"lists.{name}") for name in ("postings", "tokens")):
        return False
    one, other = expected.lists, found.lists
    if one.tail is None and other.tail is None:
        return all(_equal(expected, found, name) for name in PACKED)
    for first, last in chunks(one.sizes(np.arange(len(one.ends) - 1)), AT_ONCE):
        own = np.arange(first, last)
        try:
            sides = ((*lists.chosen(own), lists.positions_of(own)) for lists in (one, other))
            if not all(np.array_equal(a, b) for a, b in zip(*sides, strict=True)):
                return False
        except CONTRADICTIONS:
            return False
    return True


def _equal(expected: StoredText, found: StoredText, name: str) -> bool:
    return _first_place(expected.reader.array(name), found.reader.array(name)) is None


def _first_place(expected: Array, found: Array) -> int | None:
    """The first row in which two arrays differ; None for equal ones."""
    if expected.shape[1:] != found.shape[1:]:
        return 0
    for first in range(0, min(len(expected), len(found)), AT_ONCE):
        a, b = expected[first : first + AT_ONCE], found[first : first + AT_ONCE]
        n = min(len(a), len(b))
        differs = np.asarray(a[:n] != b[:n]).reshape(n, -1).any(axis=1)
        if np.any(differs):
            return first + int(np.argmax(differs))
    return None if len(expected) == len(found) else min(len(expected), len(found))


def _first_term(expected: TermDictionary, found: TermDictionary) -> str:
    n = min(len(expected), len(found))
    own = (expected.term(i) for i in range(n) if expected.term(i) != found.term(i))
    longer = expected if len(expected) > len(found) else found
    return next(own, longer.term(n) if len(longer) > n else "")


def _first_list(expected: StoredText, found: StoredText) -> Difference:
    """The first list that differs between two indexes with the same terms."""
    n_fields = len(expected.fields)
    for number in range(len(expected.terms) * n_fields):
        field, term = expected.fields[number % n_fields].name, number // n_fields
        a = expected.lists.postings(number)
        try:
            b = found.lists.postings(number)
        except CONTRADICTIONS:
            return Difference("postings", field, expected.terms.term(term))
        if (entity := _differing(a, b)) is not None:
            return Difference("postings", field, expected.terms.term(term), entity)
        if (place := _first_place(expected.lists.positions(number), found.lists.positions(number))) is not None:
            return Difference("positions", field, expected.terms.term(term), _owner(a, place))
    return Difference("packed postings")
