"""The files of a STaRK knowledge base: their places, which of the three they are, and their consistency."""

from __future__ import annotations

import mmap
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hybridkg.datasets.stark.pickles import PickleReader
from hybridkg.datasets.stark.scalars import NUMPY
from hybridkg.datasets.stark.tensors import Whole, read_tensor
from hybridkg.errors import LoadError

ORIGIN = "the data set snap-stanford/stark on Hugging Face: skb/KB/processed.zip and the folder qa/KB"

NODES, EDGES, EDGE_TYPES, NODE_TYPES = "node_info.pkl", "edge_index.pt", "edge_types.pt", "node_types.pt"
NODE_NAMES, EDGE_NAMES = "node_type_dict.pkl", "edge_type_dict.pkl"

NEEDED = (NODES, EDGES, EDGE_TYPES, NODE_TYPES)
NAMING = (NODE_NAMES, EDGE_NAMES)
"""Missing in MAG, whose names are in the code of STaRK."""

FOLDERS = (
    "processed/cache/brand-category-color",
    "cache/brand-category-color",
    "brand-category-color",
    "processed",
    "",
)
"""Possible folders of the files. Amazon's come first, because its processed/ has others too."""

ARCHIVE = "processed.zip"

MAX_MEMBER = 1 << 36
"""Bytes of a decompressed file."""

MARKERS = {"product": "amazon", "paper": "mag", "gene/protein": "prime"}
"""Type of node that only one knowledge base has."""

MAG_NODES = {0: "author", 1: "institution", 2: "field_of_study", 3: "paper"}
MAG_EDGES = {
    0: "author___affiliated_with___institution",
    1: "paper___cites___paper",
    2: "paper___has_topic___field_of_study",
    3: "author___writes___paper",
}


@dataclass(frozen=True)
class StarkLayout:
    """A knowledge base; its nodes are read later.

    Args:
        kb: "amazon", "mag" or "prime".
        files: by name.
        node_names: types of nodes.
        edge_names: types of edges.
        node_types: int[nodes], the type of each node.
        edges: int[2, edges], from the first row to the second.
        edge_types: int[edges], the type of each edge.
    """

    kb: str
    files: Mapping[str, Path]
    node_names: Mapping[int, str]
    edge_names: Mapping[int, str]
    node_types: Whole
    edges: Whole
    edge_types: Whole

    def nodes(self) -> Iterator[tuple[int, dict[Any, Any]]]:
        """Id and attributes of each node, in file order. Raises LoadError: damage, a wrong id, no attributes."""
        path, seen = self.files[NODES], np.zeros(len(self.node_types), bool)
        for number, attributes in _items(path):
            if type(number) is not int or not 0 <= number < len(seen) or seen[number]:
                what = "occurs twice" if type(number) is int and 0 <= number < len(seen) else "has no type"
                raise LoadError(f"the node {str(number)[:30]!r} {what}", place=str(path))
            if type(attributes) is not dict:
                raise LoadError(f"the node {number} has no dictionary of attributes", place=str(path))
            seen[number] = True
            yield number, attributes
        if not seen.all():
            missing = int(np.argmin(seen))
            raise LoadError(f"the node {missing} has a type, but no attributes", place=str(path))

    def of_type(self, names: frozenset[str]) -> Whole:
        """int64[...], the ascending ids of the nodes of some types."""
        numbers = [number for number, name in self.node_names.items() if name in names]
        return np.flatnonzero(np.isin(self.node_types, numbers))


