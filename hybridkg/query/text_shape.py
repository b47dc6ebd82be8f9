"""The shape of a query text: its keywords, punctuation and structure, apart from its constants and variable names.

Texts of one shape differ in literals, IRIs, names of variables, white space, comments and declared prefixes. They have
one parse, so their syntax trees differ in the same parts. `read_shape` scans a text with the terminals of the lexer,
without the parser; whoever parses a first text of a shape compares the token boundaries of both (`boundaries`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple, TypeAlias

from hybridkg.query import ast, tables
from hybridkg.query.builders.terms import local_name, number_datatype, string_value
from hybridkg.query.iris import is_absolute
from hybridkg.query.lexer import FIRST, FUSION, NOT_ASCII
from hybridkg.rdf.known_prefixes import MAX_NAMESPACE_LENGTH, ONLY_DECLARED
from hybridkg.rdf.terms import NamedNode

MAX_SHARED_LENGTH = 20_000
"""Maximum length of a text whose plan is shared with others; its tree takes about 100 bytes a character."""

MAX_RUN = 300
"""Maximum length of a run without white space in a shared text: a prefixed name is looked for at each of its words."""

MAX_VARIABLES = 256
"""Maximum number of variable names in a shared text: canonical names have two digits."""

_DIGITS = "".join(chr(code) for code in range(0x2FE0, 0x2FF0))
"""Digits of canonical variable names: code points that SPARQL allows in names and that Unicode does not assign, so no
text has them by accident."""

CANONICAL_NAMES = tuple(high + low for high in _DIGITS for low in _DIGITS)
"""Names of the variables of a shared text, in the order of their first appearance; they sort in this order."""

_NUMBER_OF = {name: number for number, name in enumerate(CANONICAL_NAMES)}
_CANONICAL = re.compile(f"[{_DIGITS}]{{2}}")
_UNSHARED = re.compile(f"[{_DIGITS}\ufeff\ud800-\udfff]")
"""Characters of texts that are not shared: digits of canonical names, a byte order mark, half surrogate pairs."""

_HOLES = frozenset(
    ("VAR1", "VAR2", "IRIREF", "PNAME_LN", "PNAME_NS", "STRING_LITERAL1", "STRING_LITERAL2", "STRING_LITERAL_LONG1",
     "STRING_LITERAL_LONG2", "INTEGER", "DECIMAL", "DOUBLE", "INTEGER_POSITIVE", "DECIMAL_POSITIVE",
     "DOUBLE_POSITIVE", "INTEGER_NEGATIVE", "DECIMAL_NEGATIVE", "DOUBLE_NEGATIVE")
)  # fmt: skip
"""Terminals in which texts of one shape may differ."""

_VOCABULARY = ast.RDF
"""IRIs that the algebra treats by name, such as rdf:type, belong to the shape."""

Constant: TypeAlias = tuple[str, str]
"""(datatype of a number, "iri" or "string", value) of a constant; equal for equal terms."""

IRI, STRING = "iri", "string"


class Scanner(NamedTuple):
    """Compiled expressions: `tokens` of the body (hole, other token), and what comes before them: `start` matches white
    space and one declaration, (prefix, namespace, version), none of which a text without another one has.
    """

    tokens: re.Pattern[str]
    start: re.Pattern[str]


@cache
def _scanner(*, ascii_only: bool) -> Scanner:
    loaded = tables.load()
    patterns = {name: NOT_ASCII.sub("", text) if ascii_only else text for name, text in loaded.terminals}
    holes = "|".join(text for name, text in patterns.items() if name in _HOLES)
    others = [text for name, text in patterns.items() if name not in _HOLES and name not in (*FIRST, FUSION)]
    # What is no token is all of the rest: nothing is scanned twice, and the parser refuses the text.
    # The longest punctuation comes first; a class takes half the time of an alternative for each character.
    longer = [re.escape(mark) for mark in loaded.punctuation if len(mark) > 1]
    single = re.escape("".join(mark for mark in loaded.punctuation if len(mark) == 1))
    others += [r"[^\W\d]\w*+", *longer, f"[{single}]", ".++"]
    skip = loaded.skip
    some_skip = f"{skip.removesuffix('*)')}+)"
    return Scanner(
        re.compile(f"(?:({holes})|({'|'.join(others)})){skip}", re.DOTALL),
        re.compile(
            rf"{skip}(?:(?ai:PREFIX){some_skip}({patterns['PNAME_NS']}){skip}({patterns['IRIREF']})"
            rf"|(?ai:VERSION){skip}({patterns['STRING_LITERAL1']}|{patterns['STRING_LITERAL2']}))?"
        ),
    )


class TextShape(NamedTuple):  # a frozen dataclass takes three times as long to make
    """The shape of a text, with the parts in which the text differs from others.

    Args:
        key: equal for texts of one shape.
        prefixes: (prefix, namespace) pairs that the text declares, then those that it uses without a declaration.
        names: its variables, in the order of their first appearance.
        constants: its constants, in the order of their first appearance, without repetitions.
        occurrences: the number of the constant at each place of one, in the order of the text.
    """

    key: tuple[tuple[str, ...], tuple[str | int, ...]]
    prefixes: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    constants: tuple[Constant, ...]
    occurrences: tuple[int, ...]

    @property
    def uses(self) -> list[int]:
        """Number of occurrences of each constant."""
        return [self.occurrences.count(number) for number in range(len(self.constants))]


def read_shape(text: str, known: Mapping[str, str] = ONLY_DECLARED) -> TextShape | None:
    """The shape of a text; None for a text that is not shared: too long, with BASE, or with an escape or an invalid
    name that only the parser judges.

    `known` prefixes need no declaration, and stand for absolute IRIs. They are no part of the key, because constants
    are whole IRIs.

    >>> a = read_shape('PREFIX e: <http://e/> SELECT ?x { ?x a e:C ; e:p "fish" }')
    >>> b = read_shape('PREFIX f: <http://f/>\\nSELECT ?y{?y a f:D;f:q "boat"} # another one')
    >>> a.key == b.key, a.names, b.constants[2]
    (True, ('x',), ('string', 'boat'))
    """
    length = len(text)
    if length > MAX_SHARED_LENGTH or "\\u" in text or "\\U" in text:
        return None
    if length > MAX_RUN and max(map(len, text.split()), default=0) > MAX_RUN:
        return None
    is_ascii = text.isascii()
    if not is_ascii and _UNSHARED.search(text):
        return None
    scanner = _scanner(ascii_only=is_ascii)
    prefixes, start = _prologue(scanner, text)
    if prefixes is None:
        return None
    return _shape_of(scanner.tokens.findall(text, start), prefixes, known)


def boundaries(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of each token of a text that has a shape, those of its declarations apart."""
    scanner = _scanner(ascii_only=text.isascii())
    _, start = _prologue(scanner, text)
    for token in scanner.tokens.finditer(text, start):
        yield token.span(token.lastindex or 0)


