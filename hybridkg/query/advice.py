"""Warnings about a query that can be seen in its text: what is correct, and probably not meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from hybridkg.errors import QueryWarning, Span
from hybridkg.query import ast
from hybridkg.query.scope import bound_by, in_scope
from hybridkg.query.walk import children, variables, walk
from hybridkg.registry import did_you_mean

LITERAL_FUNCTIONS = frozenset(
    ("STR", "LANG", "CONCAT", "SUBSTR", "UCASE", "LCASE", "STRLEN", "REPLACE", "ABS", "ROUND", "CEIL", "FLOOR", "YEAR",
     "MONTH", "DAY", "NOW", "RAND", "STRBEFORE", "STRAFTER", "ENCODE_FOR_URI", "STRLANG", "STRDT", "MD5", "SHA256")
)  # fmt: skip
"""Functions whose value is a literal."""


Nodes: TypeAlias = tuple[ast.Syntax, ...]
"""Every node of a query, parents first, in the order of the text."""


def advise(query: ast.Query) -> list[QueryWarning]:
    """The warnings about a query, in the order of the text.

    >>> from hybridkg.query.parser import parse
    >>> [w.message for w in advise(parse('SELECT ?x { ?x MATCH "fish" AS ?s }'))]
    ['nothing uses the score ?s']
    """
    nodes = tuple(walk(query.form))
    found = [*_products(nodes), *_unbound(nodes), *_unused_scores(nodes), *_literals(nodes), *_mixed(nodes)]
    return sorted(found, key=lambda warning: (warning.span or Span()).start)


# --- products ------------------------------------------------------------------------


def _products(nodes: Nodes) -> Iterator[QueryWarning]:
    for group in nodes:
        if isinstance(group, ast.Group):
            parts = _parts(group)
            if len(parts) > 1:
                (_, first), (_, second) = parts[:2]
                names = [" and ".join(f"?{name}" for name in sorted(own)[:3]) for own in (first, second)]
                yield QueryWarning(
                    "W101",
                    f"nothing joins {names[0]} with {names[1]}: every row of one meets every row of the other",
                    hint="share a variable between them, or ask two queries",
                    span=parts[1][0],
                )


def _parts(group: ast.Group) -> list[tuple[Span, set[str]]]:
    """(place of its first pattern, variables) of the parts of a group that no variable or constant connects."""
    parts: list[tuple[Span, set[str], set[object]]] = []

    def connect(span: Span, names: frozenset[str], terms: frozenset[object], *, pattern: bool) -> None:
        joined: list[tuple[Span, set[str], set[object]]] = []
        for part in parts.copy():
            if part[2] & terms:
                parts.remove(part)
                joined.append(part)
        if joined or pattern:
            span = joined[0][0] if joined else span
            own = set(names) if pattern else set()
            parts.append((span, own.union(*(p[1] for p in joined)), set(terms).union(*(p[2] for p in joined))))

    for connects in (False, True):  # first the patterns, then what only connects them
        for element in group.elements:
            for span, names, terms, pattern in _links(element):
                if pattern != connects:
                    connect(span, names, terms, pattern=pattern)
    return sorted(((span, names) for span, names, _ in parts if names), key=lambda part: part[0].start)


def _links(element: ast.Element) -> Iterator[tuple[Span, frozenset[str], frozenset[object], bool]]:
    """(place, variables, what connects, whether it has rows of its own) of each part of an element."""
    match element:
        case ast.Triples(items):
            for item in items:
                names = variables(item)
                ends = (item.subject, item.object) if isinstance(item, ast.TriplePattern) else ()
                constants = {end for end in ends if isinstance(end, ast.Iri | ast.Lit | ast.Blank)}
                yield item.span, names, frozenset(constants) | names, True
        case ast.Filter() | ast.Bind():
            yield element.span, frozenset(), variables(element), False
        case ast.InlineData(columns, rows):
            names = frozenset(column.name for column in columns)
            yield element.span, names, names, len(rows) > 1
        case ast.MinusPattern():
            return
        case _:
            names = bound_by(element)
            yield element.span, names, names | frozenset(_constants(element)), True


def _constants(element: ast.Syntax) -> Iterator[object]:
    for node in walk(element):
        if isinstance(node, ast.TriplePattern):
            yield from (end for end in (node.subject, node.object) if isinstance(end, ast.Iri | ast.Lit))


# --- variables -------------------------------------------------------------------------


def _unbound(nodes: Nodes) -> Iterator[QueryWarning]:
    """Variables that are read and never bound: mostly slips of the pen."""
    bound = _bound_somewhere(nodes)
    known = [f"?{name}" for name in sorted(bound)]
    seen: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Var) and node.name not in bound and node.name not in seen:
            seen.add(node.name)
            yield QueryWarning(
                "W102",
                f"nothing in the query binds ?{node.name}",
                hint=did_you_mean(f"?{node.name}", known) or f"it binds: {', '.join(known[:8]) or 'no variable'}",
                span=node.span,
            )


def _bound_somewhere(nodes: Nodes) -> frozenset[str]:
    names: set[str] = set()
    for node in nodes:
        match node:
            case ast.Group():
                names |= in_scope(node)
            case ast.InlineData():
                names |= bound_by(node)
            case ast.Projection(ast.Var(name), expression) if expression is not None:
                names.add(name)
            case ast.GroupKey(_, ast.Var(name)) | ast.RankBy(_, ast.Var(name)) | ast.Rerank(score=ast.Var(name)):
                names.add(name)
    return frozenset(names)


def _unused_scores(nodes: Nodes) -> Iterator[QueryWarning]:
    if any(isinstance(node, ast.SelectQuery) and node.projection is None for node in nodes):
        return
    mentions: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, ast.Var):
            mentions[node.name] = mentions.get(node.name, 0) + 1
    for node in nodes:
        if isinstance(node, ast.Match | ast.Near) and node.score is not None and mentions[node.score.name] == 1:
            yield QueryWarning(
                "W103",
                f"nothing uses the score ?{node.score.name}",
                hint=f"add RANK BY ?{node.score.name}, or leave AS ?{node.score.name} out",
                span=node.score.span,
            )


def _literals(nodes: Nodes) -> Iterator[QueryWarning]:
    """MATCH on what can only be a literal; entities are IRIs and blank nodes."""
    sources: dict[str, str] = {}
    for node in nodes:
        match node:
            case ast.Bind(expression, ast.Var(name)) if _is_literal(expression):
                sources[name] = "BIND makes it one"
            case ast.InlineData(columns, rows):
                for i, column in enumerate(columns):
                    if rows and all(isinstance(row[i], ast.Lit) for row in rows):
                        sources[column.name] = "its VALUES are"
    for node in nodes:
        if isinstance(node, ast.Match | ast.Near) and node.entity.name in sources:
            yield QueryWarning(
                "W104",
                f"?{node.entity.name} can only be a literal ({sources[node.entity.name]}), and "
                f"{type(node).__name__.upper()} finds entities",
                hint=f"match the entity that has it: ?entity ?property ?{node.entity.name}",
                span=node.entity.span,
            )


def _is_literal(expression: ast.Expression) -> bool:
    match expression:
        case ast.Lit() | ast.Binary() | ast.Unary() | ast.Aggregate():
            return True
        case ast.Call(str(name)):
            return name.upper() in LITERAL_FUNCTIONS
    return False


# --- scores of different kinds -----------------------------------------------------------


def _mixed(nodes: Nodes) -> Iterator[QueryWarning]:
    kinds: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Match) and node.score is not None:
            kinds[node.score.name] = node.model.name if node.model else "bm25f"
        elif isinstance(node, ast.Near) and node.score is not None:
            kinds[node.score.name] = f"similarity of {node.encoder.name}" if node.encoder else "similarity"
    for node in nodes:
        if isinstance(node, ast.RankBy):
            yield from _sums(node.expression, kinds)


def _sums(node: ast.Syntax, kinds: dict[str, str]) -> Iterator[QueryWarning]:
    if isinstance(node, ast.Binary) and node.op in ("+", "-"):
        found = {kinds[name]: name for name in sorted(_raw_scores(node)) if name in kinds}
        if len(found) > 1:
            said = " and ".join(f"?{name} ({kind})" for kind, name in sorted(found.items(), key=lambda item: item[1]))
            yield QueryWarning(
                "W105",
                f"{said} are scores of different kinds, and one may drown the other",
                hint="add minmax(...) of each, or use rrf(...)",
                span=node.span,
            )
            return
    for child in children(node):
        yield from _sums(child, kinds)


def _raw_scores(node: ast.Syntax) -> Iterator[str]:
    if isinstance(node, ast.Var):
        yield node.name
    elif not isinstance(node, ast.RankFunction):
        for child in children(node):
            yield from _raw_scores(child)
