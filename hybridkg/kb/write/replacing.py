"""A load in place of a graph: what is only in the old graph goes, what is only in the inputs comes, in one commit."""

from __future__ import annotations

from collections.abc import Sequence

from hybridkg.kb.snapshot import Snapshot
from hybridkg.kb.write.hidden_graphs import in_hidden_graphs
from hybridkg.kb.write.load_into import graph_named, load_in_place_of
from hybridkg.kb.write.open_transaction import TransactionOptions, begun
from hybridkg.kb.write.reports import LoadReport
from hybridkg.kb.write.transaction import prefix_warnings, warnings_of
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.writer_lock import refuse_nested
from hybridkg.store.loading import Source, check_sources


def replace_graph(
    folder: Folder, live: Snapshot, inputs: Sequence[Source], graph: str, how: TransactionOptions
) -> LoadReport:
    """Replaces the triples of a graph, named by an IRI or `default`, by those of inputs.

    Raises:
        LoadError: the graph is no IRI, an input is malformed, or files without any statement would empty the graph.
        LockedError: another writer has the lock.
    """
    name = graph_named(graph, live.prefixes)
    check_sources(inputs)
    refuse_nested(folder.path)
    with begun(folder, live, how) as (state, outcome):
        state.begin_request()
        read = load_in_place_of(state, inputs, name)
        change = state.graph.request_change()
        hidden = in_hidden_graphs(folder.config, change.added)
    return LoadReport(
        sum(statements for _, statements in read),
        len(change.added),
        index=outcome.index,
        warnings=(*warnings_of(read), *prefix_warnings(state.building.prefixes.clashes)),
        removed=len(change.removed),
        is_behind=outcome.is_behind,
        has_followed=outcome.index is not None and not outcome.not_followed,
        not_followed=outcome.not_followed,
        in_named_graphs=hidden,
    )
