"""Whole documents of nodes as text fields: one without relations, one with them, and the compact form of either.

Only the maker of a dataset can write them: they need attributes and white space that no triple keeps. `hybridkg dataset
stark --documents` does, after STaRK's `get_doc_info`; any other file of text documents with these fields serves as
well. The compact form is computed.
"""

from __future__ import annotations

from hybridkg.entities.compact_text import compacted
from hybridkg.errors import UnknownNameError, UserError
from hybridkg.kb.snapshot import Snapshot
from hybridkg.rdf.terms import Node

PLAIN, WITH_RELATIONS = "document", "document_rel"
"""The fields."""

OF_CANDIDATES = "document_candidate"
"""The field with the documents of possible answers alone: statistics of a MATCH on it are those of STaRK's BM25."""

COMPACT_RELATIONS = "document_rel_compact"
"""The field with the compact form of documents with relations, which STaRK's encoders read."""


def stored_document(snapshot: Snapshot, node: Node, *, relations: bool = False, compact: bool = False) -> str:
    """The document of a node.

    Raises:
        UserError: the knowledge base has no such documents.
        UnknownNameError: this node has none.
    """
    field = WITH_RELATIONS if relations else PLAIN
    documents = snapshot.documents
    fields = () if documents is None else documents.fields()
    if documents is None or field not in fields:
        raise UserError(
            f"the knowledge base has no documents {'with' if relations else 'without'} relations: no text field "
            f"{field!r}",
            hint=f"hybridkg dataset stark --documents {'relations' if relations else 'plain'} writes them; text fields "
            f"here: {', '.join(fields) or 'none'}",
        )
    texts = documents.texts(node, field)
    if not texts:
        raise UnknownNameError(f"the node {node} has no text {field!r}", hint="hybridkg node KB NAME shows what it has")
    return compacted(texts[0]) if compact else texts[0]
