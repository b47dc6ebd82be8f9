"""EXPLAIN of an update: the plan of each WHERE, all in one state. Nothing is changed, so no lock is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from hybridkg.errors import HybridkgError, SourceName
from hybridkg.interfaces.progress import SILENT
from hybridkg.kb.parsed_query import ParsedQuery
from hybridkg.kb.query_run import QueryRun
from hybridkg.kb.query_session import QuerySession
from hybridkg.kb.snapshot import Snapshot
from hybridkg.kb.write.updating import UpdateOptions
from hybridkg.planner.explain import Explanation
from hybridkg.query import ast
from hybridkg.query.scope import ranked_items
from hybridkg.query.update_query import query_of
from hybridkg.store.generations.folder import Folder
from hybridkg.terminal_text import preformatted


@dataclass(frozen=True)
class UpdateExplanation:
    """The plans of an update; `str` of it is the text for people.

    Args:
        operations: (name, plan of the WHERE) of each operation, in order; None where it has no WHERE.
    """

    operations: tuple[tuple[str, Explanation | None], ...]

    def text(self, width: int | None = None) -> str:
        """The plans for a terminal of `width` columns, each below the name of its operation."""
        return "\n\n".join(self._texts(width)) or "no operation"

    def _texts(self, width: int | None) -> Iterator[str]:
        for number, (name, plan) in enumerate(self.operations, 1):
            head = f"operation {number}: {name}"
            yield f"{head}, which has no WHERE" if plan is None else f"{head}\n{plan.text(width)}"

    def to_json(self) -> dict[str, Any]:
        """The plans as data; `where` is null where an operation has no WHERE."""
        shown = [
            {"operation": name, "where": None if plan is None else plan.to_json()} for name, plan in self.operations
        ]
        return {"operations": shown}

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"UpdateExplanation({len(self.operations)} operations; print it to read it)"

    def _repr_html_(self) -> str:
        """The plans for notebooks, escaped."""
        return preformatted(str(self))


def explained_update(
    update: ast.Update,
    text: str,
    options: UpdateOptions,
    folder: Folder,
    state: Callable[[bool], Snapshot],
    *,
    analyze: bool,
) -> UpdateExplanation:
    """The plans of an update.

    Args:
        update: checked, with its parameters bound.
        text: of the request, into which its spans point.
        options: limits of the request.
        folder: of the knowledge base.
        state: the state in which each WHERE is planned; gets whether it has a MATCH or a NEAR.
        analyze: runs each WHERE, and adds actual rows and times.

    Raises:
        HybridkgError: a WHERE cannot be planned or run; has the place.
    """
    deadline = options.deadline()

    def plan_of(operation: ast.Modify) -> Explanation:
        query = replace(query_of(operation), prefixes=update.prefixes)
        snapshot = state(any(True for _ in ranked_items(query.form)))
        parsed = ParsedQuery.of(query, text)
        session, limits = QuerySession(snapshot, folder.path), options.of_where(deadline)
        with QueryRun(session, parsed, limits, folder.config, SILENT) as run:
            return run.explain(*run.plan(parsed, None), analyze=analyze)

    try:
        return UpdateExplanation(
            tuple((name_of(one), plan_of(one) if isinstance(one, ast.Modify) else None) for one in update.operations)
        )
    except HybridkgError as e:
        raise e.at(SourceName(options.name, text)) from e.__cause__


def name_of(operation: ast.Operation) -> str:
    """The keywords of an operation.

    >>> from hybridkg.query.parser import parse_update
    >>> update = parse_update("DELETE WHERE { ?s ?p 1 } ; DROP ALL ; INSERT { ?s ?p 2 } WHERE {}")
    >>> [name_of(one) for one in update.operations]
    ['DELETE WHERE', 'DROP', 'INSERT']
    """
    match operation:
        case ast.InsertData():
            return "INSERT DATA"
        case ast.DeleteData():
            return "DELETE DATA"
        case ast.Modify(is_short=True):
            return "DELETE WHERE"
        case ast.Modify(delete=delete, insert=insert):
            return " and ".join([*(["DELETE"] if delete else []), *(["INSERT"] if insert else [])]) or "INSERT"
        case ast.LoadFile():
            return "LOAD"
        case ast.ClearGraphs(drop=drop):
            return "DROP" if drop else "CLEAR"
        case ast.CreateGraph():
            return "CREATE"
        case ast.CopyGraph(kind):
            return kind
