"""The watchers that see a document before its parser: input that Oxigraph would accept, or die of, is refused."""

from __future__ import annotations

from pathlib import Path

from pyoxigraph import RdfFormat

from hybridkg.store.rdf_io.byte_feed import Watcher
from hybridkg.store.rdf_io.formats import Format
from hybridkg.store.rdf_io.nesting_guard import NestingGuard
from hybridkg.store.rdf_io.xml_guard import XmlGuard


def guards_of(form: Format, path: Path) -> list[Watcher]:
    """The watchers of a document; `path` is for their errors."""
    match form.syntax:
        case RdfFormat.RDF_XML:
            return [XmlGuard(path)]
        case RdfFormat.JSON_LD:
            return []
    return [NestingGuard(path)]
