"""Tensors in files of torch, read without torch: one of integers, or a dictionary of tensors of float32.

Since torch 1.6 such a file is an uncompressed zip archive: `NAME/data.pkl` has the storage, offset, shape and strides
of the tensor, `NAME/data/0` is the storage. Before, it was five pickles (a magic number, the version, the machine, the
tensor, the keys of the storages) and then the storages, each after its length.

Source: pytorch, `torch/serialization.py`, `torch/_utils.py`.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from hybridkg.datasets.stark.pickles import Names, PickledName, PickleReader
from hybridkg.errors import LoadError

Whole = npt.NDArray[np.integer[Any]]

MAX_TENSOR = 1 << 33
"""Bytes; the edges of MAG take 0.6 billion."""

MAX_DESCRIPTION_LENGTH = 1 << 20
"""Bytes of data.pkl, which has some 150."""

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C

STORAGES = {
    "torch.LongStorage": "i8",
    "torch.IntStorage": "i4",
    "torch.ShortStorage": "i2",
    "torch.CharStorage": "i1",
    "torch.ByteStorage": "u1",
}

FLOATS = {"torch.FloatStorage": "f4"}
"""Storages of a dictionary of tensors; all others are refused."""

MAX_DICTIONARY_LENGTH = 1 << 30
"""Bytes of data.pkl of a dictionary; a tensor takes some 150."""

MAX_ENTRY = 1 << 28
"""Bytes of one storage of a dictionary."""


@dataclass(frozen=True)
class _Storage:
    """A storage: its key, type, and number of elements."""

    key: str
    code: str
    numbers: int


@dataclass(frozen=True)
class _Tensor:
    """The layout of a tensor in a storage, in elements."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def of(self, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A read-only view of the tensor in its storage."""
        last = self.offset + sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
        size = math.prod(self.shape)
        if size > len(numbers) or (size and last >= len(numbers)):
            raise ValueError("a tensor that is larger than its storage")
        steps = tuple(step * numbers.itemsize for step in self.strides)
        return np.lib.stride_tricks.as_strided(numbers[self.offset :], self.shape, steps, writeable=False)


def read_tensor(path: Path) -> Whole:
    """An integer tensor of one or two dimensions. Raises LoadError: the file cannot be read, or is another object."""
    with _refusing(path, "a tensor of torch"):
        with path.open("rb") as file:
            start = file.read(4)
        return _zipped(path) if start == b"PK\3\4" else _legacy(path)


def read_vectors(path: Path) -> Iterator[tuple[object, npt.NDArray[np.float32]]]:
    """Key and row of each tensor in a dictionary of tensors float32[1, d] or float32[d], in the order of the file.

    One storage is in memory at a time, apart from the description of all tensors.

    Raises:
        LoadError: the file cannot be read, is of a torch before 1.6, or has anything else.
    """
    with _refusing(path, "a dictionary of tensors of torch"), zipfile.ZipFile(path) as archive:
        folder, order = _folder(archive), _byte_order(archive)
        described = _member(archive, f"{folder}data.pkl", MAX_DICTIONARY_LENGTH)
        last, numbers = "", np.zeros(0, np.float32)
        for key, tensor in _reader(described, str(path), storages=FLOATS).items():
            found = _tensor(tensor)
            if len(found.shape) == 2 and found.shape[0] != 1:
                raise ValueError(f"a tensor of {found.shape[0]:,} rows in place of one")
            if found.storage.key != last:
                last = found.storage.key
                data = _member(archive, f"{folder}data/{last}", MAX_ENTRY)
                numbers = _numbers(data, found.storage, order)
            yield key, found.of(numbers).reshape(-1)


@contextmanager
def _refusing(path: Path, what: str) -> Iterator[None]:
    """Errors of a file as LoadError."""
    try:
        yield
    except OSError as e:
        raise LoadError(f"cannot read {path.name!r}: {(e.strerror or str(e)).lower()}", place=str(path)) from e
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as e:
        raise LoadError(f"{path.name!r} is not {what}: {e}", place=str(path)) from e
    except ValueError as e:
        raise LoadError(f"{path.name!r}: {e}", place=str(path)) from e


def _folder(archive: zipfile.ZipFile) -> str:
    described = [name for name in archive.namelist() if name.endswith("/data.pkl") and name.count("/") == 1]
    if len(described) != 1:
        raise ValueError("no tensor of torch: the archive has no data.pkl")
    return described[0].removesuffix("data.pkl")


def _byte_order(archive: zipfile.ZipFile) -> str:
    name = f"{_folder(archive)}byteorder"
    return ">" if name in archive.NameToInfo and _member(archive, name, 10) == b"big" else "<"


