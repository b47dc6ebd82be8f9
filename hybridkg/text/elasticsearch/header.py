"""The header of a remote index in its generation: its identity on the server, and the numbers that models need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from hybridkg.errors import CorruptError
from hybridkg.text.index.layout import ArrayReader, ArrayWriter

LAYOUT = 1
"""Version of the mapping and the documents; an index of another one is not read."""


@dataclass(frozen=True)
class IndexIdentity:
    """The part of the header about the server.

    Args:
        layout: version of mapping and documents.
        index: name of the index.
        alias: its name for other programs.
        build: a random name, also in the mapping, that distinguishes it from another index of the same name.
        analysis: `hybridkg` or `native`.
        k1: saturation of its default similarity.
        b: length normalisation of its default similarity.
        filters: IRIs of the predicates of `filter.p0`, `filter.p1` ...
        union_default_graph: whether the filters' values are those of all graphs.
    """

    layout: int
    index: str
    alias: str
    build: str
    analysis: str
    documents: int
    shards: int
    k1: float
    b: float
    filters: tuple[str, ...]
    union_default_graph: bool

    @property
    def native(self) -> bool:
        """Whether the server analyses the texts."""
        return self.analysis == "native"

    def to_data(self) -> dict[str, Any]:
        return asdict(self) | {"filters": list(self.filters)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any], place: str) -> IndexIdentity:
        """The inverse of `to_data`.

        Raises:
            CorruptError: something is missing or of another type.
        """
        try:
            values = {one.name: data[one.name] for one in fields(cls)}
            identity = cls(**values | {"filters": tuple(map(str, values["filters"]))})
        except (KeyError, TypeError) as e:
            raise CorruptError(f"the header of the text index is damaged: {e}", place=place, hint="index again") from e
        if identity.layout != LAYOUT:
            raise CorruptError(
                f"the index {identity.index!r} has layout {identity.layout}; this hybridkg reads {LAYOUT}",
                hint="build it again: hybridkg index KB",
                place=place,
            )
        return identity


IDENTITY = "elasticsearch"
"""Key of the header."""


def finish_header(
    out: ArrayWriter,
    n_nodes: int,
    fields: Sequence[Mapping[str, Any]],
    chains: Mapping[str, str],
    counts: Mapping[str, int],
    identity: IndexIdentity,
) -> None:
    """Writes the header of a text folder, whose arrays are complete.

    Args:
        out: has written the arrays.
        n_nodes: ids are below this.
        fields: the fields with their entities and tokens.
        chains: the chain of each analyzer by name.
        counts: of the whole index.
        identity: of the index on the server.
    """
    about = {"n_nodes": n_nodes, "fields": list(fields), "analyzers": dict(chains), "counts": dict(counts)}
    out.finish({**about, IDENTITY: identity.to_data()})


def identity_in(folder: Path) -> IndexIdentity:
    """The identity in a text folder.

    Raises:
        CorruptError: the header is missing or damaged.
    """
    return IndexIdentity.from_data(ArrayReader(folder).about(IDENTITY), str(folder))
