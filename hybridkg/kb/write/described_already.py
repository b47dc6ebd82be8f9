"""The warning that rows of a table describe entities that are in the knowledge base already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hybridkg.entities.triple_lookups import TripleLookups
from hybridkg.errors import DescribedWarning
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.rdf.terms import NamedNode
from hybridkg.store.loading import Source
from hybridkg.tables.table_source import TableSource

MAX_ROWS = 1_000
"""Rows of each table that are looked up."""


def described_already(sources: Sequence[Source], store: GraphStore) -> Iterator[DescribedWarning]:
    """A warning for each table with such rows among its first MAX_ROWS.

    Args:
        sources: inputs of a load that replaces nothing.
        store: the graph before the load.

    Raises:
        LoadError: a row has no subject.
    """
    for source in sources:
        if not isinstance(source, TableSource):
            continue
        subjects = [NamedNode(iri) for iri in source.subjects(MAX_ROWS)]
        known = TripleLookups(store).subjects_in(dict.fromkeys(subjects))
        found = sum(subject in known for subject in subjects)
        if not found:
            continue
        among = f" of the first {MAX_ROWS:,} rows" if len(subjects) == MAX_ROWS else " row" if found == 1 else " rows"
        yield DescribedWarning(
            f"{source.name}: {found:,}{among} {'describes an entity' if found == 1 else 'describe entities'} that the "
            "knowledge base has already: the values are added, and none is replaced",
            hint="to correct a table, load it with --replace-rows, or all files with --replace default, or change "
            "values by hybridkg update",
        )
