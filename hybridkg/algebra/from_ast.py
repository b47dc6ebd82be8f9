"""Translation of syntax to the logical plan: SPARQL 1.1 section 18.2.2, split where ranking begins.

A group is read from left to right. Up to the first ranked predicate it grows as one Fragment of unchanged syntax; each
later element is joined, left-joined, subtracted or bound. Filters are applied at the end of the group. A query without
ranked predicates remains whole: Oxigraph answers it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hybridkg.algebra import nodes
from hybridkg.algebra.certain_plan import certain_of
from hybridkg.algebra.forms import outside_graph, rows_of, text_is_not_bound, variables_of
from hybridkg.algebra.least import least_of_lists
from hybridkg.algebra.levels import check_width, levels, width
from hybridkg.algebra.names import FreshNames, without_blank_nodes
from hybridkg.algebra.open_answers import open_answer
from hybridkg.algebra.projections import expressions_of, has_aggregate, spelled_out, with_expressions
from hybridkg.algebra.reranking import reranked
from hybridkg.algebra.rules.push_filters import is_declined
from hybridkg.algebra.triple_subjects import with_node_subjects
from hybridkg.algebra.unused_binds import without_unused_binds
from hybridkg.algebra.visible import first_subject, scores_of, subjects_of_lists, visible_matches
from hybridkg.errors import UnsupportedQueryError
from hybridkg.query import ast
from hybridkg.query.scope import in_scope, is_hybrid
from hybridkg.query.walk import rebuild, variables, walk

ONE_ENGINE = frozenset({"RAND", "UUID", "STRUUID", "BNODE", "NOW"})
"""Functions whose values in different parts of a query agree only if one engine evaluates all of it."""


def from_ast(query: ast.Query) -> nodes.Plan:
    """The logical plan of a query.

    Raises:
        UnsupportedQueryError: the query has a combination that this version cannot answer; the message names it.
    """
    form = without_unused_binds(with_node_subjects(query.form))
    if not is_hybrid(form):
        return nodes.SparqlQuery(_with_columns(form), relational_of(form))
    return _algebra(form, is_relational=False)


def _with_columns(form: ast.QueryForm) -> ast.QueryForm:
    """The columns of a `SELECT *` in the order of the text; Oxigraph sorts them by name."""
    if not isinstance(form, ast.SelectQuery) or form.projection is not None:
        return form
    columns = columns_in_order(form)
    return replace(form, projection=tuple(ast.SelectItem(ast.Var(name)) for name in columns)) if columns else form


def columns_in_order(query: ast.SelectQuery) -> list[str]:
    """The variables that a `SELECT *` projects from its pattern and its VALUES, in the order of the text."""
    names = dict.fromkeys(v.name for v in walk(query.where) if isinstance(v, ast.Var))
    visible = in_scope(query.where) | (in_scope(ast.Group((query.values,))) if query.values else frozenset())
    columns = [name for name in names if name in visible]
    if query.values:
        columns += [v.name for v in query.values.variables if v.name not in columns]
    return columns


def relational_of(form: ast.QueryForm) -> nodes.Plan | None:
    """The algebra of a query without ranked predicates; None where only one engine can evaluate all of it."""
    if form.dataset or open_answer(form):
        return None
    if any(isinstance(node, ast.Call) and node.function in ONE_ENGINE for node in walk(form)):
        return None
    try:
        return _algebra(form, is_relational=True)
    except UnsupportedQueryError:
        return None


def _algebra(form: ast.QueryForm, *, is_relational: bool) -> nodes.Plan:
    """The plan of a query with operators of its own."""
    match form:
        case ast.SelectQuery():
            return _selected(form, is_relational)
        case ast.ConstructQuery(template):
            return nodes.Construct(_selected(rows_of(form, variables_of(template)), is_relational), template)
        case ast.DescribeQuery(subjects, where, dataset):
            if not subjects:
                subjects = tuple(ast.Var(name) for name in sorted(in_scope(where or ast.Group(()))))
            wanted = tuple(subject for subject in subjects if isinstance(subject, ast.Var))
            return nodes.Describe(_selected(rows_of(form, wanted), is_relational), subjects, dataset)
        case ast.AskQuery():
            names = FreshNames(variables(form))
            form = without_blank_nodes(form, names)
            builder = _Builder(names, form.dataset, is_relational=is_relational)
            plan = builder.group(form.where)
            if form.values:
                plan = builder.joined(plan, builder.fragment(form.values))
            return nodes.Slice(nodes.Project(plan, ()), 0, 1)


def _selected(form: ast.SelectQuery, is_relational: bool) -> nodes.Plan:
    names = FreshNames(variables(form))
    form = without_blank_nodes(form, names)
    return _Builder(names, form.dataset, is_relational=is_relational).select(form, outermost=not is_relational)


@dataclass
class _Builder:
    names: FreshNames
    dataset: tuple[ast.DatasetClause, ...]
    graph: ast.Iri | None = None
    early_snippets: frozenset[str] = frozenset()
    is_relational: bool = False
    """Whether the query has no ranked predicate: no pattern needs the store, and ties stay as they are."""
    late: list[nodes.Match] = field(default_factory=list)

    def fragment(self, *elements: ast.Element) -> nodes.Fragment:
        if self.graph is not None:
            elements = (ast.GraphPattern(self.graph, ast.Group(elements)),)
        return nodes.Fragment(ast.Group(elements), self.dataset)

    def joined(self, left: nodes.Plan | None, right: nodes.Plan) -> nodes.Plan:
        return right if left is None else nodes.Join(left, right)

    def group(self, group: ast.Group) -> nodes.Plan:
        plan, filters = self._elements(group)
        check_width(group, levels(plan) + len(filters))
        for condition in filters:
            plan = nodes.Filter(plan, condition, self.dataset)
        return plan

    def _elements(self, group: ast.Group) -> tuple[nodes.Plan, list[ast.Expression]]:
        """The plan of all elements except the filters, and the filters, whose scope is the whole group."""
        prefix: list[ast.Element] = []
        plan: nodes.Plan | None = None
        filters: list[ast.Expression] = []
        waiting: list[ast.RankedItem] = []
        parts = 0
        for element in group.elements:
            if isinstance(element, ast.Filter):
                filters.append(self._in_graph(element.condition))
            elif plan is None and not self._stands_alone(element, prefix):
                prefix.append(element)
            else:
                parts += width(element)
                check_width(group, parts)
                if plan is None and prefix:
                    plan = self.fragment(*prefix)
                if waiting and isinstance(element, ast.OptionalPattern | ast.MinusPattern | ast.Bind):
                    raise text_is_not_bound(waiting[0])
                plan = self._with_texts(self._element(plan, element, waiting), waiting, certain_of)
        if plan is None:
            plan = self.fragment(*prefix)
        plan = self._with_texts(plan, waiting, lambda current: current.variables)
        if waiting:
            raise text_is_not_bound(waiting[0])
        return plan, filters

    def _with_texts(
        self, plan: nodes.Plan, waiting: list[ast.RankedItem], bound: Callable[[nodes.Plan], frozenset[str]]
    ) -> nodes.Plan:
        """Joins each waiting MATCH whose text variable the plan binds, and removes it from the list."""
        for match in tuple(waiting):
            assert isinstance(match.text, ast.Var)
            if match.text.name in bound(plan):
                plan = nodes.MatchEach(plan, self._match(match))
                waiting.remove(match)
        return plan

    def _stands_alone(self, element: ast.Element, prefix: Sequence[ast.Element] = ()) -> bool:
        """Whether an element has operators of its own: it ranks, or, in a query over columns, computes or has a
        condition that no pattern expresses after the elements of `prefix`. What a SERVICE has is the service's work.
        """
        if is_hybrid(element):
            return True
        if not self.is_relational or isinstance(element, ast.ServicePattern):
            return False
        parts = list(walk(element))
        if any(map(_computes, parts)):
            return True
        compares = any(isinstance(part, ast.Filter) and len(variables(part.condition)) > 1 for part in parts)
        return compares and is_declined(self.fragment(*prefix, element)) and not is_declined(self.fragment(*prefix))

    def _in_graph(self, expression: Any) -> Any:
        """Inside GRAPH an EXISTS reads that graph, too."""
        graph = self.graph

        def change(node: ast.Syntax) -> ast.Syntax:
            if graph is not None and isinstance(node, ast.Exists):
                return replace(node, pattern=ast.Group((ast.GraphPattern(graph, node.pattern),)))
            return rebuild(node, change)

        return expression if graph is None else change(expression)

    def _element(self, plan: nodes.Plan | None, element: ast.Element, waiting: list[ast.RankedItem]) -> nodes.Plan:
        before = plan if plan is not None else self.fragment()
        match element:
            case ast.Triples(items):
                return self._triples(plan, items, waiting)
            case ast.OptionalPattern(pattern):
                right, conditions = self._elements(pattern)
                return nodes.LeftJoin(before, right, tuple(conditions), self.dataset)
            case ast.MinusPattern(pattern):
                return nodes.Minus(before, self.group(pattern))
            case ast.Bind(expression, variable):
                return nodes.Extend(before, variable.name, self._in_graph(expression), self.dataset)
            case _ if not self._stands_alone(element):
                return self.joined(plan, self.fragment(element))
            case ast.Group():
                return self.joined(plan, self.group(element))
            case ast.UnionPattern(branches):
                return self.joined(plan, nodes.Union(tuple(self.group(branch) for branch in branches)))
            case ast.SubSelect(query):
                return self.joined(plan, self.select(query, outermost=False))
            case ast.GraphPattern(ast.Iri() as name, pattern):
                inside = replace(self, graph=name)
                return self.joined(plan, inside.group(pattern))
            case ast.GraphPattern(ast.Var(name) as variable, pattern):
                if (flat := outside_graph(variable, pattern)) is not None:
                    return self.joined(plan, replace(self, graph=None).group(flat))
                placeholder = ast.Iri(f"urn:hybridkg:graph:{self.names.name('graph')}")
                inside = replace(self, graph=placeholder)
                return self.joined(plan, nodes.GraphEach(inside.group(pattern), name, placeholder, self.dataset))
        raise TypeError(f"no plan for {element!r}")

    def _triples(
        self,
        plan: nodes.Plan | None,
        items: tuple[ast.TriplePattern | ast.RankedItem, ...],
        waiting: list[ast.RankedItem],
    ) -> nodes.Plan:
        """One basic graph pattern, in any order of its triples and MATCHes: joins commute."""
        triples = tuple(item for item in items if isinstance(item, ast.TriplePattern))
        if triples:
            plan = self.joined(plan, self.fragment(ast.Triples(triples, span=triples[0].span)))
        for item in items:
            if not isinstance(item, ast.TriplePattern):
                if isinstance(item.text, ast.Var):
                    waiting.append(item)
                else:
                    plan = self.joined(plan, self._match(item))
        return plan if plan is not None else self.fragment()

    def _match(self, match: ast.RankedItem) -> nodes.Match:
        score = match.score.name if match.score else self.names.name("score")
        early = match.snippet is not None and match.snippet.name in self.early_snippets
        node = nodes.Match(match, score, early)
        if match.snippet is not None and not early:
            self.late.append(node)
        return node

    def select(self, query: ast.SelectQuery, *, outermost: bool) -> nodes.Plan:
        if self.graph is not None:
            query = with_expressions(query, self._in_graph)
        inner = replace(self, early_snippets=self._early(query, outermost), late=[])
        plan = inner.group(query.where)
        columns = self._columns(query)
        tie_breakers = (*first_subject(plan), *columns) if not self.is_relational else None
        modifiers = query.modifiers
        grouped = bool(modifiers.group_by) or any(map(has_aggregate, expressions_of(query)))
        if not grouped:
            for condition in modifiers.having:  # a filter of the solutions, before a trailing VALUES joins them
                plan = nodes.Filter(plan, condition, self.dataset)
            if query.values:
                plan = self.joined(plan, self.fragment(query.values))
        plan = self._grouped(plan, query, tie_breakers) if grouped else self._ungrouped(plan, query, tie_breakers)
        hidden: tuple[str, ...] = ()
        if outermost or modifiers.rerank is not None:
            place = {
                name: at for at, name in enumerate(dict.fromkeys(v.name for v in walk(query) if isinstance(v, ast.Var)))
            }
            hidden = tuple(
                sorted(plan.variables - frozenset(columns), key=lambda name: (place.get(name, len(place)), name))
            )
        plan = nodes.Project(plan, columns, query.reduction == "DISTINCT", hidden)
        if modifiers.rerank is not None:
            plan = reranked(plan, modifiers, self.names)
        if modifiers.limit is not None or modifiers.offset:
            plan = nodes.Slice(plan, modifiers.offset or 0, modifiers.limit)
        if modifiers.rerank is not None and not outermost:
            plan = nodes.Project(plan, columns)
        visible = tuple(visible_matches(plan)) if inner.late else ()
        for match in inner.late:
            if match in visible:
                plan = nodes.Snippet(plan, match)
        return plan

    def _early(self, query: ast.SelectQuery, outermost: bool) -> frozenset[str]:
        """Snippets that expressions of the query read; the others wait for the surviving rows."""
        snippets = {m.snippet.name for m in walk(query.where) if isinstance(m, ast.Match) and m.snippet}
        if not snippets or not outermost or query.reduction or query.modifiers.group_by:
            return frozenset(snippets)
        branches = (node for node in walk(query.where) if isinstance(node, ast.UnionPattern))
        in_branches = {m.snippet.name for b in branches for m in walk(b) if isinstance(m, ast.Match) and m.snippet}
        mentions: dict[str, int] = {}
        for node in walk(query):
            if isinstance(node, ast.Var):
                mentions[node.name] = mentions.get(node.name, 0) + 1
        projected = {item.variable.name for item in query.projection or () if item.expression is None}
        return frozenset(in_branches | {name for name in snippets if mentions[name] > 1 + (name in projected)})

    def _columns(self, query: ast.SelectQuery) -> tuple[str, ...]:
        if query.projection is not None:
            return tuple(item.variable.name for item in query.projection)
        columns = [name for name in columns_in_order(query) if name not in self.names.generated]
        rankings = (query.modifiers.rank_by, query.modifiers.rerank)
        return (*columns, *(one.score.name for one in rankings if one is not None and one.score is not None))

    def _ungrouped(self, plan: nodes.Plan, query: ast.SelectQuery, tie_breakers: tuple[str, ...] | None) -> nodes.Plan:
        modifiers = query.modifiers
        for item in query.projection or ():
            if item.expression is not None:
                plan = nodes.Extend(plan, item.variable.name, item.expression, self.dataset)
        if modifiers.rank_by is not None:
            rank = modifiers.rank_by
            score = rank.score.name if rank.score else self.names.name("rank")
            scores = tuple(sorted(variables(rank.expression) & scores_of(plan)))
            plan, expression = self._outlined(plan, rank.expression)
            subjects, least = subjects_of_lists(plan, expression), least_of_lists(plan, expression)
            return nodes.Rank(plan, expression, score, scores, tie_breakers or (), subjects, least)
        if modifiers.order_by:
            keys = []
            for key in modifiers.order_by:
                name, plan = self._key(plan, key.expression)
                keys.append((name, key.descending))
            return nodes.OrderBy(plan, tuple(keys), tie_breakers)
        return plan

    def _key(self, plan: nodes.Plan, expression: ast.Expression) -> tuple[str, nodes.Plan]:
        if isinstance(expression, ast.Var):
            return expression.name, plan
        name = self.names.name("key")
        return name, nodes.Extend(plan, name, expression, self.dataset)

    def _outlined(self, plan: nodes.Plan, expression: ast.Expression) -> tuple[nodes.Plan, ast.Expression]:
        """Moves each EXISTS to a column of the plan; the expression then reads those columns."""
        columns: dict[ast.Exists, str] = {}

        def change(node: ast.Syntax) -> ast.Syntax:
            if isinstance(node, ast.Exists):
                return ast.Var(columns.setdefault(node, self.names.name("exists")), span=node.span)
            return rebuild(node, change)

        changed = change(expression)
        for exists, name in columns.items():
            plan = nodes.Extend(plan, name, exists, self.dataset)
        return plan, changed  # type: ignore[return-value]

    def _grouped(self, plan: nodes.Plan, query: ast.SelectQuery, tie_breakers: tuple[str, ...] | None) -> nodes.Plan:
        """Keys and ranks of groups are computed together with the groups, as columns that are not projected."""
        plan, query = self._outlined_aggregates(plan, query)
        modifiers = query.modifiers
        projection = list(query.projection or ())
        names = _of_groups(query)
        keys = [
            (self._hidden(projection, key.expression, "key"), key.descending)
            for key in modifiers.order_by
            # Any other variable is unbound in all groups, so it orders nothing.
            if not isinstance(key.expression, ast.Var) or key.expression.name in names
        ]
        rank_name = ""
        if modifiers.rank_by is not None:
            rank = modifiers.rank_by
            rank_name = rank.score.name if rank.score else self.names.name("rank")
            projection = [item for item in projection if item.variable.name != rank_name]
            expression = spelled_out(rank.expression, query.projection or ())
            projection.append(ast.SelectItem(ast.Var(rank_name), expression))
        internal = frozenset(self.names.generated)
        grouped: nodes.Plan = nodes.Group(plan, modifiers.group_by, modifiers.having, tuple(projection), internal)
        if query.values:  # a trailing VALUES joins with the groups (SPARQL 1.1 section 18.2.4.3)
            grouped = nodes.Join(grouped, self.fragment(query.values))
        ties = None if tie_breakers is None else tuple(name for name in tie_breakers if name in grouped.variables)
        if rank_name:
            return nodes.Rank(grouped, ast.Var(rank_name), rank_name, (), ties or ())
        return nodes.OrderBy(grouped, tuple(keys), ties) if keys else grouped

    def _outlined_aggregates(self, plan: nodes.Plan, query: ast.SelectQuery) -> tuple[nodes.Plan, ast.SelectQuery]:
        """EXISTS over a row, in a group key or an aggregate, becomes a column; EXISTS over a group is refused."""

        def change(node: ast.Syntax) -> ast.Syntax:
            nonlocal plan
            if isinstance(node, ast.Exists):
                raise UnsupportedQueryError(
                    "an EXISTS about a whole group cannot be evaluated over ranked rows in this version",
                    hint="BIND it to a variable in the pattern, and group by that variable",
                    span=node.span,
                )
            if isinstance(node, ast.GroupKey | ast.Aggregate):
                inside = node.expression if isinstance(node, ast.GroupKey) else node.argument
                if inside is not None:
                    plan, inside = self._outlined(plan, inside)
                key = "expression" if isinstance(node, ast.GroupKey) else "argument"
                return replace(node, **{key: inside})  # type: ignore[arg-type]
            return rebuild(node, change)

        query = with_expressions(query, change)
        return plan, query

    def _hidden(self, projection: list[ast.SelectItem], expression: ast.Expression, purpose: str) -> str:
        names = {item.variable.name for item in projection}
        if isinstance(expression, ast.Var) and expression.name in names:
            return expression.name
        name = self.names.name(purpose)
        projection.append(ast.SelectItem(ast.Var(name), spelled_out(expression, tuple(projection))))
        return name


def _computes(node: ast.Syntax) -> bool:
    """Whether no pattern of the projection can express an element: BIND, and a sub-select that computes or slices."""
    if isinstance(node, ast.Bind):
        return True
    if not isinstance(node, ast.SubSelect):
        return False
    query = node.query
    modifiers = query.modifiers
    return (
        bool(modifiers.group_by or modifiers.having or modifiers.limit is not None or modifiers.offset)
        or any(item.expression is not None for item in query.projection or ())
    )  # fmt: skip


def _of_groups(query: ast.SelectQuery) -> frozenset[str]:
    """The variables of a group: its keys, and the columns of the query."""
    keys = [key.variable or key.expression for key in query.modifiers.group_by]
    columns = [item.variable for item in query.projection or ()]
    return frozenset(one.name for one in (*keys, *columns) if isinstance(one, ast.Var))


def exists_plan(group: ast.Group, dataset: nodes.Dataset, outer: frozenset[str]) -> nodes.Plan:
    """The plan of the pattern of an EXISTS, evaluated independently: its distinct values of the variables that the
    tested rows have as well, by `outer`; all of its solutions where there is none.
    """
    own = in_scope(group)
    names = FreshNames(variables(group))
    plan = _Builder(names, dataset).group(without_blank_nodes(group, names))
    return nodes.Project(plan, tuple(sorted(own & outer or own)), distinct=bool(own & outer))
