"""The entity linker of a snapshot, imported at its first use."""

from __future__ import annotations

import weakref
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hybridkg.entities.node_table import NodeTable
from hybridkg.entities.profile.profile import Profile
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.text_index import TextIndex

if TYPE_CHECKING:
    from hybridkg.entities.documents.document_store import Documents
    from hybridkg.interfaces.links import LinkedNode
    from hybridkg.linking.source import LinkSource


class LazyLinker:
    """An entity linker that is imported at its first use.

    It refers to no Snapshot, and weakly to the text index, which refers to it: a cycle would keep files in use.
    """

    def __init__(
        self,
        store: GraphStore,
        nodes: NodeTable,
        text: TextIndex,
        profile: Profile,
        documents: Documents | None,
        folders: tuple[Path, ...],
    ):
        self._parts, self._folders = (store, nodes, cast(TextIndex, weakref.proxy(text)), profile, documents), folders

    @cached_property
    def _source(self) -> LinkSource:
        from hybridkg.linking.source import LinkSource

        return LinkSource(*self._parts, folders=self._folders)

    def linked(
        self, text: str, given: str | None, *, language: str = "", syntax: bool = True
    ) -> tuple[LinkedNode, ...]:
        """See Linker."""
        return self._source.linked(text, given, language=language, syntax=syntax)
