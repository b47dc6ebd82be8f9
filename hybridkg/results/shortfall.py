"""The reason of a shortfall of rows, in words, from the counts of the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hybridkg.algebra.projections import has_aggregate
from hybridkg.interfaces.meter import POSTINGS
from hybridkg.operators.context import CANDIDATES, JOINED, TOTAL, ExecutionContext, MatchCount
from hybridkg.operators.text_query import ranked_query
from hybridkg.query import ast
from hybridkg.results.result import NO_MORE


def limits_reached(matches: Sequence[ast.RankedItem], context: ExecutionContext) -> list[str]:
    """A sentence for each limit inside the query that was reached."""
    sentences = []
    for match in matches:
        top = match.top
        if top is not None and (count := _match_count(match, context)) is not None and count.n >= top:
            sentences.append(f"TOP {top:,} keeps the best {top:,} of the entities that match {_target(match)}")
    return sentences


def has_words(match: ast.RankedItem, matches: Sequence[ast.RankedItem], context: ExecutionContext) -> bool:
    """Whether the run has shown that the text of one of the `matches` has a term: an entity matched, or has a term."""
    if len(matches) == 1 and (context.meter.counts.get(POSTINGS) or _joined(match, context)):
        return True
    count = _match_count(match, context)
    return count is not None and count.n > 0


def needed_matches(query: ast.QueryForm) -> Iterator[ast.RankedItem]:
    """The MATCHes and NEARs without whose entities a query has no rows: each, or those of all branches of a UNION.

    One in an OPTIONAL, a MINUS or a NOT EXISTS explains no shortfall, and neither does one below an aggregate without
    GROUP BY, which has a row in any case.

    >>> from hybridkg.query.parser import parse
    >>> query = parse('SELECT * { ?x MATCH "red" OPTIONAL { ?x MATCH "fish" } FILTER EXISTS { ?x MATCH "boat" } }')
    >>> [match.text.lexical for match in needed_matches(query.form)]
    ['red', 'boat']
    """
    if not isinstance(query, ast.SelectQuery):
        return
    computed = [item.expression for item in query.projection or () if item.expression is not None]
    if query.modifiers.group_by or not any(map(has_aggregate, (*computed, *query.modifiers.having))):
        yield from _needed(query.where)


def _needed(group: ast.Group) -> Iterator[ast.RankedItem]:
    for element in group.elements:
        match element:
            case ast.Triples(items):
                yield from (item for item in items if isinstance(item, ast.RankedItem))
            case ast.Group():
                yield from _needed(element)
            case ast.GraphPattern(pattern=pattern) | ast.Filter(ast.Exists(pattern, False)):
                yield from _needed(pattern)
            case ast.SubSelect(query):
                yield from needed_matches(query)
            case ast.UnionPattern(branches):
                found = [list(_needed(branch)) for branch in branches]
                if all(found):
                    yield from (item for items in found for item in items)


def shortfall(
    returned: int,
    offset: int,
    matches: Sequence[ast.RankedItem],
    needed: Sequence[ast.RankedItem],
    context: ExecutionContext,
) -> str:
    """The reason why a result has no more rows than `returned`; of the `matches`, every row has one of the needed."""
    total = context.counts(TOTAL)
    if total is not None and offset and total > returned:
        return (
            f"the query has {_count(total, 'row', 'rows')} in all, and OFFSET leaves out the first {total - returned:,}"
        )
    reasons = dict.fromkeys(reason for match in needed if (reason := _reason(match, returned, offset, context)))
    if reasons:
        return "; ".join(reasons)
    candidates, joined = context.counts(CANDIDATES), context.counts(JOINED)
    if candidates is not None:
        only = "only " if candidates else ""
        many = f"{only}{_count(candidates, 'entity satisfies', 'entities satisfy')} the pattern"
        decides = len(matches) == len(needed) == 1
        if decides and joined is not None and joined < candidates and joined <= returned + offset:
            return f"{many}, and {_count(joined, 'of them matches', 'of them match')} {_target(matches[0])}"
        return many + _rest(returned, candidates)
    return NO_MORE if returned else "nothing satisfies the query"


def _target(match: ast.RankedItem) -> str:
    return f"the {'text' if isinstance(match, ast.Match) else 'NEAR'} of ?{match.entity.name}"


def _match_count(match: ast.RankedItem, context: ExecutionContext) -> MatchCount | None:
    """The count of matching entities; None where the run has not counted them, or the text comes from rows."""
    return context.found.get(ranked_query(match)) if context.found and not isinstance(match.text, ast.Var) else None


def _joined(match: ast.RankedItem, context: ExecutionContext) -> int | None:
    joined = context.counts(JOINED, match)
    return context.counts(JOINED) if joined is None else joined


def _reason(match: ast.RankedItem, returned: int, offset: int, context: ExecutionContext) -> str:
    """The reason that one MATCH contributes; empty where its entities have not been counted."""
    count, joined = _match_count(match, context), _joined(match, context)
    if count is None:
        return ""
    n = count.n
    if match.top is not None and n >= match.top:
        n, text = match.top, f"TOP {match.top:,} of ?{match.entity.name} was reached"
    elif not count.is_all:
        return ""
    elif n == 0:
        return f"no entity matches {_target(match)}"
    else:
        text = f"only {_count(n, 'entity matches', 'entities match')} {_target(match)}"
    if n == 1 and (joined == 0 or (joined is None and not returned)):
        return f"{text}, and it does not satisfy the rest of the {'query' if joined is None else 'pattern'}"
    if joined is not None and joined < n:
        return f"{text}, and {_count(joined, 'of them satisfies', 'of them satisfy')} the rest of the pattern"
    if joined is None and returned < n:
        none = not returned and not offset
        return f"{text}, and {'none of them satisfies' if none else 'not all of them satisfy'} the rest of the query"
    return text + _rest(returned, n)


def _rest(returned: int, entities: int) -> str:
    """The clause for entities that the rest of the query excludes; empty where it excludes none."""
    if returned >= entities:
        return ""
    rows = "no row remains" if returned == 0 else f"only {_count(returned, 'row remains', 'rows remain')}"
    return f", and {rows} after the rest of the query"


def _count(n: int, one: str, many: str) -> str:
    """`1 entity matches`, `1,200 entities match`, `no entity matches`, `none of them matches`."""
    if n == 0 and not one.startswith("of"):
        return f"no {one}"
    return f"{f'{n:,}' if n else 'none'} {one if n < 2 else many}"
