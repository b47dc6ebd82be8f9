"""From the solutions of the root operator to a ResultSet."""

from __future__ import annotations

from hybridkg.algebra import nodes
from hybridkg.algebra.visible import visible_matches
from hybridkg.errors import HybridkgError
from hybridkg.operators.context import ExecutionContext
from hybridkg.query import ast
from hybridkg.query.scope import is_hybrid
from hybridkg.rdf.batch import Row as Cells
from hybridkg.rdf.batch import Solutions
from hybridkg.rdf.terms import Literal
from hybridkg.results.evidence import Evidence
from hybridkg.results.result_set import Explanation, ResultSet
from hybridkg.results.why import Reasons


def build_result(
    query: ast.Query,
    logical: nodes.Plan,
    solutions: Solutions,
    *,
    context: ExecutionContext,
    strategy: str,
    limit: int | None,
    generation: str,
    behind: tuple[str, ...],
    warnings: tuple[HybridkgError, ...] = (),
) -> ResultSet:
    """The result of a query.

    Args:
        query: what was asked, parameters in place.
        logical: its plan.
        solutions: what the root operator gave.
        context: the graph and the index, for what is behind a row.
        strategy: how it was run.
        limit: the limit given beside the query, None where there is none.
        generation: the state that answered.
        behind: indexes that are older than the graph; counted only where the query used one.
        warnings: what the query probably does not mean.
    """
    form = query.form
    own_limit = None if nodes.makes_graph(form) else form.modifiers.limit  # that of a graph counts solutions
    limits = [n for n in (own_limit, limit) if n is not None]
    is_ask = isinstance(form, ast.AskQuery)
    ranked_by, scores = _scores(logical)
    return ResultSet(
        columns=() if is_ask else projected(logical) or solutions.variables,
        variables=() if is_ask else solutions.variables,
        cells=[] if is_ask else solutions.rows,
        scores=scores,
        ranked_by=ranked_by,
        requested=min(limits) if limits else None,
        generation=generation,
        behind=behind if is_hybrid(form) else (),
        strategy=strategy,
        warnings=warnings,
        prefixes=query.prefixes,
        boolean=bool(solutions.rows) if is_ask else None,
        is_graph=nodes.makes_graph(form),
        evidence=Evidence.of(form.where, context.store) if isinstance(form, ast.SelectQuery) else None,
        reasons=Reasons.of(logical, context) if isinstance(form, ast.SelectQuery) else None,
    )


def explained(explanation: Explanation) -> ResultSet:
    """The result of EXPLAIN: one row for each line of the plan, and the plan itself as `explanation`."""
    cells: list[Cells] = [(Literal(line),) for line in str(explanation).splitlines()]
    return ResultSet(columns=("plan",), variables=("plan",), cells=cells, explanation=explanation)


def projected(plan: nodes.Plan) -> tuple[str, ...]:
    """The projected variables, snippets found late included; nothing where the store projects."""
    while not isinstance(plan, nodes.Project | nodes.Whole | nodes.Construct | nodes.Describe):
        plan = nodes.children(plan)[0]
    if isinstance(plan, nodes.Construct | nodes.Describe):
        return nodes.GRAPH_COLUMNS
    return plan.columns if isinstance(plan, nodes.Project) else ()


def _scores(plan: nodes.Plan) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """The variable that ranks, and (variable, label) of every score in the rows."""
    visible = plan.variables
    scores: dict[str, str] = {}
    for match in visible_matches(plan):
        if match.score in visible:
            scores.setdefault(match.score, match.score if match.match.score else match.match.entity.name)
    below: nodes.Plan | None = plan
    while below is not None and not isinstance(below, nodes.Rank):
        children = nodes.children(below)
        below = children[0] if isinstance(below, nodes.Slice | nodes.Project | nodes.Snippet) else None
    if below is None:
        return None, tuple(scores.items())
    expression = below.expression
    if isinstance(expression, ast.Var) and expression.name in scores:
        return below.score, tuple(scores.items())
    label = below.score if not below.score.startswith("_") else "rank"
    return below.score, (*scores.items(), (below.score, label))
