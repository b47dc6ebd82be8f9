"""Queries that are read once: parse, check and logical plan by query text, with the values put in for each run.

A text is parsed once in a process. For each set of names and kinds of its parameters (IRI, literal, list) its plan is
made once with parameters in it (interfaces.parameter), whose values take a few microseconds to put in place. The law:
whatever way a request is made, it has the query, the plan and the errors that parse, check, bind, from_ast and rewrite
give (tests/kb/test_prepared.py).
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
"""(name, kind) of each parameter, in the order given."""

MAX_TEXTS = 256
"""Query texts that are remembered."""

MAX_TEXT_LENGTH = 20_000
"""Characters of a text that is remembered; its tree takes about 100 bytes for each."""

MAX_SIGNATURES = 16
"""Sets of parameters for which a text remembers its plan."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """The values used last, by key; safe to use from many threads.

    >>> recent = Recent(1)
    >>> recent.put("a", 1), recent.put("b", 2), recent.get("a"), recent.get("b")
    (None, None, None, 2)
    """

    def __init__(self, most: int):
        self._most, self._items, self._lock = most, OrderedDict[K, V](), threading.Lock()

    def get(self, key: K) -> V | None:
        """The value, which is now the one used last."""
        with self._lock:
            value = self._items.get(key)
            if value is not None:
                self._items.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Remembers a value, and forgets the one that nobody has used for longest."""
        with self._lock:
            self._items[key] = value
            if len(self._items) > self._most:
                self._items.popitem(last=False)


@dataclass(frozen=True, eq=False)
class QueryTemplate:
    """The plan of a text for one set of parameters, which stand in it unless their values are in place.

    Args:
        written: the query as it was written.
        query: with parameters or values in place.
        logical: its plan.
        given: names of the parameters.
        is_kept: whether it serves later requests as well.
    """

    written: ast.Query
    query: ast.Query
    logical: nodes.Plan
    given: frozenset[str] = frozenset()
    is_kept: bool = False

    @cached_property
    def logical_of(self) -> Substitution:
        """The plan with values in place."""
        return Substitution(self.logical)

    @cached_property
    def query_of(self) -> Substitution:
        """The query with values in place."""
        return Substitution(self.query)

    @cached_property
    def matches(self) -> tuple[ast.RankedItem, ...]:
        """Every MATCH of the query."""
        return tuple(ranked_items(self.query.form))

    @cached_property
    def matches_of(self) -> Substitution:
        """`matches` with values in place."""
        return Substitution(self.matches)

    @cached_property
    def names_are_given(self) -> bool:
        """Whether a parameter stands where a predicate or a class does."""
        try:
            return any(isinstance(iri, ast.IriParameter) for _, iri in predicates_and_classes(self.query.form))
        except UnboundParameterError:
            return True

    @cached_property
    def shape(self) -> Shape:
        """What is known of the result before the query has run."""
        return Shape.of(self.query, self.logical)

    @cached_property
    def advice(self) -> tuple[QueryWarning, ...]:
        """Warnings that can be seen in the text."""
        return tuple(advise(self.written, self.given))


class BoundQuery:
    """A query with the values of its parameters in place."""

    def __init__(self, template: QueryTemplate, values: tuple[ast.Value, ...] = ()):
        self.template, self.values = template, values

    @cached_property
    def logical(self) -> nodes.Plan:
        """The plan."""
        plan: nodes.Plan = self.template.logical_of(self) if self.values else self.template.logical
        return plan

    @cached_property
    def query(self) -> ast.Query:
        """The syntax tree."""
        query: ast.Query = self.template.query_of(self) if self.values else self.template.query
        return query

    @cached_property
    def matches(self) -> tuple[ast.RankedItem, ...]:
        """Every MATCH."""
        matches: tuple[ast.RankedItem, ...] = self.template.matches_of(self) if self.values else self.template.matches
        return matches


