"""Reports of the calls that change a knowledge base: typed values that print themselves and become JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from hybridkg.terminal_text import count_lines

NO_TEXT = "warning: no entity has any text, so a search finds nothing"


@dataclass(frozen=True)
class VectorReport:
    """Vectors that an index step has made.

    Args:
        kind: of the encoder, a name of ENCODERS.
        encoder: name of the encoder with its version and settings, such as `lsa/1 256`.
        dimensions: numbers in a vector.
        entities: entities that have a vector.
        encoded: texts that were encoded, the others had a vector before; None where every text is encoded each time.
        details: further figures of the kind of index, such as `recall@10`, a share from 0 to 1.
    """

    kind: str
    encoder: str
    dimensions: int
    entities: int
    encoded: int | None = None
    details: Mapping[str, str | int | float] = field(default_factory=dict)

    @classmethod
    def of(cls, counts: Mapping[str, Any]) -> Self:
        """The report of what a vector index counts when it is built (VectorIndexKind.build)."""
        own = ("kind", "encoder", "dimensions", "entities", "encoded")
        known = {name: counts[name] for name in own if name in counts}
        return cls(**known, details={name: value for name, value in counts.items() if name not in own})

    @property
    def vectors(self) -> int:
        """Vectors in the index: one of each entity, or more where chunks or fields have their own."""
        return int(self.details.get("vectors", self.entities))

    def to_json(self) -> dict[str, Any]:
        """As plain data, without what is not there."""
        known = {"kind": self.kind, "encoder": self.encoder, "dimensions": self.dimensions, "entities": self.entities}
        return known | dict(self.details) | _present(encoded=self.encoded)

    def __str__(self) -> str:
        return "\n".join(count_lines(self.to_json()))


@dataclass(frozen=True)
class IndexReport:
    """Indexes that have been built.

    Args:
        fields: fields of the profile, with those of the documents.
        entities: entities that have text.
        terms: distinct terms; None where the analyzers are the server's own.
        postings: (term, field, entity) that occur; None where the index lies on a server.
        tokens: occurrences of terms; None where the engine does not count them.
        text_bytes: of the text in UTF-8; None where the engine does not count them.
        vectors: the vectors; None where kb.toml names no encoder.
        exported: triples that were copied from the SPARQL endpoint; None where the graph lies in the folder.
        notes: sentences about what of the profile found nothing, and what could not be built.
    """

    fields: int
    entities: int
    terms: int | None = None
    postings: int | None = None
    tokens: int | None = None
    text_bytes: int | None = None
    vectors: VectorReport | None = None
    exported: int | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The report that `to_json` has written."""
        vectors = VectorReport.of(value["vectors"]) if "vectors" in value else None
        return cls(**{**value, "vectors": vectors, "notes": tuple(value["notes"])})

    def to_json(self) -> dict[str, Any]:
        """As plain data, without what is not there."""
        return {
            "fields": self.fields,
            "entities": self.entities,
            **_present(terms=self.terms, postings=self.postings, tokens=self.tokens, text_bytes=self.text_bytes),
            **_present(vectors=self.vectors.to_json() if self.vectors else None, exported=self.exported),
            "notes": list(self.notes),
        }

    def lines(self, indent: str = "") -> list[str]:
        """The text for people, line by line: counts, then a warning where no entity has text, then the notes.

        Args:
            indent: what the lines of counts begin with.
        """
        counts = {name: value for name, value in self.to_json().items() if name != "notes"}
        warnings = [] if self.entities else [NO_TEXT]
        return [*count_lines(counts, indent), *warnings, *(f"note: {note}" for note in self.notes)]

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True)
class LoadReport:
    """Data that has been loaded.

    Args:
        statements: statements that the inputs hold, with those that they hold twice.
        triples: those that the graph had not yet.
        documents: text documents read; None where no file of documents was given.
        index: the indexes that were built in the same step; None where none were.
    """

    statements: int
    triples: int
    documents: int | None = None
    index: IndexReport | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain data, without what is not there."""
        counts = {"statements": self.statements, "triples": self.triples}
        return counts | _present(documents=self.documents, index=self.index.to_json() if self.index else None)

    def lines(self) -> list[str]:
        """The text for people, line by line: `triples: 128 new`, with the index indented."""
        counts = {"statements": self.statements, "triples": f"{self.triples:,} new"} | _present(
            documents=self.documents
        )
        return [*count_lines(counts), *(["index:", *self.index.lines("  ")] if self.index else [])]

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True)
class MovedIndex:
    """A text index, or an index of vectors, that `migrate` has built at another place.

    Args:
        source: engine that it was built by, a name of TEXT_ENGINES or VECTOR_INDEXES.
        target: engine that it is built by now.
        entities: entities in it.
        seconds: wall-clock time that this took.
        bytes_here: size of its files in the folder of the knowledge base.
        bytes_on_server: its size on the server; None where the target keeps nothing there.
        details: of vectors `encoder`, `dimensions` and `encoded`, which is 0: they are moved as they are.
    """

    source: str
    target: str
    entities: int
    seconds: float
    bytes_here: int
    bytes_on_server: int | None = None
    details: Mapping[str, str | int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As plain data, without what is not there."""
        return {
            "source": self.source,
            "target": self.target,
            "entities": self.entities,
            **self.details,
            "seconds": self.seconds,
            "bytes_here": self.bytes_here,
            **_present(bytes_on_server=self.bytes_on_server),
        }

    def counts(self, name: str) -> dict[str, Any]:
        """The figures for people, the first of which is `name: source -> target`."""
        rest = {key: value for key, value in self.to_json().items() if key not in ("source", "target")}
        return {name: f"{self.source} -> {self.target}", **rest}


@dataclass(frozen=True)
class MigrateReport:
    """Indexes that have been moved.

    Args:
        place: where they are now: `elasticsearch` or `embedded`.
        text: the text index; None where it was there already.
        vectors: the index of vectors; None where it stays or there is none.
        notes: sentences about what stays, and why.
    """

    place: str
    text: MovedIndex | None = None
    vectors: MovedIndex | None = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain data, without what is not there."""
        moved = {name: one.to_json() for name, one in (("text", self.text), ("vectors", self.vectors)) if one}
        return {"place": self.place, **moved, "notes": list(self.notes)}

    def lines(self) -> list[str]:
        """The text for people, line by line."""
        counts: dict[str, Any] = {}
        if self.text is not None:
            counts["text"] = self.text.counts("engine")
        if self.vectors is not None:
            counts["vectors"] = self.vectors.counts("index")
        counts = counts or {"text": f"{self.place} already"}
        return [*count_lines(counts), *(f"note: {note}" for note in self.notes)]

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True)
class UnusedIndex:
    """An index on a server that no state on disk names.

    Args:
        engine: the text engine that has built it.
        name: on the server.
        created: when it was made, as the server says; empty where it does not.
        documents: documents in it; None where that is not known.
        bytes: its size; None where that is not known.
    """

    engine: str
    name: str
    created: str = ""
    documents: int | None = None
    bytes: int | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain data, without what is not known."""
        known = _present(created=self.created or None, documents=self.documents, bytes=self.bytes)
        return {"engine": self.engine, "name": self.name, **known}


def _present(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
