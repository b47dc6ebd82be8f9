"""NodeTable: IRIs and blank nodes to dense uint32 ids and back, memory-mapped.

Three files in one folder, little-endian:
    nodes.text      the nodes in UTF-8, concatenated: first the blank nodes (`_:label`), then the IRIs,
                    each group in code point order (which is byte order), so an id is also the rank in SPARQL order
    nodes.offsets   header, then uint64[n + 1] offsets into nodes.text
    nodes.hashes    uint64[n] BLAKE2b hashes in ascending order, then uint32[n] the ids they belong to;
                    the hash is cryptographic, so nobody can construct IRIs that collide
"""

from __future__ import annotations

import errno
import mmap
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from operator import itemgetter
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import CorruptError
from hybridkg.rdf.gather import gathered
from hybridkg.rdf.terms import BlankNode, NamedNode, Node
from hybridkg.storage.array_edit import ArrayEdit, edit_of_sorted
from hybridkg.storage.durable import storage_error
from hybridkg.storage.mapped_files import map_file

Ids = NDArray[np.uint32]

_FIRST_CHARACTER = itemgetter(0)

HEADER = Struct("<8sQQ")
"""Magic, number of nodes, length of nodes.text in bytes."""
MAGIC = b"HKGNODE1"

FILES = ("nodes.text", "nodes.offsets", "nodes.hashes")

MAX_NODES = 2**32 - 1
"""Ids are uint32, and the largest is reserved."""

NODES_AT_ONCE = 1_000_000
"""Nodes of which `ending_in` compares an end at once: 32 MB."""

MAX_REMEMBERED = 100_000
"""Nodes of a look-up that is remembered, about 150 bytes each."""

REBUILD = "build the index again: hybridkg index KB"


