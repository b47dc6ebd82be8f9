"""Mappings from RML in Turtle: the part in which each triple comes from one row; the rest is left to morph-kgc.

Source: RML in its two vocabularies, the first (semweb.mmlab.be, with R2RML) and that of the W3C Community Group
(w3id.org/rml), which have the same local names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hybridkg.errors import LoadError
from hybridkg.interfaces.table_reader import ValueKind
from hybridkg.tables.kinds import KINDS_OF_DATATYPES
from hybridkg.tables.mapping import RDF_TYPE, PropertyMap, TableMap, TableMapping, TermMap, constant_iri, template_parts
from hybridkg.tables.yarrrml_reader import MAX_BYTES, BeyondRowsError

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

_VOCABULARIES = ("http://www.w3.org/ns/r2rml#", "http://semweb.mmlab.be/ns/rml#", "http://w3id.org/rml/")

_TEXT_TABLES = ("CSV", "JSONPath")

_TOKEN = re.compile(r"\\(.)|\{((?:[^\\}]|\\.)*)\}|\{", re.DOTALL)

_POSITION = {
    "map": {"logicalSource", "subjectMap", "subject", "predicateObjectMap", "type"},
    "source": {"source", "referenceFormulation", "iterator", "type"},
    "path": {"path", "type"},
    "subject": {"template", "reference", "constant", "class", "termType", "type"},
    "pair": {"predicate", "predicateMap", "object", "objectMap", "type"},
    "predicate": {"constant", "type"},
    "object": {"template", "reference", "constant", "termType", "datatype", "language", "type"},
}
"""Local names of the properties that are known here, by the node that has them."""


def read_rml(path: Path) -> TableMapping:
    """The mapping of a file.

    Raises:
        LoadError: the file cannot be read, or has no mapping in RML.
        BeyondRowsError: it has, and uses other features than those of TableMapping.
    """
    import rdflib

    graph = rdflib.Graph()
    try:
        if path.stat().st_size > MAX_BYTES:
            raise LoadError(f"a mapping of more than {MAX_BYTES:,} bytes", place=str(path))
        graph.parse(data=path.read_text(encoding="utf-8-sig"), format="turtle", publicID="http://example.com/base/")
    except (OSError, UnicodeDecodeError) as e:
        reason = e.strerror if isinstance(e, OSError) else "it is not UTF-8"
        raise LoadError(f"cannot read the mapping: {reason}", place=str(path)) from e
    except RecursionError as e:
        raise LoadError("a mapping that nests too deep", place=str(path)) from e
    except Exception as e:  # rdflib's parsers have no common error
        reason = str(e).partition("\n")[0].replace(" of <>", "").rstrip(":")
        raise LoadError(f"not valid Turtle: {reason}", place=str(path)) from e
    tables = [*_Reader(path, graph).tables()]
    if not tables:
        raise LoadError(
            "no mapping in RML: nothing has a logical source",
            hint="RML in Turtle ends in .ttl, YARRRML in .yml, .yaml or .yarrrml",
            place=str(path),
        )
    return TableMapping(tuple(sorted(tables, key=lambda one: (one.source, one.part, one.name))))


class _Reader:
    """Reads one graph."""

    def __init__(self, path: Path, graph: Graph):
        self._path, self._graph = path, graph

    def tables(self) -> Iterator[TableMap]:
        """The triples maps that have a source."""
        found = {s for name in _VOCABULARIES for s in self._graph.subjects(_iri(name + "logicalSource"))}
        for node in sorted(found, key=str):
            self._check(node, "map")
            source, part = self._source(self._one(node, "logicalSource"))
            subject, classes = self._subject(node)
            pairs = [one for pair in self._all(node, "predicateObjectMap") for one in self._pairs(pair)]
            properties = [*classes, *sorted(pairs, key=lambda one: (one.predicates, one.target.template))]
            yield TableMap(str(node).rpartition("#")[2].rpartition("/")[2], source, part, subject, tuple(properties))

    def _source(self, node: Node) -> tuple[str, str]:
        """(file name, table or sheet)."""
        self._check(node, "source")
        formulation = _local(self._one(node, "referenceFormulation", "CSV"))
        if formulation not in _TEXT_TABLES:
            raise BeyondRowsError(f"the reference formulation {formulation!r}")
        source = self._one(node, "source")
        if self._all(source, "path"):
            self._check(source, "path")
            source = self._one(source, "path")
        iterator = str(self._one(node, "iterator", ""))
        if formulation == "JSONPath":
            if iterator not in ("$[*]", "$.[*]", "$"):
                raise BeyondRowsError(f"the iterator {iterator!r}")
            iterator = ""
        return str(source), iterator

    def _subject(self, node: Node) -> tuple[TermMap, list[PropertyMap]]:
        """The subject, and the triples of its classes."""
        constants = self._all(node, "subject")
        if constants:
            return constant_iri(str(constants[0])), []
        subject = self._one(node, "subjectMap")
        self._check(subject, "subject")
        term = self._term(subject, ValueKind.IRI)
        if term.kind is not ValueKind.IRI:
            raise BeyondRowsError("a subject that is no IRI")
        classes = sorted(map(str, self._all(subject, "class")))
        return term, [PropertyMap((RDF_TYPE,), constant_iri(one)) for one in classes]

    def _pairs(self, node: Node) -> Iterator[PropertyMap]:
        self._check(node, "pair")
        predicates = [str(one) for one in self._all(node, "predicate")]
        for one in self._all(node, "predicateMap"):
            self._check(one, "predicate")
            predicates.append(str(self._one(one, "constant")))
        names = tuple(sorted(predicates))
        if not names:
            raise self._wrong("a pair of predicate and object has no predicate")
        for constant in self._all(node, "object"):
            yield PropertyMap(names, self._constant(constant))
        for one in self._all(node, "objectMap"):
            self._check(one, "object")
            yield PropertyMap(names, self._term(one, ValueKind.STRING))

    def _term(self, node: Node, of_reference: ValueKind) -> TermMap:
        """A term map; a reference without a term type has a kind by its position."""
        if constants := self._all(node, "constant"):
            return self._constant(constants[0])
        language = str(self._one(node, "language", "")).lower()
        datatype = str(self._one(node, "datatype", ""))
        is_template = bool(self._all(node, "template"))
        if is_template:
            try:
                template, kind = template_parts(str(self._one(node, "template")), _TOKEN), ValueKind.IRI
            except ValueError as e:
                raise self._wrong(f"{str(e)!r} in a template is not closed: a column is {{name}}") from e
        else:
            template, kind = ("", str(self._one(node, "reference")), ""), of_reference
        if language or datatype:
            kind = ValueKind.STRING
        match _local(self._one(node, "termType", "")):
            case "IRI" | "UnsafeIRI":
                kind = ValueKind.IRI
            case "Literal":
                kind = ValueKind.STRING
            case "":
                pass
            case other:
                raise BeyondRowsError(f"a term of type {other}")
        if kind is ValueKind.IRI:
            return TermMap(template, kind)
        return TermMap(template, KINDS_OF_DATATYPES.get(datatype, ValueKind.STRING), datatype, language)

    def _constant(self, node: Node) -> TermMap:
        import rdflib

        if isinstance(node, rdflib.URIRef):
            return constant_iri(str(node))
        if isinstance(node, rdflib.Literal):
            datatype = str(node.datatype or "")
            kind = KINDS_OF_DATATYPES.get(datatype, ValueKind.STRING)
            return TermMap((str(node),), kind, datatype, (node.language or "").lower())
        raise BeyondRowsError("a constant that is a blank node")

    def _all(self, node: Node, name: str) -> list[Node]:
        """The values of a property, in the order of their texts."""
        found = {value for vocabulary in _VOCABULARIES for value in self._graph.objects(node, _iri(vocabulary + name))}
        return sorted(found, key=str)

    def _one(self, node: Node, name: str, default: str | None = None) -> Node:
        import rdflib

        values = self._all(node, name)
        if len(values) == 1:
            return values[0]
        if not values and default is not None:
            return rdflib.Literal(default)
        raise self._wrong(f"{'no' if not values else 'more than one'} {name} where one is needed")

    def _check(self, node: Node, position: str) -> None:
        """Raises BeyondRowsError: the node has a property that is not known here."""
        for predicate in self._graph.predicates(node):
            if _local(predicate) not in _POSITION[position]:
                raise BeyondRowsError(f"the property {_local(predicate)!r} of RML")

    def _wrong(self, message: str) -> LoadError:
        return LoadError(f"wrong mapping: {message}", place=str(self._path))


def _iri(text: str) -> Node:
    import rdflib

    return rdflib.URIRef(text)


def _local(node: Node) -> str:
    return re.split(r"[#/]", str(node))[-1]
