"""What a knowledge base tells about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybridkg.snapshot import Snapshot
from hybridkg.store.generations import Folder

if TYPE_CHECKING:
    import rdflib

    from hybridkg.schema import Schema
    from hybridkg.statistics.catalog import Statistics


class Described:
    """Counts, costs, names and views of the open state."""

    @property
    def _folder(self) -> Folder:
        """Where it is."""
        raise NotImplementedError

    @property
    def snapshot(self) -> Snapshot:
        """The state that is told about."""
        raise NotImplementedError

    def stats(self) -> dict[str, Any]:
        """What the knowledge base holds: counts, fields, sizes in bytes."""
        from hybridkg.writing import synonyms_state

        return self.snapshot.stats() | synonyms_state(self._folder, self.snapshot.generation.path / "text")

    def statistics(self) -> Statistics | None:
        """What has been counted in the graph when it was indexed; None where nothing has, or the graph is newer.

        Raises:
            CorruptError: its file is damaged; queries do not need it.
        """
        return self.snapshot.read_statistics()

    def cost(self) -> dict[str, Any]:
        """What a unit of each kind of work costs on this machine, in microseconds, and how that is known."""
        return self.snapshot.costs.to_json()

    def schema(self) -> Schema:
        """The classes and predicates of what a query sees outside GRAPH, with counts by IRI, most frequent first."""
        from hybridkg.schema import read_schema

        return read_schema(self.snapshot.store)

    def graph(self) -> rdflib.Graph:
        """The graph of the open state as an rdflib Graph that can only be read; it asks the store as it is asked."""
        from hybridkg.store.rdflib_view import read_only_graph

        return read_only_graph(self.snapshot.store, hold=self.snapshot.generation)

    def verify(self) -> int:
        """Reads every file of the open state and compares its checksum; returns how many there are.

        Raises:
            CorruptError: one differs.
        """
        return self.snapshot.generation.verify()
