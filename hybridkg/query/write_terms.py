"""Serialiser of terms, paths, triples, MATCH and NEAR; it checks or escapes every name and value."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from hybridkg.errors import QueryCheckError
from hybridkg.query import ast
from hybridkg.query.builders.terms import RDF_TYPE
from hybridkg.rdf.terms import XSD

_VARIABLE = re.compile(
    "[A-Za-z0-9_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
    "\u00b7\u0300-\u036f\u203f-\u2040]+"
)
_LABEL = re.compile(_VARIABLE.pattern[:-2] + r".\-]+")
_NOT_IN_IRI = re.compile('[<>"{}|^`\\\\\x00-\x20\ud800-\udfff]')
_LANGUAGE = re.compile(r"[a-zA-Z]+(?:-[a-zA-Z0-9]+)*")
_DIRECTION = re.compile("ltr|rtl")
_NAME = re.compile(r"[^\W\d][\w-]*")
_FILE = re.compile(r"[\w./-]+")
_LOCAL = re.compile(r"[A-Za-z_0-9](?:[\w.-]*[\w-])?", re.ASCII)
_NUMBERS = {
    XSD + "integer": re.compile(r"[+-]?[0-9]+"),
    XSD + "decimal": re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    XSD + "double": re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+"),
    XSD + "boolean": re.compile(r"true|false"),
}
"""Literals that are written bare; any other text of these types is quoted."""

_ESCAPED = re.compile('[\x00-\x1f"\\\\\x7f-\x9f\ufeff\ud800-\udfff]')
_ESCAPES = {"\t": "\\t", "\b": "\\b", "\n": "\\n", "\r": "\\r", "\f": "\\f", '"': '\\"', "\\": "\\\\"}

_ALTERNATIVE, _SEQUENCE, _INVERSE, _REPEAT, _PRIMARY = range(5)
"""Precedence of paths (productions 89-94)."""


class TermWriter:
    """Writer that collects the pieces of the text."""

    def __init__(self, prefixes: Mapping[str, str]):
        self.pieces: list[str] = []
        self.indent = 0
        self.prefixes = sorted(((iri, name) for name, iri in prefixes.items() if iri), key=lambda p: -len(p[0]))
        self.used: set[tuple[str, str]] = set()
        self.base: str | None = None

    def text(self) -> str:
        return "".join(self.pieces)

    def declarations(self) -> list[str]:
        """BASE, if a function needs it, and the PREFIX lines of the prefixes in use."""
        for _, namespace in self.used:
            if _NOT_IN_IRI.search(namespace):
                _refuse("namespace", namespace)
        base = [] if self.base is None else [f"BASE <{self.base}>"]
        return base + [f"PREFIX {name}: <{iri}>" for name, iri in sorted(self.used)]

    def use_base(self, base: str) -> None:
        """Declares the BASE of a whole query; a query has at most one."""
        if _NOT_IN_IRI.search(base) or self.base not in (None, base):
            _refuse("base IRI", base)
        self.base = base

    def add(self, text: str) -> None:
        """Continues the current line."""
        self.pieces.append(text)

    def line(self, text: str) -> None:
        """Starts a new line."""
        self.pieces.append("\n" + "  " * self.indent + text)

    def term(self, node: ast.VarOrTerm) -> None:
        match node:
            case ast.Var(name):
                self.add("?" + _valid(_VARIABLE, name, "variable"))
            case ast.Iri(value):
                self.add(self.iri(value))
            case ast.Lit():
                self.literal(node)
            case ast.Blank(label):
                if label.endswith(".") or label[:1] in "-.":
                    _refuse("blank node label", label)
                self.add("_:" + _valid(_LABEL, label, "blank node label"))
            case ast.TripleTerm():
                self.triple_term(node)
            case _:
                raise TypeError(f"not a term: {type(node).__name__}")

    def triple_term(self, node: ast.TripleTerm) -> None:
        """`<<( s p o )>>`; its parts are at most as deep as the parser allows."""
        self.add("<<( ")
        self.term(node.subject)
        self.add(" ")
        self.predicate(node.predicate)
        self.add(" ")
        self.term(node.object)
        self.add(" )>>")

    def iri(self, value: str) -> str:
        """`<iri>`, or a prefixed name of a declared prefix."""
        for namespace, name in self.prefixes:
            if value.startswith(namespace) and _LOCAL.fullmatch(value, len(namespace)):
                self.used.add((name, namespace))
                return f"{name}:{value[len(namespace) :]}"
        if _NOT_IN_IRI.search(value):
            _refuse("IRI", value)
        return f"<{value}>"

    def literal(self, node: ast.Lit) -> None:
        """A literal; numbers and booleans are written bare where their text allows it."""
        if node.datatype is not None:
            bare = _NUMBERS.get(node.datatype)
            if bare is not None and bare.fullmatch(node.lexical):
                self.add(node.lexical)
                return
        self.add(quoted(node.lexical))
        if node.language is not None:
            self.add("@" + _valid(_LANGUAGE, node.language, "language tag"))
            if node.direction is not None:
                self.add("--" + _valid(_DIRECTION, node.direction, "base direction"))
        elif node.datatype is not None:
            self.add("^^" + self.iri(node.datatype))

    def path(self, node: ast.Path, floor: int = _ALTERNATIVE) -> None:
        """A property path, in parentheses where its level is below `floor`."""
        level = _LEVELS.get(type(node), _PRIMARY)
        if level < floor:
            self.add("(")
        match node:
            case ast.Iri(value):
                self.add(self.iri(value))
            case ast.PathAlternative(parts):
                self._parts(parts, "|", _SEQUENCE)
            case ast.PathSequence(parts):
                self._parts(parts, "/", _INVERSE)
            case ast.PathInverse(path):
                self.add("^")
                self.path(path, _REPEAT)
            case ast.PathRepeat(path, mark):
                self.path(path, _PRIMARY)
                self.add(mark if mark in ("*", "+", "?") else _refuse("path mark", mark))
            case ast.PathNegated(parts):
                self.add("!" if len(parts) == 1 else "!(")
                self._parts(parts, "|", _INVERSE)
                self.add("" if len(parts) == 1 else ")")
        if level < floor:
            self.add(")")

    def _parts(self, parts: tuple[ast.Path, ...], operator: str, floor: int) -> None:
        for i, part in enumerate(parts):
            self.add(operator if i else "")
            self.path(part, floor)

    def triple(self, node: ast.TriplePattern) -> None:
        self.term(node.subject)
        self.add(" ")
        self.predicate(node.predicate)
        self.add(" ")
        self.term(node.object)

    def predicate(self, node: ast.Var | ast.Path) -> None:
        """A variable or a path; for display rdf:type is `a`."""
        if isinstance(node, ast.Var):
            self.term(node)
        elif self.prefixes and isinstance(node, ast.Iri) and node.value == RDF_TYPE:
            self.add("a")
        else:
            self.path(node)

    def match(self, node: ast.Match) -> None:
        self.term(node.entity)
        self.add(" MATCH ALL" if node.all_terms else " MATCH")
        self.add(" QUERY " if node.query_syntax else " ")
        self.term(node.text)
        if node.fields:
            self.add(" ON (")
            self._listed(node.fields, self.on_field)
            self.add(")")
        if node.model is not None:
            self.add(" USING ")
            self.model(node.model)
        if node.top is not None:
            self.add(f" TOP {int(node.top)}")
        self.as_variable("AS", node.score)
        self.as_variable("SNIPPET", node.snippet)

    def near(self, node: ast.Near) -> None:
        self.term(node.entity)
        self.add(" NEAR EXACT " if node.exact else " NEAR ")
        if isinstance(node.target, ast.Vector):
            self.add("[")
            self._listed(node.target.values, lambda value: self.add(_number(value)))
            self.add("]")
        else:
            self.term(node.target)
        if node.encoder is not None:
            self.add(" USING ")
            self.model(node.encoder)
        if node.top is not None:
            self.add(f" TOP {int(node.top)}")
        if node.within is not None:
            self.add(f" WITHIN {_number(node.within)}")
        self.as_variable("AS", node.score)

    def as_variable(self, keyword: str, variable: ast.Var | None) -> None:
        """` AS ?x`, unless the variable is None."""
        if variable is not None:
            self.add(f" {keyword} ")
            self.term(variable)

    def on_field(self, node: ast.OnField) -> None:
        """`field@language^weight name=value`."""
        self.add(_valid(_NAME, node.name, "field name"))
        if node.language is not None:
            self.add("@" + _valid(_LANGUAGE, node.language, "language tag"))
        if node.weight is not None:
            self.add("^" + _number(node.weight))
        for argument in node.arguments:
            self.add(" ")
            self.argument(argument)

    def model(self, node: ast.Model) -> None:
        """`name(@file, name=value, ...)`."""
        self.add(_valid(_NAME, node.name, "model name"))
        if node.arguments or node.file:
            self.add("(")
            if node.file:
                self.add("@" + _valid(_FILE, node.file, "file of parameters") + (", " if node.arguments else ""))
            self._listed(node.arguments, self.argument)
            self.add(")")

    def argument(self, node: ast.NamedArgument) -> None:
        self.add(_valid(_NAME, node.name, "argument name") + "=")
        if isinstance(node.value, ast.Lit):
            self.literal(node.value)
        else:
            self.term(node.value)

    def _listed(self, nodes: tuple[Any, ...], one: Any) -> None:
        for i, node in enumerate(nodes):
            self.add(", " if i else "")
            one(node)


_LEVELS: dict[type[ast.Syntax], int] = {
    ast.PathAlternative: _ALTERNATIVE,
    ast.PathSequence: _SEQUENCE,
    ast.PathInverse: _INVERSE,
    ast.PathRepeat: _REPEAT,
}


def quoted(text: str) -> str:
    """The text as a string literal on one line.

    >>> quoted('a "b"')
    '"a \\\\"b\\\\""'
    """
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if "\ud800" <= character <= "\udfff":
        _refuse("character", character)
    return _ESCAPES.get(character) or f"\\u{ord(character):04X}"


def _number(value: float) -> str:
    if not math.isfinite(value):
        _refuse("weight", str(value))
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _valid(pattern: re.Pattern[str], text: str, kind: str) -> str:
    return text if pattern.fullmatch(text) else _refuse(kind, text)


def _refuse(kind: str, text: str) -> NoReturn:
    raise QueryCheckError(f"{text!r} cannot be written as {'an' if kind[0] in 'aeiouI' else 'a'} {kind}")
