"""The stored fields and analyzers of a text index, and its top-k by sorting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from hybridkg.errors import CorruptError, UnknownNameError
from hybridkg.interfaces.analyzer import ANALYZERS, Analyzer
from hybridkg.interfaces.text_index import Ids, IndexedField, Scores
from hybridkg.text.id_sets import NONE
from hybridkg.text.index.layout import ArrayReader


class FieldsOfIndex:
    """The fields of an index, in the profile's order, and (entities, tokens) of each."""

    def __init__(self, fields: Sequence[IndexedField], totals: Sequence[tuple[int, int]]):
        self._fields, self._totals = tuple(fields), tuple(totals)

    @property
    def fields(self) -> tuple[str, ...]:
        """The field names, in the profile's order."""
        return tuple(field.name for field in self._fields)

    def field_totals(self, name: str) -> dict[str, float]:
        """Entities that have a field, its tokens, and its mean length in tokens over those entities."""
        entities, tokens = self._totals[self.fields.index(name)]
        return {"entities": entities, "tokens": tokens, "mean_length": tokens / entities if entities else 0.0}

    def languages_of(self, name: str) -> tuple[str, ...]:
        """The language tags of the literals of a field, lower case; empty where the index does not store them."""
        return self._fields[self.fields.index(name)].languages or ()


def stored_totals(reader: ArrayReader) -> list[tuple[int, int]]:
    """(entities, tokens) of each field in the header."""
    return [(int(f["entities"]), int(f["tokens"])) for f in reader.about("fields")]


def stored_fields(reader: ArrayReader, folder: Path) -> tuple[IndexedField, ...]:
    """The fields in the header.

    Raises:
        CorruptError: the header is damaged.
    """
    try:
        return tuple(
            IndexedField(
                f["name"], float(f["weight"]), float(f["b"]), f["analyzer"],
                tuple(map(str, f["languages"])) if "languages" in f else None,
            )
            for f in reader.about("fields")
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as e:
        raise _damaged(e, folder) from e


def stored_analyzers(reader: ArrayReader, folder: Path) -> dict[str, Analyzer]:
    """The analyzers that the index was built with.

    Raises:
        CorruptError: the header is damaged, or an analyzer has changed since.
    """
    try:
        chains = dict(reader.about("analyzers"))
    except (TypeError, ValueError) as e:
        raise _damaged(e, folder) from e
    analyzers: dict[str, Analyzer] = {name: ANALYZERS.get(name)() for name in sorted(chains)}
    for name, chain in chains.items():
        if analyzers[name].chain != chain:
            raise CorruptError(
                f"the text index was analysed by {chain!r}; this hybridkg's {name!r} is {analyzers[name].chain!r}",
                hint="index again",
                place=str(folder),
            )
    return analyzers


def named_analyzer(analyzers: Mapping[str, Analyzer], name: str) -> Analyzer:
    """An analyzer of an index.

    Raises:
        UnknownNameError: the index has none of that name.
    """
    if name not in analyzers:
        raise UnknownNameError(f"no field of the index has the analyzer {name!r}; known: {', '.join(analyzers)}")
    return analyzers[name]


def _damaged(error: Exception, folder: Path) -> CorruptError:
    return CorruptError(f"the header of the text index is damaged: {error}", place=str(folder))


def best(ids: Ids, scores: Scores, k: int, rank: Callable[[Ids], Ids] | None) -> tuple[Ids, Scores]:
    """The k best: by score descending, then by rank.

    Args:
        ids: uint32[n], distinct.
        scores: float64[n].
        k: maximum number of results.
        rank: order of the nodes; the ids themselves by default.

    >>> best(np.array([3, 5, 9], np.uint32), np.array([1.0, 2.0, 1.0]), 2, None)[0]
    array([5, 3], dtype=uint32)
    """
    if k <= 0:
        return NONE, np.zeros(0)
    if k < len(ids):
        # All ties with the k-th best score, to be decided by rank.
        best_or_tied = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        ids, scores = ids[best_or_tied], scores[best_or_tied]
    ranks = ids if rank is None else rank(ids)
    order = np.lexsort((ranks, -scores))[:k]
    return ids[order], scores[order]
