"""Warnings from the kinds of values that a variable can have: IRIs, numbers, dates, strings.

A variable has the kinds that all its triple patterns allow: a subject is a node, and an object has the kinds of the
objects of its predicate, which the data decide. The kinds are those of interfaces.graph_index: `node`, or a segment of
literals. Patterns whose triples may be elsewhere (GRAPH, SERVICE, FROM) say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from hybridkg.errors import QueryWarning
from hybridkg.query import ast
from hybridkg.query.source import shown
from hybridkg.query.walk import children
from hybridkg.rdf.terms import XSD

NODE, NUMBER = "node", "number"
STRINGS = frozenset(("string", "language"))
DAYS = frozenset(("date zoned", "date"))
MOMENTS = frozenset(("datetime zoned", "datetime"))
DATES = DAYS | MOMENTS
ANY = "other"
"""The segment of literals of all other datatypes, of which nothing is known here."""

NUMERIC = frozenset(XSD + name for name in ("integer", "decimal", "double", "float"))

ObjectKinds: TypeAlias = Callable[[str], frozenset[str] | None]
"""The kinds of the objects of a predicate; None where they are not known."""

DATE_FUNCTIONS = frozenset(("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE", "TZ"))
STRING_FUNCTIONS = frozenset(
    ("CONTAINS", "STRSTARTS", "STRENDS", "STRLEN", "SUBSTR", "UCASE", "LCASE", "STRBEFORE", "STRAFTER", "REPLACE",
     "REGEX", "ENCODE_FOR_URI")
)  # fmt: skip
"""Functions whose first argument is a string."""


@dataclass(frozen=True)
class Source:
    """The possible kinds of a variable.

    Args:
        kinds: at least one.
        predicate: IRI of the predicate whose objects it takes; empty where it is a subject, say.
        subject: the variable that is the subject there; empty for a constant.
    """

    kinds: frozenset[str]
    predicate: str = ""
    subject: str = ""

    @property
    def words(self) -> str:
        """The kinds in words.

        >>> Source(frozenset(("string", "language"))).words, Source(frozenset(("node",))).words
        ('a text', 'an IRI or a blank node')
        """
        if self.kinds == {NODE}:
            return "an IRI or a blank node"
        if self.kinds <= STRINGS:
            return "a text"
        if self.kinds <= DATES:
            return "a date"
        if self.kinds == {NUMBER}:
            return "a number"
        return "true or false" if self.kinds == {"boolean"} else "a literal"


Known: TypeAlias = Mapping[str, Source]

NODES = Source(frozenset((NODE,)))


def kind_warnings(
    query: ast.Query, object_kinds: ObjectKinds, shown: Callable[[str], str] = str
) -> Iterator[QueryWarning]:
    """Warnings about a MATCH or NEAR of a literal, and about comparisons and functions that never have a value.

    Args:
        query: with its parameters bound. The messages depend on the kinds of its constants alone, not on their values.
        object_kinds: of the graph.
        shown: writes a predicate for messages.

    >>> from hybridkg.query.parser import parse
    >>> query = parse('SELECT ?n { ?x <e:name> ?n . ?n MATCH "worm" }')
    >>> [w.message for w in kind_warnings(query, lambda predicate: frozenset(("string",)))]
    ['?n can only be a literal (every object of e:name is one), and MATCH finds entities']
    """
    yield from _Reader(object_kinds, shown).form(query.form)


@dataclass(frozen=True)
class _Reader:
    object_kinds: ObjectKinds
    shown: Callable[[str], str]

    def form(self, form: ast.QueryForm) -> Iterator[QueryWarning]:
        if form.dataset or form.where is None:
            return
        yield from self.group(form.where, {})
        modifiers = form.modifiers
        projection = (form.projection if isinstance(form, ast.SelectQuery) else None) or ()
        expressions = [
            *(item.expression for item in projection if item.expression is not None),
            *(key.expression for key in modifiers.group_by),
            *modifiers.having,
            *(key.expression for key in modifiers.order_by),
        ]
        known = self._known(form.where, {}) if expressions else {}
        for expression in expressions:
            yield from self.expression(expression, known)

    def group(self, group: ast.Group, outer: Known) -> Iterator[QueryWarning]:
        """The warnings about a group; `outer` are the variables of the groups around it that its filters see."""
        known = self._known(group, outer)
        of_triples: Known | None = None
        for element in group.elements:
            match element:
                case ast.Triples(items):
                    for item in items:
                        if isinstance(item, ast.Match | ast.Near):
                            if of_triples is None:
                                of_triples = self._known(group, outer, ast.TriplePattern)
                            yield from self._ranked(item, of_triples)
                case ast.Filter(condition):
                    yield from self.expression(condition, known)
                case ast.Bind(expression):
                    yield from self.expression(expression, known)
                case ast.OptionalPattern(pattern):
                    yield from self.group(pattern, known)
                case ast.MinusPattern(pattern):
                    yield from self.group(pattern, {})
                case ast.Group():
                    yield from self.group(element, {})
                case ast.UnionPattern(branches):
                    for branch in branches:
                        yield from self.group(branch, {})
                case ast.SubSelect(query):
                    yield from self.form(query)

    def _known(self, group: ast.Group, outer: Known, only: type[ast.Syntax] = ast.Syntax) -> dict[str, Source]:
        known = dict(outer)
        for element in group.elements:
            if isinstance(element, ast.Triples):
                for item in element.items:
                    for name, source in self._sources(item) if isinstance(item, only) else ():
                        before = known.get(name)
                        both = source.kinds if before is None else source.kinds & before.kinds
                        if before is None or before.kinds - both:
                            known[name] = Source(both, source.predicate, source.subject)
        return {name: source for name, source in known.items() if source.kinds}

    def _sources(self, item: ast.TriplePattern | ast.RankedItem) -> Iterator[tuple[str, Source]]:
        if not isinstance(item, ast.TriplePattern):
            yield item.entity.name, NODES
            return
        subject, predicate, target = item.subject, item.predicate, item.object
        for term in (subject, predicate):
            if isinstance(term, ast.Var):
                yield term.name, NODES
        if isinstance(target, ast.Var) and isinstance(predicate, ast.Iri):
            kinds = self.object_kinds(predicate.value)
            if kinds:
                yield target.name, Source(kinds, predicate.value, subject.name if isinstance(subject, ast.Var) else "")

    def _ranked(self, item: ast.RankedItem, known: Known) -> Iterator[QueryWarning]:
        name, word = item.entity.name, type(item).__name__.upper()
        source = known.get(name)
        if source is not None and NODE not in source.kinds:
            yield QueryWarning(
                "W104",
                f"?{name} can only be a literal (every object of {self.shown(source.predicate)} is one), and "
                f"{word} finds entities",
                hint=f"search the entity that has it: ?{source.subject or 'entity'} {word} ...",
                span=item.entity.span,
            )

    def expression(self, node: ast.Syntax, known: Known) -> Iterator[QueryWarning]:
        match node:
            case ast.Exists(pattern):
                yield from self.group(pattern, known)
                return
            case ast.Binary(op, left, right) if op in _COMPARED:
                yield from self._compared(op, left, right, known, node)
            case ast.Binary("||", left, right):
                yield from _of_all([self.expression(left, known), self.expression(right, known)])
                return
            case ast.Call("IF", (condition, *_)):
                yield from self.expression(condition, known)  # it may be what selects the kind for the other two
                return
            case ast.Call("COALESCE"):
                return
            case ast.In(operand, options, negated):
                op = "!=" if negated else "="
                yield from _of_all([self._compared(op, operand, option, known, option) for option in options])
            case ast.Call(str(function), (ast.Var(name), *_)) if (source := known.get(name)) is not None:
                yield from self._called(function.upper(), name, source, node)
        for child in children(node):
            yield from self.expression(child, known)

    def _called(self, function: str, name: str, source: Source, node: ast.Syntax) -> Iterator[QueryWarning]:
        if ANY in source.kinds:
            return
        if function in DATE_FUNCTIONS and not source.kinds & DATES:
            wanted, hint = "a date", ""
            if source.kinds == {NUMBER}:
                hint = f"compare the number itself, as in ?{name} = 1979" if function == "YEAR" else ""
            elif source.kinds <= STRINGS:
                hint = f'compare the text, as in STRSTARTS(?{name}, "1979"), or write xsd:date(?{name}) for it'
        elif function in STRING_FUNCTIONS and not source.kinds & STRINGS:
            wanted, hint = "a text", f"write {function}(STR(?{name}) ...)"
        else:
            return
        yield QueryWarning(
            "W113",
            f"{function} takes {wanted}, and ?{name} is {source.words}{self._why(source)}: it never has a value",
            hint=hint,
            span=node.span,
        )

    def _compared(
        self, op: str, left: ast.Syntax, right: ast.Syntax, known: Known, node: ast.Syntax
    ) -> Iterator[QueryWarning]:
        if not isinstance(left, ast.Var):
            left, right, op = right, left, _MIRRORED.get(op, op)
        source = known.get(left.name) if isinstance(left, ast.Var) else None
        if source is None or not isinstance(left, ast.Var):
            return
        other = _kinds_of(right, known)
        if other is None or source.kinds & other.kinds or ANY in source.kinds | other.kinds:
            return
        is_literal = NODE not in source.kinds and NODE not in other.kinds
        if is_literal and (op == "!=" or source.words == other.words == "a literal"):
            return
        if is_literal and op != "=" and source.kinds | other.kinds <= STRINGS | DATES and not _is_date(source, other):
            return
        words, others = source.words, other.words
        if source.kinds | other.kinds <= STRINGS:
            words, others = ("a text without a language tag", "a text with a language tag")[
                :: -1 if source.kinds == {"language"} else 1
            ]
        elif source.kinds | other.kinds <= DATES:
            words, others = ("a date without a time", "a date with a time")[:: -1 if source.kinds <= MOMENTS else 1]
        never = "always differ" if op == "!=" else "are never equal" if op == "=" else "cannot be compared"
        yield QueryWarning(
            "W113",
            f"?{left.name} is {words}{self._why(source)}, and this compares it with {others}: they {never}",
            hint=_converted(left.name, op, right, source, other)
            or _of_one_precision(left.name, op, right, source, other)
            or _comparable(left.name, source, other, right),
            span=node.span,
        )

    def _why(self, source: Source) -> str:
        return f" (as every object of {self.shown(source.predicate)})" if source.predicate else ""


def _of_all(alternatives: Sequence[Iterator[QueryWarning]]) -> Iterator[QueryWarning]:
    """The warnings about alternatives, unless one has none: `?x = "a" || ?x = "a"@en` is written to fit both kinds."""
    found = [list(warnings) for warnings in alternatives]
    return chain.from_iterable(found if all(found) else [])


_COMPARED = frozenset(("=", "!=", "<", ">", "<=", ">="))
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def _is_date(one: Source, other: Source) -> bool:
    return bool((one.kinds | other.kinds) & DATES)


def _kinds_of(node: ast.Syntax, known: Known) -> Source | None:
    match node:
        case ast.Var(name):
            return known.get(name)
        case ast.Iri():
            return NODES
        case ast.Lit(datatype=datatype, language=language):
            if language is not None:
                return Source(frozenset(("language",)))
            if datatype in (None, XSD + "string"):
                return Source(frozenset(("string",)))
            if datatype in NUMERIC:
                return Source(frozenset((NUMBER,)))
            if datatype == XSD + "boolean":
                return Source(frozenset(("boolean",)))
            if datatype in (XSD + "date", XSD + "dateTime"):
                return Source(DAYS if datatype == XSD + "date" else MOMENTS)
    return None


def _converted(name: str, op: str, right: ast.Syntax, source: Source, other: Source) -> str:
    """The comparison of a text as a number or a date, for a variable of texts; empty for others."""
    if not source.kinds <= STRINGS or not (other.kinds == {NUMBER} or other.kinds <= DATES):
        return ""
    datatype = "decimal" if other.kinds == {NUMBER} else "date"
    value = f"?{right.name}" if isinstance(right, ast.Var) else "..."
    if isinstance(right, ast.Lit):
        value = right.lexical
        if datatype == "date":
            datatype = (right.datatype or "").removeprefix(XSD)
            value = f'"{value}"^^xsd:{datatype}'
    text = f"STR(?{name})" if "language" in source.kinds else f"?{name}"
    converted = f"xsd:{datatype}({text}) {op} {shown(value)}"
    return f"convert it: {converted} leaves out what is not a {'number' if datatype == 'decimal' else 'date'}"


def _of_one_precision(name: str, op: str, right: ast.Syntax, source: Source, other: Source) -> str:
    """The comparison of a date and a dateTime as values of one datatype; empty for others.

    A cast keeps the time zone, and `=` needs the same instant, so an equality with a day compares the written form.
    """
    if not source.kinds | other.kinds <= DATES:
        return ""
    if isinstance(right, ast.Var):
        return f"compare the days as texts: SUBSTR(STR(?{name}), 1, 10) {op} SUBSTR(STR(?{right.name}), 1, 10)"
    if not isinstance(right, ast.Lit):
        return ""
    day = right.lexical[:10]
    if source.kinds <= MOMENTS and op == "=":
        return f'compare the day as a text: STRSTARTS(STR(?{name}), "{shown(day)}")'
    time = "T00:00:00" if source.kinds <= MOMENTS else ""
    zone = "Z" if all(kind.endswith(" zoned") for kind in source.kinds) else ""
    datatype = "dateTime" if time else "date"
    return f'compare it with a constant of its datatype: ?{name} {op} "{shown(day)}{time}{zone}"^^xsd:{datatype}'


def _comparable(name: str, source: Source, other: Source, right: ast.Syntax) -> str:
    """The suggested form of a comparison."""
    if source.kinds == {NODE}:
        if other.kinds <= STRINGS:
            return f"search its texts by MATCH, compare a property of it, or compare its IRI: STR(?{name})"
        return f"compare a property of ?{name}"
    if other.kinds == {NODE}:
        return f"compare the node that has ?{name}, or a text in quotes"
    if other.kinds == {"string"}:
        if source.kinds == {"language"}:
            return f'add the language of the text, as in "..."@en, or compare STR(?{name})'
        if source.kinds == {NUMBER}:
            return "write the number without quotes"
        if source.kinds == {"boolean"}:
            word = right.lexical if isinstance(right, ast.Lit) else ""
            return f"write {word if word in ('true', 'false') else 'true or false'} without quotes"
        if source.kinds <= DATES:
            return 'write the date with its type: "2020-01-31"^^xsd:date, "2020-01-31T12:00:00"^^xsd:dateTime'
    if other.kinds == {"language"} and source.kinds == {"string"}:
        return "leave the language tag out"
    if source.kinds == {NUMBER}:
        return "compare it with a number"
    if source.kinds <= DATES and other.kinds == {NUMBER}:
        return f"compare a part of the date, as in YEAR(?{name})"
    return f"compare STR(?{name}) with a text"
