"""Stored vectors with a change: those of the other entities stay, and those of changed texts enter at their places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.vector_index import Encoded, StoredVectors, VectorChange

T = TypeVar("T", bound=np.generic)


def merged(stored: StoredVectors, change: VectorChange) -> Iterator[Encoded]:
    """The vectors after a change, batch by batch, ids ascending."""
    new, done = change.new, 0
    for batch in stored.read():
        after = change.old_to_new[batch.ids]
        stays = after >= 0
        ids = after[stays].astype(np.uint32)
        if not len(ids):
            continue
        end = max(done, int(np.searchsorted(new.ids, ids[-1])))
        own, at = slice(done, end), np.searchsorted(ids, new.ids[done:end])
        done = end
        yield Encoded(
            np.insert(ids, at, new.ids[own]),
            np.insert(batch.vectors[stays], at, new.vectors[own], axis=0),
            None if batch.texts is None or new.texts is None else _inserted(batch.texts[stays], at, new.texts[own]),
            None if batch.spans is None or new.spans is None else _inserted(batch.spans[stays], at, new.spans[own]),
        )
    if done < len(new.ids):
        rest = slice(done, None)
        yield Encoded(
            new.ids[rest],
            new.vectors[rest],
            None if new.texts is None else new.texts[rest],
            None if new.spans is None else new.spans[rest],
        )


def _inserted(rows: NDArray[T], at: NDArray[np.intp], new: NDArray[T]) -> NDArray[T]:
    return np.insert(rows, at, new, axis=0)