def _zipped(path: Path) -> Whole:
    with zipfile.ZipFile(path) as archive:
        folder, order = _folder(archive), _byte_order(archive)
        tensor = _described(_member(archive, f"{folder}data.pkl", MAX_DESCRIPTION_LENGTH), str(path))
        data = _member(archive, f"{folder}data/{tensor.storage.key}", MAX_TENSOR)
    return tensor.of(_numbers(data, tensor.storage, order))


def _member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """A file of the archive, which must be uncompressed, so that it cannot be larger than the archive."""
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise ValueError(f"no tensor of torch: the archive has no {name[:60]!r}") from None
    if info.compress_type != zipfile.ZIP_STORED or info.file_size > limit:
        raise ValueError(f"{name[:60]!r} is packed, or larger than {limit:,} bytes")
    return archive.read(info)


def _legacy(path: Path) -> Whole:
    if path.stat().st_size > MAX_TENSOR:
        raise ValueError(f"larger than {MAX_TENSOR:,} bytes")
    data, place = path.read_bytes(), str(path)
    first = PickleReader(data, place)
    if first.value() != LEGACY_MAGIC:
        raise ValueError("no tensor of torch: it does not begin with its magic number")
    version = PickleReader(data, place, start=first.end)
    version.value()
    machine = PickleReader(data, place, start=version.end)
    about = machine.value()
    order = "<" if type(about) is not dict or about.get("little_endian", True) else ">"
    reader = _reader(data, place, machine.end)
    tensor = _tensor(reader.value())
    keys = PickleReader(data, place, start=reader.end)
    if keys.value() != [tensor.storage.key]:
        raise ValueError("more than one storage")
    (count,) = np.frombuffer(data[keys.end : keys.end + 8], f"{order}i8")
    if count != tensor.storage.numbers:
        raise ValueError("a storage of another length")
    size = tensor.storage.numbers * int(tensor.storage.code[1:])
    return tensor.of(_numbers(data[keys.end + 8 : keys.end + 8 + size], tensor.storage, order))


def _numbers(data: bytes, storage: _Storage, order: str) -> Any:
    if len(data) != storage.numbers * int(storage.code[1:]):
        raise ValueError(f"a storage of {len(data):,} bytes in place of {storage.numbers:,} numbers")
    return np.frombuffer(data, order + storage.code)


def _described(data: bytes, place: str) -> _Tensor:
    return _tensor(_reader(data, place).value())


def _tensor(found: object) -> _Tensor:
    if not isinstance(found, _Tensor):
        _wrong("not a tensor")
    return found


def _reader(data: bytes, place: str, start: int = 0, storages: Mapping[str, str] = STORAGES) -> PickleReader:
    names: Names = {
        **{name: PickledName(name) for name in storages},
        **{name: PickledName(name, make) for name, make in _CALLED.items()},
    }
    return PickleReader(data, place, names, lambda identifier: _storage(identifier, storages), start)


def _storage(identifier: object, storages: Mapping[str, str]) -> _Storage:
    """The storage of a persistent id: ("storage", its class, key, device, length), before 1.6 also a view of it."""
    if type(identifier) is not tuple or len(identifier) not in (5, 6) or identifier[0] != "storage":
        _wrong("a persistent id is not a storage")
    _, kind, key, _, numbers, *view = identifier
    if not isinstance(kind, PickledName) or kind.name not in storages or view not in ([], [None]):
        _wrong("a storage of an unsupported type")
    if type(key) is not str or not (key.isascii() and key.isdigit()) or len(key) > 30:
        _wrong("the key of a storage is not a number")
    if not _is_size(numbers):
        _wrong("the length of a storage is invalid")
    return _Storage(key, storages[kind.name], numbers)


def _rebuild(arguments: tuple[Any, ...]) -> _Tensor:
    """torch._utils._rebuild_tensor_v2(storage, offset, shape, strides, requires_grad, hooks, metadata)."""
    if len(arguments) not in (6, 7) or not isinstance(arguments[0], _Storage):
        _wrong("a tensor without its storage")
    storage, offset, shape, strides = arguments[:4]
    if type(shape) is not tuple or type(strides) is not tuple or not 1 <= len(shape) == len(strides) <= 2:
        _wrong("a tensor of other than one or two dimensions")
    if not all(map(_is_size, (offset, *shape, *strides))):
        _wrong("the shape of a tensor is invalid")
    return _Tensor(storage, offset, shape, strides)


def _is_size(number: object) -> bool:
    return type(number) is int and 0 <= number < 1 << 40


def _wrong(message: str) -> NoReturn:
    raise ValueError(message)


_Make = Callable[[tuple[Any, ...]], object]
_CALLED: dict[str, _Make] = {
    "torch._utils._rebuild_tensor_v2": _rebuild,
    "collections.OrderedDict": lambda arguments: {} if arguments == () else _wrong("hooks of a tensor"),
}