class NodeTable:
    """Read-only view of a node table; safe to use from many threads."""

    def __init__(self, text: bytes | mmap.mmap, offsets: memoryview, hashes: memoryview, hash_ids: memoryview):
        self._text, self._offsets, self._hashes, self._hash_ids = text, offsets, hashes, hash_ids
        self._last: tuple[list[Node], NDArray[np.int64]] = [], np.zeros(0, np.int64)

    @staticmethod
    def write(folder: Path, nodes: Iterable[Node]) -> int:
        """Writes the table of nodes, in any order, repeats allowed; returns the number of distinct nodes.

        Args:
            folder: gets nodes.text, nodes.offsets and nodes.hashes.
            nodes: IRIs and blank nodes; all are held in memory, about 150 bytes each.

        Raises:
            OSError: the disk is full or fails.
        """
        blank: set[bytes] = set()
        iris: set[bytes] = set()
        for node in nodes:
            if type(node) is NamedNode:
                iris.add(node.value.encode())
            else:
                blank.add(b"_:" + node.value.encode())
        keys = sorted(blank)
        keys += sorted(iris)
        if len(keys) > MAX_NODES:
            raise ValueError(f"{len(keys)} nodes; a knowledge base holds at most {MAX_NODES}")
        hashes = np.frombuffer(b"".join(map(_hash_bytes, keys)), "<u8")
        order = np.argsort(hashes, kind="stable")
        _write(folder, keys, np.fromiter(map(len, keys), np.int64, len(keys)), hashes[order], order)
        return len(keys)

    def write_changed(self, folder: Path, removed: NDArray[np.int64], added: Sequence[Node]) -> NDArray[np.int64]:
        """Writes the table without some nodes and with others, in the same bytes as `write`.

        Args:
            folder: gets the files.
            removed: int64[r], ids, ascending.
            added: nodes that are not in the table, or are removed.

        Returns:
            int64[len(self)]: the new id of each node, -1 for a removed one. About 20 ms for a million nodes.
        """
        keys = sorted(map(_key, added), key=lambda key: (not key.startswith(b"_:"), key))
        places = np.array([self._place(key) for key in keys], np.int64)
        edit = ArrayEdit(len(self), removed, places)
        text, offsets = self.texts()
        lengths = edit.apply(np.diff(offsets.astype(np.int64)), np.array([len(key) for key in keys], np.int64))
        ids = edit.places()
        hashes, hash_ids = np.frombuffer(self._hashes, "<u8"), ids[np.frombuffer(self._hash_ids, "<u4")]
        own = np.frombuffer(b"".join(map(_hash_bytes, keys)), "<u8")
        stays, new_ids = hash_ids >= 0, edit.new_places()
        hashes, hash_ids = hashes[stays], hash_ids[stays]
        order = np.lexsort((new_ids, own))
        hash_edit = edit_of_sorted(hashes, own[:0], own[order])
        hashes, hash_ids = hash_edit.apply(hashes, own[order]), hash_edit.apply(hash_ids, new_ids[order])
        if len(own) and (hashes[1:] == hashes[:-1]).any():  # ids decide between equal hashes
            order = np.lexsort((hash_ids, hashes))
            hashes, hash_ids = hashes[order], hash_ids[order]
        _write(folder, edit.text_parts(text, offsets, keys), lengths, hashes, hash_ids)
        return ids

    def _place(self, key: bytes) -> int:
        """The id before which a node belongs: blank nodes come first."""
        low, high, is_iri = 0, len(self), not key.startswith(b"_:")
        while low < high:
            middle = (low + high) >> 1
            own = bytes(self._text[self._offsets[middle] : self._offsets[middle + 1]])
            if (not own.startswith(b"_:"), own) < (is_iri, key):
                low = middle + 1
            else:
                high = middle
        return low

    @classmethod
    def open(cls, folder: Path) -> NodeTable:
        """Opens the table of a folder; reads only the header.

        Raises:
            CorruptError: a file is missing, truncated, or no node table.
        """
        offsets = _mapped(folder / "nodes.offsets")
        if len(offsets) < HEADER.size:
            raise _damaged(folder / "nodes.offsets")
        magic, n, length = HEADER.unpack_from(offsets)
        if magic != MAGIC or n > MAX_NODES or len(offsets) != HEADER.size + 8 * (n + 1):
            raise _damaged(folder / "nodes.offsets")
        hashes = _mapped(folder / "nodes.hashes")
        if len(hashes) != 12 * n:
            raise _damaged(folder / "nodes.hashes")
        text = _mapped(folder / "nodes.text")
        if len(text) != length:
            raise _damaged(folder / "nodes.text")
        hash_view = memoryview(hashes)
        return cls(
            text,
            memoryview(offsets)[HEADER.size :].cast("Q"),
            hash_view[: 8 * n].cast("Q"),
            hash_view[8 * n :].cast("I"),
        )

    def __len__(self) -> int:
        """Number of nodes; ids are 0..len-1."""
        return len(self._hashes)

    def node(self, id: int) -> Node:
        """The node of an id; raises IndexError unless the id is below the number of nodes."""
        if not 0 <= id < len(self):
            raise IndexError(f"no node {id}; the table has {len(self)}")
        return _node(self._text[self._offsets[id] : self._offsets[id + 1]].decode())

    def strings(self, ids: Sequence[int]) -> list[str]:
        """IRI, or `_:` and the label of a blank node, of ids below the number of nodes."""
        text, offsets = self._text, self._offsets
        return [text[offsets[i] : offsets[i + 1]].decode() for i in ids]

    def nodes(self, ids: Ids) -> list[Node]:
        """Nodes of the ids, in their order, repeats allowed; about 0.6 us each."""
        return self.listed(ids.tolist())

    def listed(self, ids: Sequence[int]) -> list[Node]:
        """Nodes of ids in a list, as `nodes` has them."""
        texts = self.strings(ids)
        if "_" not in map(_FIRST_CHARACTER, texts):  # an IRI begins with a letter
            return [*map(NamedNode, texts)]
        return [_node(text) for text in texts]

    def find(self, node: Node) -> int | None:
        """Id of a node, or None; about 2 us."""
        key = _key(node)
        value = int.from_bytes(_hash_bytes(key), "little")
        hashes = self._hashes
        i, n = bisect_left(hashes, value), len(hashes)
        while i < n and hashes[i] == value:
            if self._is(self._hash_ids[i], key):
                return self._hash_ids[i]
            i += 1
        return None

    def find_many(self, nodes: Sequence[Node]) -> NDArray[np.int64]:
        """int64[len(nodes)]: the id of each node, -1 for none. A commit looks the same nodes up several times, so those
        of the last call are remembered.
        """
        last, last_ids = self._last
        if len(nodes) == len(last) and last == nodes:
            return last_ids.copy()
        keys = [_key(node) for node in nodes]
        result = np.full(len(keys), -1, np.int64)
        if not keys or not len(self):
            return result
        sought = np.frombuffer(b"".join(map(_hash_bytes, keys)), "<u8")
        hashes, of_hashes = np.frombuffer(self._hashes, "<u8"), np.frombuffer(self._hash_ids, "<u4")
        places = np.minimum(np.searchsorted(hashes, sought), len(hashes) - 1)
        hits = np.flatnonzero(hashes[places] == sought)
        ids = of_hashes[places[hits]]
        result[hits] = ids
        if not self._are(ids, [keys[i] for i in hits.tolist()]):  # two nodes with the same 64-bit hash
            for i in hits.tolist():
                result[i] = -1 if (other := self.find(nodes[i])) is None else other
        if len(nodes) <= MAX_REMEMBERED:
            self._last = list(nodes), result.copy()
        return result

    def ending_in(self, name: str, most: int) -> list[Node]:
        """The IRIs that are a namespace, up to a `/` or `#`, and this name, in order; at most so many.

        Reads the end of every node: 9 ms for 500,000 nodes.
        """
        text, offsets = self.texts()
        key, found = np.frombuffer(name.encode(), np.uint8), list[Node]()
        for start in range(0, len(self), NODES_AT_ONCE):
            bounds = offsets[start : start + NODES_AT_ONCE + 1].astype(np.int64)
            ids = np.flatnonzero(np.diff(bounds) > len(key) + 1)
            for back, byte in enumerate(key[::-1].tolist(), 1):
                ids = ids[text[bounds[ids + 1] - back] == byte]
            before = text[bounds[ids + 1] - len(key) - 1]
            ids = ids[(before == ord("/")) | (before == ord("#"))]
            found += self.nodes((ids[: most - len(found)] + start).astype(np.uint32))
            if len(found) >= most:
                break
        return found

    def texts(self) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
        """All nodes as bytes, concatenated in the order of their ids, and uint64[n + 1] offsets; mapped."""
        return np.frombuffer(self._text, np.uint8), np.frombuffer(self._offsets, "<u8")

    def gathered(self, ids: Ids) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
        """(bytes, offsets, bool[n]: which are blank nodes) of the nodes of some ids, as rdf.gathered has it; labels
        without `_:`.
        """
        text, offsets = self.texts()
        starts, ends = offsets[ids], offsets[ids + np.uint32(1)]
        first = np.minimum(starts, max(len(text) - 2, 0)).astype(np.int64)
        is_blank = np.asarray((text[first] == ord("_")) & (text[first + 1] == ord(":"))) if len(ids) else ids == 0
        return *gathered(text, starts + 2 * is_blank.astype(np.uint64), ends), is_blank

    def rank(self, ids: Ids) -> NDArray[np.uint32]:
        """uint32[len(ids)]: the rank of each node in SPARQL order; compare nodes by this, never by id."""
        return ids

    def _are(self, ids: Ids, keys: Sequence[bytes]) -> bool:
        """Whether the texts of some nodes are these."""
        text, offsets = self.texts()
        starts, ends = offsets[ids], offsets[ids + np.uint32(1)]
        sizes = np.fromiter(map(len, keys), np.uint64, len(keys))
        fits = (ends - starts == sizes) & (ends <= len(text))
        return bool(fits.all()) and gathered(text, starts, ends)[0].tobytes() == b"".join(keys)

    def _is(self, id: int, key: bytes) -> bool:
        return self._text[self._offsets[id] : self._offsets[id + 1]] == key


