"""Mappings from YARRRML: the part in which each triple comes from one row; the rest is left to morph-kgc.

Source: https://rml.io/yarrrml/spec/, with the two extensions of yarrrml_writer.py.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from hybridkg.errors import LoadError
from hybridkg.extras import needs_extra
from hybridkg.interfaces.table_reader import ValueKind
from hybridkg.rdf.terms import NamedNode
from hybridkg.rdf.well_known import WELL_KNOWN
from hybridkg.tables.kinds import KINDS_OF_DATATYPES
from hybridkg.tables.mapping import RDF_TYPE, PropertyMap, TableMap, TableMapping, TermMap, template_parts
from hybridkg.tables.yarrrml_writer import GREL, SEPARATOR_PARAMETER, SPLIT_FUNCTION, VALUE_PARAMETER

MAX_BYTES = 4 << 20
"""Size of a mapping file."""

MAX_NESTING = 100
"""Brackets inside each other; those in texts are counted, too."""

_BRACKET = re.compile(r"[\[\]{}]")

MAX_MAPS = 10_000
"""Pairs of a source and a subject of a mapping file."""

MAX_CHARACTERS = 2 * MAX_BYTES
"""Characters of all values with aliases written out: nine lines of nine aliases each would have gigabytes."""

_KEYS = {
    "mappings": ("mappings", "mapping", "m"),
    "sources": ("sources", "source"),
    "subjects": ("subjects", "subject", "s"),
    "po": ("predicateobjects", "predicateobject", "po"),
    "predicates": ("predicates", "predicate", "p"),
    "objects": ("objects", "object", "o"),
    "function": ("function", "fn", "f"),
    "parameters": ("parameters", "pms"),
    "value": ("value", "v"),
}
"""Names of a key in the specification."""

_LEFT_TO_MORPH_KGC = frozenset({"graphs", "graph", "g", "targets", "target", "t", "condition", "conditions", "c"})
"""Keys of a mapping in the specification that TableMapping does not have."""

_FORMULATIONS = ("csv", "jsonpath")

_TOKEN = re.compile(r"\\(.)|\$\(((?:[^\\)]|\\.)*)\)|\$\(", re.DOTALL)


class BeyondRowsError(Exception):
    """A mapping uses a feature that needs more than one row, or functions, so it is for morph-kgc.

    Its text names the feature.
    """


def read_yarrrml(path: Path) -> TableMapping:
    """The mapping of a file.

    Raises:
        LoadError: the file cannot be read, or is no YARRRML.
        BeyondRowsError: it is, and uses other features than those of TableMapping.
        MissingExtraError: the package for YAML is not installed.
    """
    document = _yaml(path)
    try:
        return _Reader(path, document).mapping()
    except RecursionError as e:
        raise LoadError("a mapping that nests too deep", place=str(path)) from e


def _yaml(path: Path) -> dict[str, Any]:
    with needs_extra("tables", "a mapping in YARRRML"):
        import yaml
    try:
        if path.stat().st_size > MAX_BYTES:
            raise LoadError(f"a mapping of more than {MAX_BYTES:,} bytes", place=str(path))
        text = path.read_text(encoding="utf-8-sig")
        _check_nesting(text, path)
        document = yaml.safe_load(text)
        if _characters(document, {}) > MAX_CHARACTERS:
            raise LoadError("a mapping whose aliases make it too large", place=str(path))
    except FileNotFoundError as e:
        raise LoadError(f"no mapping {str(path)!r}", hint="write one: --save-mapping FILE") from e
    except OSError as e:
        raise LoadError(f"cannot read {str(path)!r}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise LoadError("invalid UTF-8", place=str(path)) from e
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        raise LoadError(f"not valid YAML: {getattr(e, 'problem', None) or e}", place=place) from e
    except RecursionError as e:
        raise LoadError("a mapping that nests too deep", place=str(path)) from e
    if not isinstance(document, dict):
        raise LoadError("no YARRRML: a mapping file has the keys prefixes and mappings", place=str(path))
    return document


def _check_nesting(text: str, path: Path) -> None:
    """Raises LoadError: brackets nest so deep that the parser, whose time grows with the square of it, takes long."""
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth = max(0, depth + (1 if bracket[0] in "[{" else -1))
        if depth > MAX_NESTING:
            raise LoadError("a mapping that nests too deep", place=str(path))


def _characters(value: Any, known: dict[int, int]) -> int:
    """The characters of a value with its aliases written out; more than MAX_CHARACTERS for one inside itself."""
    if isinstance(value, str):
        return len(value) + 1
    if not isinstance(value, list | dict):
        return 1
    if id(value) not in known:
        known[id(value)] = MAX_CHARACTERS + 1
        parts = value if isinstance(value, list) else (*value, *value.values())
        known[id(value)] = 1 + sum(_characters(part, known) for part in parts)
    return known[id(value)]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def _get(document: Mapping[str, Any], key: str, default: Any = None) -> Any:
    return next((document[name] for name in _KEYS.get(key, (key,)) if name in document), default)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


class _Reader:
    """Reads one document."""

    def __init__(self, path: Path, document: dict[str, Any]):
        self._path, self._document = path, document
        self._declared = self._texts(document.get("prefixes") or {}, "prefixes")
        self._prefixes = {**WELL_KNOWN, "grel": GREL, **self._declared}

    def mapping(self) -> TableMapping:
        """The mapping."""
        maps = _get(self._document, "mappings")
        if not isinstance(maps, dict) or not maps:
            raise self._wrong("there is nothing under the key mappings")
        found = (table for name, one in maps.items() for table in self._tables(str(name), one))
        tables = [*islice(found, MAX_MAPS + 1)]
        if len(tables) > MAX_MAPS:
            raise self._wrong(f"more than {MAX_MAPS:,} pairs of a source and a subject")
        own = ((name, iri) for name, iri in self._declared.items() if WELL_KNOWN.get(name) != iri)
        return TableMapping(tuple(tables), tuple(own))

    def _tables(self, name: str, one: Any) -> Iterator[TableMap]:
        if not isinstance(one, dict):
            raise self._wrong(f"the mapping {name!r} is no list of keys and values")
        known = {key for names in ("sources", "subjects", "po") for key in _KEYS[names]}
        if other := [key for key in one if key not in known]:
            self._check_key(str(other[0]), name)
            raise self._beyond(f"the key {other[0]!r} of the mapping {name!r}")
        subjects = _listed(_get(one, "subjects"))
        sources = _listed(_get(one, "sources"))
        if not subjects or not sources:
            raise self._wrong(f"the mapping {name!r} has no {'subject' if sources else 'source'}")
        properties = tuple(self._properties(_listed(_get(one, "po")), name))
        for source in sources:
            file_name, part = self._source(source)
            for subject in subjects:
                if not isinstance(subject, str):
                    raise self._beyond(f"a subject of the mapping {name!r}")
                yield TableMap(name, file_name, part, self._iri_term(subject, name), properties)

    def _check_key(self, key: str, name: str) -> None:
        """Raises LoadError: a key of a mapping is one of another place, or nearly one that is known here."""
        if key in _LEFT_TO_MORPH_KGC:
            return
        of_pairs = {*_KEYS["predicates"], *_KEYS["objects"]}
        known = [names[0] for names in (_KEYS["sources"], _KEYS["subjects"], _KEYS["po"])]
        near = _KEYS["po"][:1] if key in of_pairs else difflib.get_close_matches(key, known, 1)
        if not near:
            return
        short = next(names[-1] for names in _KEYS.values() if near[0] in names)
        raise self._wrong(
            f"the key {key!r} in the mapping {name!r}, which has sources, subjects (s) and predicateobjects (po)",
            f"did you mean {near[0]} ({short})?",
        )

    def _source(self, source: Any) -> tuple[str, str]:
        """(file name, table or sheet)."""
        named = self._document.get("sources")
        if isinstance(source, str) and isinstance(named, dict) and source in named:
            source = named[source]
        if isinstance(source, dict):
            formulation = str(source.get("referenceFormulation", "csv"))
            parts = [f"{source.get('access', '')}~{formulation}", str(source.get("iterator", ""))]
            if "query" in source or "queryFormulation" in source:
                raise self._beyond("a source with a query")
        else:
            parts = [str(part) for part in _listed(source)]
        access, _, formulation = parts[0].rpartition("~")
        if not access:
            access, formulation = parts[0], "csv"
        if formulation.lower() not in _FORMULATIONS:
            raise self._beyond(f"the reference formulation {formulation!r}")
        iterator = parts[1] if len(parts) > 1 else ""
        if formulation.lower() == "jsonpath":
            if iterator not in ("$[*]", "$.[*]", "$"):
                raise self._beyond(f"the iterator {iterator!r}")
            iterator = ""
        return access, iterator

    def _properties(self, items: list[Any], name: str) -> Iterator[PropertyMap]:
        for item in items:
            if isinstance(item, list) and 2 <= len(item) <= 3:
                predicates, objects, *suffix = item
            elif isinstance(item, dict):
                known = {key for names in ("predicates", "objects") for key in _KEYS[names]}
                if other := [key for key in item if key not in known]:
                    raise self._beyond(f"the key {other[0]!r} in the mapping {name!r}")
                predicates, objects, suffix = _get(item, "predicates"), _get(item, "objects"), []
            else:
                raise self._wrong(f"{_shown(item)} is no predicate with an object, in the mapping {name!r}")
            names = tuple(self._predicate(one) for one in _listed(predicates))
            if not names or objects is None:
                raise self._wrong(
                    f"{_shown(item)} has no {'object' if names else 'predicate'}, in the mapping {name!r}"
                )
            for one in _listed(objects):
                yield PropertyMap(names, self._object(one, str(suffix[0]) if suffix else "", names, name))

    def _predicate(self, text: Any) -> str:
        if not isinstance(text, str) or "$(" in text:
            raise self._beyond("a predicate that is not the same in each row")
        return RDF_TYPE if text == "a" else self._iri(text.removesuffix("~iri"))

    def _object(self, value: Any, suffix: str, predicates: tuple[str, ...], name: str) -> TermMap:
        if isinstance(value, list):
            if len(value) != 2:
                raise self._wrong(f"{_shown(value)} is no object, in the mapping {name!r}")
            value, suffix = value
        details: dict[str, Any] = {}
        if isinstance(value, dict):
            details = value
            known = {*_KEYS["function"], *_KEYS["parameters"], *_KEYS["value"], "type", "datatype", "language", "split"}
            if other := [key for key in details if key not in known]:
                raise self._beyond(f"the key {other[0]!r} of an object")
            value, separator = self._split(details)
        else:
            separator = ""
        if not isinstance(value, str | int | float | bool):
            raise self._wrong(f"{_shown(value)} is no object, in the mapping {name!r}")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        kind = str(details.get("type", "literal"))
        for mark in ("iri", "literal", "blanknode"):
            if text.endswith(f"~{mark}"):
                text, kind = text.removesuffix(f"~{mark}"), mark
        if kind == "blanknode":
            raise self._beyond("an object that is a blank node")
        is_class = predicates == (RDF_TYPE,) and "type" not in details
        if kind == "iri" or is_class:
            term = self._iri_term(text, name)
            return TermMap(term.template, ValueKind.IRI, separator=separator)
        language, datatype = str(details.get("language", "")), str(details.get("datatype", ""))
        if suffix.endswith("~lang"):
            language = suffix.removesuffix("~lang")
        elif suffix:
            datatype = suffix
        if "$(" in language + datatype:
            raise self._beyond("a language or a datatype from a column")
        return self._literal(text, name, language.removesuffix("~lang"), datatype, separator)

    def _literal(self, text: str, name: str, language: str, datatype: str, separator: str) -> TermMap:
        template = self._template(text, name)
        if language and not re.fullmatch(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*", language):
            raise self._wrong(f"{language!r} is no language tag")
        iri = self._iri(datatype) if datatype else ""
        if iri == self._prefixes["xsd"] + "string":
            iri = ""
        return TermMap(template, KINDS_OF_DATATYPES.get(iri, ValueKind.STRING), iri, language.lower(), separator)

    def _split(self, details: Mapping[str, Any]) -> tuple[Any, str]:
        """(value, separator) of an object with keys."""
        function = _get(details, "function")
        if function is None:
            return _get(details, "value"), str(details.get("split", ""))
        if self._iri(str(function)) != SPLIT_FUNCTION:
            raise self._beyond(f"the function {function!r}")
        parameters: dict[str, Any] = {}
        for one in _listed(_get(details, "parameters")):
            if isinstance(one, dict):
                pair = (one.get("parameter", one.get("pm")), _get(one, "value"))
            elif isinstance(one, list) and len(one) == 2:
                pair = (one[0], one[1])
            else:
                raise self._wrong(f"{_shown(one)} is no parameter of a function")
            parameters[self._iri(str(pair[0]))] = pair[1]
        if set(parameters) != {VALUE_PARAMETER, SEPARATOR_PARAMETER} or not parameters[SEPARATOR_PARAMETER]:
            raise self._wrong("grel:string_split needs grel:valueParameter and grel:p_string_sep")
        return parameters[VALUE_PARAMETER], str(parameters[SEPARATOR_PARAMETER])

    def _iri_term(self, text: str, name: str) -> TermMap:
        text, is_marked = text.removesuffix("~iri"), text.endswith("~iri")
        if text.endswith("~blanknode"):
            raise self._beyond("a blank node")
        template = self._template(text, name)
        template = (self._expanded(template[0]) if template[0] else "", *template[1:])
        term = TermMap(template, ValueKind.IRI)
        if term.is_reference:
            if not is_marked and not text:
                raise self._wrong(f"the mapping {name!r} has an empty IRI")
            return term
        self._check_iri("".join("x" if i % 2 else part for i, part in enumerate(template)))
        return term

    def _template(self, text: str, name: str) -> tuple[str, ...]:
        """Constants and columns in turn. Raises LoadError: a column is not closed."""
        try:
            return template_parts(text, _TOKEN)
        except ValueError as e:
            line = self._line_of(text)
            raise LoadError(
                f"wrong mapping: {_shown(str(e))} is not closed, in the mapping {name!r}",
                hint="a column is $(name); where no column is meant, write \\$(",
                place=f"{self._path}:{line}" if line else str(self._path),
            ) from e

    def _line_of(self, text: str) -> int:
        """The first line that has a text as it is; 0 where the file escapes it."""
        lines = self._path.read_text(encoding="utf-8-sig").splitlines()
        return next((number for number, line in enumerate(lines, 1) if text in line), 0)

    def _iri(self, text: str) -> str:
        iri = self._expanded(text)
        self._check_iri(iri)
        return iri

    def _expanded(self, text: str) -> str:
        """The text with its prefix replaced by the namespace."""
        prefix, colon, rest = text.partition(":")
        if colon and prefix in self._prefixes and not rest.startswith("//"):
            return self._prefixes[prefix] + rest
        return text

    def _check_iri(self, text: str) -> None:
        try:
            NamedNode(text)
        except ValueError as e:
            prefix = text.partition(":")[0] if ":" in text else ""
            if text.removeprefix(prefix).startswith("://"):
                hint = "percent-encode what an IRI cannot have: a space is %20"
            elif prefix.isalnum():
                hint = f"declare it: prefixes: {{{prefix}: http://...}}"
            else:
                hint = "write it whole: http://..."
            raise self._wrong(f"{text!r} is no IRI: {e}", hint) from e
        prefix = text.partition(":")[0]
        if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(//|.*:)|(mailto|urn|tel|doi):", text):
            raise self._wrong(
                f"{text!r} has a prefix {prefix!r} that is not declared", f"prefixes: {{{prefix}: http://...}}"
            )

    def _texts(self, value: Any, what: str) -> dict[str, str]:
        if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
            raise self._wrong(f"{what} must be names with texts")
        return {str(name): text for name, text in value.items()}

    def _wrong(self, message: str, hint: str = "") -> LoadError:
        return LoadError(f"wrong mapping: {message}", hint=hint, place=str(self._path))

    def _beyond(self, what: str) -> BeyondRowsError:
        return BeyondRowsError(what)
