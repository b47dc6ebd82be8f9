"""A thread-safe cache of bounded size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

OFFERED = 8
"""Keys met once that are remembered, in multiples of the capacity."""


class ClockCache(Generic[K, V]):
    """Thread-safe cache that evicts one of the values that have not been used for longest.

    A query asks about seven such caches. A request marks its value, in place of a lock and a change of the order: a
    marked one that has its turn to go loses the mark, and stays for another round. Source: Corbato, "A Paging
    Experiment with the Multics System" (1968), known as the second chance, or clock, algorithm.

    >>> recent = ClockCache(1)
    >>> recent.put("a", 1), recent.put("b", 2), recent.get("a"), recent.get("b")
    (None, None, None, 2)
    """

    def __init__(self, capacity: int):
        self._capacity, self._lock = capacity, threading.Lock()
        self._offered: set[int] = set()
        """Hashes of keys that `put_repeated` has met once."""
        # [value, whether it has been used since it had its turn to go]: a list takes a third of the time of an object.
        self._items: OrderedDict[K, list[Any]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value, which stays for another round."""
        entry = self._items.get(key)
        if entry is None:
            return None
        entry[1] = True
        value: V = entry[0]
        return value

    def put(self, key: K, value: V) -> None:
        """Adds a value, after an eviction where the cache is full."""
        with self._lock:
            items = self._items
            while key not in items and len(items) >= self._capacity:
                oldest, entry = items.popitem(last=False)
                if entry[1]:
                    entry[1] = False
                    items[oldest] = entry
            items[key] = [value, False]

    def put_repeated(self, key: K, value: V) -> bool:
        """Adds a value whose key is offered for the second time; the first time only its hash is kept. Returns whether
        the value has been added.

        Texts that never repeat would evict those that do, and what a cache keeps of them costs 3 to 5 % of a question:
        new memory, and work of the garbage collector. Source: the doorkeeper of Einziger et al., "TinyLFU" (2017).

        >>> repeated = ClockCache(1)
        >>> repeated.put_repeated("a", 1), repeated.get("a"), repeated.put_repeated("a", 2), repeated.get("a")
        (False, None, True, 2)
        """
        number = hash(key)
        if number not in self._offered:
            if len(self._offered) >= OFFERED * self._capacity:
                self._offered.clear()
            self._offered.add(number)
            return False
        self.put(key, value)
        return True
