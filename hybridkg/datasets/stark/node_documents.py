"""Whole documents of nodes as lines of text documents, one node at a time.

Names of neighbours are on disk (node_names.py) and edges take 8 bytes each (neighbours.py), so memory does not grow
with the texts.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hybridkg.datasets.stark.documents import KINDS, node_iri
from hybridkg.datasets.stark.layout import StarkLayout
from hybridkg.datasets.stark.neighbours import Neighbours
from hybridkg.datasets.stark.node_names import StarkNames
from hybridkg.datasets.stark.relations_text import RelationsText
from hybridkg.datasets.stark.rendering import document
from hybridkg.datasets.stark.size_limits import check_size
from hybridkg.entities.compact_text import compacted
from hybridkg.errors import ParameterError
from hybridkg.kb.stored_documents import COMPACT_RELATIONS, OF_CANDIDATES, PLAIN, WITH_RELATIONS
from hybridkg.registry import did_you_mean

RELATIONS, COMPACT = "relations", "compact"
FORMS = {"plain": PLAIN, "candidates": OF_CANDIDATES, RELATIONS: WITH_RELATIONS, COMPACT: COMPACT_RELATIONS}
"""The text field of each form of document; `candidates` is `plain` for possible answers alone."""

NAMES_FILE = "names"


def check_forms(forms: Sequence[str]) -> tuple[str, ...]:
    """The distinct forms. Raises ParameterError: one is unknown.

    >>> check_forms(["relations", "plain", "plain"])
    ('plain', 'relations')
    """
    for form in forms:
        if form not in FORMS:
            raise ParameterError(
                f"no form of documents {form!r}; known: {', '.join(FORMS)}", hint=did_you_mean(form, list(FORMS))
            )
    return tuple(form for form in FORMS if form in forms)


def needs_relations(forms: Collection[str]) -> bool:
    """Whether some form has the relations of a node."""
    return RELATIONS in forms or COMPACT in forms


def documents_of(layout: StarkLayout, forms: Collection[str], merged: Neighbours | None, work: Path) -> Iterator[str]:
    """Lines of JSON, `{"id": IRI, "document": text, "document_candidate": text, "document_rel": text}`, with the fields
    of `forms`; none of a node without any of them.

    Args:
        layout: the knowledge base.
        forms: keys of FORMS.
        merged: the edges of STaRK's code, which documents with relations need.
        work: folder for the names of the nodes.

    Raises:
        LoadError: a node is damaged or too large.
        OSError: the names cannot be written.
    """
    answers = KINDS[layout.kb].candidates
    with _relations(layout, forms, merged, work) as relations:
        for number, attributes in layout.nodes():
            iri = node_iri(layout.kb, number)
            check_size(iri, attributes)
            kind = layout.node_names[int(layout.node_types[number])]
            text = document(layout.kb, kind, attributes)
            line = {PLAIN: text} if "plain" in forms else {}
            if "candidates" in forms and (not answers or kind in answers):
                line[OF_CANDIDATES] = text
            if relations is not None:
                whole = text + relations.of(number)
                line |= {WITH_RELATIONS: whole} if RELATIONS in forms else {}
                line |= {COMPACT_RELATIONS: compacted(whole)} if COMPACT in forms else {}
            if line:
                yield json.dumps({"id": iri, **line}, ensure_ascii=False) + "\n"


@contextmanager
def _relations(
    layout: StarkLayout, forms: Collection[str], merged: Neighbours | None, work: Path
) -> Iterator[RelationsText | None]:
    """The writer of relations; None where no form needs it."""
    if not needs_relations(forms):
        yield None
        return
    assert merged is not None
    with StarkNames.write(layout, work / NAMES_FILE) as names:
        yield RelationsText(layout, merged, names)
