"""Why an answer has fewer rows than were asked for, in words, from what the operators counted on their way."""

from __future__ import annotations

from collections.abc import Sequence

from hybridkg.interfaces.meter import POSTINGS
from hybridkg.operators.context import CANDIDATES, JOINED, TOTAL, ExecutionContext, MatchCount
from hybridkg.operators.text_query import ranked_query
from hybridkg.query import ast
from hybridkg.results.result_set import NO_MORE


def limits_reached(matches: Sequence[ast.RankedItem], context: ExecutionContext) -> tuple[str, ...]:
    """The limits inside the query that were reached, one sentence each."""
    return tuple(
        f"TOP {match.top:,} keeps the best {match.top:,} of the entities that match {_asked(match)}"
        for match in matches
        if match.top is not None and (found := _found(match, context)) is not None and found.n >= match.top
    )


def has_words(match: ast.RankedItem, matches: Sequence[ast.RankedItem], context: ExecutionContext) -> bool:
    """Whether it was seen that the text of a MATCH has a word: an entity that it matches, or one that has one of its
    words. `matches` are all of the query.
    """
    found = _found(match, context)
    if found is not None and found.n:
        return True
    return len(matches) == 1 and bool(_joined(match, context) or context.meter.counts.get(POSTINGS))


def shortfall(returned: int, offset: int, matches: Sequence[ast.RankedItem], context: ExecutionContext) -> str:
    """Why there are no more rows than these.

    Args:
        returned: rows of the answer.
        offset: rows that the query leaves out first.
        matches: every MATCH of the query.
        context: with the notes of the run.
    """
    total = context.counts(TOTAL)
    if total is not None and offset and total > returned:
        return (
            f"the query has {_count(total, 'row', 'rows')} in all, and OFFSET leaves out the first {total - returned:,}"
        )
    reasons = dict.fromkeys(reason for match in matches if (reason := _reason(match, returned, context)))
    if reasons:
        return "; ".join(reasons)
    candidates, joined = context.counts(CANDIDATES), context.counts(JOINED)
    if candidates is not None:
        only = "only " if candidates else ""
        many = f"{only}{_count(candidates, 'entity satisfies', 'entities satisfy')} the pattern"
        if joined is not None and joined < candidates and len(matches) == 1:
            return f"{many}, and {_count(joined, 'of them matches', 'of them match')} {_asked(matches[0])}"
        return many + _left(returned, candidates)
    return NO_MORE if returned else "nothing satisfies the query"


def _asked(match: ast.RankedItem) -> str:
    """What entities match."""
    return f"the {'text' if isinstance(match, ast.Match) else 'NEAR'} of ?{match.entity.name}"


def _found(match: ast.RankedItem, context: ExecutionContext) -> MatchCount | None:
    """How many entities were seen to match; None where they have not been counted, or rows give the text."""
    return context.found.get(ranked_query(match)) if context.found and not isinstance(match.text, ast.Var) else None


def _joined(match: ast.RankedItem, context: ExecutionContext) -> int | None:
    joined = context.counts(JOINED, match)
    return context.counts(JOINED) if joined is None else joined


def _reason(match: ast.RankedItem, returned: int, context: ExecutionContext) -> str:
    """What limits the entities of one MATCH; empty where it has not been counted."""
    name, found, joined = match.entity.name, _found(match, context), _joined(match, context)
    if found is None:
        return ""
    n = found.n
    if match.top is not None and n >= match.top:
        n, said = match.top, f"TOP {match.top:,} of ?{name} was reached"
    elif not found.is_all:
        return ""
    elif n == 0:
        return f"no entity matches {_asked(match)}"
    else:
        said = f"only {_count(n, 'entity matches', 'entities match')} {_asked(match)}"
    if n == 1 and (joined == 0 or (joined is None and not returned)):
        return f"{said}, and it does not satisfy the rest of the {'query' if joined is None else 'pattern'}"
    if joined is not None and joined < n:
        return f"{said}, and {_count(joined, 'of them satisfies', 'of them satisfy')} the rest of the pattern"
    if joined is None and returned < n:
        return f"{said}, and not all of them satisfy the rest of the query"
    return said + _left(returned, n)


def _left(returned: int, entities: int) -> str:
    """What else must have happened where entities have fewer rows than there are of them; empty where nothing."""
    if returned >= entities:
        return ""
    rows = "no row" if returned == 0 else f"only {_count(returned, 'row', 'rows')}"
    return f", and the rest of the query leaves {rows} of {'it' if entities == 1 else 'them'}"


def _count(n: int, one: str, many: str) -> str:
    """`1 entity matches`, `1,200 entities match`, `no entity matches`."""
    return (
        f"no {one}"
        if n == 0 and not one.startswith("of")
        else f"{'none' if n == 0 else f'{n:,}'} {one if n == 1 else many}"
    )