class ParsedQuery:
    """A text that has been parsed and checked.

    Args:
        text: the query.
        name: what to call it in errors.

    Raises:
        HybridkgError: it is no query, or breaks a rule.
    """

    def __init__(self, text: str, name: str = "query"):
        self.text = text
        self.written = parse(text, name=name)
        check(self.written)
        self._templates: LruCache[Signature, QueryTemplate] = LruCache(MAX_SIGNATURES)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Variables that are meant to get a value: written with `$`, or bound by nothing."""
        return parameters_of(self.written, self.text)

    @cached_property
    def has_service(self) -> bool:
        """Whether it asks another endpoint."""
        return any(isinstance(node, ast.ServicePattern) for node in walk(self.written))

    @cached_property
    def _has_files(self) -> bool:
        return any(isinstance(node, ast.Model) and node.file for node in walk(self.written))

    @cached_property
    def _compared(self) -> frozenset[str] | None:
        """Constants of the query, where its planning asks whether two patterns are equal; None where it does not.

        It does for EXISTS in an expression, and for passages of several MATCHes.
        """
        below = list(walk(self.written))
        snippets = sum(isinstance(node, ast.Match) and node.snippet is not None for node in below)
        if snippets < 2 and not any(isinstance(node, ast.Exists) for node in below):
            return None
        return frozenset(_word(node) for node in below if isinstance(node, ast.Iri | ast.Lit))

    def request(
        self, params: Parameters | None = None, *, folder: Path | None = None, services: bool = False
    ) -> BoundQuery:
        """The query with values for its parameters.

        Args:
            params: values by name.
            folder: that of the knowledge base, with files of model parameters.
            services: whether the query may ask other endpoints.

        Raises:
            HybridkgError: SERVICE without leave, a parameter that cannot be bound, a combination without engine.
        """
        if self.has_service and not services:
            refuse_services(self.written)
        signed = None if self._has_files else _signed(params)
        if signed is None:
            return self._planned(params, folder)
        signature, values = signed
        if values and self._compared is not None and _collide(values, self._compared):
            return self._planned(params, folder)
        template = self._templates.get(signature)
        if template is None:
            template = self._template(signature, values)
            if template is None:
                return self._planned(params, folder)
            self._templates.put(signature, template)
        return BoundQuery(template, values)

    def _planned(self, params: Parameters | None, folder: Path | None) -> BoundQuery:
        """The full way, which says what is wrong."""
        query = with_parameter_files(bind(self.written, {} if params is None else params), folder)
        given = frozenset(name.lstrip("?$") for name in params or ())
        return BoundQuery(QueryTemplate(self.written, query, rewrite(from_ast(query)), given))

    def _template(self, signature: Signature, values: tuple[ast.Value, ...]) -> QueryTemplate | None:
        """With parameters in place of values; None where they cannot be bound, or a value decides the plan."""
        names = [name for name, _ in signature]
        given = {name: ast.parameter_for(value, at) for at, (name, value) in enumerate(zip(names, values, strict=True))}
        try:
            query = bind(self.written, given)
            template = QueryTemplate(self.written, query, rewrite(from_ast(query)), frozenset(given), is_kept=True)
            if values:
                _ = template.logical_of, template.query_of, template.matches_of
        except (HybridkgError, UnboundParameterError, RecursionError):
            return None
        return template


_TEXTS: LruCache[str, ParsedQuery] = LruCache(MAX_TEXTS)


def query_text(text: str | ParsedQuery, name: str = "query") -> ParsedQuery:
    """A text, parsed and checked now or before.

    Raises:
        HybridkgError: it is no query, or breaks a rule; errors are not remembered.
    """
    if isinstance(text, ParsedQuery):
        return text
    if not isinstance(text, str):
        raise UserError(f"a query is a text, not {type(text).__name__!r}")
    known = _TEXTS.get(text)
    if known is None:
        known = ParsedQuery(text, name)
        if len(text) <= MAX_TEXT_LENGTH:
            _TEXTS.put(text, known)
    return known


def _signed(params: Any) -> tuple[Signature, tuple[ast.Value, ...]] | None:
    """Names and kinds of the parameters, and their values; None where the full way has to say what is wrong."""
    if not params:
        return ((), ()) if params is None or isinstance(params, Mapping) else None
    if not isinstance(params, Mapping):
        return None
    names, kinds, values = [], [], []
    for given, item in params.items():
        if not isinstance(given, str):
            return None
        try:
            value = constants(given, item)
        except HybridkgError:
            return None
        names.append(given.lstrip("?$"))
        kinds.append("list" if isinstance(value, tuple) else "iri" if isinstance(value, ast.Iri) else "literal")
        values.append(value)
    if len(set(names)) < len(names):
        return None
    return tuple(zip(names, kinds, strict=True)), tuple(values)


def _word(constant: ast.Iri | ast.Lit) -> str:
    return constant.value if isinstance(constant, ast.Iri) else constant.lexical


def _collide(values: tuple[ast.Value, ...], others: frozenset[str]) -> bool:
    """Whether a value could be equal to another one, or to a constant of the query."""
    words = [_word(one) for value in values for one in (value if isinstance(value, tuple) else (value,))]
    return len(set(words)) < len(words) or not others.isdisjoint(words)


class PreparedQuery:
    """A query of a knowledge base that has been parsed and checked, to be asked with other values each time.

    Made by `KnowledgeBase.prepare`. Safe to use from many threads; it answers from the state that the knowledge base
    has open, also after its `refresh`.
    """

    def __init__(self, kb: KnowledgeBase, text: ParsedQuery, name: str):
        self._kb, self._text, self._name = kb, text, name

    @property
    def text(self) -> str:
        """The query."""
        return self._text.text

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the variables that are meant to get a value: written with `$`, or bound by nothing.

        Any other variable may be given one as well.
        """
        return self._text.parameters

    @property
    def ranks(self) -> bool:
        """Whether its answer is rows in the order of a score: a SELECT with RANK BY, not merely explained."""
        form, explain = self._text.written.form, self._text.written.explain
        return isinstance(form, ast.SelectQuery) and form.modifiers.rank_by is not None and not explain

    @property
    def reranks(self) -> bool:
        """Whether it has a RERANK, anywhere."""
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
        """As `KnowledgeBase.query`; the name in errors is that given to `prepare`."""
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
        """As `KnowledgeBase.explain`; the name in errors is that given to `prepare`."""
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