def restored(text: str, names: tuple[str, ...]) -> str:
    """A message with the names of a text in place of canonical ones.

    >>> restored(f"nothing binds ?{CANONICAL_NAMES[1]}", ("film", "year"))
    'nothing binds ?year'
    """
    if text.isascii():
        return text
    return _CANONICAL.sub(lambda found: (*names, found[0])[min(_NUMBER_OF[found[0]], len(names))], text)


def _shape_of(tokens: list[tuple[str, str]], namespaces: dict[str, str], known: Mapping[str, str]) -> TextShape | None:
    """The shape by the tokens behind the declarations of `namespaces`; None if a text with them is not shared."""
    if not tokens or tokens[0][1].upper() in _UNSHARED_BEGINNINGS:
        return None
    kinds: list[str | int] = []
    names: dict[str, int] = {}
    constants: dict[Constant, int] = {}
    occurrences: list[int] = []
    holes, others = zip(*tokens, strict=True)
    for hole in filter(None, holes):  # `in` and subscripts, which take half the time of setdefault
        mark = hole[0]
        if mark in "?$":
            name = hole[1:]
            if name not in names:
                names[name] = len(names)
            kinds += (mark, names[name])
            continue
        if mark in "\"'":
            is_long = hole[:3] == mark * 3
            kind, constant = mark * 3 if is_long else mark, (STRING, string_value(hole, is_long=is_long))
        elif mark in "0123456789+-.":
            datatype = number_datatype(hole)
            kind, constant = f"{mark}{datatype}" if mark in "+-" else datatype, (datatype, hole)
        else:
            if mark == "<":
                kind, iri = mark, hole[1:-1]
                if not is_absolute(iri):
                    return None
            else:
                prefix, _, local = hole.partition(":")
                if prefix not in namespaces:
                    namespace = known.get(prefix)
                    if namespace is None:
                        return None
                    namespaces[prefix] = namespace
                kind, iri = "a:b" if local else ":", namespaces[prefix] + local_name(local)
            if iri.startswith(_VOCABULARY):
                kinds.append(iri)
                continue
            constant = IRI, iri
        if constant not in constants:
            constants[constant] = len(constants)
        number = constants[constant]
        kinds += (kind, number)
        occurrences.append(number)
    if len(names) > MAX_VARIABLES:
        return None
    key = others, tuple(kinds)
    return TextShape(key, tuple(namespaces.items()), tuple(names), tuple(constants), tuple(occurrences))


_UNSHARED_BEGINNINGS = ("BASE", "PREFIX", "EXPLAIN")


def _prologue(scanner: Scanner, text: str) -> tuple[dict[str, str] | None, int]:
    """The namespaces that a text declares, and the offset behind the declarations; None where one is relative, invalid
    or long.

    The last declaration of a prefix holds.
    """
    found: dict[str, str] = {}
    at, is_shared = 0, True
    while True:
        declaration = scanner.start.match(text, at)
        assert declaration is not None  # it may be empty
        at = declaration.end()
        prefix, iri, version = declaration.groups()
        if prefix is not None:
            namespace = iri[1:-1]
            is_shared = is_shared and _is_namespace(namespace)
            found[prefix[:-1]] = namespace
        elif version is None:
            return found if is_shared else None, at


@lru_cache(maxsize=256)
def _is_namespace(namespace: str) -> bool:
    return len(namespace) <= MAX_NAMESPACE_LENGTH and is_absolute(namespace) and is_valid_iri(namespace)


def is_valid_iri(iri: str) -> bool:
    """Whether a text is an absolute IRI."""
    try:
        NamedNode(iri)
    except ValueError:
        return False
    return True