def read_layout(files: Mapping[str, Path]) -> StarkLayout:
    """Reads and checks everything except the nodes. Raises LoadError: a file is damaged, or they are inconsistent."""
    node_types, edge_types, edges = (read_tensor(files[name]) for name in (NODE_TYPES, EDGE_TYPES, EDGES))
    node_names = _names(files[NODE_NAMES]) if NODE_NAMES in files else MAG_NODES
    edge_names = _names(files[EDGE_NAMES]) if EDGE_NAMES in files else MAG_EDGES
    kbs = {MARKERS[name] for name in node_names.values() if name in MARKERS}
    if len(kbs) != 1:
        names = ", ".join(node_names.values())[:200]
        raise LoadError(
            f"the types of nodes are not those of one of STaRK's knowledge bases: {names}",
            hint=f"one of the types must be {', '.join(MARKERS)}",
            place=str(files.get(NODE_NAMES, files[NODES])),
        )
    _fit(files[NODE_TYPES], node_types.ndim == 1, "one type for each node is expected")
    _fit(files[EDGE_TYPES], edge_types.ndim == 1, "one type for each edge is expected")
    _fit(files[EDGES], edges.shape == (2, len(edge_types)), "two rows, as long as the types of edges, are expected")
    _fit(files[NODE_TYPES], bool(np.isin(node_types, list(node_names)).all()), "a type without a name")
    _fit(files[EDGE_TYPES], bool(np.isin(edge_types, list(edge_names)).all()), "a type without a name")
    inside = not edges.size or (int(edges.min()) >= 0 and int(edges.max()) < len(node_types))
    _fit(files[EDGES], inside, f"an edge to a node that does not exist; there are {len(node_types):,}")
    return StarkLayout(kbs.pop(), files, node_names, edge_names, node_types, edges, edge_types)


def find_files(given: Path, work: Path) -> dict[str, Path]:
    """The files below a folder, or in `processed.zip`.

    Args:
        given: a folder, one with `processed.zip`, or an archive.
        work: folder for the files of an archive.

    Raises:
        LoadError: a file is missing, or the archive is damaged.
    """
    if given.is_dir():
        for folder in FOLDERS:
            if all((given / folder / name).is_file() for name in NEEDED):
                return {name: path for name in (*NEEDED, *NAMING) if (path := given / folder / name).is_file()}
        if not (given / ARCHIVE).is_file():
            raise _missing(given)
        given = given / ARCHIVE
    try:
        with zipfile.ZipFile(given) as archive:
            return _unpacked(archive, given, work)
    except FileNotFoundError as e:
        raise LoadError(f"no folder or archive {str(given)!r}", hint=f"it comes from {ORIGIN}") from e
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as e:
        raise LoadError(f"{given.name!r} is not a complete zip archive: {e}", place=str(given)) from e


def _unpacked(archive: zipfile.ZipFile, given: Path, work: Path) -> dict[str, Path]:
    names = set(archive.namelist())
    for folder in FOLDERS:
        below = f"{folder}/" if folder else ""
        if not all(below + name in names for name in NEEDED):
            continue
        files = {}
        for name in (*NEEDED, *NAMING):
            if below + name not in names:
                continue
            info = archive.getinfo(below + name)
            if info.file_size > MAX_MEMBER:
                raise LoadError(f"{name!r} is larger than {MAX_MEMBER:,} bytes", place=str(given))
            files[name] = work / name
            with archive.open(info) as packed, files[name].open("wb") as plain:
                shutil.copyfileobj(packed, plain, 1 << 20)
        return files
    raise _missing(given)


def _missing(given: Path) -> LoadError:
    return LoadError(
        f"{str(given)!r} has no {', '.join(NEEDED)}",
        hint=f"--skb is the folder with them, or {ARCHIVE}\nthey come from {ORIGIN}",
    )


def _items(path: Path) -> Iterator[tuple[Any, Any]]:
    """The entries of a pickled dictionary."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield from PickleReader(data, str(path), NUMPY).items()
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        raise LoadError(f"cannot read {path.name!r}: {reason.lower()}", place=str(path)) from e


def _names(path: Path) -> dict[int, str]:
    """The names of types by number."""
    names: dict[int, str] = {}
    for number, name in _items(path):
        if type(number) is not int or type(name) is not str or not name.strip() or len(name) > 100:
            raise LoadError("the names of types must be texts by numbers", place=str(path))
        if number in names or name in names.values() or len(names) >= 1000:
            raise LoadError(f"the type {number} or its name {name!r} occurs twice, or too many", place=str(path))
        names[number] = name
    return names


def _fit(path: Path, holds: bool, message: str) -> None:
    if not holds:
        raise LoadError(f"{path.name!r} does not fit the other files: {message}", place=str(path))
