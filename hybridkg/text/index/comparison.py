"""Comparison of a stored text index with the texts of its entities, or with another build of the same texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hybridkg.interfaces.ranking_model import Postings
from hybridkg.interfaces.text_engine import Values
from hybridkg.interfaces.text_index import Ids
from hybridkg.text.index.build.runs import PostingRun, sort_run
from hybridkg.text.index.build.tokens import TermNumberer, TokenStream
from hybridkg.text.index.layout import Array, ArrayReader, header_name
from hybridkg.text.index.postings import SegmentPostings, TermDictionary
from hybridkg.text.index.stored_fields import stored_analyzers, stored_fields

AT_ONCE = 1 << 20
"""Elements of two arrays in memory at once."""


MAX_WHOLE_LIST = 20_000
"""Postings of a list that is unpacked whole for the positions of a few entities."""


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
    compared = 0
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
        difference = _compare_run(index, number, ids, run, list(analysis.numbers))
        if difference is not None:
            return difference, compared
        compared += len(run.ids)
    return None, compared


def _compare_run(index: StoredText, field: int, ids: Ids, run: PostingRun, terms: list[str]) -> Difference | None:
    name, at, place = index.fields[field].name, 0, 0
    for number, df, cf in zip(run.terms.tolist(), run.df.tolist(), run.cf.tolist(), strict=True):
        term, own = terms[number], slice(at, at + df)
        stored = index.terms.number(term)
        if stored < 0:
            return Difference("words", name, term, int(run.ids[at]))
        found, positions = _of_entities(index, stored * len(index.fields) + field, ids)
        expected = Postings(run.ids[own], run.tf[own])
        if (entity := _differing(expected, found)) is not None:
            return Difference("postings", name, term, entity)
        if positions is not None and not np.array_equal(positions, run.positions[place : place + cf]):
            return Difference("positions", name, term, int(run.ids[at]))
        at, place = at + df, place + cf
    return None


def _of_entities(index: StoredText, number: int, ids: Ids) -> tuple[Postings, Array | None]:
    """The postings of some entities in a list, and the positions of all their occurrences, None in a long list."""
    if index.lists.size(number) > MAX_WHOLE_LIST:
        return index.lists.restricted(number, ids), None
    whole, positions = index.lists.postings(number), index.lists.positions(number)
    own = np.isin(whole.ids, ids, assume_unique=True)
    return Postings(whole.ids[own], whole.tf[own]), positions[np.repeat(own, whole.tf.astype(np.int64))]


def _differing(expected: Postings, found: Postings) -> int | None:
    """The first entity whose postings differ; None for equal lists."""
    if np.array_equal(expected.ids, found.ids) and np.array_equal(expected.tf, found.tf):
        return None
    a, b = (dict(zip(p.ids.tolist(), p.tf.tolist(), strict=True)) for p in (expected, found))
    return next((id for id in sorted({*a, *b}) if a.get(id) != b.get(id)), -1)


def compare_builds(expected: StoredText, found: StoredText) -> Difference | None:
    """The first difference between two indexes of the same nodes, array by array; None for equal ones."""
    names = tuple(field.name for field in expected.fields)
    if names != tuple(field.name for field in found.fields):
        return Difference("fields")
    if not _equal(expected, found, "terms.offsets") or not _equal(expected, found, "terms.text"):
        return Difference("words", term=_first_term(expected.terms, found.terms))
    for row, name in enumerate(names):
        if (entity := _first_place(expected.lengths[row], found.lengths[row])) is not None:
            return Difference("lengths", name, entity=entity)
    lists = ("lists.postings", "lists.tokens", "packed", "positions", "blocks.first", "blocks.at", "blocks.widths")
    if not all(_equal(expected, found, name) for name in lists):
        return _first_list(expected, found)
    if expected.totals != found.totals:
        return Difference(f"totals in {header_name(found.segment)!r}")
    if expected.arrays != found.arrays:
        return Difference("arrays")
    return next((Difference(f"values of {name!r}") for name in found.arrays if not _equal(expected, found, name)), None)


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
        a, b = expected.lists.postings(number), found.lists.postings(number)
        if (entity := _differing(a, b)) is not None:
            return Difference("postings", field, expected.terms.term(term), entity)
        if (place := _first_place(expected.lists.positions(number), found.lists.positions(number))) is not None:
            owner = int(a.ids[int(np.searchsorted(np.cumsum(a.tf), place, side="right"))])
            return Difference("positions", field, expected.terms.term(term), owner)
    return Difference("packed postings")
