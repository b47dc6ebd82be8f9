"""Builders of terms: IRIs with their prefixes and base, literals, variables, blank nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hybridkg.errors import QueryLimitError, QuerySyntaxError, UndeclaredPrefixError
from hybridkg.query import ast
from hybridkg.query.iris import is_absolute, resolve, why_invalid
from hybridkg.query.lexer import Token
from hybridkg.query.source import SourceText, shown
from hybridkg.rdf.known_prefixes import ONLY_DECLARED
from hybridkg.rdf.terms import XSD, Literal
from hybridkg.rdf.well_known import WELL_KNOWN
from hybridkg.registry import did_you_mean

RDF_TYPE = ast.RDF + "type"

MAX_EXPANDED = 20_000_000
"""Characters that prefixes and BASE may add. The longest query has room for 100,000 uses of a prefix of half a million
characters, which would fill any memory."""

MIN_SUGGESTED = 3
"""Shorter prefixes get no suggestion: each is similar to a dozen others."""

MAX_LISTED = 12
"""Prefixes that a hint lists."""

DIRECTIONS = ("ltr", "rtl")
"""Base directions of RDF 1.2, in lower case only."""

_INTEGER, _DECIMAL, _DOUBLE = XSD + "integer", XSD + "decimal", XSD + "double"
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_STRING_ESCAPE = re.compile(r"\\(?:u(.{4})|U(.{8})|(.))", re.DOTALL)
_FRESH_TAKEN = re.compile(r"_:b([0-9]{1,7})_")


class TermBuilders:
    """Builder that holds the declarations of the prologue, and generates blank node labels."""

    def __init__(self, query: SourceText, base: str = "", known: Mapping[str, str] = ONLY_DECLARED):
        self.query = query
        self.span = query.span
        """The span in the text as written, of offsets in the text without escapes."""
        self.base = base
        self.prefixes: dict[str, str] = {}
        self._known = known
        self._resolved: dict[str, str] = {}
        self._languages: set[str] = set()
        self._expanded = 0
        self._fresh = 0
        self._fresh_prefix = _fresh_prefix(query.text)

    def error(self, message: str, start: int, end: int, hint: str = "") -> QuerySyntaxError:
        return QuerySyntaxError(message, hint=hint, span=self.span(start, end))

    def base_declaration(self, c: list[Any], start: int, end: int) -> None:
        self.base = self._reference(c[1])
        self._charge(self.base, c[1])
        self._resolved.clear()

    def prefix_declaration(self, c: list[Any], start: int, end: int) -> None:
        namespace = self.prefixes[c[1].text[:-1]] = self._reference(c[2])
        self._charge(namespace, c[2])
        self._resolved.clear()

    def iri(self, c: list[Any], start: int, end: int) -> ast.Iri:
        """An IRI in angle brackets, or a prefixed name."""
        token: Token = c[0]
        value = self._resolved.get(token.text)
        if value is None:
            value = self._reference(token) if token.type == "IRIREF" else self._prefixed(token)
            self._resolved[token.text] = value
        self._charge(value, token)
        return ast.Iri(value, span=self.span(start, end))

    def version_declaration(self, c: list[Any], start: int, end: int) -> None:
        """`VERSION "1.2"`: an announcement; the grammar is the same for every version."""

    def _charge(self, value: str, token: Token) -> None:
        self._expanded += len(value) - len(token.text)
        if self._expanded > MAX_EXPANDED:
            raise QueryLimitError(
                f"prefixes and BASE make the text {MAX_EXPANDED:,} characters longer",
                hint="pass long lists of values as a parameter",
                span=self.span(token.start, token.end),
            )

    def charge_annotation(self, size: int, start: int, end: int) -> None:
        """Counts a triple that an annotation repeats as a term of `size` characters."""
        self._expanded += size
        if self._expanded > MAX_EXPANDED:
            raise QueryLimitError(
                f"annotations repeat their triples, which makes the text {MAX_EXPANDED:,} characters longer",
                hint="write the triple once, and its reifiers as subjects: ?reifier rdf:reifies <<( ... )>>",
                span=self.span(start, end),
            )

    def rdf_type(self, c: list[Any], start: int, end: int) -> ast.Iri:
        return ast.Iri(RDF_TYPE, span=self.span(start, end))

    def _reference(self, token: Token) -> str:
        written = token.text[1:-1]
        if self.base:
            value = resolve(written, self.base)
        elif is_absolute(written):
            value = written
        else:
            raise self.error(
                f"the relative IRI {shown(token.text)} needs a base",
                token.start,
                token.end,
                "write the IRI in full, or begin with BASE <http://...>"
                + (f"; a prefixed name has no brackets: {shown(written)}" if ":" in written else ""),
            )
        return self._checked(value, token)

    def _prefixed(self, token: Token) -> str:
        prefix, _, local = token.text.partition(":")
        namespace = self.prefixes.get(prefix)
        if namespace is None and (namespace := self._known.get(prefix)) is not None:
            self.prefixes[prefix] = namespace
        if namespace is None:
            raise UndeclaredPrefixError(
                f"the prefix {shown(prefix) + ':'!r} is not declared",
                prefix,
                hint=self._prefix_hint(prefix),
                span=self.span(token.start, token.start + len(prefix) + 1),
            )
        return self._checked(namespace + local_name(local), token)

    def _prefix_hint(self, prefix: str) -> str:
        namespace = WELL_KNOWN.get(prefix)
        declared = sorted(name for name, iri in self.prefixes.items() if self._known.get(name) != iri)
        kept = [name for name in getattr(self._known, "kept", ()) if name not in declared]
        lines = [f"declared: {_listed(declared)}"] if declared else []
        lines += [f"kept by the knowledge base: {_listed(kept)}"] if kept else []
        if namespace is not None:
            lines.insert(0, f"put this line first:\nPREFIX {prefix}: <{namespace}>")
        elif len(prefix) >= MIN_SUGGESTED and (
            near := did_you_mean(prefix, sorted({*self.prefixes, *self._known, *WELL_KNOWN} - {""}))
        ):
            lines.insert(0, near)
        else:
            lines.insert(0, f"begin with PREFIX {shown(prefix)}: <http://...>")
        return "\n".join(lines)

    def _checked(self, iri: str, token: Token) -> str:
        if reason := why_invalid(iri):
            raise self.error(f"{shown(f'<{iri}>')} is not a valid IRI: {shown(reason)}", token.start, token.end)
        return iri

    def string(self, c: list[Any], start: int, end: int) -> str:
        token: Token = c[0]
        return string_value(token.text, is_long="LONG" in token.type)

    argument_string = string

    def simple_literal(self, c: list[Any], start: int, end: int) -> ast.Lit:
        return ast.Lit(c[0], span=self.span(start, end))

    def language_literal(self, c: list[Any], start: int, end: int) -> ast.Lit:
        """`"text"@en`, or `"text"@ar--rtl` with a base direction."""
        token: Token = c[1]
        tag, _, direction = token.text.partition("--")
        if direction:
            if direction not in DIRECTIONS:
                raise self.error(
                    f"{shown(direction)!r} is not a base direction", token.start, token.end, "write --ltr or --rtl"
                )
            token = token._replace(text=tag)
        return ast.Lit(c[0], None, self.language(token), direction or None, span=self.span(start, end))

    def typed_literal(self, c: list[Any], start: int, end: int) -> ast.Lit:
        """`"text"^^<datatype>`; a simple literal is an xsd:string already."""
        datatype = None if c[2].value == XSD + "string" else c[2].value
        return ast.Lit(c[0], datatype, span=self.span(start, end))

    def language(self, token: Token) -> str:
        """The tag of `@en`, validated like the store does (BCP 47)."""
        tag = token.text[1:]
        if tag not in self._languages:
            try:
                Literal("", language=tag)
            except ValueError as e:
                raise self.error(
                    f"{shown(tag)!r} is not a language tag: {str(e).lower()}", token.start, token.end
                ) from None
            self._languages.add(tag)
        return tag

    def numeric_literal_unsigned(self, c: list[Any], start: int, end: int) -> ast.Lit:
        """An INTEGER, DECIMAL or DOUBLE, signed or unsigned."""
        token: Token = c[0]
        return ast.Lit(token.text, number_datatype(token.text), span=self.span(start, end))

    numeric_literal_positive = numeric_literal_negative = number = threshold = numeric_literal_unsigned

    def boolean_literal(self, c: list[Any], start: int, end: int) -> ast.Lit:
        return ast.Lit(c[0].text.lower(), XSD + "boolean", span=self.span(start, end))

    def word_literal(self, c: list[Any], start: int, end: int) -> ast.Lit:
        """A bare word as the value of an argument."""
        return ast.Lit(c[0].text, span=self.span(start, end))

    def var(self, c: list[Any], start: int, end: int) -> ast.Var:
        written: str = c[0].text
        return ast.Var(written[1:], is_marked=written[0] == "$", span=self.span(start, end))

    def labelled_blank_node(self, c: list[Any], start: int, end: int) -> ast.Blank:
        return ast.Blank(c[0].text[2:], span=self.span(start, end))

    def fresh_blank_node(self, c: list[Any], start: int, end: int) -> ast.Blank:
        """The node of `[]`, `[...]` or a collection."""
        label = f"{self._fresh_prefix}{self._fresh}"
        self._fresh += 1
        return ast.Blank(label, span=self.span(start, end))


def _listed(names: Sequence[str]) -> str:
    """Prefixes with their colons; the first of many."""
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(f"{name}:" for name in names[:MAX_LISTED]) + more


def string_value(written: str, *, is_long: bool) -> str:
    """The string of a token; `is_long` says that it has three quotes on each side."""
    quotes = 3 if is_long else 1
    text = written[quotes:-quotes]
    return _STRING_ESCAPE.sub(_unescaped, text) if "\\" in text else text


def local_name(written: str) -> str:
    """The local part of a prefixed name, without its escapes."""
    return _ESCAPE.sub(r"\1", written) if "\\" in written else written


def number_datatype(written: str) -> str:
    """The datatype of a number as written.

    >>> [number_datatype(text).partition("#")[2] for text in ("-7", ".5", "1e9")]
    ['integer', 'decimal', 'double']
    """
    return _DOUBLE if "e" in written or "E" in written else _DECIMAL if "." in written else _INTEGER


def _unescaped(escape: re.Match[str]) -> str:
    digits = escape[1] or escape[2]
    return chr(int(digits, 16)) if digits else _ESCAPES[escape[3]]


def _fresh_prefix(text: str) -> str:
    """The prefix of generated labels: `b`; if the text has such labels, `b0_`, `b1_`, ..."""
    if "_:b" not in text:
        return "b"
    taken = {int(number) for number in _FRESH_TAKEN.findall(text)}
    return f"b{next(number for number in range(len(taken) + 1) if number not in taken)}_"
