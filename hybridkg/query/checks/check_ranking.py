"""Checks of NEAR, the functions of RANK BY, and RERANK."""

from __future__ import annotations

from collections.abc import Mapping

from hybridkg.errors import QueryCheckError, UnsupportedQueryError
from hybridkg.interfaces.fusion import FUSIONS
from hybridkg.interfaces.reranker import COMMON, RERANKERS, Setting
from hybridkg.interfaces.text_index import MAX_WEIGHT
from hybridkg.query import ast
from hybridkg.query.checks.check_match import ScopeBindings, check_arguments, check_roles, check_top
from hybridkg.query.checks.check_select import is_grouped
from hybridkg.query.walk import walk
from hybridkg.registry import did_you_mean


def check_near(near: ast.Near) -> ScopeBindings:
    """The bindings of a NEAR."""
    target = near.target if isinstance(near.target, ast.Var) else None
    check_roles("NEAR", [("entity", near.entity), ("target", target), ("score", near.score)])
    check_top(near)
    if near.encoder is not None:
        check_arguments(near.encoder.arguments)
    computed = {near.score.name: "score"} if near.score is not None else {}
    return ScopeBindings({near.entity.name, *computed}, computed)


def check_rank_functions(form: ast.QueryForm, bindings: ScopeBindings) -> None:
    """Checks the functions of RANK BY, and RERANK; `bindings` are those of WHERE and VALUES."""
    rank, rerank = form.modifiers.rank_by, form.modifiers.rerank
    for modifier in (rank, rerank):
        if modifier is not None and modifier.score is not None and modifier.score.name in bindings.bound:
            raise QueryCheckError(
                f"?{modifier.score.name} has a value already",
                hint="use a new name after AS, or leave AS out",
                span=modifier.score.span,
            )
    if rerank is not None:
        _check_rerank(form, rerank, bindings)
    functions = [node for node in walk(rank) if isinstance(node, ast.RankFunction)] if rank is not None else []
    for function in functions:
        if is_grouped(form):
            raise UnsupportedQueryError(
                f"{function.name} is a function of the scores of rows, and this query ranks groups",
                hint="rank the rows in a sub-select, AS ?rank, and group around it",
                span=function.span,
            )
        _check_function(function, bindings)


def _check_rerank(form: ast.QueryForm, rerank: ast.Rerank, bindings: ScopeBindings) -> None:
    modifiers, model = form.modifiers, rerank.reranker
    check_top(rerank)
    if modifiers.rank_by is None and not modifiers.order_by:
        raise QueryCheckError(
            "RERANK reorders the first rows of an order, and this query has none",
            hint="write RANK BY ?score, or ORDER BY, before RERANK",
            span=rerank.span,
        )
    if is_grouped(form):
        raise UnsupportedQueryError(
            "RERANK reorders rows about entities, and this query has groups",
            hint="group in a sub-select, and write RANK BY and RERANK around it",
            span=rerank.span,
        )
    ranked = modifiers.rank_by.score if modifiers.rank_by is not None else None
    if rerank.score is not None and ranked is not None and rerank.score.name == ranked.name:
        raise QueryCheckError(
            f"?{ranked.name} is the score of RANK BY already",
            hint="rows keep their earlier scores: give that of RERANK a name of its own",
            span=rerank.score.span,
        )
    reranker = RERANKERS.get(model.name, span=model.span)
    check_arguments(model.arguments)
    if reranker.takes_file != bool(model.file):
        raise QueryCheckError(
            f"{model.name!r} takes {'a file' if reranker.takes_file else 'no file'}",
            hint=f"USING {model.name}(@FILE)" if reranker.takes_file else "give its settings by name: model=...",
            span=model.span,
        )
    if rerank.top > reranker.most:
        raise QueryCheckError(f"{model.name!r} reorders at most {reranker.most:,} rows", span=rerank.span)
    reranker_values(model)
    if rerank.on is not None and rerank.on.name not in bindings.bound:
        hint = did_you_mean(rerank.on.name, sorted(bindings.bound))
        raise QueryCheckError(f"nothing binds ?{rerank.on.name}", hint=hint, span=rerank.on.span)


def reranker_values(model: ast.Model) -> dict[str, str | float]:
    """The arguments of a reranker, with defaults for absent ones; parameters are checked when they have a value.

    Raises:
        QueryCheckError: an argument is unknown, of the wrong type or out of range; the span is that of the argument.
    """
    settings: Mapping[str, Setting] = {**RERANKERS.get(model.name, span=model.span).settings, **COMMON}
    values = {name: setting.default for name, setting in settings.items()}
    for argument in model.arguments:
        setting = settings.get(argument.name)
        if setting is None:
            raise QueryCheckError(
                f"{model.name} has no argument {argument.name!r}; known: {', '.join(settings)}",
                hint=did_you_mean(argument.name, list(settings)),
                span=argument.span,
            )
        value = argument.value
        if isinstance(value, ast.Var):  # a parameter, which is bound before the query runs
            continue
        if isinstance(setting.default, str):
            good = isinstance(value, ast.Lit) and (not setting.words or value.lexical in setting.words)
            wanted = " or ".join(map(repr, setting.words)) or "a text"
            values[argument.name] = value.lexical if isinstance(value, ast.Lit) else ""
        else:
            number = _number(value)
            good = number is not None and setting.least <= number <= setting.most
            good = good and not (setting.whole and number != int(number or 0))
            bounds = f"of at least {setting.least:g}" if setting.most == float("inf") else ""
            bounds = bounds or f"from {setting.least:g} to {setting.most:,g}"
            wanted = f"a {'whole ' if setting.whole else ''}number {bounds}"
            values[argument.name] = number or 0.0
        if not good:
            raise QueryCheckError(f"{argument.name} must be {wanted}", span=argument.span)
    return values


def _check_function(function: ast.RankFunction, bindings: ScopeBindings) -> None:
    fusion = FUSIONS.get(function.name, span=function.span)
    if not function.lists:
        raise QueryCheckError(f"{function.name} needs a score", hint="name one: MATCH ... AS ?s", span=function.span)
    scores = sorted(name for name, kind in bindings.computed.items() if kind == "score")
    for ranked in function.lists:
        if ranked.score.name not in scores:
            names = ", ".join(f"?{name}" for name in scores) or "none; write MATCH ... AS ?score"
            raise QueryCheckError(
                f"?{ranked.score.name} is not the score of a MATCH or NEAR; the scores are: {names}",
                hint=did_you_mean(ranked.score.name, scores),
                span=ranked.score.span,
            )
        if ranked.weight is not None and not (fusion.several and 0 <= ranked.weight <= MAX_WEIGHT):
            in_range = f"must be between 0 and {MAX_WEIGHT:,}"
            why = in_range if fusion.several else f"has no meaning in {function.name}"
            raise QueryCheckError(f"the weight of ?{ranked.score.name} {why}", span=ranked.span)
    if not fusion.several and len(function.lists) > 1:
        raise QueryCheckError(f"{function.name} takes one score", hint="add several scores: " + " + ".join(
            f"{function.name}(?{ranked.score.name})" for ranked in function.lists), span=function.span)  # fmt: skip
    check_arguments(function.arguments)
    for argument in function.arguments:
        if argument.name not in fusion.arguments:
            names = ", ".join(fusion.arguments) or "none"
            message = f"{function.name} has no argument {argument.name!r}; known: {names}"
            raise QueryCheckError(message, span=argument.span)
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
