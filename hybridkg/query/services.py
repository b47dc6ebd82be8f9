"""SERVICE, the only pattern that reaches another machine."""

from __future__ import annotations

from hybridkg.errors import HybridkgError, ServiceError, StorageError, UnsupportedQueryError
from hybridkg.query import ast
from hybridkg.query.walk import walk


def refuse_services(query: ast.Syntax) -> None:
    """Refuses a SERVICE, SILENT or not; called unless kb.toml allows services.

    Raises:
        UnsupportedQueryError: the query, or the update, has a SERVICE.
    """
    service = _first(query)
    if service is not None:
        raise UnsupportedQueryError(
            "SERVICE is switched off: this knowledge base does not reach the network",
            hint='write service = "allow" into its kb.toml, or load the data of the other server',
            span=service.span,
        )


def blamed(error: StorageError, query: ast.Syntax) -> HybridkgError:
    """The error of a query whose rows could not be read: a ServiceError if it has a SERVICE.

    Oxigraph reports a failed service and a failed disk alike.
    """
    service = _first(query)
    if service is None:
        return error
    reason = error.message.removeprefix("reading the graph failed: ")
    return ServiceError(f"a service failed: {reason}", hint="SERVICE SILENT goes on without it", span=service.span)


def _first(query: ast.Syntax) -> ast.ServicePattern | None:
    return next((node for node in walk(query) if isinstance(node, ast.ServicePattern)), None)
