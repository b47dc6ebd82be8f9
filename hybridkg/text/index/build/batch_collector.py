"""The collection of the texts of one field into batches."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import islice

import numpy as np

from hybridkg.text.index.build.analysis_batch import payload_of
from hybridkg.text.index.build.runs import U32
from hybridkg.text.index.build.tokens import Values

BATCH_BYTES = 16_000_000
"""Characters of a batch, and VALUE_BYTES more for each value: one to three seconds of work."""

VALUE_BYTES = 32
"""The constant cost of a value, in characters."""


class PendingTexts:
    """Texts of a field that are not yet in a batch, with the field's analyzer and its chain."""

    def __init__(self, analyzer: str, chain: str):
        self._analyzer, self._chain = analyzer, chain
        self.entities = array("I")
        self._clear()

    def _clear(self) -> None:
        self.entities = array("I")
        self._texts: list[str] = []
        self._languages: list[str] = []
        self._counts: list[int] = []
        self.size = 0

    def add(self, records: Iterator[tuple[int, Values]], n_nodes: int, batch_size: int) -> bool:
        """Consumes records until they fill a batch (true) or end (false).

        Raises:
            ValueError: an entity is not below `n_nodes`.
        """
        texts, languages, counts, entities = self._texts, self._languages, self._counts, self.entities
        size = self.size
        for entity, values in records:
            if not 0 <= entity < n_nodes:
                raise ValueError(f"entity {entity} is not below {n_nodes}")
            entities.append(entity)
            counts.append(len(values))
            for text, language in values:
                texts.append(text)
                languages.append(language)
                size += len(text) + VALUE_BYTES
            if size >= batch_size:
                self.size = size
                return True
        self.size = size
        return False

    def renumber(self, final: U32) -> None:
        """Replaces provisional entity numbers by final ids."""
        self.entities = array("I", final[np.frombuffer(self.entities, np.uint32)].tobytes())

    def records(self) -> Iterator[tuple[int, Values]]:
        """Empties the collection and returns its records."""
        entities, counts = self.entities, self._counts
        values = zip(self._texts, self._languages, strict=True)
        self._clear()
        for entity, count in zip(entities, counts, strict=True):
            yield entity, list(islice(values, count))

    def taken(self) -> tuple[bytes, U32]:
        """Empties the collection and returns it as a batch, with the entities of its records."""
        payload = payload_of(self._analyzer, self._chain, self._texts, self._languages, self._counts)
        entities = np.frombuffer(self.entities, np.uint32)
        self._clear()
        return payload, entities
