"""The values of entities in a field, by columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Value = tuple[str, str]
"""(text, language tag or "")."""


@dataclass(frozen=True, eq=False)
class EntityValues:
    """The values of some entities in a field; it iterates as (id, values).

    Equal values are analysed once, and an entity costs no object of its own.

    Args:
        values: distinct values; the columns of two states of a field may share them.
        ids: uint32[n], ascending: the entities.
        counts: int64[n]: the number of values of each, at least 1.
        codes: int64[sum(counts)]: places in `values`, entity by entity, each in the order of its values.

    >>> both = EntityValues.of([(3, [("red", ""), ("sea", "en")]), (7, [("red", "")])])
    >>> both.values, both.counts.tolist(), both.codes.tolist(), list(both)[1]
    ([('red', ''), ('sea', 'en')], [2, 1], [0, 1, 0], (7, [('red', '')]))
    """

    values: Sequence[Value]
    ids: NDArray[np.uint32]
    counts: NDArray[np.int64]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, records: Iterable[tuple[int, Sequence[Value]]]) -> EntityValues:
        """The columns of (id, values), which ascend and have at least one value each."""
        numbers: dict[Value, int] = {}
        ids, counts, codes = list[int](), list[int](), list[int]()
        for entity, values in records:
            ids.append(entity)
            counts.append(len(values))
            codes += [numbers.setdefault(value, len(numbers)) for value in values]
        columns = np.array(ids, np.uint32), np.array(counts, np.int64), np.array(codes, np.int64)
        return cls([*numbers], *columns)

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[int, list[Value]]]:
        begin, codes = 0, self.codes.tolist()
        for entity, count in zip(self.ids.tolist(), self.counts.tolist(), strict=True):
            yield entity, [self.values[code] for code in codes[begin : begin + count]]
            begin += count

    def text_bytes(self) -> int:
        """UTF-8 bytes of the texts of all entities.

        >>> EntityValues.of([(3, [("red", ""), ("né", "")]), (7, [("red", "")])]).text_bytes()
        9
        """
        sizes = [len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")) for text, _ in self.values]
        return int(np.array(sizes, np.int64)[self.codes].sum()) if sizes else 0
