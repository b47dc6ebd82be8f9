"""RDF formats by file name extension; the table is the place to add one."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from pyoxigraph import RdfFormat

from hybridkg.entities.documents.document_lines import TEXT_DOCUMENTS
from hybridkg.errors import LoadError
from hybridkg.rdf.input_file import COMPRESSIONS, extensions
from hybridkg.tables.opening import table_extensions


@dataclass(frozen=True, slots=True)
class Format:
    """A serialization of RDF: its usual name, and the parser's syntax."""

    name: str
    syntax: RdfFormat


RDF_XML = Format("RDF/XML", RdfFormat.RDF_XML)

FORMATS = {
    ".nt": Format("N-Triples", RdfFormat.N_TRIPLES),
    ".nq": Format("N-Quads", RdfFormat.N_QUADS),
    ".ttl": Format("Turtle", RdfFormat.TURTLE),
    ".trig": Format("TriG", RdfFormat.TRIG),
    ".rdf": RDF_XML,
    ".owl": RDF_XML,
    ".xml": RDF_XML,
    ".jsonld": Format("JSON-LD", RdfFormat.JSON_LD),
}


def known_extensions() -> list[str]:
    """The extensions of RDF and of tables."""
    return [*FORMATS, *table_extensions()]


def format_of(path: Path) -> Format:
    """The format of a file, by its extension.

    Raises:
        LoadError: the extension is unknown; the message lists the known ones.

    >>> format_of(Path("dump.nq.bz2")).name
    'N-Quads'
    """
    extension = extensions(path)[0]
    known = FORMATS.get(extension)
    if known is None:
        if extension in TEXT_DOCUMENTS:
            raise LoadError(
                f"{str(path)!r} has text documents, not RDF",
                hint=f"they are given with --text {path}; in Python: kb.load(text={str(path)!r})",
            )
        tables = table_extensions()
        if extension in tables:
            raise LoadError(
                f"{str(path)!r} is a table, and RDF is needed here", hint="hybridkg load and kb.load() take tables"
            )
        # `.html` is no slip for `.xml`: a slip in the first letter is rare.
        near = [name for name in difflib.get_close_matches(extension, FORMATS, 3) if name[:2] == extension[:2]]
        raise LoadError(
            f"cannot tell the RDF format of {str(path)!r} by its name; known: {', '.join(FORMATS)}, "
            f"each also with {', '.join(COMPRESSIONS)}; and tables: {', '.join(tables)}",
            hint=f"did you mean {near[0]!r}?" if near else "",
        )
    return known
