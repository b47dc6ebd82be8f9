"""The arrays of a text index on disk: an index header, `text.json`, and a header for each segment.

Arrays belong to the index, or to a segment, whose files and header begin with its name (`1.packed`, `1.json`); a
segment is immutable once its header is written. docs/text-index.md lists the arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hybridkg.storage.arrays import Array, ArrayStream, FolderLayout, MappedArrays, Writer, smallest_unsigned

DOC_BLOCK_SHIFT = 2
DOC_BLOCK = 1 << DOC_BLOCK_SHIFT
"""Consecutive entity ids that share one block maximum of each term: a document block.

For six common words 94 % of the document blocks of 64 ids have to be scored, 17 % of those of 16 ids, 1.8 % of 8 and
0.2 % of 4, if no bound is rounded; a word of 40,000 of 500,000 entities occurs in 29,000 blocks of 8 ids and in 34,000
of 4.
"""

FIELD_SETS = 4
"""Bits for the fields of a word in a block; the bit of a field is its number modulo this. Most words are in one field
of an entity, so the lists of the other fields are not read. DOC_BLOCK more bits mark the entities that have the word:
where the words have their maxima in different entities, none reaches their sum. They prune 253 of the 267 blocks.
"""

__all__ = [
    "FIELD_SETS",
    "HEADER",
    "Array",
    "ArrayReader",
    "ArrayStream",
    "ArrayWriter",
    "header_name",
    "smallest_unsigned",
]

HEADER = "text.json"
FORMAT = "hybridkg-text"
FORMAT_VERSION = 6
"""2: language runs. 3: packed postings in segments. 4: block maxima with sets of fields. 5: 256 levels for BM25F. 6:
tails; an index of version 5 has none, and is read."""

LAYOUT = FolderLayout(FORMAT, FORMAT_VERSION, HEADER, "text index", (5,))


class ArrayWriter(Writer):
    """Writes the arrays of an index (segment "") or of one segment to an existing folder, then the header."""

    def __init__(self, folder: Path, segment: str = ""):
        super().__init__(LAYOUT, folder, segment)


class ArrayReader(MappedArrays):
    """The header and the memory-mapped arrays of an index (segment "") or of one segment.

    Raises:
        CorruptError: the header is missing, unreadable or of another version, or a file has another size.
    """

    def __init__(self, folder: Path, segment: str = "", header: Mapping[str, Any] | None = None):
        super().__init__(LAYOUT, folder, segment, header)


def header_name(segment: str) -> str:
    """The header file of a segment, or of the index.

    >>> header_name("1"), header_name("")
    ('1.json', 'text.json')
    """
    return LAYOUT.header_name(segment)
