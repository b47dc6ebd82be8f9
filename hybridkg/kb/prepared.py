"""Prepared queries: a text that is parsed once and asked with other values."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from hybridkg.kb.parsed_query import Parameters, ParsedQuery
from hybridkg.query import ast
from hybridkg.query.walk import has

if TYPE_CHECKING:
    from hybridkg.kb.reading import ReadableKnowledgeBase
    from hybridkg.planner.explain import Explanation
    from hybridkg.results.result import Result
    from hybridkg.results.result_set import ResultSet


class PreparedQuery:
    """A parsed and checked query of a knowledge base, for repeated runs with other values.

    `KnowledgeBase.prepare` creates it. It is thread-safe, and answers from the state that the knowledge base has open,
    also after its `refresh`.
    """

    def __init__(self, kb: ReadableKnowledgeBase, text: ParsedQuery, name: str):
        self._kb, self._text, self._name = kb, text, name

    @property
    def text(self) -> str:
        """The query text."""
        return self._text.text

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters: variables written with `$`, or without a binding.

        Any other variable may have a value, too.
        """
        return self._text.parameters

    @property
    def ranks(self) -> bool:
        """Whether the rows are ordered by a score: a SELECT with RANK BY, without EXPLAIN."""
        form, explain = self._text.written.form, self._text.written.explain
        return isinstance(form, ast.SelectQuery) and form.modifiers.rank_by is not None and not explain

    @property
    def reranks(self) -> bool:
        """Whether the query has a RERANK."""
        return has(self._text.written, ast.Rerank)

    def query(
        self,
        params: Parameters | None = None,
        *,
        limit: int | None = None,
        strategy: str | None = None,
        timeout: float | None = None,
        max_rows: int | None = None,
        max_megabytes: float | None = None,
        cancel: threading.Event | None = None,
    ) -> ResultSet:
        """`KnowledgeBase.query` for this text; errors have the name passed to `prepare`."""
        return self._kb.query(
            self._text,
            params,
            limit=limit,
            strategy=strategy,
            timeout=timeout,
            max_rows=max_rows,
            max_megabytes=max_megabytes,
            cancel=cancel,
            name=self._name,
        )

    def stream(
        self,
        params: Parameters | None = None,
        *,
        limit: int | None = None,
        strategy: str | None = None,
        timeout: float | None = None,
        max_rows: int | None = None,
        max_megabytes: float | None = None,
        cancel: threading.Event | None = None,
    ) -> AbstractContextManager[Result]:
        """`KnowledgeBase.stream` for this text; errors have the name passed to `prepare`."""
        return self._kb.stream(
            self._text,
            params,
            limit=limit,
            strategy=strategy,
            timeout=timeout,
            max_rows=max_rows,
            max_megabytes=max_megabytes,
            cancel=cancel,
            name=self._name,
        )

    def explain(
        self,
        params: Parameters | None = None,
        *,
        analyze: bool = False,
        limit: int | None = None,
        strategy: str | None = None,
        timeout: float | None = None,
        max_rows: int | None = None,
        max_megabytes: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Explanation:
        """`KnowledgeBase.explain` for this text; errors have the name passed to `prepare`."""
        return self._kb.explain(
            self._text,
            params,
            analyze=analyze,
            limit=limit,
            strategy=strategy,
            timeout=timeout,
            max_rows=max_rows,
            max_megabytes=max_megabytes,
            cancel=cancel,
            name=self._name,
        )

    def __repr__(self) -> str:
        return f"PreparedQuery({self.text!r})"
