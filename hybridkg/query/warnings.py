"""Static warnings about a query: legal constructs that are probably mistakes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar, cast

from hybridkg.errors import QueryWarning, Span
from hybridkg.query import ast
from hybridkg.query.checks.check_select import is_grouped, keys, outside_aggregates
from hybridkg.query.checks.check_values import no_value_hint
from hybridkg.query.ranked_order import order_warnings
from hybridkg.query.scope import bound_by, bound_somewhere
from hybridkg.query.walk import children, rebuild, variables, walk
from hybridkg.query.write import write
from hybridkg.registry import did_you_mean

LITERAL_FUNCTIONS = frozenset(
    ("STR", "LANG", "CONCAT", "SUBSTR", "UCASE", "LCASE", "STRLEN", "REPLACE", "ABS", "ROUND", "CEIL", "FLOOR", "YEAR",
     "MONTH", "DAY", "NOW", "RAND", "STRBEFORE", "STRAFTER", "ENCODE_FOR_URI", "STRLANG", "STRDT", "MD5", "SHA256")
)  # fmt: skip
"""Functions whose value is a literal."""

NodeT = TypeVar("NodeT", bound=ast.Syntax)


class _Nodes:
    """The nodes of a query by class, each class in the order of the text, parents first."""

    def __init__(self, form: ast.QueryForm):
        self.all = tuple(walk(form))
        self._by_class: dict[type[ast.Syntax], list[ast.Syntax]] = {}
        for node in self.all:
            self._by_class.setdefault(type(node), []).append(node)
        self.variables = self.of(ast.Var)
        self.selects = self.of(ast.SelectQuery)
        ranked: list[ast.RankedItem] = [*self.of(ast.Match), *self.of(ast.Near)]
        self.ranked = sorted(ranked, key=lambda item: item.span.start)

    def of(self, kind: type[NodeT]) -> list[NodeT]:
        """The nodes of a class."""
        return cast("list[NodeT]", self._by_class.get(kind, []))


def advise(query: ast.Query, given: Container[str] = ()) -> list[QueryWarning]:
    """The warnings about a query with `given` parameters, before these are bound; in the order of the text.

    >>> from hybridkg.query.parser import parse
    >>> [w.message for w in advise(parse('SELECT ?x { ?x MATCH "fish" AS ?s }'))]
    ['nothing uses the score ?s']
    """
    nodes = _Nodes(query.form)
    bound = bound_somewhere(nodes.all)
    unbound = [
        *_unbound(nodes, given, bound),
        *_forgotten(nodes.variables, given, bound),
        *_lost_in_groups(nodes.selects, given, bound),
    ]
    having = _aliases_in_having(nodes.selects, dict(query.prefixes))
    ranked = [*_unused_scores(nodes), *_literals(nodes), *_mixed(nodes), *order_warnings(query.form)]
    warnings = [*_products(nodes.of(ast.Group)), *unbound, *having, *ranked]
    return sorted(warnings, key=lambda warning: (warning.span or Span()).start)


def parameters_of(query: ast.Query) -> tuple[str, ...]:
    """The parameters of a query: variables written with `$`, or without a binding; in the order of the text.

    >>> from hybridkg.query.parser import parse
    >>> parameters_of(parse("SELECT ?x { ?x <http://e/p> $y FILTER(?x > ?z) }"))
    ('y', 'z')
    """
    nodes = tuple(walk(query.form))
    bound = bound_somewhere(nodes)
    named = (node for node in nodes if isinstance(node, ast.Var))
    wanted = (node for node in named if node.name not in bound or node.is_marked)
    return tuple(dict.fromkeys(node.name for node in sorted(wanted, key=lambda node: node.span.start)))


def _products(groups: Iterable[ast.Group]) -> Iterator[QueryWarning]:
    for group in groups:
        if len(group.elements) == 1 and not isinstance(group.elements[0], ast.Triples | ast.Group):
            continue
        links = [link for element in group.elements for link in _links(element)]
        if not _is_connected(links) and len(parts := _parts(links)) > 1:
            (_, first), (_, second) = parts[:2]
            names = [" and ".join(f"?{name}" for name in sorted(own)[:3]) for own in (first, second)]
            yield QueryWarning(
                "W101",
                f"nothing joins {names[0]} with {names[1]}: every row of one meets every row of the other",
                hint="share a variable between them, or run two queries",
                span=parts[1][0],
            )


@dataclass
class _Part:
    """A connected component of the patterns of a group: the place of its first pattern, and its variables."""

    span: Span
    names: set[str]
    is_pattern: bool


def _is_connected(links: Sequence[_Link]) -> bool:
    """Whether each link shares a variable with an earlier one; false says nothing."""
    reached: set[str] = set()
    for link in links:
        if reached and reached.isdisjoint(link.keys):
            return False
        reached |= link.keys
    return True


def _parts(links: Iterable[_Link]) -> list[tuple[Span, set[str]]]:
    """(place of its first pattern, variables) of the connected components of a group."""
    part_of: dict[object, _Part] = {}
    parts: dict[int, _Part] = {}
    for link in links:
        together = {id(part): part for key in link.keys if (part := part_of.get(key)) is not None}
        part = max(together.values(), key=lambda one: len(one.names), default=_Part(link.span, set(), False))
        parts[id(part)] = part
        for other in together.values():
            if other is not part:
                part.names |= other.names
                part.span = min(part.span, other.span, key=lambda span: span.start)
                part.is_pattern = part.is_pattern or other.is_pattern
                part_of.update(dict.fromkeys(other.names, part))
                del parts[id(other)]
        part.names |= link.keys
        part_of.update(dict.fromkeys(link.keys, part))
        if link.has_rows and not part.is_pattern:
            part.span, part.is_pattern = link.span, True
    patterns = [part for part in parts.values() if part.is_pattern]
    places = [(part.span, {name for name in part.names if not name.startswith("_:")}) for part in patterns]
    return sorted(((span, names) for span, names in places if names), key=lambda place: place[0].start)


class _Link(NamedTuple):
    """A part of an element: its place, the variables and blank nodes that connect it, whether it multiplies rows."""

    span: Span
    keys: frozenset[str]
    has_rows: bool


def _links(element: ast.Element) -> Iterator[_Link]:
    match element:
        case ast.Triples(items):
            for item in items:
                labels = {f"_:{node.label}" for node in walk(item) if isinstance(node, ast.Blank)}
                # A constant subject mostly gives one row: a look-up, not a join.
                is_lookup = isinstance(item, ast.TriplePattern) and isinstance(item.subject, ast.Iri)
                yield _Link(item.span, variables(item) | labels, not is_lookup)
        case ast.Filter() | ast.Bind():
            yield _Link(element.span, variables(element), False)
        case ast.InlineData(columns, rows):
            yield _Link(element.span, frozenset(column.name for column in columns), len(rows) > 1)
        case ast.SubSelect(query):
            yield _Link(element.span, bound_by(element), not _has_one_row(query))
        case ast.MinusPattern():
            return
        case ast.Group() if len(element.elements) == 1:
            yield from _links(element.elements[0])
        case _:
            yield _Link(element.span, bound_by(element), True)


def _has_one_row(query: ast.SelectQuery) -> bool:
    modifiers = query.modifiers
    aggregates = any(
        isinstance(node, ast.Aggregate)
        for item in query.projection or ()
        if item.expression is not None
        for node in walk(item.expression)
    )
    return modifiers.limit in (0, 1) or (aggregates and not modifiers.group_by)


def _unbound(nodes: _Nodes, given: Container[str], bound: frozenset[str]) -> Iterator[QueryWarning]:
    """Variables that are read but never bound: mostly misspellings."""
    names = [f"?{name}" for name in sorted(bound)]
    in_having = _named_in_having(nodes.selects)
    seen: set[str] = set()
    for node in nodes.variables:
        if node.name not in bound and node.name not in seen and node.name not in given:
            seen.add(node.name)
            if node.is_marked:
                yield QueryWarning(
                    "W102", f"the parameter ${node.name} has no value", hint=no_value_hint(node.name), span=node.span
                )
                continue
            # An alias of SELECT has no value in HAVING yet.
            hidden = in_having.get(node.name, frozenset())
            visible = [name for name in names if name not in hidden]
            yield QueryWarning(
                "W102",
                f"nothing binds ?{node.name}",
                hint=did_you_mean(f"?{node.name}", visible) or f"it binds: {', '.join(visible[:8]) or 'no variable'}",
                span=node.span,
            )


def _aliases(query: ast.SelectQuery) -> dict[str, ast.Expression]:
    """The expressions of the SELECT clause by the names that it gives them."""
    return {item.variable.name: item.expression for item in query.projection or () if item.expression is not None}


def _named_in_having(selects: Iterable[ast.SelectQuery]) -> dict[str, frozenset[str]]:
    """For each variable of a HAVING, the aliases of its SELECT, as `?n`."""
    return {
        name: frozenset(f"?{alias}" for alias in _aliases(query))
        for query in selects
        for part in query.modifiers.having
        for name in variables(part)
    }


def _aliases_in_having(selects: Iterable[ast.SelectQuery], prefixes: Mapping[str, str]) -> Iterator[QueryWarning]:
    """Columns that HAVING reads before they are computed (SPARQL 1.1 section 18.2.4)."""
    for query in selects:
        aliases, own_keys = _aliases(query), keys(query)
        for part in query.modifiers.having:
            read = {name: span for name, span in outside_aggregates(part) if name in aliases and name not in own_keys}
            for name, span in read.items():
                written = " ".join(write(_replaced(part, aliases), prefixes=prefixes).split())
                yield QueryWarning(
                    "W102",
                    f"?{name} is computed after HAVING, so it has no value there and no group is kept",
                    hint=f"write HAVING({written})",
                    span=span,
                )


def _replaced(node: ast.Expression, aliases: Mapping[str, ast.Expression]) -> ast.Expression:
    """The expression with the aliases replaced, outside its aggregates."""

    def change(below: ast.Syntax) -> ast.Syntax:
        if isinstance(below, ast.Var):
            return aliases.get(below.name, below)
        return below if isinstance(below, ast.Aggregate | ast.Exists) else rebuild(below, change)

    return change(node)  # type: ignore[return-value]  # an expression for an expression


def _forgotten(named: Iterable[ast.Var], given: Container[str], bound: frozenset[str]) -> Iterator[QueryWarning]:
    """Parameters without a value that a pattern binds, in a query that writes other variables with `?`."""
    if all(node.is_marked for node in named):
        return
    unmarked = {node.name for node in named if not node.is_marked}
    seen: set[str] = set()
    for node in named:
        name = node.name
        if node.is_marked and name in bound and name not in seen and name not in given and name not in unmarked:
            seen.add(name)
            yield QueryWarning(
                "W114",
                f"the parameter ${name} has no value, so it is a variable and takes any value",
                hint=no_value_hint(name),
                span=node.span,
            )


def _lost_in_groups(
    selects: Iterable[ast.SelectQuery], given: Container[str], bound: frozenset[str]
) -> Iterator[QueryWarning]:
    """Variables that are bound in the rows, but read in clauses that see only groups."""
    for query in selects:
        if not is_grouped(query):
            continue
        available = keys(query) | {item.variable.name for item in query.projection or ()}
        for clause, expressions in (
            ("HAVING", query.modifiers.having),
            ("ORDER BY", tuple(key.expression for key in query.modifiers.order_by)),
        ):
            read = {name: span for part in expressions for name, span in outside_aggregates(part)}
            for name, span in read.items():
                if name in bound and name not in available and name not in given:
                    yield QueryWarning(
                        "W102",
                        f"no group has a value of ?{name}, which is neither a key of GROUP BY nor inside an aggregate",
                        hint=f"write MIN(?{name}), MAX(?{name}), ... in {clause}, or add ?{name} to GROUP BY",
                        span=span,
                    )


def _unused_scores(nodes: _Nodes) -> Iterator[QueryWarning]:
    if any(select.projection is None for select in nodes.selects):
        return
    if any(not describe.subjects for describe in nodes.of(ast.DescribeQuery)):
        return
    mentions = Counter(variable.name for variable in nodes.variables) if nodes.ranked else {}
    for node in nodes.ranked:
        if node.score is not None and mentions[node.score.name] == 1:
            yield QueryWarning(
                "W103",
                f"nothing uses the score ?{node.score.name}",
                hint=f"add RANK BY ?{node.score.name}, or leave AS ?{node.score.name} out",
                span=node.score.span,
            )


def _literals(nodes: _Nodes) -> Iterator[QueryWarning]:
    """MATCH on a variable that can only be a literal; entities are IRIs and blank nodes."""
    sources: dict[str, str] = {}
    for bind in nodes.of(ast.Bind):
        if _is_literal(bind.expression):
            sources[bind.variable.name] = "BIND makes it one"
    for data in nodes.of(ast.InlineData):
        for i, column in enumerate(data.variables):
            if data.rows and all(isinstance(row[i], ast.Lit) for row in data.rows):
                sources[column.name] = "its VALUES are"
    for node in nodes.ranked:
        if node.entity.name in sources:
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


def _mixed(nodes: _Nodes) -> Iterator[QueryWarning]:
    kinds: dict[str, str] = {}
    for node in nodes.ranked:
        if node.score is None:
            continue
        if isinstance(node, ast.Match):
            kinds[node.score.name] = node.model.name if node.model else "bm25f"
        else:
            kinds[node.score.name] = f"similarity of {node.encoder.name}" if node.encoder else "similarity"
    if len(set(kinds.values())) > 1:
        for rank in nodes.of(ast.RankBy):
            yield from _sums(rank.expression, kinds)


def _sums(node: ast.Syntax, kinds: dict[str, str]) -> Iterator[QueryWarning]:
    if isinstance(node, ast.Binary) and node.op in ("+", "-"):
        by_kind = {kinds[name]: name for name in sorted(_raw_scores(node)) if name in kinds}
        if len(by_kind) > 1:
            scores = " and ".join(sorted(f"?{name} ({kind})" for kind, name in by_kind.items()))
            yield QueryWarning(
                "W105",
                f"{scores} are scores of different kinds, and one may dominate the sum",
                hint=_normalised(by_kind),
                span=node.span,
            )
            return
    for child in children(node):
        yield from _sums(child, kinds)


def _normalised(by_kind: dict[str, str]) -> str:
    """The suggested replacement of a sum; `by_kind` has a score for each kind."""
    near = next((name for kind, name in by_kind.items() if kind.startswith("similarity")), "")
    words = next((by_kind[kind] for kind in ("bm25f", "bm25", "combined_fields") if kind in by_kind), "")
    if near and words and len(by_kind) == 2:
        return f"to begin with, tmm(?{words}) + STRLEN($text) * tmm(?{near}) / 35 (docs/vectors.md)"
    return "add minmax(...) of each, or use rrf(...)"


def _raw_scores(node: ast.Syntax) -> Iterator[str]:
    if isinstance(node, ast.Var):
        yield node.name
    elif not isinstance(node, ast.RankFunction):
        for child in children(node):
            yield from _raw_scores(child)
