"""A thread-safe cache of bounded size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Thread-safe cache of the least recently used kind.

    >>> recent = LruCache(1)
    >>> recent.put("a", 1), recent.put("b", 2), recent.get("a"), recent.get("b")
    (None, None, None, 2)
    """

    def __init__(self, capacity: int):
        self._capacity, self._items, self._lock = capacity, OrderedDict[K, V](), threading.Lock()

    def get(self, key: K) -> V | None:
        """The value, which becomes the most recently used one."""
        with self._lock:
            value = self._items.get(key)
            if value is not None:
                self._items.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Adds a value, and evicts the least recently used one from a full cache."""
        with self._lock:
            self._items[key] = value
            if len(self._items) > self._capacity:
                self._items.popitem(last=False)
