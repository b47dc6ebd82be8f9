"""Translation of FILTER conditions to tests of single values, with two truth values instead of SPARQL's three.

A test is true or false, and an error is false. So a negation is moved inwards (De Morgan's laws hold for SPARQL's three
values, section 17.2) until it meets a comparison that has a complement, or becomes part of an Opaque test. No test is
true of an unbound variable; a condition that could be is declined.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hybridkg.interfaces.graph_index import (
    AllOf,
    AnyOf,
    CasedComparison,
    Opaque,
    Same,
    StringTest,
    TermParameter,
    Test,
    TextOrder,
    ValueComparison,
)
from hybridkg.query import ast
from hybridkg.query.walk import rebuild, variables, walk
from hybridkg.query.write import write
from hybridkg.rdf.stored import as_stored
from hybridkg.rdf.terms import XSD, Literal, NamedNode

NEVER = AnyOf(())
"""The test that is never true."""

_FLIPPED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_NEGATED = {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}
_COMPLEMENT = {"=": "!=", "!=": "="}
"""Operators of which SPARQL defines one as the negation of the other; `<` and `>=` are both false of NaN."""

_STRING_TESTS = frozenset({"CONTAINS", "STRSTARTS", "STRENDS"})
PLAIN_REGEX = re.compile(r"(?P<start>\^)?(?P<text>[\w ,;:/'\"=<>@%&_-]+)(?(start)|(?P<end>\$)?)")
"""Regular expressions that find one text, perhaps at one end, which the projection tests on bytes."""
_SIMPLE = frozenset({None, XSD + "string"})
_SIGNED = frozenset(XSD + name for name in ("integer", "decimal", "double", "float"))
_UNSIGNED = re.compile(r"[0-9]{1,15}(\.[0-9]{0,15})?([eE][+-]?[0-9]{1,2})?")
_CANONICAL = re.compile(r"0|-?[1-9][0-9]{0,17}")
"""Integers whose lexical form the store preserves."""

STRING_FUNCTIONS = frozenset(
    ("STR", "STRLEN", "UCASE", "LCASE", "SUBSTR", "STRBEFORE", "STRAFTER", "CONTAINS", "STRSTARTS", "STRENDS", "REGEX")
)
"""Functions that are computed over the bytes of many literals, for some arguments (operators/text_functions.py)."""

_OF_VALUE_ALONE = frozenset(
    name
    for line in (
        "STR LANG LANGMATCHES DATATYPE ABS CEIL FLOOR ROUND STRLEN SUBSTR UCASE LCASE ENCODE_FOR_URI CONTAINS",
        "STRSTARTS STRENDS STRBEFORE STRAFTER YEAR MONTH DAY HOURS MINUTES SECONDS TIMEZONE TZ MD5 SHA1 SHA256 BOUND",
        "SHA384 SHA512 COALESCE IF STRLANG STRDT SAMETERM ISIRI ISURI ISBLANK ISLITERAL ISNUMERIC REGEX REPLACE CONCAT",
        "IRI URI",
    )
    for name in line.split()
)
"""Functions whose value depends only on their arguments."""

_TRUE = ast.Lit("true", XSD + "boolean")
_CASTS = frozenset(
    XSD + name for name in ("boolean", "integer", "decimal", "double", "float", "string", "dateTime", "date")
)
_LENIENT = frozenset({"BOUND", "COALESCE", "IF"})
"""Functions that may have a value although an argument has none."""


@dataclass(frozen=True)
class IriComparison(ast.Binary):
    """`STR(?a) < STR(?b)`, or another inequality, of variables that have only IRIs, as the data show."""


class UnsupportedPatternError(Exception):
    """Part of a pattern that the projection cannot express. The message names it, for EXPLAIN."""


@dataclass
class Scope:
    """Properties of the variables of a pattern.

    Args:
        maybe: variables that a solution can bind.
        sure: variables that every solution binds.
        nodes: variables whose values are always IRIs or blank nodes.
        assumed_nodes: variables that Oxigraph 0.5.13 assumes to be nodes, because they begin a path. A path of length
            zero may begin at a literal; Oxigraph's filters then compare terms, not values.
    """

    maybe: set[str] = field(default_factory=set)
    sure: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    assumed_nodes: set[str] = field(default_factory=set)


def term_of(node: ast.Iri | ast.Lit | ast.TripleTerm) -> NamedNode | Literal:
    """The term of the store for a constant of the query.

    Raises:
        UnsupportedPatternError: RDF has no such term, or the projection does not hold such terms.

    >>> str(term_of(ast.Lit("01", XSD + "integer")))
    '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'
    """
    try:
        match node:
            case ast.Iri(value):
                return NamedNode(value)
            case ast.Lit(lexical, None, None):
                return Literal(lexical)
            case ast.TripleTerm():
                raise UnsupportedPatternError("triple terms")
            case ast.Lit(direction=str()):
                raise UnsupportedPatternError("literals with a base direction")
            case ast.Lit(lexical, None, str() as language):
                return Literal(lexical, language=language)
            case ast.Lit(lexical, str() as datatype):
                literal = Literal(lexical, datatype=NamedNode(datatype))
                is_canonical = datatype == XSD + "integer" and _CANONICAL.fullmatch(lexical)
                return literal if is_canonical else as_stored(literal)
    except ValueError:
        pass
    raise UnsupportedPatternError("a term that RDF does not have")


def term_or_parameter(node: ast.Iri | ast.Lit | ast.TripleTerm) -> NamedNode | Literal | TermParameter:
    """The term of a constant, or the parameter in its place."""
    return TermParameter(node.number) if isinstance(node, ast.IriParameter | ast.LiteralParameter) else term_of(node)


def value_tests(condition: ast.Expression, scope: Scope, *, negated: bool = False) -> tuple[Test, ...]:
    """Tests whose conjunction is true exactly where a condition (or its negation) is true.

    Raises:
        UnsupportedPatternError: there are none.

    >>> scope = Scope({"x"}, {"x"})
    >>> older = ast.Binary("<", ast.Lit("1990", XSD + "integer"), ast.Var("x"))
    >>> value_tests(older, scope)[0].op
    '>'
    >>> value_tests(older, scope, negated=True)
    (Opaque(variable='x', expression='!(1990 < ?x)'),)
    """
    test = _test(condition, scope, negated)
    return test.tests if isinstance(test, AllOf) else (test,)


def _test(node: ast.Expression, scope: Scope, negated: bool) -> Test:
    match node:
        case ast.Unary("!", operand):
            return _test(operand, scope, not negated)
        case ast.Binary("&&" | "||" as op, left, right):
            both = (_test(left, scope, negated), _test(right, scope, negated))
            return _all(both) if (op == "&&") != negated else _any(both)
        case ast.In(ast.Var() as operand, options) if options and all(map(_constant, options)):
            inside = node.negated == negated
            tests = tuple(_test(ast.Binary("=", operand, option), scope, not inside) for option in options)
            return _any(tests) if inside else _all(tests)
        case IriComparison(op, ast.Call(_, (ast.Var(a),)), ast.Call(_, (ast.Var(b),))):
            op = _NEGATED[op] if negated else op
            return TextOrder(_bindable(a, scope), op, _bindable(b, scope))
        case ast.Binary(
            op, ast.Call("UCASE" | "LCASE" as function, (ast.Var(v),)), ast.Lit(_, datatype, None, None) as text
        ) if op in _FLIPPED and datatype in _SIMPLE and not negated:
            argument = term_of(text)
            if isinstance(argument, Literal) and argument.value.isascii():
                return CasedComparison(function, _valued(v, scope), op, argument)
        case ast.Binary(op, left, right) if op in _FLIPPED and (not negated or op in _COMPLEMENT):
            test = _comparison(_COMPLEMENT[op] if negated else op, left, right, scope)
            if test is not None:
                return test
        case ast.Call("SAMETERM", (ast.Var(a), ast.Var(b))) if a != b:
            return _same(a, b, scope, negated)
        case ast.Call("SAMETERM", (ast.Var() as v, ast.Iri() as iri)) | ast.Call(
            "SAMETERM", (ast.Iri() as iri, ast.Var() as v)
        ):
            return _test(ast.Binary("=", v, iri), scope, negated)
        case ast.Call("REGEX", (ast.Var() as v, ast.Lit(pattern, datatype, None))) if (
            not negated and datatype in _SIMPLE and (plain := PLAIN_REGEX.fullmatch(pattern))
        ):
            name = "STRSTARTS" if plain["start"] else "STRENDS" if plain["end"] else "CONTAINS"
            return _test(ast.Call(name, (v, ast.Lit(plain["text"]))), scope, negated)
        case ast.Call(str() as name, (ast.Var(v), ast.Lit() as text)) if name in _STRING_TESTS and not negated:
            argument = term_of(text)
            if isinstance(argument, Literal) and _is_string(argument):
                return StringTest(name, _valued(v, scope), argument)
        case ast.Call("BOUND", (ast.Var(v),)) if _valued(v, scope) in scope.sure:
            return NEVER if negated else AllOf(())
    return _opaque(ast.Unary("!", node) if negated else node, scope)


def _any(tests: tuple[Test, ...]) -> Test:
    flat: list[Test] = []
    for test in tests:
        flat += test.tests if isinstance(test, AnyOf) else (test,)
    return AllOf(()) if AllOf(()) in flat else flat[0] if len(flat) == 1 else AnyOf(tuple(flat))


def _all(tests: tuple[Test, ...]) -> Test:
    flat: list[Test] = []
    for test in tests:
        flat += test.tests if isinstance(test, AllOf) else (test,)
    return flat[0] if len(flat) == 1 else AllOf(tuple(flat))


def _comparison(op: str, left: ast.Expression, right: ast.Expression, scope: Scope) -> Test | None:
    if isinstance(left, ast.Var) and isinstance(right, ast.Var):
        if op not in _COMPLEMENT or left.name == right.name:
            return None
        # A node equals only itself, so one node of the two is enough.
        if not {_bindable(left.name, scope), _bindable(right.name, scope)} & scope.nodes:
            raise UnsupportedPatternError("a comparison of two values")
        return _same(left.name, right.name, scope, op == "!=")
    if isinstance(right, ast.Var):
        left, right, op = right, left, _FLIPPED[op]
    constant = _constant(right)
    if not isinstance(left, ast.Var) or constant is None:
        return None
    name = _bindable(left.name, scope) if isinstance(constant, ast.Iri) else _valued(left.name, scope)
    return ValueComparison(name, op, term_or_parameter(constant))


def _same(left: str, right: str, scope: Scope, negated: bool) -> Same:
    return Same(_bindable(left, scope), _bindable(right, scope), negated)


def _constant(node: ast.Expression) -> ast.Iri | ast.Lit | None:
    """The constant of an expression, including its sign; None for any other expression."""
    match node:
        case ast.Iri() | ast.Lit():
            return node
        case ast.Unary("+" | "-" as sign, ast.Lit(lexical, datatype)):
            if datatype in _SIGNED and _UNSIGNED.fullmatch(lexical):
                return ast.Lit(("-" if sign == "-" else "") + lexical, datatype)
    return None


def _is_string(literal: Literal) -> bool:
    return literal.language is not None or literal.datatype.value == XSD + "string"


def _bindable(name: str, scope: Scope) -> str:
    if name not in scope.maybe:
        raise UnsupportedPatternError("a condition on a variable that its group does not bind")
    return name


def _valued(name: str, scope: Scope) -> str:
    if name in scope.assumed_nodes - scope.nodes:
        raise UnsupportedPatternError("a condition on what begins a path of length zero")
    return _bindable(name, scope)


def _opaque(node: ast.Expression, scope: Scope) -> Opaque:
    for below in walk(node):
        _refuse_more_than_value(below)
    names = variables(node)
    if len(names) > 1:
        raise UnsupportedPatternError("a condition on several variables")
    if not names:
        raise UnsupportedPatternError("a condition without a variable")
    (name,) = names
    if _valued(name, scope) not in scope.sure and not _is_bound(node) and not _fails_unbound(node):
        raise UnsupportedPatternError("a condition that may hold of an unbound variable")

    def renamed(below: ast.Syntax) -> ast.Syntax:
        if _is_bound(below):
            return _TRUE  # the test is evaluated only on values
        return ast.Var("x") if isinstance(below, ast.Var) else rebuild(below, renamed)

    calls = [below.function for below in walk(node) if isinstance(below, ast.Call)]
    return Opaque(name, write(renamed(node)), bool(calls) and STRING_FUNCTIONS.issuperset(calls))


def _refuse_more_than_value(node: ast.Syntax) -> None:
    match node:
        case ast.Exists():
            raise UnsupportedPatternError("EXISTS within another condition")
        case ast.Aggregate() | ast.RankFunction() | ast.Call(distinct=True) | ast.Call(base=str()):
            raise UnsupportedPatternError("a condition that depends on more than a value")
        case ast.Call(ast.Iri(value)) if value not in _CASTS:
            raise UnsupportedPatternError("a function of its own")
        case ast.Call(str() as name) if name not in _OF_VALUE_ALONE:
            raise UnsupportedPatternError(name)


def _is_bound(node: ast.Syntax) -> bool:
    return isinstance(node, ast.Call) and node.function == "BOUND"


def _fails_unbound(node: ast.Expression) -> bool:
    """Whether an expression over one variable is certainly an error if the variable is unbound."""
    match node:
        case ast.Var():
            return True
        case ast.Unary(_, operand):
            return _fails_unbound(operand)
        case ast.Binary("&&" | "||", left, right):
            return _fails_unbound(left) and _fails_unbound(right)
        case ast.Binary(_, left, right):
            return _fails_unbound(left) or _fails_unbound(right)
        case ast.In(operand, options):
            return bool(options) and _fails_unbound(operand)
        case ast.Call("IF", (test, *_)):
            return _fails_unbound(test)
        case ast.Call(function, arguments) if function not in _LENIENT:
            return any(map(_fails_unbound, arguments))
    return False
