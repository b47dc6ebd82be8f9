"""A load in place of a graph, or of the rows of tables: what is only there goes, what is only in the inputs comes.

Both are one commit.
"""

from __future__ import annotations

from collections.abc import Sequence

from hybridkg.errors import HybridkgError
from hybridkg.kb.snapshot import Snapshot
from hybridkg.kb.write.hidden_graphs import in_hidden_graphs
from hybridkg.kb.write.load_into import graph_named, load_in_place_of, load_in_place_of_rows
from hybridkg.kb.write.open_transaction import TransactionOptions, begun
from hybridkg.kb.write.reports import LoadReport
from hybridkg.kb.write.transaction import prefix_warnings, warnings_of
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.writer_lock import refuse_nested
from hybridkg.store.loading import Source, check_sources


def replace_triples(
    folder: Folder, live: Snapshot, inputs: Sequence[Source], graph: str | None, how: TransactionOptions
) -> LoadReport:
    """Replaces the triples of a graph, named by an IRI or `default`, by those of inputs; None: their rows.

    Raises:
        LoadError: the graph is no IRI, an input is malformed, files without any statement would empty the graph, or no
            input is a table whose rows could be replaced.
        LockedError: another writer has the lock.
    """
    name = None if graph is None else graph_named(graph, live.prefixes)
    check_sources(inputs)
    refuse_nested(folder.path)
    with begun(folder, live, how) as (state, outcome):
        state.begin_request()
        elsewhere: list[HybridkgError] = []
        if graph is None:
            read, elsewhere = load_in_place_of_rows(state, inputs)
        else:
            read = load_in_place_of(state, inputs, name)
        change = state.graph.request_change()
        hidden = in_hidden_graphs(folder.config, change.added)
    return LoadReport(
        sum(statements for _, statements in read),
        len(change.added),
        index=outcome.index,
        warnings=(*warnings_of(read), *prefix_warnings(state.building.prefixes.clashes), *elsewhere),
        removed=len(change.removed),
        is_behind=outcome.is_behind,
        has_followed=outcome.index is not None and not outcome.not_followed,
        not_followed=outcome.not_followed,
        in_named_graphs=hidden,
        folder=str(folder.path),
    )
