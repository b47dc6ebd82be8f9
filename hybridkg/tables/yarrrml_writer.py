"""A mapping in YARRRML (https://rml.io/yarrrml/spec/), written so that it is read back to the same triples.

Texts are quoted as in JSON, which YAML reads alike. Of what the specification leaves out, `split` (several values in a
cell, as part of an IRI) and `$(#row)` (the number of the row) are our own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from hybridkg.interfaces.table_reader import ValueKind
from hybridkg.rdf.input_file import extensions
from hybridkg.rdf.terms import XSD
from hybridkg.tables.mapping import RDF_TYPE, PropertyMap, TableMap, TableMapping, TermMap

GREL = "http://users.ugent.be/~bjdmeest/function/grel.ttl#"
SPLIT_FUNCTION = GREL + "string_split"
VALUE_PARAMETER = GREL + "valueParameter"
SEPARATOR_PARAMETER = GREL + "p_string_sep"

PREFIXES = {
    "grel": GREL,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": XSD,
}

HEADER = "# A mapping of tables to RDF in YARRRML. Edit it, then: hybridkg load KB --mapping THIS_FILE FILE...\n"

JSON_EXTENSIONS = (".json", ".jsonl", ".ndjson")
"""Extensions of the sources that are read by JSONPath."""

_LOCAL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def yarrrml(mapping: TableMapping) -> str:
    """The text of a mapping file."""
    prefixes = {**PREFIXES, **dict(mapping.prefixes)}
    lines = [HEADER + "prefixes:", *(f"  {name}: {_quoted(iri)}" for name, iri in prefixes.items()), "mappings:"]
    names: set[str] = set()
    for table in mapping.tables:
        name = table.name
        while name in names:
            name += "_"
        names.add(name)
        lines += _table(table, name, prefixes)
    return "\n".join(lines) + "\n"


def _table(table: TableMap, name: str, prefixes: dict[str, str]) -> Iterator[str]:
    yield f"  {_quoted(name)}:"
    yield "    sources:"
    yield f"      - [{', '.join(map(_quoted, _source(table)))}]"
    yield f"    s: {_quoted(template_text(table.subject) + ('~iri' if table.subject.is_reference else ''))}"
    yield "    po:"
    for one in table.properties:
        yield from _property(one, prefixes)
    yield from (f"    # {note}" for note in map(_one_line, table.notes))


def _source(table: TableMap) -> list[str]:
    if extensions(Path(table.source))[0] in JSON_EXTENSIONS:
        return [f"{table.source}~jsonpath", "$[*]"]
    return [f"{table.source}~csv", *([table.part] if table.part else [])]


def _property(one: PropertyMap, prefixes: dict[str, str]) -> Iterator[str]:
    names = [_name(predicate, prefixes) for predicate in one.predicates]
    term = one.target
    predicate = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
    suffix = f"{term.language}~lang" if term.language else _name(term.datatype, prefixes) if term.datatype else ""
    text = template_text(term)
    if not term.separator:
        if names == ["a"] and not term.columns:
            yield f"      - [a, {_name(text, prefixes)}]"
            return
        value = _quoted(f"{text}~iri" if term.kind is ValueKind.IRI else text)
        yield f"      - [{predicate}, {value}{f', {suffix}' if suffix else ''}]"
        return
    yield f"      - p: {predicate}"
    yield "        o:"
    if term.is_reference:
        yield "          function: grel:string_split"
        yield "          parameters:"
        yield f"            - [grel:valueParameter, {_quoted(text)}]"
        yield f"            - [grel:p_string_sep, {_quoted(term.separator)}]"
    else:
        yield f"          value: {_quoted(text)}"
        yield f"          split: {_quoted(term.separator)}"
    if term.kind is ValueKind.IRI:
        yield "          type: iri"
    elif term.language:
        yield f"          language: {term.language}"
    elif term.datatype:
        yield f"          datatype: {suffix}"


def template_text(term: TermMap) -> str:
    """A template with `$(column)` in place of columns.

    >>> template_text(TermMap(("http://e/", "a)b", "")))
    'http://e/$(a\\\\)b)'
    """
    return "".join(
        f"$({_escaped(part)})" if i % 2 else part.replace("\\", "\\\\").replace("$(", "\\$(")
        for i, part in enumerate(term.template)
    )


def _escaped(column: str) -> str:
    return column.replace("\\", "\\\\").replace(")", "\\)")


def _name(iri: str, prefixes: dict[str, str]) -> str:
    """An IRI as `a`, with a prefix, or whole."""
    if iri == RDF_TYPE:
        return "a"
    for prefix, namespace in prefixes.items():
        if iri.startswith(namespace) and _LOCAL_NAME.fullmatch(iri, len(namespace)):
            return f"{prefix}:{iri[len(namespace) :]}"
    return _quoted(iri)


def _quoted(text: str) -> str:
    """The text in double quotes, which YAML and JSON read alike once these characters are escaped, too."""
    quoted = json.dumps(text, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _one_line(note: str) -> str:
    return json.dumps(note, ensure_ascii=True)[1:-1].replace('\\"', '"')
