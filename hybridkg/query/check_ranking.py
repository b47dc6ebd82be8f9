"""Rules about NEAR, the functions of RANK BY, and RERANK."""

from __future__ import annotations

from hybridkg.errors import QueryCheckError, UnsupportedQueryError
from hybridkg.interfaces.fusion import FUSIONS
from hybridkg.query import ast
from hybridkg.query.check_match import LARGEST_WEIGHT, Bindings, check_arguments, check_roles, check_top
from hybridkg.query.check_select import is_grouped
from hybridkg.query.walk import walk
from hybridkg.registry import did_you_mean


def check_near(near: ast.Near) -> Bindings:
    """What a NEAR binds, if its parts are in order."""
    target = near.target if isinstance(near.target, ast.Var) else None
    check_roles("NEAR", [("entity", near.entity), ("target", target), ("score", near.score)])
    check_top(near)
    if near.encoder is not None:
        check_arguments(near.encoder.arguments)
    computed = {near.score.name: "score"} if near.score is not None else {}
    return Bindings({near.entity.name, *computed}, computed)


def check_rank_functions(form: ast.QueryForm, bindings: Bindings) -> None:
    """The functions of RANK BY, and RERANK.

    Args:
        form: a query or a sub-select.
        bindings: what its WHERE and VALUES bind.
    """
    rank, rerank = form.modifiers.rank_by, form.modifiers.rerank
    for modifier in (rank, rerank):
        if modifier is not None and modifier.score is not None and modifier.score.name in bindings.bound:
            raise QueryCheckError(
                f"?{modifier.score.name} has a value already",
                hint="use a new name after AS, or leave AS out",
                span=modifier.score.span,
            )
    if rerank is not None:
        check_top(rerank)
        check_arguments(rerank.reranker.arguments)
    functions = [node for node in walk(rank) if isinstance(node, ast.RankFunction)] if rank is not None else []
    for function in functions:
        if is_grouped(form):
            raise UnsupportedQueryError(
                f"{function.name} is a function of the scores of rows, and this query ranks groups",
                hint="rank the rows in a sub-select, AS ?rank, and group around it",
                span=function.span,
            )
        _check_function(function, bindings)


def _check_function(function: ast.RankFunction, bindings: Bindings) -> None:
    fusion = FUSIONS.get(function.name, span=function.span)
    if not function.lists:
        raise QueryCheckError(f"{function.name} needs a score", hint="name one: MATCH ... AS ?s", span=function.span)
    scores = sorted(name for name, kind in bindings.computed.items() if kind == "score")
    for ranked in function.lists:
        if ranked.score.name not in scores:
            known = ", ".join(f"?{name}" for name in scores) or "none; write MATCH ... AS ?score"
            raise QueryCheckError(
                f"?{ranked.score.name} is not the score of a MATCH or NEAR; the scores are: {known}",
                hint=did_you_mean(ranked.score.name, scores),
                span=ranked.score.span,
            )
        if ranked.weight is not None and not (fusion.several and 0 <= ranked.weight <= LARGEST_WEIGHT):
            between = f"must be between 0 and {LARGEST_WEIGHT:,}"
            why = between if fusion.several else f"has no meaning in {function.name}"
            raise QueryCheckError(f"the weight of ?{ranked.score.name} {why}", span=ranked.span)
    if not fusion.several and len(function.lists) > 1:
        raise QueryCheckError(f"{function.name} takes one score", hint="add several: " + " + ".join(
            f"{function.name}(?{ranked.score.name})" for ranked in function.lists), span=function.span)  # fmt: skip
    check_arguments(function.arguments)
    for argument in function.arguments:
        if argument.name not in fusion.arguments:
            known = ", ".join(fusion.arguments) or "none"
            raise QueryCheckError(
                f"{function.name} has no argument {argument.name!r}; known: {known}", span=argument.span
            )
        if _number(argument.value) is None:
            raise QueryCheckError(f"{argument.name} must be a number of at least 0", span=argument.span)


def _number(value: ast.Lit | ast.Var | ast.Iri) -> float | None:
    if not isinstance(value, ast.Lit):
        return None
    try:
        number = float(value.lexical)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
