"""A pattern in SPARQL-like syntax on one line, for EXPLAIN; long VALUES are truncated."""

from __future__ import annotations

import re

from hybridkg.interfaces import graph_index as g
from hybridkg.rdf.terms import RDF_TYPE, XSD, Literal, Term

MAX_VALUES = 5
"""Maximum number of rows of VALUES."""

_SHORT = {
    f"{XSD}integer": re.compile(r"[+-]?[0-9]+"),
    f"{XSD}decimal": re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    f"{XSD}boolean": re.compile("true|false"),
}
"""Lexical forms that SPARQL allows without quotes, by datatype."""

_LOOSE, _STEP, _TIGHT = range(3)
"""Precedence of paths: alternatives, steps, everything else."""


def pattern_text(pattern: g.AskedPattern) -> str:
    """The pattern on one line; generated variables are written as blank nodes.

    >>> p, x = g.PredicatePath("e:p"), g.Variable("x")
    >>> pattern_text(g.LeftJoin(g.Scan(x, p, g.Variable(" 1")), g.Scan(x, g.Closure(p, 0, None), x)))
    '?x <e:p> _:1 OPTIONAL { ?x <e:p>* ?x }'
    >>> pattern_text(g.Scan(x, g.PredicatePath(RDF_TYPE), g.Variable("class")))
    '?x a ?class'
    """
    match pattern:
        case g.BoundPattern():
            return pattern_text(pattern.whole)
        case g.Scan(subject, path, target):
            return f"{_slot(subject)} {_path(path)} {_slot(target)}"
        case g.AnyScan(subject, predicate, target):
            return f"{_slot(subject)} {_slot(predicate)} {_slot(target)}"
        case g.Values(variables, rows):
            cells = [f"({' '.join(map(_term, row))})" for row in rows]
            if len(cells) > MAX_VALUES:
                cells[MAX_VALUES:] = [f"... {len(rows):,} rows"]
            return " ".join([f"VALUES ({' '.join(f'?{name}' for name in variables)}) {{", *cells, "}"])
        case g.Join(parts):
            return " . ".join(map(pattern_text, parts)) or "{}"
        case g.LeftJoin(left, right, tests):
            return f"{_left(left)}OPTIONAL {{ {pattern_text(right)}{_filter(tests)} }}"
        case g.Union(branches):
            return " UNION ".join(f"{{ {pattern_text(branch)} }}" for branch in branches)
        case g.Minus(left, right):
            return f"{_left(left)}MINUS {{ {pattern_text(right)} }}"
        case g.Exists(left, right, negated):
            return f"{_left(left)}FILTER {'NOT ' if negated else ''}EXISTS {{ {pattern_text(right)} }}"
        case g.Restrict(child, tests):
            return f"{_left(child).removesuffix(' ')}{_filter(tests)}"
        case g.Distinct(child, variables, distinct):
            names = " ".join(f"?{name}" for name in variables)
            return f"{{ SELECT {'DISTINCT ' if distinct else ''}{names} {{ {pattern_text(child)} }} }}"


def _left(pattern: g.Pattern) -> str:
    return "" if pattern == g.Join(()) else pattern_text(pattern) + " "


def _slot(slot: g.Slot) -> str:
    return _name(slot.name) if isinstance(slot, g.Variable) else _term(slot)


def _term(term: Term | g.TermParameter | None) -> str:
    """A constant in its shortest SPARQL form.

    >>> from hybridkg.rdf.terms import Literal
    >>> _term(Literal(2010)), _term(Literal("2010")), _term(Literal(True))
    ('2010', '"2010"', 'true')
    """
    if not isinstance(term, Literal):
        return "UNDEF" if term is None else str(term)
    form = _SHORT.get(term.datatype.value)
    return term.value if form is not None and form.fullmatch(term.value) else str(term)


def _name(name: str) -> str:
    return f"_:{name[1:]}" if name.startswith(" ") else f"?{name}"


def _path(path: g.Path, floor: int = _LOOSE) -> str:
    match path:
        case g.PredicatePath(predicate):
            return "a" if predicate == RDF_TYPE else f"<{predicate}>"
        case g.InversePath(inner):
            return f"^{_path(inner, _TIGHT)}"
        case g.AlternativePath(paths):
            return _bracketed("|".join(_path(inner, _STEP) for inner in paths), floor > _LOOSE)
        case g.Steps(paths):
            return _bracketed("/".join(_path(inner, _TIGHT) for inner in paths), floor > _STEP)
        case g.Closure(inner, least, most):
            mark = "?" if most is not None else "+" if least else "*"
            # "^a*" is the inverse of a closure.
            return _bracketed(_path(inner, _TIGHT), isinstance(inner, g.InversePath | g.Closure)) + mark


def _bracketed(text: str, wanted: bool) -> str:
    return f"({text})" if wanted else text


def _filter(tests: tuple[g.Test, ...]) -> str:
    return f" FILTER({' && '.join(map(_test, tests))})" if tests else ""


def _test(test: g.Test) -> str:
    match test:
        case g.ValueComparison(variable, op, constant):
            return f"{_name(variable)} {op} {_term(constant)}"
        case g.StringTest(function, variable, argument):
            return f"{function}({_name(variable)}, {_term(argument)})"
        case g.CasedComparison(function, variable, op, constant):
            return f"{function}({_name(variable)}) {op} {_term(constant)}"
        case g.Opaque(variable, "true"):
            return f"BOUND({_name(variable)})"
        case g.Opaque(variable, expression):
            return expression.replace("?x", f"?{variable}") if variable != "x" else expression
        case g.Same(left, right, negated):
            return f"{'!' if negated else ''}sameTerm({_name(left)}, {_name(right)})"
        case g.TextOrder(left, op, right):
            return f"STR({_name(left)}) {op} STR({_name(right)})"
        case g.AnyOf(tests):
            return f"({' || '.join(map(_test, tests))})" if tests else "false"
        case g.AllOf(tests):
            return f"({' && '.join(map(_test, tests))})" if tests else "true"
