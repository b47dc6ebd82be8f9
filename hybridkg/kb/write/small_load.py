"""A small load into an indexed knowledge base, which the indexes follow as they follow an update."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hybridkg.config.settings import EMBEDDED
from hybridkg.entities.documents.document_lines import read_documents
from hybridkg.entities.documents.document_store import check_document_files
from hybridkg.interfaces.progress import Progress
from hybridkg.kb.snapshot import Snapshot
from hybridkg.kb.write.configured import has_text_index
from hybridkg.kb.write.hidden_graphs import in_hidden_graphs
from hybridkg.kb.write.load_into import is_small, load_into, too_large
from hybridkg.kb.write.open_transaction import TransactionOptions, begun
from hybridkg.kb.write.reports import LoadReport
from hybridkg.kb.write.transaction import prefix_warnings, warnings_of
from hybridkg.kb.write.transaction_state import TransactionState
from hybridkg.rdf.input_file import InputFile
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.writer_lock import refuse_nested
from hybridkg.store.loading import Source, check_sources, name_of_source


def can_follow(folder: Folder, inputs: Sequence[Source], texts: Sequence[Path]) -> bool:
    """Whether the indexes are up to date, and the inputs so few that they can follow them."""
    if folder.config.graph != EMBEDDED or not has_text_index(folder):
        return False
    return all(map(is_small, [*inputs, *texts])) and not folder.manifest().behind()


def why_not_followed(folder: Folder, inputs: Sequence[Source], texts: Sequence[Path]) -> str:
    """Why the indexes of a knowledge base do not follow a load by themselves, in words; empty where it has none."""
    if not has_text_index(folder):
        return ""
    if folder.manifest().behind():
        return "the indexes were older than the graph before"
    for source in (*inputs, *texts):
        if reason := too_large(source):
            return f"{name_of_source(source)} {reason}, and by themselves the indexes follow smaller loads only"
    return ""


def load_small(
    folder: Folder, live: Snapshot, inputs: Sequence[Source], texts: Sequence[Path], how: TransactionOptions
) -> LoadReport:
    """Adds inputs and text documents in a commit whose indexes follow, or stay behind where that needs a new build.

    Raises:
        LoadError: an input is malformed; nothing has changed.
        LockedError: another writer has the lock.
    """
    check_sources(inputs)
    check_document_files(texts)
    refuse_nested(folder.path)
    with begun(folder, live, how) as (state, outcome):
        state.begin_request()
        read = load_into(state, inputs, None) if inputs else []
        added = state.graph.request_change().added
        documents = _add_documents(state, texts, how.progress)
    return LoadReport(
        sum(statements for _, statements in read),
        len(added),
        documents if texts else None,
        outcome.index,
        (*warnings_of(read), *prefix_warnings(state.building.prefixes.clashes)),
        is_behind=outcome.is_behind,
        has_followed=outcome.index is not None and not outcome.not_followed,
        not_followed=outcome.not_followed,
        in_named_graphs=in_hidden_graphs(folder.config, added),
        folder=str(folder.path),
    )


def _add_documents(state: TransactionState, texts: Sequence[Path], progress: Progress) -> int:
    """Adds the lines of files; returns their number."""
    count, fields = 0, set(state.document_fields())
    for path in texts:
        with InputFile(path) as file:
            progress.start(str(path), file.size)
            before = count
            for document in read_documents(file, progress, fields):
                state.change_text(document.id, dict(document.fields))
                count += 1
            progress.done(count - before)
    return count
