"""Whole documents of nodes as lines of text documents, one node at a time.

Names of neighbours are on disk (node_names.py) and edges take 8 bytes each (neighbours.py), so memory does not grow
with the texts.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hybridkg.datasets.stark.documents import node_iri
from hybridkg.datasets.stark.layout import StarkLayout
from hybridkg.datasets.stark.neighbours import Neighbours
from hybridkg.datasets.stark.node_names import StarkNames
from hybridkg.datasets.stark.relations_text import RelationsText
from hybridkg.datasets.stark.rendering import document
from hybridkg.datasets.stark.size_limits import check_size
from hybridkg.errors import ParameterError
from hybridkg.kb.stored_documents import PLAIN, WITH_RELATIONS
from hybridkg.registry import did_you_mean

RELATIONS = "relations"
FORMS = {"plain": PLAIN, RELATIONS: WITH_RELATIONS}
"""The text field of each form of document."""

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


def documents_of(layout: StarkLayout, forms: Collection[str], merged: Neighbours | None, work: Path) -> Iterator[str]:
    """Lines of JSON, `{"id": IRI, "document": text, "document_rel": text}` with the fields of `forms`.

    Args:
        layout: the knowledge base.
        forms: keys of FORMS.
        merged: the edges of STaRK's code, which documents with relations need.
        work: folder for the names of the nodes.

    Raises:
        LoadError: a node is damaged or too large.
        OSError: the names cannot be written.
    """
    with _relations(layout, forms, merged, work) as relations:
        for number, attributes in layout.nodes():
            iri = node_iri(layout.kb, number)
            check_size(iri, attributes)
            text = document(layout.kb, layout.node_names[int(layout.node_types[number])], attributes)
            line = {"id": iri, PLAIN: text} if "plain" in forms else {"id": iri}
            if relations is not None:
                line[WITH_RELATIONS] = text + relations.of(number)
            yield json.dumps(line, ensure_ascii=False) + "\n"


@contextmanager
def _relations(
    layout: StarkLayout, forms: Collection[str], merged: Neighbours | None, work: Path
) -> Iterator[RelationsText | None]:
    """The writer of relations; None where no form needs it."""
    if RELATIONS not in forms:
        yield None
        return
    assert merged is not None
    with StarkNames.write(layout, work / NAMES_FILE) as names:
        yield RelationsText(layout, merged, names)
