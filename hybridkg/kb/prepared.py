"""Prepared queries: syntax tree, checks and logical plan cached by query text; values are bound for each run.

A text is parsed once per process. For each set of names and kinds of its parameters (IRI, literal, list) its plan is
built once, with parameters in it (interfaces.parameter); binding their values takes a few microseconds. The law: a
request has the query, the plan and the errors of parse, check, bind, from_ast and rewrite, with or without the cache
(tests/kb/test_prepared.py).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hybridkg.algebra import nodes
from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.rules import rewrite
from hybridkg.errors import HybridkgError, QueryWarning, UserError
from hybridkg.interfaces.parameter import Substitution, UnboundParameterError
from hybridkg.kb.data_warnings import predicates_and_classes
from hybridkg.query import ast
from hybridkg.query.checks.check import check
from hybridkg.query.parameters.bind import ParameterValue, bind, constants
from hybridkg.query.parameters.parameter_files import with_parameter_files
from hybridkg.query.parser import parse
from hybridkg.query.scope import ranked_items
from hybridkg.query.services import refuse_services
from hybridkg.query.walk import walk
from hybridkg.query.warnings import advise, parameters_of
from hybridkg.results.build import Shape

if TYPE_CHECKING:
    from hybridkg.kb import KnowledgeBase
    from hybridkg.planner.explain import Explanation
    from hybridkg.results.result_set import ResultSet

Parameters = Mapping[str, ParameterValue]

Signature = tuple[tuple[str, str], ...]
"""(name, kind) of each parameter, in order."""

MAX_TEXTS = 256
"""Capacity of the cache of query texts."""

MAX_TEXT_LENGTH = 20_000
"""Maximum length of a cached text; its tree takes about 100 bytes a character."""

MAX_SIGNATURES = 16
"""Maximum number of signatures with a cached template, per text."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Thread-safe cache of the least recently used kind.

    >>> recent = LruCache(1)
    >>> recent.put("a", 1), recent.put("b", 2), recent.get("a"), recent.get("b")
    (None, None, None, 2)
    """

    def __init__(self, capacity: int):
        self._capacity, self._items, self._lock = capacity, OrderedDict[K, V](), threading.Lock()

    def get(self, key: K) -> V | None:
        """The value, which becomes the most recently used one."""
        with self._lock:
            value = self._items.get(key)
            if value is not None:
                self._items.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Adds a value, and evicts the least recently used one from a full cache."""
        with self._lock:
            self._items[key] = value
            if len(self._items) > self._capacity:
                self._items.popitem(last=False)


@dataclass(frozen=True, eq=False)
class QueryTemplate:
    """The plan of a text for one set of parameters, which are part of it unless their values are.

    Args:
        written: the query as written.
        query: with parameters or values in place.
        logical: its plan.
        parameters: names of the parameters.
        is_cached: whether later requests use it.
    """

    written: ast.Query
    query: ast.Query
    logical: nodes.Plan
    parameters: frozenset[str] = frozenset()
    is_cached: bool = False

    @cached_property
    def logical_of(self) -> Substitution:
        return Substitution(self.logical)

    @cached_property
    def query_of(self) -> Substitution:
        return Substitution(self.query)

    @cached_property
    def matches(self) -> tuple[ast.RankedItem, ...]:
        return tuple(ranked_items(self.query.form))

    @cached_property
    def matches_of(self) -> Substitution:
        return Substitution(self.matches)

    @cached_property
    def has_parameter_names(self) -> bool:
        """Whether a predicate or a class is a parameter."""
        try:
            return any(isinstance(iri, ast.IriParameter) for _, iri in predicates_and_classes(self.query.form))
        except UnboundParameterError:
            return True

    @cached_property
    def shape(self) -> Shape:
        """The properties of the result that do not depend on a run."""
        return Shape.of(self.query, self.logical)

    @cached_property
    def advice(self) -> tuple[QueryWarning, ...]:
        """Static warnings about the text."""
        return tuple(advise(self.written, self.parameters))


class BoundQuery:
    """A query with values for its parameters; syntax tree, plan and ranked predicates have them in place."""

    def __init__(self, template: QueryTemplate, values: tuple[ast.Value, ...] = ()):
        self.template, self.values = template, values

    @cached_property
    def logical(self) -> nodes.Plan:
        plan: nodes.Plan = self.template.logical_of(self) if self.values else self.template.logical
        return plan

    @cached_property
    def query(self) -> ast.Query:
        query: ast.Query = self.template.query_of(self) if self.values else self.template.query
        return query

    @cached_property
    def matches(self) -> tuple[ast.RankedItem, ...]:
        matches: tuple[ast.RankedItem, ...] = self.template.matches_of(self) if self.values else self.template.matches
        return matches


