"""Graphs and patterns of every kind from a random.Random: small, with many coincidences and every kind of literal."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from pyoxigraph import Quad, Store

from hybridkg.graph.match.shape import occurrences
from hybridkg.interfaces.graph_index import (
    AllOf,
    AlternativePath,
    AnyOf,
    AnyScan,
    Closure,
    Distinct,
    Exists,
    InversePath,
    Join,
    LeftJoin,
    Minus,
    Opaque,
    Path,
    Pattern,
    PredicatePath,
    Restrict,
    Same,
    Scan,
    Steps,
    StringTest,
    Test,
    Union,
    ValueComparison,
    Values,
    Variable,
)
from hybridkg.rdf.stored import as_stored
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, Term, Triple

NODES = [NamedNode(f"x:{name}") for name in "abcde"]
BLANK = [BlankNode("u"), BlankNode("v")]
LONELY = NamedNode("x:lonely")
"""An entity without a triple."""

ABSENT = NamedNode("x:absent")
PREDICATE = NamedNode("x:p")
"""A predicate that may be a node, too."""

PREDICATES = ["x:p", "x:q", "x:r"]
NAMES = ["s", "t", "u", "v"]
OPERATORS = ["=", "!=", "<", "<=", ">", ">="]


def typed(datatype: str, *texts: str) -> list[Literal]:
    return [Literal(text, datatype=NamedNode(XSD + datatype)) for text in texts]


NUMBERS = [
    *typed(
        "integer", "0", "1", "2", "-3", "16777216", "16777217", "16777219", "9007199254740993", "9223372036854775807"
    ),
    *typed("decimal", "1", "1.5", "16777216.5", "0.1", "1.000000000000000001", "-0.000000000000000001", "2.0"),
    *typed("decimal", "170141183460469231731.687303715884105727"),
    *typed("double", "1.0", "0.1", "-0.0", "NaN", "INF", "1e300", "16777217", "9007199254740992", "1.7e20"),
    *typed("float", "-INF", "0.1", "1", "16777216", "9.223372e18", "1e-40", "NaN", "INF"),
]
DATES = [
    *typed("dateTime", "2000-01-01T00:00:00Z", "2000-01-01T01:00:00+01:00", "2000-01-01T00:00:00"),
    *typed(
        "dateTime",
        "2000-01-01T14:00:00",
        "1999-12-31T10:00:00",
        "2000-01-01T00:00:00.000001Z",
        "2001-01-01T00:00:00.5Z",
    ),
    *typed("dateTime", "9000-01-01T00:00:00.000001Z", "9000-01-01T00:00:00Z", "2000-01-01T14:00:00.000001"),
    *typed("date", "2000-01-01", "2000-01-01Z", "2000-01-02+05:00", "2000-01-03", "1999-12-31-14:00", "2000-01-02"),
]
STRINGS = [
    *(Literal(text) for text in ("", "a", "ab", "aba", "b", "z\u00e9", "\U00010400", "\uffee", "e")),
    *(Literal(text, language="en") for text in ("", "a", "b", "ab")),
    *(Literal(text, language=tag) for text, tag in (("a", "EN-gb"), ("ab", "de"), ("b", "de"), ("a", "zh"))),
]
REST = [
    *typed("boolean", "true", "false", "x"),
    *typed("gYear", "2000"),
    *typed("duration", "P1D", "PT24H"),
    *typed("time", "00:00:00"),
    *typed("integer", "x"),
    *(Literal(text, datatype=NamedNode("x:type")) for text in "ab"),
]
ILL_TYPED = [
    *typed("integer", "1.5", "99999999999999999999"),
    *typed("decimal", "1e0", "0.1234567890123456789"),
    *typed("dateTime", "2000-01-01T00:00:00+15:00"),
    *typed("date", "2000-01-01+13:99"),
]
LITERALS = list(dict.fromkeys(as_stored(literal) for literal in [*NUMBERS, *DATES, *STRINGS, *REST, *ILL_TYPED]))
FEW = [literal for literal in LITERALS if literal.value in ("1", "a", "ab", "0.1", "true", "2000-01-01")]
EXPRESSIONS = [
    "isIRI(?x)",
    "isNumeric(?x) && ?x > 0",
    "REGEX(STR(?x), 'a')",
    "LANG(?x) = 'en'",
    "?x IN (<x:a>, 1, 'a')",
    "!(?x = 1)",
    "?x",
]


class Maker:
    """Makes everything from one source of chance.

    Args:
        random: the source.
        literals: what objects and constants of tests are taken from.
    """

    def __init__(self, random: Random, literals: list[Literal] | None = None):
        self._random = random
        self._literals = literals or random.choice([LITERALS, FEW])

    def _one(self, items: Any) -> Any:
        return self._random.choice(items)

    def graph(self) -> list[Triple]:
        """Triples as a store gives them back."""
        made = []
        for _ in range(self._random.randrange(25)):
            subject = self._one([*NODES, *BLANK, PREDICATE] if self._random.random() < 0.2 else [*NODES, *BLANK])
            kind = self._random.random()
            nodes = [*NODES, *BLANK, PREDICATE]
            object_ = self._one(self._literals) if kind < 0.35 else self._one(nodes if kind > 0.9 else nodes[:-1])
            made.append(Triple(subject, NamedNode(self._one(PREDICATES)), object_))
        store = Store()
        store.extend([Quad(*triple) for triple in made])
        return [quad.triple for quad in store]  # type: ignore[misc]

    def path(self, depth: int = 0) -> Path:
        """Any path."""
        inner = lambda: self.path(depth + 1)
        kind = self._random.randrange(12 if depth < 2 else 3)
        if kind < 4:
            return PredicatePath(self._one([*PREDICATES, *PREDICATES, "x:none"]))
        if kind < 6:
            return InversePath(inner())
        if kind < 8:
            return AlternativePath((inner(), inner()))
        if kind < 9:
            return Steps((inner(), inner()))
        return Closure(inner(), *self._one([(0, 1), (0, None), (1, None)]))

    def scan(self, paths: float = 0.25) -> Scan | AnyScan:
        """A triple pattern."""
        subject = self._slot([*NODES, ABSENT, LONELY, NamedNode("x:p")])
        object_ = self._slot([*NODES, *NODES, ABSENT, LONELY, *self._literals[:6], *NODES])
        if self._random.random() < 0.12:
            return AnyScan(subject, Variable(self._one([*NAMES, "p", "p", "p", "p"])), object_)
        path = self.path() if self._random.random() < paths else PredicatePath(self._one(PREDICATES))
        return Scan(subject, path, object_)

    def _slot(self, constants: list[Any]) -> Any:
        return self._one(constants) if self._random.random() < 0.2 else Variable(self._one(NAMES))

    def test(self, names: list[str], depth: int = 0) -> Test:
        """A test of one variable or two."""
        kind = self._random.randrange(10 if depth < 2 else 7)
        name = self._one(names)
        if kind < 3:
            return ValueComparison(
                name, self._one(OPERATORS), self._one([*self._literals, *NODES[:2], PREDICATE, NamedNode("x:q")])
            )
        if kind < 4:
            return StringTest(self._one(["CONTAINS", "STRSTARTS", "STRENDS"]), name, self._one(STRINGS))
        if kind < 5:
            return Opaque(name, self._one(EXPRESSIONS))
        if kind < 7:
            return Same(name, self._one(names), self._random.random() < 0.5)
        inner = tuple(self.test(names, depth + 1) for _ in range(self._random.randrange(1, 3)))
        return AnyOf(inner) if kind < 9 else AllOf(inner)

    def tests(self, *patterns: Pattern) -> tuple[Test, ...]:
        """One or two, most often of variables that the patterns have."""
        names = sorted(set().union(*(occurrences(pattern) for pattern in patterns)) & {*NAMES, "p"})
        if not names or self._random.random() < 0.1:
            names = NAMES
        return tuple(self.test(names) for _ in range(self._random.randrange(1, 3)))

    def values(self) -> Values:
        """A small table with gaps."""
        names = tuple(self._random.sample([*NAMES, "p"], self._random.randrange(1, 3)))
        cells: list[Term | None] = [*NODES, *self._literals[:5], None, None, ABSENT, PREDICATE, NamedNode("x:q")]
        rows = [tuple(self._one(cells) for _ in names) for _ in range(self._random.randrange(4))]
        return Values(names, tuple(rows))

    def join(self) -> Join:
        """Triple patterns together."""
        return Join(tuple(self.scan() for _ in range(self._random.randrange(1, 5))))

    def _restricted(self, child: Pattern) -> Pattern:
        return Restrict(child, self.tests(child))

    def _optional(self, left: Pattern, right: Pattern, tested: bool) -> Pattern:
        return LeftJoin(left, right, self.tests(left, right) if tested else ())

    def pattern(self, depth: int = 0) -> Pattern:
        """Any pattern."""
        inner = lambda: self.pattern(depth + 1)
        some = lambda: self._random.random() < 0.5
        kinds: list[Callable[[], Pattern]] = [
            self.scan,
            self.join,
            self.join,
            lambda: self._restricted(self.join()),
        ]
        if depth < 3:
            kinds += [
                lambda: Join(
                    tuple(self._one([inner, inner, self.values, self.scan])() for _ in range(self._random.randrange(4)))
                ),
                lambda: self._optional(inner(), inner(), some()),
                lambda: Union(tuple(inner() for _ in range(self._random.randrange(1, 4)))),
                lambda: Minus(inner(), inner()),
                lambda: Exists(inner(), inner(), some()),
                lambda: self._restricted(inner()),
                lambda: Distinct(
                    inner(), tuple(self._random.sample([*NAMES, "p"], self._random.randrange(1, 4))), some()
                ),
            ]
        return self._one(kinds)()


# --- patterns as SPARQL ------------------------------------------------------------


def path_text(path: Path) -> str:
    match path:
        case PredicatePath(predicate):
            return f"<{predicate}>"
        case InversePath(inner):
            return f"^({path_text(inner)})"
        case AlternativePath(paths):
            return "(" + "|".join(path_text(inner) for inner in paths) + ")"
        case Steps(paths):
            return "(" + "/".join(path_text(inner) for inner in paths) + ")"
        case Closure(inner, least, most):
            return f"({path_text(inner)})" + {(0, 1): "?", (0, None): "*", (1, None): "+"}[least, most]
    raise AssertionError


def text_of_test(test: Test) -> str:
    match test:
        case ValueComparison(variable, op, constant):
            return f"(?{variable} {op} {constant})"
        case StringTest(function, variable, argument):
            return f"{function}(?{variable}, {argument})"
        case Opaque(variable, expression):
            return f"({expression.replace('?x', '?' + variable)})"
        case Same(left, right, negated):
            return f"({'!' if negated else ''}sameTerm(?{left}, ?{right}))"
        case AnyOf(tests):
            return "(" + " || ".join(text_of_test(test) for test in tests) + ")"
        case AllOf(tests):
            return "(" + " && ".join(text_of_test(test) for test in tests) + ")"
    raise AssertionError


def _slot_text(slot: Any) -> str:
    return f"?{slot.name}" if isinstance(slot, Variable) else str(slot)


def text_of(pattern: Pattern) -> str:
    """The pattern as the inside of a group."""
    match pattern:
        case Scan(subject, path, object_):
            return f"{_slot_text(subject)} {path_text(path)} {_slot_text(object_)} ."
        case AnyScan(subject, predicate, object_):
            return f"{_slot_text(subject)} ?{predicate.name} {_slot_text(object_)} ."
        case Values(variables, rows):
            lines = " ".join("(" + " ".join("UNDEF" if t is None else str(t) for t in row) + ")" for row in rows)
            return f"VALUES ({' '.join('?' + name for name in variables)}) {{ {lines} }}"
        case Join(parts):
            return " ".join(
                text_of(p) if isinstance(p, Scan | AnyScan | Values) else f"{{ {text_of(p)} }}" for p in parts
            )
        case LeftJoin(left, right, tests):
            filters = "".join(f" FILTER {text_of_test(test)}" for test in tests)
            inner = text_of(right) if isinstance(right, Scan | AnyScan) else f"{{ {text_of(right)} }}"
            return f"{{ {text_of(left)} }} OPTIONAL {{ {inner}{filters} }}"
        case Union(branches):
            return " UNION ".join(f"{{ {text_of(branch)} }}" for branch in branches)
        case Minus(left, right):
            return f"{{ {text_of(left)} }} MINUS {{ {text_of(right)} }}"
        case Exists(left, right, negated):
            return f"{{ {text_of(left)} }} FILTER {'NOT ' if negated else ''}EXISTS {{ {text_of(right)} }}"
        case Restrict(child, tests):
            return f"{{ {text_of(child)} }}" + "".join(f" FILTER {text_of_test(test)}" for test in tests)
        case Distinct(child, variables, distinct):
            names = " ".join("?" + name for name in variables)
            return f"SELECT {'DISTINCT ' if distinct else ''}{names} WHERE {{ {text_of(child)} }}"
    raise AssertionError
