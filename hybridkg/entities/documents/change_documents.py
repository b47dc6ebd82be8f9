"""Changes of text documents by a program: fields set, fields removed, documents removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from hybridkg.entities.documents.document_lines import (
    MAX_LINE_LENGTH,
    check_iri,
    check_number_of_fields,
    check_texts,
)
from hybridkg.entities.documents.document_segment import Row, packed
from hybridkg.entities.documents.document_store import Documents
from hybridkg.entities.documents.next_segments import write_next
from hybridkg.errors import LoadError
from hybridkg.rdf.terms import NamedNode

DocumentChange: TypeAlias = Mapping[str, Sequence[str]] | None
"""New texts of fields of an entity, where no texts remove a field; None removes all its fields."""


@dataclass(frozen=True, slots=True)
class DocumentChanges:
    """Counts of effective changes; a text set to what it was before is no change.

    Args:
        documents: entities with a field that has new texts.
        removed: entities that have no text any more.
        texts: texts of the fields that have new ones.
        removed_fields: fields of entities that have no text any more, those of removed documents included.
        entities: IRIs of the changed entities, sorted.
    """

    documents: int = 0
    removed: int = 0
    texts: int = 0
    removed_fields: int = 0
    entities: tuple[str, ...] = ()


def change_documents(changes: Mapping[str, DocumentChange], previous: Path | None, folder: Path) -> DocumentChanges:
    """Writes the next `documents` folder, unless nothing changes.

    Args:
        changes: by the IRI of the entity; fields that are not named keep their texts.
        previous: the `documents` folder of the live generation, or None.
        folder: the new `documents` folder; must not exist.

    Raises:
        LoadError: an IRI, a name of a field or a text is not allowed; has the IRI as its place.
        CorruptError: a segment is damaged.
        OSError: the disk is full or fails.

    Worked example: of an entity with a title and a note, `{"title": ["Alien"], "note": []}` replaces the title and
    removes the note; the result is `DocumentChanges(documents=1, texts=1, removed_fields=1, entities=(IRI,))`.
    """
    before = Documents.open(previous) if previous is not None else None
    fields = set(before.fields()) if before is not None else set()
    rows: list[Row] = []
    count = dict.fromkeys(("documents", "removed", "texts", "removed_fields"), 0)
    for iri in sorted(changes, key=str):
        node, change = NamedNode(check_iri(iri)), changes[iri]
        old = before.document(node) if before is not None else {}
        new = _effective(old, _checked(iri, change, fields), whole=change is None)
        rows += ((field, iri, packed(texts)) for field, texts in new.items())
        count["documents"] += any(new.values())
        count["removed"] += bool(new) and not any((old | new).values())
        count["texts"] += sum(map(len, new.values()))
        count["removed_fields"] += sum(not texts for texts in new.values())
    if rows:
        write_next(previous, folder, rows)
    return DocumentChanges(**count, entities=tuple(sorted({iri for _, iri, _ in rows})))


def _checked(iri: str, change: DocumentChange, known_fields: set[str]) -> dict[str, list[str]]:
    """Texts by field as they will be stored; new names are added to the known ones."""
    place = f"<{iri}>"
    texts = {field: check_texts(field, value, place) for field, value in (change or {}).items()}
    known_fields.update(field for field, values in texts.items() if values)
    check_number_of_fields(known_fields, place)
    if sum(len(text.encode()) for values in texts.values() for text in values) > MAX_LINE_LENGTH:
        raise LoadError(
            f"a document of more than {MAX_LINE_LENGTH >> 20} MB", hint="divide it, as into chapters", place=place
        )
    return texts


def _effective(old: dict[str, list[str]], given: dict[str, list[str]], *, whole: bool) -> dict[str, list[str]]:
    wanted: dict[str, list[str]] = {field: [] for field in old} if whole else given
    return {field: texts for field, texts in sorted(wanted.items()) if texts != old.get(field, [])}