class ParsedQuery:
    """A parsed and checked query text; `name` is its name in errors.

    Raises:
        HybridkgError: the text is not a query, or breaks a rule.
    """

    def __init__(self, text: str, name: str = "query"):
        self.text = text
        self.written = parse(text, name=name)
        check(self.written)
        self._templates: LruCache[Signature, QueryTemplate] = LruCache(MAX_SIGNATURES)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The parameters: variables written with `$`, or without a binding."""
        return parameters_of(self.written, self.text)

    @cached_property
    def has_service(self) -> bool:
        return any(isinstance(node, ast.ServicePattern) for node in walk(self.written))

    @cached_property
    def _has_files(self) -> bool:
        return any(isinstance(node, ast.Model) and node.file for node in walk(self.written))

    @cached_property
    def _compared_constants(self) -> frozenset[str] | None:
        """Constants of the query, if its planning compares patterns for equality; None if it does not.

        It does for EXISTS in an expression, and for snippets of several MATCHes.
        """
        below = list(walk(self.written))
        snippets = sum(isinstance(node, ast.Match) and node.snippet is not None for node in below)
        if snippets < 2 and not any(isinstance(node, ast.Exists) for node in below):
            return None
        return frozenset(_word(node) for node in below if isinstance(node, ast.Iri | ast.Lit))

    def request(
        self, params: Parameters | None = None, *, folder: Path | None = None, services: bool = False
    ) -> BoundQuery:
        """The query with values for its parameters; `folder` has files of model parameters, `services` allows SERVICE.

        Raises:
            HybridkgError: a SERVICE that is not allowed, a parameter that cannot be bound, an unsupported combination.
        """
        if self.has_service and not services:
            refuse_services(self.written)
        signed = None if self._has_files else _signed(params)
        if signed is None:
            return self._planned(params, folder)
        signature, values = signed
        if values and self._compared_constants is not None and _collide(values, self._compared_constants):
            return self._planned(params, folder)
        template = self._templates.get(signature)
        if template is None:
            template = self._template(signature, values)
            if template is None:
                return self._planned(params, folder)
            self._templates.put(signature, template)
        return BoundQuery(template, values)

    def _planned(self, params: Parameters | None, folder: Path | None) -> BoundQuery:
        """The uncached path, which raises the errors."""
        query = with_parameter_files(bind(self.written, {} if params is None else params), folder)
        names = frozenset(name.lstrip("?$") for name in params or ())
        return BoundQuery(QueryTemplate(self.written, query, rewrite(from_ast(query)), names))

    def _template(self, signature: Signature, values: tuple[ast.Value, ...]) -> QueryTemplate | None:
        """The template with parameters for values; None if they cannot be bound, or a value decides the plan."""
        names = [name for name, _ in signature]
        bound = {name: ast.parameter_for(value, at) for at, (name, value) in enumerate(zip(names, values, strict=True))}
        try:
            query = bind(self.written, bound)
            template = QueryTemplate(self.written, query, rewrite(from_ast(query)), frozenset(bound), is_cached=True)
            if values:
                _ = template.logical_of, template.query_of, template.matches_of
        except (HybridkgError, UnboundParameterError, RecursionError):
            return None
        return template


_TEXTS: LruCache[str, ParsedQuery] = LruCache(MAX_TEXTS)


def query_text(text: str | ParsedQuery, name: str = "query") -> ParsedQuery:
    """The parsed and checked text, cached unless it has an error.

    Raises:
        HybridkgError: the text is not a query, or breaks a rule.
    """
    if isinstance(text, ParsedQuery):
        return text
    if not isinstance(text, str):
        raise UserError(f"a query is a text, not {type(text).__name__!r}")
    parsed = _TEXTS.get(text)
    if parsed is None:
        parsed = ParsedQuery(text, name)
        if len(text) <= MAX_TEXT_LENGTH:
            _TEXTS.put(text, parsed)
    return parsed


def _signed(params: Any) -> tuple[Signature, tuple[ast.Value, ...]] | None:
    """Names and kinds of the parameters, and their values; None for invalid ones, whose errors `_planned` raises."""
    if not params:
        return ((), ()) if params is None or isinstance(params, Mapping) else None
    if not isinstance(params, Mapping):
        return None
    names, kinds, values = [], [], []
    for name, item in params.items():
        if not isinstance(name, str):
            return None
        try:
            value = constants(name, item)
        except HybridkgError:
            return None
        names.append(name.lstrip("?$"))
        kinds.append("list" if isinstance(value, tuple) else "iri" if isinstance(value, ast.Iri) else "literal")
        values.append(value)
    if len(set(names)) < len(names):
        return None
    return tuple(zip(names, kinds, strict=True)), tuple(values)


def _word(constant: ast.Iri | ast.Lit) -> str:
    return constant.value if isinstance(constant, ast.Iri) else constant.lexical


def _collide(values: tuple[ast.Value, ...], others: frozenset[str]) -> bool:
    """Whether a value could equal another one, or a constant of the query."""
    words = [_word(one) for value in values for one in (value if isinstance(value, tuple) else (value,))]
    return len(set(words)) < len(words) or not others.isdisjoint(words)


class PreparedQuery:
    """A parsed and checked query of a knowledge base, for repeated runs with other values.

    `KnowledgeBase.prepare` creates it. It is thread-safe, and answers from the state that the knowledge base has open,
    also after its `refresh`.
    """

    def __init__(self, kb: KnowledgeBase, text: ParsedQuery, name: str):
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
        return any(isinstance(node, ast.Rerank) for node in walk(self._text.written))

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
