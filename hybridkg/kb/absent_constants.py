"""Warnings about constants that no triple has in their place, for a query without a row.

A pattern `?x :platform "linux"` is probably a misspelling where the graph has "Linux". So is an option of
`?x :platform ?p FILTER(?p IN ("linux", "BSD"))` or of VALUES. Only patterns of which every solution needs a triple are
looked at. A constant that the projection has in its place costs 10 us, another one a request to the store and about 2
ms for similar values; the values of a predicate are read once. The answer of ASK is no mistake.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple, TypeAlias, TypeGuard

from hybridkg.errors import QueryWarning
from hybridkg.interfaces.graph_index import BoundPattern, GraphIndex, PredicatePath, Scan, TermParameter, Variable
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.parameter import UnboundParameterError
from hybridkg.kb.clock_cache import ClockCache
from hybridkg.kb.occurrence import occurs_in_a_graph
from hybridkg.query import ast
from hybridkg.query.constants import term_of_constant
from hybridkg.query.source import shown
from hybridkg.query.value_kinds import NUMERIC
from hybridkg.rdf.similar import SIMILAR
from hybridkg.rdf.terms import RDF_TYPE, XSD_STRING, Literal, NamedNode, Term, term_text
from hybridkg.rdf.well_known import iri_of_prefixed, shortened

MAX_PATTERNS = 5
"""Patterns looked up for one query."""

MAX_OPTIONS = 5
"""Constants of VALUES and of filters looked up for one query."""

MAX_READ, MAX_READ_REMOTE = 50_000, 2_000
"""Triples of a predicate among which similar values are searched; 50,000 take about 0.1 s."""

MAX_COMPARED = 300
"""Values with the same first letter that are compared letter by letter; about 2 ms."""

MAX_LENGTH = 200
"""Characters of a value that is compared."""

MAX_CONSTANTS = 1_000
"""Constants whose findings are cached."""

MAX_PREDICATES = 32
"""Places (a predicate, subject or object) whose values are cached."""

_DAY = re.compile(r"-?\d{4,}-\d\d-\d\d(?=$|[TZ+-])")
"""The day of a date or a dateTime."""

Constant: TypeAlias = ast.Iri | ast.Lit

End: TypeAlias = tuple[str, str, Constant]
"""(place, predicate, constant): a constant that a query expects as the subject or the object of a predicate."""

Option: TypeAlias = tuple[str, str, Constant, bool]
"""An end that a variable may be, and whether it is so only if `=` compares the constant by its term."""

Values = dict[str, list[Term]]
"""The terms by their first letter, folded."""


class Found(NamedTuple):
    """Whether a triple has a constant in its place, and otherwise similar values."""

    occurs: bool
    near: tuple[Term, ...]


class ConstantAdvisor:
    """Looks up the constants of queries without a row; the findings, and the values of predicates, are cached.

    `graph` is the projection, None where there is none.
    """

    def __init__(self, store: GraphStore, graph: GraphIndex | None = None):
        self._store, self._graph = store, graph
        self._scans: ClockCache[tuple[str, str], Scan] = ClockCache(MAX_PREDICATES)
        self._values: ClockCache[tuple[str, str], Values] = ClockCache(MAX_PREDICATES)
        self._found: ClockCache[tuple[str, str, Hashable], Found] = ClockCache(MAX_CONSTANTS)

    def warning(self, end: End, prefixes_of: Callable[[], Mapping[str, str]]) -> QueryWarning | None:
        """A warning where no triple has the constant as the subject or the object of its predicate, which a triple has;
        the prefixes shorten IRIs.
        """
        found = self._lookup(*end)
        if found.occurs:
            return None
        prefixes = prefixes_of()
        return _warning(*end, found.near, prefixes, self._meant(*end, prefixes))

    def _meant(self, place: str, predicate: str, node: Constant, prefixes: Mapping[str, str]) -> str:
        """The IRI of an object that is written as a text with a prefix, as in `--param p=ex:a`; empty for none."""
        if place == "subject" or not isinstance(node, ast.Lit) or node.language or node.datatype:
            return ""
        iri = iri_of_prefixed(node.lexical, prefixes)
        return iri if iri and self._lookup(place, predicate, ast.Iri(iri)).occurs else ""

    def _lookup(self, place: str, predicate: str, node: Constant) -> Found:
        key: tuple[str, str, Hashable]  # with the fields of the node, whose own hash takes longer
        if isinstance(node, ast.Iri):
            key = place, predicate, node.value
        else:
            key = place, predicate, (node.lexical, node.datatype, node.language, node.direction)
        found = self._found.get(key)
        if found is None:
            term = term_of_constant(node)
            occurs = place == "subject" and isinstance(term, Literal)  # which has another error
            if not occurs:
                text = term_text(term)
                pattern = f"{text} <{predicate}> ?o" if place == "subject" else f"?s <{predicate}> {text}"
                occurs = self._is_projected(place, predicate, term) or occurs_in_a_graph(self._store, pattern)
            found = Found(occurs, () if occurs else tuple(self._similar(place, predicate, term)))
            self._found.put(key, found)
        return found

    def _is_projected(self, place: str, predicate: str, term: Term) -> bool:
        """Whether the projection has a triple with the term in its place; a named graph may have one all the same."""
        if self._graph is None:
            return False
        scan = self._scans.get((place, predicate))
        if scan is None:
            own, other = TermParameter(0), Variable("other")
            path = PredicatePath(predicate)
            scan = Scan(own, path, other) if place == "subject" else Scan(other, path, own)
            self._scans.put((place, predicate), scan)
        prepared = self._graph.compile(BoundPattern(scan, (term,)))
        return prepared is not None and prepared.size().low > 0

    def _similar(self, place: str, predicate: str, term: Term) -> list[Term]:
        """At most two similar values: first those that differ in case, language or datatype only.

        A number or a date that differs in a digit is another one, so of dates only those of the same day are similar.
        """
        word = folded(term)
        values = self._values_of(place, predicate).get(word[:1], [])
        same = [value for value in values if folded(value) == word]
        if same or (isinstance(term, Literal) and term.datatype.value in NUMERIC):
            return same[:2]
        if isinstance(term, Literal) and (day := _DAY.match(term.value)):
            return [value for value in values if _is_of(value, day[0])][:2]
        scored: list[tuple[float, int, Term]] = []
        matcher = difflib.SequenceMatcher()
        matcher.set_seq2(word)
        for number, value in enumerate(values[:MAX_COMPARED]):
            matcher.set_seq1(folded(value))
            if matcher.real_quick_ratio() >= SIMILAR and matcher.quick_ratio() >= SIMILAR:
                scored.append((-matcher.ratio(), number, value))
        return [value for ratio, _, value in sorted(scored, key=lambda one: one[:2])[:2] if -ratio >= SIMILAR]

    def _values_of(self, place: str, predicate: str) -> Values:
        values = self._values.get((place, predicate))
        if values is None:
            most = MAX_READ_REMOTE if self._store.url else MAX_READ
            part = f"{{ SELECT ?s ?o WHERE {{ ?s <{predicate}> ?o }} LIMIT {most} }}"
            rows = self._store.select(f"SELECT DISTINCT ?{place[0]} WHERE {{ {part} }}").rows
            values = {}
            for term in sorted((row[0] for row in rows if isinstance(row[0], NamedNode | Literal)), key=term_text):
                if len(term.value) <= MAX_LENGTH:
                    values.setdefault(folded(term)[:1], []).append(term)
            self._values.put((place, predicate), values)
        return values


def sought_constants(query: ast.Query) -> tuple[tuple[End, ...], tuple[Option, ...]]:
    """The constants that patterns have, and those that VALUES and filters give, of which `ends_of` keeps those to look
    up. A parameter stays one.

    Raises:
        UnboundParameterError: the value of a parameter decides which these are.
    """
    form = query.form
    if form.where is None or form.dataset or isinstance(form, ast.AskQuery):
        return (), ()
    written = (item for group in _groups(form.where) for item in _patterns(group) if any(_constants(item)))
    ends = tuple(end for item in islice(written, MAX_PATTERNS) for end in _constants(item))
    options: list[Option] = []
    certain = 0
    for option in _options(form):
        if certain == MAX_OPTIONS:
            break
        options.append(option)
        certain += not option[3]
    return ends, tuple(options)


def ends_of(ends: Sequence[End], options: Sequence[Option]) -> Iterator[End]:
    """The constants to look up, of those of `sought_constants` with the values of parameters in place."""
    yield from ends
    if options:
        fit = (option[:3] for option in options if not option[3] or _is_only_itself(option[2]))
        yield from islice(fit, MAX_OPTIONS)


def _is_of(value: Term, day: str) -> bool:
    found = _DAY.match(value.value) if isinstance(value, Literal) else None
    return found is not None and found[0] == day


def _warning(
    place: str, predicate: str, node: Constant, near: Sequence[Term], prefixes: Mapping[str, str], iri: str
) -> QueryWarning:
    def name(term: Term) -> str:
        return shown(written(term, prefixes), MAX_LENGTH)

    hint = did_you_mean(term_of_constant(node), near, prefixes)
    if iri:
        hint = f"did you mean the IRI {name(NamedNode(iri))}? as a parameter it is <{iri}>"
    return QueryWarning(
        "W112",
        f"no triple has the {place} {name(term_of_constant(node))} with the predicate {shortened(predicate, prefixes)}",
        hint=hint,
        span=node.span,
    )


def did_you_mean(term: Term, near: Sequence[Term], prefixes: Mapping[str, str]) -> str:
    """A hint with the terms that are like another one; with the datatypes where they are written alike.

    >>> xsd = "http://www.w3.org/2001/XMLSchema#"
    >>> decimal, double = (Literal("1.1", datatype=NamedNode(xsd + name)) for name in ("decimal", "double"))
    >>> did_you_mean(decimal, [double], {})
    'did you mean "1.1"^^<http://www.w3.org/2001/XMLSchema#double>? 1.1 alone is an xsd:decimal'
    """
    own, texts = written(term, prefixes), [written(one, prefixes) for one in near]
    alone = ""
    if own in texts and isinstance(term, Literal):
        texts = [_with_datatype(one, prefixes) if text == own else text for one, text in zip(near, texts, strict=True)]
        alone = f" {shown(own, MAX_LENGTH)} alone is an {shortened(_plain_datatype(own))}"
    return f"did you mean {' or '.join(shown(text, MAX_LENGTH) for text in texts)}?{alone}" if near else ""


def _with_datatype(term: Term, prefixes: Mapping[str, str]) -> str:
    if not isinstance(term, Literal):
        return written(term, prefixes)
    return f"{term_text(Literal(term.value))}^^{shortened(term.datatype.value, prefixes)}"


def _plain_datatype(number: str) -> str:
    """The datatype of a number that is written without one."""
    kind = "double" if "e" in number.lower() else "decimal" if "." in number else "integer"
    return f"http://www.w3.org/2001/XMLSchema#{kind}"


def _groups(group: ast.Group) -> Iterator[ast.Group]:
    """The group and those inside it that a solution needs, of UNION in some branch, in the order of the text."""
    yield group
    for element in group.elements:
        match element:
            case ast.Group():
                yield from _groups(element)
            case ast.UnionPattern(branches):
                for branch in branches:
                    yield from _groups(branch)
            case ast.GraphPattern(pattern=pattern):
                yield from _groups(pattern)
            case ast.SubSelect(query) if query.where is not None and not query.dataset:
                yield from _groups(query.where)


def _patterns(group: ast.Group) -> Iterator[ast.TriplePattern]:
    for element in group.elements:
        if isinstance(element, ast.Triples):
            yield from (item for item in element.items if isinstance(item, ast.TriplePattern))


def _constants(item: ast.TriplePattern) -> Iterator[End]:
    """The constants at the ends of a pattern, apart from the IRI of a class, which W107 is about.

    At an end of a path the predicate is that of the first or the last step: `"city"` in `?x :type/:label "city"` is an
    object of `:label`.
    """
    is_type = isinstance(item.predicate, ast.Iri) and item.predicate.value == RDF_TYPE
    for node, at_end in ((item.subject, False), (item.object, True)):
        is_class = at_end and is_type and isinstance(node, ast.Iri)
        step = None if is_class else _step(item.predicate, at_end=at_end)
        if step is not None and _is_constant(node):
            yield (*step, node)


def _options(form: ast.QueryForm) -> Iterator[Option]:
    """The constants that VALUES, IN or `=` gives for an end of a needed pattern.

    A group's own patterns decide what its variables are; VALUES after the groups belongs to the outermost one.
    """
    assert form.where is not None
    for group in _groups(form.where):
        steps: dict[str, dict[tuple[str, str], None]] = {}
        for item in _patterns(group):
            for node, at_end in ((item.subject, False), (item.object, True)):
                step = _step(item.predicate, at_end=at_end)
                if isinstance(node, ast.Var) and step is not None:
                    steps.setdefault(node.name, {})[step] = None
        last = form.values if group is form.where and isinstance(form, ast.SelectQuery) else None
        for name, constant, is_compared in chain(*map(_given, group.elements), _given(last)):
            yield from ((*step, constant, is_compared) for step in steps.get(name, ()))


def _given(node: ast.Syntax | None) -> Iterator[tuple[str, Constant, bool]]:
    """(variable, constant, whether it is compared) of VALUES, and of the conditions of a filter that must hold."""
    match node:
        case ast.InlineData(variables, rows):
            for row in rows:
                for variable, cell in zip(variables, row, strict=True):
                    if isinstance(cell, ast.ListParameter):
                        raise UnboundParameterError("the value of a parameter has a number of constants")
                    if isinstance(cell, ast.Iri | ast.Lit):
                        yield variable.name, cell, False
        case ast.Filter(condition):
            yield from _given(condition)
        case ast.Binary("&&", left, right):
            yield from _given(left)
            yield from _given(right)
        case ast.In(ast.Var(name), options, False):
            yield from ((name, option, True) for option in options if _is_constant(option))
        case ast.Binary("=", ast.Var(name), other) | ast.Binary("=", other, ast.Var(name)) if _is_constant(other):
            yield name, other, True


def _is_constant(node: ast.Syntax) -> TypeGuard[Constant]:
    return isinstance(node, ast.Iri | ast.Lit)


def _is_only_itself(node: Constant) -> bool:
    """Whether `=` compares a constant by its term: an IRI or a text. 5.0 is equal to 5."""
    return isinstance(node, ast.Iri) or node.datatype in (None, XSD_STRING.value)


def _step(path: ast.Syntax, *, at_end: bool) -> tuple[str, str] | None:
    """The place and the predicate of the last step of a path, or of its first; None where there are several.

    >>> from hybridkg.query.parser import parse
    >>> path = parse("SELECT * { ?x <e:p>/^<e:q> ?y }").form.where.elements[0].items[0].predicate
    >>> _step(path, at_end=True), _step(path, at_end=False)
    (('subject', 'e:q'), ('subject', 'e:p'))
    """
    match path:
        case ast.Iri(iri):
            return ("object" if at_end else "subject"), iri
        case ast.PathInverse(inner):
            return _step(inner, at_end=not at_end)
        case ast.PathSequence(parts):
            return _step(parts[-1 if at_end else 0], at_end=at_end)
        case ast.PathRepeat(inner, "+"):
            return _step(inner, at_end=at_end)
    return None  # an alternative, a variable, or a path that may have no step


def folded(term: Term) -> str:
    """The part of a term that a user may misspell, folded.

    >>> folded(Literal("Linux", language="en")), folded(NamedNode("http://e/os/Linux"))
    ('linux', 'linux')
    """
    assert isinstance(term, NamedNode | Literal)
    text = term.value
    if isinstance(term, NamedNode):
        text = text.rstrip("/#").replace("#", "/").rsplit("/", 1)[-1]
    return " ".join(text.casefold().split())


def written(term: Term, prefixes: Mapping[str, str]) -> str:
    """A term as it is written in a query."""
    if isinstance(term, NamedNode):
        return shortened(term.value, prefixes)
    assert isinstance(term, Literal)
    if term.language or term.datatype == XSD_STRING:
        return term_text(term)
    datatype = term.datatype.value
    is_number = datatype in NUMERIC and term.value[-1:].isdigit()  # not an ill-typed one, NaN or INF
    return term.value if is_number else f"{term_text(Literal(term.value))}^^{shortened(datatype, prefixes)}"
