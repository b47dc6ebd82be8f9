"""The numbers by which a server knows the entities of an index.

A build numbers each document by the id of its entity. A commit may change the ids of all entities, but renumbers no
document: a new or changed entity gets a new document with the next number, and the generation maps ids to numbers:

    numbers         uint32[documents], the number of each entity that has a document, by ascending id
    numbers.order   uint32[documents], places in `numbers`, by ascending number

Both are missing where the numbers are the ids. A number is never used twice within one commit, so a repeated request
does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import CorruptError, TextServerError
from hybridkg.interfaces.text_index import Ids
from hybridkg.storage.arrays import MappedArrays, Writer

NUMBERS, ORDER = "numbers", "numbers.order"

MAX_NUMBER = 2**32 - 1


class DocumentNumbers:
    """Maps entities to the numbers of their documents, and back.

    Args:
        entities: uint32[n], ascending: the entities that have a document; None for all ids below n.
        numbers: uint32[n], the number of each; None where it is the id.
        order: uint32[n], places in `numbers`, by ascending number.

    >>> moved = DocumentNumbers(None, np.array([0, 7, 1], np.uint32), np.array([0, 2, 1], np.uint32))
    >>> moved.of(np.array([1, 2])).tolist(), moved.entities_of([1, 7]).tolist()
    ([7, 1], [2, 1])
    """

    def __init__(self, entities: Ids | None = None, numbers: Ids | None = None, order: Ids | None = None):
        self._entities, self._numbers, self._order = entities, numbers, order

    @classmethod
    def read(cls, reader: MappedArrays, entities: Ids | None = None) -> DocumentNumbers:
        """The numbers in a folder.

        Raises:
            CorruptError: an array is missing, or they differ in size.
        """
        if not reader.has(NUMBERS):
            return cls(entities)
        numbers, order = reader.array(NUMBERS), reader.array(ORDER)
        if len(numbers) != len(order) or (entities is not None and len(entities) != len(numbers)):
            raise CorruptError("the numbers of the documents on the server differ in size", hint="index again")
        return cls(entities, numbers, order)

    def of(self, ids: Ids) -> Ids:
        """uint32[n]: the numbers of entities that have a document, in the order of the ids."""
        if self._numbers is None:
            return ids
        numbers: Ids = self._numbers[ids if self._entities is None else np.searchsorted(self._entities, ids)]
        return numbers

    def entities_of(self, numbers: Sequence[int] | Ids) -> Ids:
        """uint32[n]: the entities of some documents, in the order of their numbers.

        Raises:
            TextServerError: the server has a document that no entity has.
        """
        wanted = np.asarray(numbers, np.uint32)
        if self._numbers is None or self._order is None:
            return wanted
        places = np.minimum(np.searchsorted(self._numbers, wanted, sorter=self._order), max(len(self._order) - 1, 0))
        if len(wanted) and (not len(self._order) or (self._numbers[self._order[places]] != wanted).any()):
            raise TextServerError(
                "the index on the server has documents of no entity",
                hint="somebody has changed it; build it again: hybridkg index KB",
            )
        own = self._order[places]
        return own if self._entities is None else np.asarray(self._entities[own], np.uint32)


class NumberEdit:
    """The numbers after a change: entities that stay keep theirs, others leave, and new ones get the next.

    Args:
        before: the earlier numbers of `entities`.
        entities: uint32[n], ascending: the entities that had a document.
        after: int64[n], the next place of each; -1 for one whose document goes.
        entering: uint32[m], ascending: the places of the entities whose documents come.

    Raises:
        TextServerError: there are no numbers left, after billions of changes.

    >>> edit = NumberEdit(DocumentNumbers(), np.arange(3), np.array([0, -1, 2]), np.array([1, 3]))
    >>> edit.removed.tolist(), edit.added.tolist(), edit.numbers.tolist()
    ([1], [3, 4], [0, 3, 2, 4])
    """

    def __init__(self, before: DocumentNumbers, entities: Ids, after: NDArray[np.int64], entering: Ids):
        earlier, stays = before.of(entities), after >= 0
        first = int(earlier.max(initial=0)) + 1 if len(earlier) else 0
        if first + len(entering) > MAX_NUMBER:
            raise TextServerError("the documents have no numbers left", hint="build it again: hybridkg index KB")
        self.removed: Ids = np.asarray(earlier[~stays], np.uint32)
        self.added: Ids = np.arange(first, first + len(entering), dtype=np.uint32)
        self.numbers: Ids = np.zeros(int(stays.sum()) + len(entering), np.uint32)
        self.numbers[after[stays]] = earlier[stays]
        self.numbers[entering] = self.added

    def write(self, out: Writer) -> None:
        """Writes `numbers` and `numbers.order`."""
        out.write(NUMBERS, self.numbers)
        out.write(ORDER, np.argsort(self.numbers, kind="stable").astype(np.uint32))
