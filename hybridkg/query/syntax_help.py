"""stub"""

from hybridkg.errors import QuerySyntaxError


def explain(machine, query, states, token):
    row = machine.tables.rows[states[-1]]
    return QuerySyntaxError(
        f"unexpected {token.text!r} {token.type}; expected {[k for k in row if k.upper() == k]}",
        span=query.span(token.start, token.end),
    )
