"""A mapping of tables to triples, as a value: the part of RML that needs one row at a time.

Source: RML and R2RML (term maps, templates, natural mapping of datatypes); YARRRML writes it (yarrrml_writer.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hybridkg.interfaces.table_reader import ValueKind
from hybridkg.tables.kinds import DATATYPES

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

ROW_NUMBER = "#row"
"""The name by which a template refers to the number of the row, for tables without a column that identifies rows."""

_UNSAFE = re.compile(
    r"[^A-Za-z0-9\-._~\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 15))
    + "]"
)
"""Characters outside `iunreserved` of RFC 3987, without the controls that Unicode put into planes 0 and 14."""


def iri_safe(text: str) -> str:
    """A text inside an IRI: each character that is not `iunreserved` percent-encoded (R2RML, section 7.3).

    >>> iri_safe("a b/é%")
    'a%20b%2Fé%25'
    """
    return _UNSAFE.sub(_percent_encoded, text)


def _percent_encoded(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


@dataclass(frozen=True, slots=True)
class TermMap:
    """How a row becomes a term.

    Args:
        template: constants and names of columns in turn, beginning and ending with a constant, which may be empty.
        kind: of the term. The columns in the template of an IRI are percent-encoded, unless it is one column alone.
        datatype: IRI of a datatype; empty for strings and IRIs.
        language: language tag of a string; empty for none.
        separator: text between the values of a cell with several; empty for one value.

    >>> TermMap(("http://e/", "id", ""), ValueKind.IRI).columns
    ('id',)
    """

    template: tuple[str, ...]
    kind: ValueKind = ValueKind.STRING
    datatype: str = ""
    language: str = ""
    separator: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the template."""
        return self.template[1::2]

    @property
    def is_reference(self) -> bool:
        """Whether the term is the value of a column alone."""
        return len(self.template) == 3 and not self.template[0] and not self.template[2]


def template_parts(text: str, column: re.Pattern[str]) -> tuple[str, ...]:
    r"""Constants and columns of a template in turn; a backslash stands before a character that is meant as it is.

    Args:
        text: of the template.
        column: an escaped character as the first group, or a column as the second; neither where one is not closed.

    Raises:
        ValueError: a column is not closed; its text is the template from there on.

    >>> template_parts(r"http://e/{a}/\{x", re.compile(r"\\(.)|\{((?:[^\\}]|\\.)*)\}|\{"))
    ('http://e/', 'a', '/{x')
    """
    parts, at = [""], 0
    for match in column.finditer(text):
        parts[-1] += text[at : match.start()]
        at = match.end()
        if match[1] is match[2] is None:
            raise ValueError(text[match.start() :])
        if match[2] is None:
            parts[-1] += match[1]
        else:
            parts += [re.sub(r"\\(.)", r"\1", match[2], flags=re.DOTALL), ""]
    parts[-1] += text[at:]
    return tuple(parts)


def constant_iri(iri: str) -> TermMap:
    """The same IRI in each row."""
    return TermMap((iri,), ValueKind.IRI)


def literal_of(column: str, kind: ValueKind, *, language: str = "", separator: str = "") -> TermMap:
    """The literal, or the IRI, that stands in a column."""
    return TermMap(("", column, ""), kind, DATATYPES.get(kind, ""), language, separator)


@dataclass(frozen=True, slots=True)
class PropertyMap:
    """Triples of a row: each of the predicates with each value of the object."""

    predicates: tuple[str, ...]
    target: TermMap


@dataclass(frozen=True, slots=True)
class TableMap:
    """The triples of a table.

    Args:
        name: of this map in its file.
        source: file name of the table, as in a mapping file.
        part: table of a database or sheet of a workbook; empty for a file that is one table.
        subject: subject of all triples of a row, an IRI.
        properties: the other terms.
        notes: remarks of the guess for whoever reads it, one line each.
        rows: number of rows, where the guess has counted them.
        former: predicates that earlier guesses may have given to these columns, each with the start of the IRIs that
            are its values, or an empty text for any value.
        drifts: columns whose cells are not as in earlier loads of the table, each with the place of the first cell.
    """

    name: str
    source: str
    part: str
    subject: TermMap
    properties: tuple[PropertyMap, ...]
    notes: tuple[str, ...] = field(default=(), compare=False)
    rows: int | None = field(default=None, compare=False)
    former: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    drifts: tuple[str, ...] = field(default=(), compare=False)

    def term_maps(self) -> Iterator[TermMap]:
        """The subject and all objects."""
        yield self.subject
        yield from (one.target for one in self.properties)


@dataclass(frozen=True, slots=True)
class TableMapping:
    """Maps of tables that are loaded together; made by `guess_mapping`, or read from a file.

    Args:
        tables: one for each table.
        prefixes: (name, namespace) pairs of the file, or `ex` for the names that the guess has made; a load keeps them.
    """

    tables: tuple[TableMap, ...]
    prefixes: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        from hybridkg.tables.describe_mapping import described

        return described(self)

    def to_yarrrml(self) -> str:
        """The mapping in YARRRML."""
        from hybridkg.tables.yarrrml_writer import yarrrml

        return yarrrml(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Writes the mapping in YARRRML, to be edited and given to `load(..., mapping=path)`.

        Args:
            path: of the file.
            overwrite: whether a file of this name may be lost.

        Raises:
            LoadError: the file cannot be written, or there is one.
        """
        from hybridkg.errors import LoadError

        if not overwrite:
            check_no_file(path)
        try:
            Path(path).write_text(self.to_yarrrml(), encoding="utf-8")
        except OSError as e:
            raise LoadError(f"cannot write the mapping to {str(path)!r}: {e.strerror}") from e


def check_no_file(path: str | Path) -> None:
    """Raises LoadError: there is a file where a mapping is to be saved."""
    from hybridkg.errors import LoadError

    if Path(path).exists():
        raise LoadError(f"there is a file {str(path)!r}", hint="it may be edited; give another name, or move it")