def _write(
    folder: Path, texts: Iterable[Any], lengths: NDArray[np.int64], hashes: NDArray[Any], ids: NDArray[Any]
) -> None:
    """Writes the files: the texts of the nodes in parts, their lengths, and the ids by ascending hashes."""
    offsets = np.zeros(len(lengths) + 1, "<u8")
    np.cumsum(lengths, out=offsets[1:])
    with (folder / "nodes.text").open("wb") as file:
        file.writelines(texts)
    with (folder / "nodes.offsets").open("wb") as file:
        file.write(HEADER.pack(MAGIC, len(lengths), int(offsets[-1])))
        file.write(offsets.tobytes())
    with (folder / "nodes.hashes").open("wb") as file:
        file.write(hashes.tobytes())
        file.write(ids.astype("<u4").tobytes())


def _key(node: Node) -> bytes:
    return node.value.encode() if type(node) is NamedNode else b"_:" + node.value.encode()


def _node(text: str) -> Node:
    """No IRI starts with `_:`, because a scheme starts with a letter (RFC 3986, section 3.1)."""
    return BlankNode(text[2:]) if text.startswith("_:") else NamedNode(text)


def _hash_bytes(key: bytes) -> bytes:
    return blake2b(key, digest_size=8).digest()


def _mapped(path: Path) -> bytes | mmap.mmap:
    """Content of a file, memory-mapped; an empty file cannot be mapped."""
    try:
        return map_file(path)
    except OSError as e:
        if e.errno in (errno.EMFILE, errno.ENFILE):
            raise storage_error(e, f"opening {str(path)!r}") from e
        raise CorruptError(f"cannot read {str(path)!r}: {e.strerror}", hint=REBUILD) from e


def _damaged(path: Path) -> CorruptError:
    return CorruptError(f"{str(path)!r} is damaged or no node table", hint=REBUILD)
