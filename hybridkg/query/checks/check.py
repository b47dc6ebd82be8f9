"""Rules beyond the grammar: scope, grouping, blank node labels, and the places of rankings.

They come from the notes to the grammar of SPARQL 1.1 (section 19.8) and sections 10.1, 11.3, 18.2.4; the rules for
MATCH and RANK BY are in docs/language.md. The span of an error is that of the words that break the rule.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hybridkg.errors import QueryCheckError, UnsupportedQueryError
from hybridkg.query import ast
from hybridkg.query.checks.check_match import ScopeBindings, check_match
from hybridkg.query.checks.check_ranking import check_near, check_rank_functions
from hybridkg.query.checks.check_select import check_grouping, check_keys, check_order, check_projection
from hybridkg.query.scope import bound_by
from hybridkg.query.walk import children, walk


def check(query: ast.Query) -> None:
    """Checks a query against the rules of SPARQL and HybridQL.

    Raises:
        QueryCheckError: it breaks a rule.
        UnknownNameError: it names a ranking model that does not exist.
        UnsupportedQueryError: it is correct, but this version cannot answer it.
    """
    PatternChecker().form(query.form)


@dataclass
class PatternChecker:
    """Visitor of the patterns of one text, which have the labels of blank nodes in common."""

    blocks: int = 0
    """Number of the current basic graph pattern."""

    label_blocks: dict[str, int] = field(default_factory=dict)
    """Basic graph pattern of each blank node label."""

    in_service: bool = False

    def form(self, form: ast.QueryForm) -> ScopeBindings:
        """The bindings of a query or a sub-select."""
        bindings = self.group(form.where) if form.where is not None else ScopeBindings()
        if form.values is not None:
            self.values(form.values)
            bindings.join(ScopeBindings.of(bound_by(form.values)), form.values.span)
        check_order(form.modifiers)
        check_rank_functions(form, bindings)
        if isinstance(form, ast.SelectQuery):
            check_projection(form, bindings.bound)
        check_keys(form.modifiers, bindings.bound)
        check_grouping(form)
        self._expressions(form)
        if not isinstance(form, ast.SelectQuery) or form.projection is None:
            return bindings
        # A column is a score only if the query projects it unchanged.
        plain = {item.variable.name for item in form.projection if item.expression is None}
        computed = {name: kind for name, kind in bindings.computed.items() if name in plain}
        return ScopeBindings({item.variable.name for item in form.projection}, computed)

    def _expressions(self, form: ast.QueryForm) -> None:
        modifiers = form.modifiers
        for key in modifiers.group_by:
            self.expression(key.expression, "in GROUP BY")
        if isinstance(form, ast.SelectQuery):
            for item in form.projection or ():
                if item.expression is not None:
                    self.expression(item.expression)
        for condition in modifiers.having:
            self.expression(condition)
        for order in modifiers.order_by:
            self.expression(order.expression)
        if modifiers.rank_by is not None:
            self.expression(modifiers.rank_by.expression, ranking=True)

    def group(self, group: ast.Group) -> ScopeBindings:
        """The bindings of a group."""
        bindings = ScopeBindings()
        self.blocks += 1
        for element in group.elements:
            if isinstance(element, ast.Triples):
                for item in element.items:
                    bindings.join(self.item(item), item.span)
                continue
            if isinstance(element, ast.Bind) and element.variable.name in bindings.bound:
                raise QueryCheckError(
                    f"BIND assigns ?{element.variable.name}, which has a value already",
                    hint="use a new name after AS, or compare with FILTER",
                    span=element.variable.span,
                )
            bindings.join(self.element(element), element.span)
            if not isinstance(element, ast.Filter):
                # Anything but a FILTER ends a basic graph pattern (section 5.1.1). For the store a FILTER with a
                # group inside ends it as well; the end of that group has counted.
                self.blocks += 1
        self.blocks += 1
        return bindings

    def element(self, element: ast.Element) -> ScopeBindings:
        """The bindings of an element of a group."""
        match element:
            case ast.Group():
                return self.group(element)
            case ast.OptionalPattern(pattern):
                return self.group(pattern)
            case ast.MinusPattern(pattern):
                self.group(pattern)
                return ScopeBindings()
            case ast.UnionPattern(branches):
                bindings = ScopeBindings()
                for branch in branches:
                    bindings.either(self.group(branch))
                return bindings
            case ast.GraphPattern(name, pattern):
                return self.named(name, pattern)
            case ast.ServicePattern(endpoint, pattern):
                was_in_service, self.in_service = self.in_service, True
                bindings = self.named(endpoint, pattern)
                self.in_service = was_in_service
                return bindings
            case ast.SubSelect(query):
                return self.form(query)
            case ast.Filter(condition):
                self.expression(condition, "in FILTER")
            case ast.Bind(expression):
                self.expression(expression, "in BIND")
            case ast.InlineData():
                self.values(element)
        return ScopeBindings.of(bound_by(element))

    def named(self, name: ast.Var | ast.Iri, pattern: ast.Group) -> ScopeBindings:
        """The bindings of a GRAPH or SERVICE."""
        bindings = self.group(pattern)
        if isinstance(name, ast.Var):
            bindings.join(ScopeBindings.of((name.name,)), name.span)
        return bindings

    def item(self, item: ast.TriplePattern | ast.RankedItem) -> ScopeBindings:
        """The bindings of a triple, a MATCH or a NEAR."""
        if not isinstance(item, ast.TriplePattern):
            if self.in_service:
                kind = type(item).__name__.upper()
                raise UnsupportedQueryError(
                    f"a {kind} cannot stand inside SERVICE: its index is local, the service is remote",
                    hint=f"write the {kind} outside the SERVICE",
                    span=item.span,
                )
            return check_match(item) if isinstance(item, ast.Match) else check_near(item)
        terms: tuple[ast.Syntax, ...] = (item.subject, item.predicate, item.object)
        if any(isinstance(term, ast.TripleTerm) for term in terms):
            terms = tuple(node for term in terms for node in walk(term))
        for term in terms:
            if isinstance(term, ast.Blank) and self.label_blocks.setdefault(term.label, self.blocks) != self.blocks:
                raise QueryCheckError(
                    f"the blank node label '_:{term.label}' stands in two different patterns",
                    hint="a blank node cannot join patterns; use a variable",
                    span=term.span,
                )
        if not isinstance(item.predicate, ast.Var | ast.Iri):
            _check_path(item.predicate)
        return ScopeBindings.of(term.name for term in terms if isinstance(term, ast.Var))

    def values(self, data: ast.InlineData) -> None:
        """VALUES has distinct variables, and a value or UNDEF for each."""
        seen: set[str] = set()
        for variable in data.variables:
            if variable.name in seen:
                raise QueryCheckError(f"?{variable.name} stands twice in VALUES", span=variable.span)
            seen.add(variable.name)
        for row in data.rows:
            if len(row) != len(data.variables):
                raise QueryCheckError(
                    f"a row of VALUES has {len(row)} values for {len(data.variables)} variables", span=data.span
                )

    def expression(self, node: ast.Syntax, where: str = "", *, ranking: bool = False) -> None:
        """Aggregates are allowed over groups only, and not inside one another; rank functions in RANK BY only.

        Args:
            node: the expression.
            where: the place that forbids an aggregate; empty if it is allowed.
            ranking: whether a rank function is allowed.
        """
        if isinstance(node, ast.RankFunction) and not ranking:
            raise QueryCheckError(
                f"{node.name} stands in RANK BY only: it is a function of the scores of all rows",
                hint=f"RANK BY {node.name}(...) AS ?rank, around it a sub-select where the value is needed",
                span=node.span,
            )
        if isinstance(node, ast.Aggregate):
            ranking = False
            if where:
                raise QueryCheckError(
                    f"the aggregate {node.name} cannot stand {where}",
                    hint="compute it in a sub-select: { SELECT (" + node.name + "(...) AS ?x) ... }"
                    if "FILTER" not in where
                    else "use HAVING after GROUP BY, or compute it in a sub-select",
                    span=node.span,
                )
            where = "inside another aggregate"
        elif isinstance(node, ast.Exists):
            self.group(node.pattern)
            return
        for child in children(node):
            self.expression(child, where, ranking=ranking)


def _check_path(path: ast.Path) -> None:
    if isinstance(path, ast.PathNegated) and not path.parts:
        raise UnsupportedQueryError(
            "'!()' excludes no property, and the store does not support it",
            hint="write a variable in place of the property",
            span=path.span,
        )
    for child in children(path):
        _check_path(child)  # type: ignore[arg-type]
