"""Construction of a ResultSet from the solutions of the root operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeVar

from hybridkg.algebra import nodes
from hybridkg.algebra.visible import visible_matches
from hybridkg.errors import HybridkgError
from hybridkg.operators.columns import Column, InColumns
from hybridkg.operators.context import ROWS_AT_ONCE, ExecutionContext
from hybridkg.query import ast
from hybridkg.query.scope import in_scope, is_hybrid
from hybridkg.query.walk import variables, walk
from hybridkg.rdf.known_prefixes import ONLY_WELL_KNOWN, KnownPrefixes
from hybridkg.rdf.solutions import Row as Cells
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import Literal, Term, Triple
from hybridkg.results.iri_names import LabelLookup
from hybridkg.results.result import ExplainedPlan
from hybridkg.results.result_set import ResultSet
from hybridkg.results.shortfall import limits_reached, needed_matches, shortfall

if TYPE_CHECKING:
    from hybridkg.results.evidence import Evidence
    from hybridkg.results.why import ScoreExplainer, Why

T = TypeVar("T")


@dataclass(frozen=True)
class Shape:
    """The form of a result, which depends on the query but not on its data or the values of its parameters.

    Args:
        columns: the projected variables; None where the store projects.
        limit, offset: those of the query; None and 0 for a graph, where they count solutions.
        scores: (variable, label) of every score in the rows.
        ranked_by: the variable that ranks.
        reranked_by: the score variable of the outermost RERANK; None without one.
        snippets: the variables of SNIPPET.
        computed: the columns that are computed from scores alone, such as MAX(?score), also by BIND or in a sub-select.
        is_select, is_ask, is_graph: the query form; CONSTRUCT and DESCRIBE make a graph.
        is_hybrid: whether the query ranks.
    """

    columns: tuple[str, ...] | None
    limit: int | None
    offset: int
    scores: tuple[tuple[str, str], ...]
    ranked_by: str | None
    reranked_by: str | None
    snippets: tuple[str, ...]
    computed: tuple[str, ...]
    is_select: bool
    is_ask: bool
    is_graph: bool
    is_hybrid: bool

    @property
    def skips_rows(self) -> bool:
        """Whether LIMIT 0 or OFFSET may leave no row of many."""
        return bool(self.offset) or self.limit == 0

    @classmethod
    def of(cls, query: ast.Query, logical: nodes.Plan, ranked: Sequence[ast.RankedItem]) -> Shape:
        """The shape of the answer of a query; `ranked` are its MATCHes and NEARs."""
        form = query.form
        is_ask, is_graph = isinstance(form, ast.AskQuery), nodes.makes_graph(form)
        ranked_by, scores = _scores(logical)
        return cls(
            columns=() if is_ask else projected(logical) or None,
            limit=None if is_graph else form.modifiers.limit,
            offset=0 if is_graph else form.modifiers.offset or 0,
            scores=scores,
            ranked_by=ranked_by,
            reranked_by=reranked_by(logical),
            snippets=tuple(item.snippet.name for item in ranked if item.snippet is not None),
            computed=_computed(form, ranked),
            is_select=isinstance(form, ast.SelectQuery),
            is_ask=is_ask,
            is_graph=is_graph,
            is_hybrid=bool(ranked) or is_hybrid(form),
        )


class WithinLimits(Protocol):
    """Does some work on the rows of a result under the limits of its run, each time with the whole time limit."""

    def __call__(self, work: Callable[[ExecutionContext], T]) -> T:
        """The value of `work`, called with a context that has the limits.

        Raises:
            QueryLimitError, QueryStoppedError: as of a query.
        """


@dataclass(frozen=True)
class LazyProvenance:
    """Evidence and score explanations of the rows of a SELECT, made at first use from the bound query and its plan.

    `variables` are the names of the cells in the plan.
    """

    variables: tuple[str, ...]
    query: Callable[[], ast.Query]
    logical: Callable[[], nodes.Plan]
    context: ExecutionContext
    within: WithinLimits
    names: Mapping[str, str]

    def triples(self, bound: Mapping[str, Term | None]) -> list[Triple]:
        """The triples of a row that its query matched."""
        return self.within(lambda context: self._triples(bound, context))

    def why(self, bound: Mapping[str, Term | None], scores: Mapping[str, float], *, brief: bool = False) -> Why | None:
        """The explanation of a row with these scores; None where its query has no score to explain."""
        from hybridkg.results.why import Why

        def explained(context: ExecutionContext) -> Why | None:
            reasons = replace(self._reasons, context=context)
            if not (reasons.matches or reasons.reranked):
                return None
            hits, place = tuple(reasons.hits(bound, passages=not brief)), reasons.reordering(bound)
            facts = () if brief else tuple(self._triples(bound, context))
            return Why(scores, hits, facts, reasons.ranked_by, *place)

        return self.within(explained)

    def _triples(self, bound: Mapping[str, Term | None], context: ExecutionContext) -> list[Triple]:
        return replace(self._evidence, collect=context.collect).triples(bound)

    @cached_property
    def _evidence(self) -> Evidence:
        from hybridkg.results.evidence import Evidence

        form = self.query().form
        return Evidence(form.where or ast.Group(()), self.context.store, form.dataset)

    @cached_property
    def _reasons(self) -> ScoreExplainer:
        from hybridkg.results.why import ScoreExplainer

        return ScoreExplainer.of(self.logical(), self.context, self.names.__getitem__)


def build_result(
    shape: Shape,
    query: Callable[[], ast.Query],
    logical: Callable[[], nodes.Plan],
    solutions: Solutions,
    *,
    matches: tuple[ast.RankedItem, ...],
    context: ExecutionContext,
    within: WithinLimits,
    strategy: str,
    limit: int | None,
    generation: str,
    stale_indexes: tuple[str, ...],
    warnings: tuple[HybridkgError, ...] = (),
    names: Mapping[str, str],
    prefixes: tuple[tuple[str, str], ...] = (),
    known: KnownPrefixes = ONLY_WELL_KNOWN,
    labels: LabelLookup | None = None,
) -> ResultSet:
    """The result of a query; `matches` are all of the bound query, `limit` is that of the call, not of the query.

    `names` has the name of each variable in the text of the query, also inside a sentence; `prefixes` are those of the
    text, `known` those that it need not declare; `labels` finds labels of IRIs. `query` and `logical` return the bound
    query and its plan, for explanations only. Stale indexes are reported for hybrid queries only. Explanations of rows
    are made `within` the limits of the run.
    """
    requested = shape.limit if limit is None else limit if shape.limit is None else min(limit, shape.limit)
    is_ask, returned = shape.is_ask, solutions.size
    is_short = returned < requested if requested is not None else bool(matches) and not returned
    has_shortfall = is_short and not is_ask and not shape.is_graph

    def reason() -> str:
        places = {item.span.start for item in needed_matches(query().form)}
        needed = [match for match in matches if match.span.start in places]
        return names[shortfall(returned, shape.offset, matches, needed, context)]

    variables, name_of = solutions.variables, names.__getitem__
    own_variables = tuple(map(name_of, variables))
    columns = own_variables if shape.columns in (None, variables) else tuple(map(name_of, shape.columns or ()))
    reached = limits_reached(matches, context) if matches else ()
    return ResultSet(
        columns=columns,
        _variables=() if is_ask else own_variables,
        _solutions=Solutions((), []) if is_ask else _made_within(solutions, within),
        _scores=tuple([(names[name], names[label]) for name, label in shape.scores]) if shape.scores else (),
        _ranked_by=None if shape.ranked_by is None else names[shape.ranked_by],
        _reranked_by=None if shape.reranked_by is None else names[shape.reranked_by],
        reranked=tuple([names[str(reordering)] for reordering in context.reorderings.values()])
        if context.reorderings
        else (),
        requested=requested,
        exact=context.exact,
        limits_reached=tuple(map(name_of, reached)),
        _shortfall=reason if has_shortfall else str,
        generation=generation,
        stale_indexes=stale_indexes if shape.is_hybrid else (),
        strategy=strategy,
        warnings=warnings,
        _snippets=tuple(map(name_of, shape.snippets)),
        _computed=tuple(map(name_of, shape.computed)),
        _prefixes=prefixes,
        _known=known,
        _label_lookup=labels,
        boolean=returned > 0 if is_ask else None,
        is_graph=shape.is_graph,
        _provenance=LazyProvenance(variables, query, logical, context, within, names) if shape.is_select else None,
    )


def explained(explanation: ExplainedPlan) -> ResultSet:
    """The result of EXPLAIN: a row for each line of the plan, and the plan as `explanation`."""
    cells: list[Cells] = [(Literal(line),) for line in str(explanation).splitlines()]
    plan = Solutions(("plan",), cells)
    return ResultSet(columns=plan.variables, _variables=plan.variables, _solutions=plan, explanation=explanation)


def _made_within(solutions: Solutions, within: WithinLimits) -> Solutions:
    """The solutions; rows of columns are made when they are read, many of them within the limits of the run."""
    if not isinstance(solutions, InColumns):
        return solutions

    def made(columns: Sequence[Column], size: int) -> list[Cells]:
        if size <= ROWS_AT_ONCE:
            return list(zip(*[column.cells() for column in columns], strict=True)) if columns else [()] * size
        return within(lambda context: context.made(columns, size))

    return solutions.making(made)


def projected(plan: nodes.Plan) -> tuple[str, ...]:
    """The projected variables, including late snippets; empty where the store projects."""
    while not isinstance(plan, nodes.Project | nodes.SparqlQuery | nodes.Construct | nodes.Describe):
        plan = nodes.children(plan)[0]
    if isinstance(plan, nodes.Construct | nodes.Describe):
        return nodes.GRAPH_COLUMNS
    return plan.columns if isinstance(plan, nodes.Project) else ()


def _scores(plan: nodes.Plan) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    visible = plan.variables
    scores: dict[str, str] = {}
    for match in visible_matches(plan):
        if match.score in visible:
            scores.setdefault(match.score, match.score if match.match.score else match.match.entity.name)
    below: nodes.Plan | None = plan
    while below is not None and not isinstance(below, nodes.Rank):
        children = nodes.children(below)
        if isinstance(below, nodes.Rerank):
            scores[below.score] = below.clause.score.name if below.clause.score is not None else "rerank"
        transparent = nodes.Slice | nodes.Project | nodes.Snippet | nodes.Rerank
        below = children[0] if isinstance(below, transparent) else None
    if below is None:
        return None, tuple(scores.items())
    expression = below.expression
    if isinstance(expression, ast.Var) and expression.name in scores:
        return below.score, tuple(scores.items())
    label = below.score if not below.score.startswith("_") else "rank"
    return below.score, (*scores.items(), (below.score, label))


def _computed(form: ast.QueryForm, ranked: Sequence[ast.RankedItem]) -> tuple[str, ...]:
    """The columns whose expressions have scores of MATCH and NEAR for variables, and no others.

    An expression may read a variable of BIND or of a sub-select that is computed so itself.
    """
    if not isinstance(form, ast.SelectQuery):
        return ()
    scores = {item.score.name for item in ranked if item.score is not None}
    if not scores:
        return ()
    read: list[tuple[str, frozenset[str]]] = []
    for node in [node for node in walk(form) if type(node) in (ast.SelectItem, ast.Bind)]:
        match node:
            case ast.SelectItem(ast.Var(name), expression) if expression is not None:
                read.append((name, variables(expression)))
            case ast.Bind(expression, ast.Var(name)):
                read.append((name, variables(expression)))
    computed: set[str] = set()
    while True:
        more = {name for name, names in read if names and names <= scores | computed} - computed
        if not more:
            break
        computed |= more
    columns = in_scope(form.where) if form.projection is None else [item.variable.name for item in form.projection]
    return tuple(sorted(computed.intersection(columns)))


def reranked_by(plan: nodes.Plan) -> str | None:
    """The score variable of the outermost RERANK; None without one."""
    while isinstance(plan, nodes.Slice | nodes.Snippet):
        plan = plan.child
    return plan.score if isinstance(plan, nodes.Rerank) else None
