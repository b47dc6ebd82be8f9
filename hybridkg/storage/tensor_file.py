"""Files of named tensors in the safetensors format: weights of models and checkpoints of a training.

The format is 8 bytes with the length of a JSON header, the header, and the numbers of all tensors without a gap
(https://github.com/huggingface/safetensors). The header is checked against the size of the file before memory is taken
for a tensor, so a hostile file is an error and no allocation. A file has no time in it: the same tensors are the same
bytes.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import ConfigError
from hybridkg.storage.whole_file import whole_binary_file

MAX_HEADER_BYTES = 1 << 20
"""Maximum bytes of a header; that of MiniLM has 10,000."""

MAX_AXES = 8
"""Maximum number of axes of a tensor."""

BITS = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64"), 64),
}
"""Types of the format, and their bits."""

READ: Mapping[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "I64": np.dtype("<i8")}
"""Types that are read and written here; a model of another type is loaded by its own library."""

NAMES = {dtype: name for name, dtype in READ.items()}


@dataclass(frozen=True)
class TensorEntry:
    """One tensor of a header: its type, its shape, and where it begins in the file, in bytes."""

    dtype: str
    shape: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class TensorFile:
    """A file with a checked header.

    Args:
        path: of the file.
        entries: by name.
        metadata: the texts under `__metadata__`.
    """

    path: Path
    entries: Mapping[str, TensorEntry]
    metadata: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, *, max_bytes: int) -> TensorFile:
        """Reads and checks the header.

        Args:
            path: of the file.
            max_bytes: of the whole file.

        Raises:
            ConfigError: the file cannot be read, is too large, or its header does not describe it.
        """
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size > max_bytes:
                    raise _broken(path, f"{size:,} bytes; at most {max_bytes:,} are read")
                length = int.from_bytes(file.read(8), "little")
                if size < 8 or length > min(MAX_HEADER_BYTES, size - 8):
                    raise _broken(path, "the length of its header does not fit the file")
                header = file.read(length)
        except OSError as e:
            raise ConfigError(f"cannot read {str(path)!r}: {e.strerror}") from e
        try:
            content = json.loads(header, object_pairs_hook=_unique_names)
        except (ValueError, RecursionError) as e:
            raise _broken(path, f"its header is not JSON: {e}") from e
        if not isinstance(content, dict):
            raise _broken(path, "its header is not a table of tensors")
        metadata = content.pop("__metadata__", {})
        if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
            raise _broken(path, "its metadata values are not all strings")
        begin = 8 + length
        entries = {name: _entry(path, name, value, begin) for name, value in content.items()}
        at = begin
        for name, entry in sorted(entries.items(), key=lambda item: (item[1].offset, _bytes(item[1]))):
            if entry.offset != at:
                raise _broken(path, f"the tensor {name!r} does not begin where the one before it ends")
            at += _bytes(entry)
        if at != size:
            raise _broken(path, f"its tensors end at byte {at:,}, the file at {size:,}")
        return cls(path, entries, metadata)

    def expect(self, shapes: Mapping[str, tuple[int, ...]], dtype: str = "F32") -> None:
        """Checks names, shapes and type of all tensors; ConfigError if they are others."""
        if missing := sorted(shapes.keys() - self.entries.keys()):
            raise _broken(self.path, f"it has no tensor {missing[0]!r}")
        if other := sorted(self.entries.keys() - shapes.keys()):
            raise _broken(self.path, f"it has a tensor {other[0]!r} that its settings do not imply")
        for name, shape in shapes.items():
            entry = self.entries[name]
            if (entry.dtype, entry.shape) != (dtype, tuple(shape)):
                raise _broken(
                    self.path, f"the tensor {name!r} is {entry.dtype}{list(entry.shape)}, not {dtype}{list(shape)}"
                )

    def read(self, name: str) -> NDArray[Any]:
        """The numbers of a tensor.

        Returns:
            float32 or int64 of its shape, all finite.

        Raises:
            ConfigError: there is no such tensor, it has another type, or numbers that are not finite.
        """
        entry = self.entries.get(name)
        if entry is None:
            raise _broken(self.path, f"it has no tensor {name!r}")
        if entry.dtype not in READ:
            raise _broken(self.path, f"the tensor {name!r} has the type {entry.dtype}; known: {', '.join(READ)}")
        count = math.prod(entry.shape)
        try:
            values: NDArray[Any] = np.fromfile(self.path, READ[entry.dtype], count, offset=entry.offset)
        except OSError as e:
            raise ConfigError(f"cannot read {str(self.path)!r}: {e.strerror}") from e
        if len(values) != count:
            raise _broken(self.path, f"the tensor {name!r} is cut off")
        if entry.dtype == "F32" and not np.isfinite(values).all():
            raise _broken(self.path, f"the tensor {name!r} has numbers that are not finite")
        return values.reshape(entry.shape)


def write_tensors(path: Path, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None) -> None:
    """Writes a file as a whole or not at all.

    Args:
        path: of the file.
        tensors: float32 or int64 of any shape.
        metadata: texts that describe them.

    Raises:
        StorageError: the file cannot be written.
        ValueError: a tensor has another type.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> write_tensors(path, {"w": np.array([[1.0, 2.0]], np.float32)}, {"learner": "gcn"})
    >>> file = TensorFile.open(path, max_bytes=1 << 20)
    >>> file.read("w").tolist(), file.metadata["learner"]
    ([[1.0, 2.0]], 'gcn')
    """
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    arrays = []
    at = 0
    for name, value in sorted(tensors.items()):
        array = np.ascontiguousarray(value).reshape(value.shape)  # the first makes one axis of none
        dtype = NAMES.get(array.dtype.newbyteorder("<"))
        if dtype is None:
            raise ValueError(f"the tensor {name!r} has the type {array.dtype}, not float32 or int64")
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
        arrays.append(array.astype(READ[dtype], copy=False))
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with whole_binary_file(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays:
            file.write(array.tobytes())


def _entry(path: Path, name: str, value: Any, begin: int) -> TensorEntry:
    match value:
        case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [int(first), int(last)], **more} if not more:
            if dtype not in BITS:
                raise _broken(path, f"the tensor {name!r} has an unknown type {dtype[:40]!r}")
            if len(shape) > MAX_AXES or not all(type(size) is int and 0 <= size < 1 << 48 for size in shape):
                raise _broken(path, f"the tensor {name!r} has no shape")
            entry = TensorEntry(dtype, tuple(shape), begin + first)
            if first < 0 or last - first != _bytes(entry):
                raise _broken(path, f"the tensor {name!r} has another size than its shape")
            return entry
    raise _broken(path, f"the tensor {name!r} is not described by type, shape and place")


def _bytes(entry: TensorEntry) -> int:
    return math.prod(entry.shape) * BITS[entry.dtype] // 8


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a name appears twice")
    return table


def _broken(path: Path, problem: str) -> ConfigError:
    return ConfigError(f"not a usable safetensors file: {problem}", place=str(path))
