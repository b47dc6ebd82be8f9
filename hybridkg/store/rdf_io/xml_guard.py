"""Well-formedness of RDF/XML, checked in front of the parser.

pyoxigraph 0.5.13 accepts an empty or truncated file silently, expands entities without limit, and its time grows with
the square of the nesting depth. So expat reads every block first.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.parsers import expat

from hybridkg.errors import LoadError

MAX_DEPTH = 1_000
"""Nested elements; hand-written RDF/XML has fewer than 20."""


OTHER_FORMATS = (
    (
        re.compile(rb"\s*+(?>(?:#.*\n\s*+)*)(?:@prefix\b|@base\b|(?i:prefix|base)\s|<\w[\w+.-]*:[^>\s]*>\s|_:)"),
        "Turtle",
        ".ttl",
    ),
    (re.compile(rb"\s*[\[{]"), "JSON-LD", ".jsonld"),
)
"""How a document of another format begins, its name, and its extension."""


class XmlGuard:
    """A watcher that raises LoadError for malformed XML, entity declarations and elements nested too deeply."""

    def __init__(self, path: Path):
        self._path, self._depth, self._begun = path, 0, False
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._entity

    def __call__(self, block: bytes) -> None:
        """Checks one more block; an empty one ends the document."""
        try:
            self._parser.Parse(block, not block)
        except expat.ExpatError as e:
            ended = "the file ends too early" if self._begun else "the file has no element"
            reason = expat.ErrorString(e.code) if block else ended
            for pattern, name, extension in () if self._begun else OTHER_FORMATS:
                if pattern.match(block):
                    raise self._error(f"not XML, and it looks like {name}", f"rename it to NAME{extension}") from e
            reason = reason.removeprefix("not well-formed (").removesuffix(")")
            raise self._error(f"not well-formed XML: {reason}", "") from e

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth, self._begun = self._depth + 1, True
        if self._depth > MAX_DEPTH:
            raise self._error(f"XML elements nested more than {MAX_DEPTH} deep", "")

    def _end(self, name: str) -> None:
        self._depth -= 1

    def _entity(self, name: str, *_: object) -> None:
        raise self._error(
            f"the document type declares the entity {name!r}, and entities are refused because they can grow "
            "without limit",
            "write out what the entity stands for, for example with: xmllint --noent --nonet FILE",
        )

    def _error(self, message: str, hint: str) -> LoadError:
        line, column = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
        return LoadError(message, hint=hint, place=f"{self._path}:{line}:{column}")
