"""Parsed and checked query texts, with templates of their plans.

A text is parsed once per process, or not at all where a text of its shape has been (kb/shared_text.py). For each set of
names and kinds of its parameters (IRI, literal, list) its plan is built once, with parameters in it
(interfaces.parameter); binding their values takes a few microseconds. The law: a request has the query, the plan and
the errors of parse, check, bind, check_values, from_ast and rewrite, with or without the cache
(tests/kb/test_prepared.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.rules import rewrite
from hybridkg.errors import HybridkgError
from hybridkg.interfaces.parameter import UnboundParameterError
from hybridkg.kb.clock_cache import ClockCache
from hybridkg.kb.query_template import BoundQuery, OwnWording, QueryTemplate
from hybridkg.query import ast
from hybridkg.query.checks.check import check
from hybridkg.query.checks.check_values import check_values
from hybridkg.query.parameters.bind import ParameterValue, bind, constants
from hybridkg.query.parameters.parameter_files import with_parameter_files
from hybridkg.query.parser import parse
from hybridkg.query.services import refuse_services
from hybridkg.query.walk import walk
from hybridkg.query.warnings import parameters_of
from hybridkg.rdf.known_prefixes import ONLY_WELL_KNOWN, KnownPrefixes

Parameters = Mapping[str, ParameterValue]

Signature = tuple[tuple[str, str], ...]
"""(name, kind) of each parameter, in order."""

NO_PARAMETERS: tuple[Signature, tuple[ast.Value, ...]] = ((), ())

MAX_SIGNATURES = 16
"""Maximum number of signatures with a cached template, per tree."""


class CheckedTree:
    """A checked syntax tree with a template for each signature.

    Args:
        written: the tree.
        constants: number of constants that are parameters of the tree, before those of a signature.
    """

    def __init__(self, written: ast.Query, constants: int = 0):
        self.written, self._constants = written, constants
        self._templates: ClockCache[Signature, QueryTemplate] = ClockCache(MAX_SIGNATURES)
        self._plain: QueryTemplate | None = None  # the one without parameters of a signature

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The parameters: variables written with `$`, or without a binding."""
        return parameters_of(self.written)

    @cached_property
    def _parts(self) -> tuple[bool, bool, bool]:
        """Whether the tree has a SERVICE, a file of parameters, patterns that planning compares for equality."""
        nodes = tuple(walk(self.written.form))
        classes = set(map(type, nodes))
        has_files = ast.Model in classes and any(isinstance(node, ast.Model) and node.file for node in nodes)
        snippets = [node for node in nodes if isinstance(node, ast.Match) and node.snippet is not None]
        return ast.ServicePattern in classes, has_files, ast.Exists in classes or len(snippets) >= 2

    @cached_property
    def has_service(self) -> bool:
        """Whether the query has a SERVICE."""
        return self._parts[0]

    @cached_property
    def has_files(self) -> bool:
        """Whether a model has a file of parameters, which is read for each request."""
        return self._parts[1]

    @cached_property
    def compares_constants(self) -> bool:
        """Whether planning compares patterns for equality: for EXISTS, and for snippets of several MATCHes."""
        return self._parts[2]

    @cached_property
    def _compared_constants(self) -> frozenset[str]:
        return frozenset(_word(node) for node in walk(self.written.form) if isinstance(node, ast.Iri | ast.Lit))

    def template(self, signature: Signature, values: tuple[ast.Value, ...]) -> QueryTemplate | None:
        """The template for parameters with these values; None if they cannot be bound, or a value decides the plan."""
        if not signature and self._plain is not None:
            return self._plain
        if values and self.compares_constants and _collide(values, self._compared_constants):
            return None
        template = self._templates.get(signature)
        if template is None:
            try:
                template = self.new_template(signature, values)
            except (HybridkgError, UnboundParameterError, RecursionError):
                return None
            self._templates.put(signature, template)
        return template

    def keep_template(self) -> None:
        """Keeps the template without parameters, with everything that may depend on a constant.

        Raises:
            HybridkgError, UnboundParameterError: as `new_template`.
        """
        template = self.new_template((), ())
        _ = template.shape, template.advice, template.parameter_names, template.suspects_of
        self._plain = template

    def new_template(self, signature: Signature, values: tuple[ast.Value, ...]) -> QueryTemplate:
        """The template for parameters of the kinds of these values.

        Raises:
            HybridkgError: they cannot be bound.
            UnboundParameterError: a value decides the plan.
        """
        bound = {
            name: ast.parameter_for(value, self._constants + at)
            for at, ((name, _), value) in enumerate(zip(signature, values, strict=True))
        }
        query = bind(self.written, bound)
        check_values(query)
        plan, constants = rewrite(from_ast(query)), self._constants
        template = QueryTemplate(self.written, query, plan, frozenset(bound), is_cached=True, constants=constants)
        if values or self._constants:  # raises where a part may hide a parameter
            _ = template.logical_of, template.matches_of
        return template


class ParsedQuery:
    """A parsed and checked query text; `name` is its name in errors.

    It knows the `prefixes` that it need not declare when it is parsed: outside a knowledge base well-known ones only.

    Raises:
        HybridkgError: the text is not a query, or breaks a rule.
    """

    repeats: bool = True
    """Whether the text is asked again, as far as is known: its plan is then cached."""

    def __init__(self, text: str, name: str = "query", prefixes: KnownPrefixes = ONLY_WELL_KNOWN):
        written = parse(text, name=name, prefixes=prefixes)
        check(written)
        self.text, self.tree = text, CheckedTree(written)

    @classmethod
    def of(cls, query: ast.Query, text: str) -> ParsedQuery:
        """A checked query that is a part of another text, into which its spans point."""
        parsed = cls.__new__(cls)
        parsed.text, parsed.tree = text, CheckedTree(query)
        return parsed

    @property
    def written(self) -> ast.Query:
        """The syntax tree of the text."""
        return self.tree.written

    @property
    def alone(self) -> ParsedQuery:
        """The same text, parsed by itself: its errors name the variables and places of this text."""
        return self

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters: variables written with `$`, or without a binding."""
        return self.tree.parameters

    @property
    def has_service(self) -> bool:
        """Whether the text has a SERVICE."""
        return self.tree.has_service

    def request(
        self, params: Parameters | None = None, *, folder: Path | None = None, services: bool = False
    ) -> BoundQuery:
        """The query with values for its parameters; `folder` has files of model parameters, `services` allows SERVICE.

        Raises:
            HybridkgError: a SERVICE that is not allowed, a parameter that cannot be bound, an unsupported combination.
        """
        if self.has_service and not services:
            refuse_services(self.written)
        signed = None if self.tree.has_files else signed_parameters(params)
        template = None if signed is None else self.tree.template(*signed)
        if signed is None or template is None:
            return self._planned(params, folder)
        return BoundQuery(template, signed[1], OwnWording(self.written.prefixes), repeats=None if signed[1] else True)

    def _planned(self, params: Parameters | None, folder: Path | None) -> BoundQuery:
        """The uncached path, which raises the errors."""
        query = with_parameter_files(bind(self.written, {} if params is None else params), folder)
        check_values(query)
        names = frozenset(name.lstrip("?$") for name in params or ())
        template = QueryTemplate(self.written, query, rewrite(from_ast(query)), names)
        return BoundQuery(template, (), OwnWording(self.written.prefixes))


def signed_parameters(params: Any) -> tuple[Signature, tuple[ast.Value, ...]] | None:
    """Names and kinds of the parameters, and their values; None for invalid ones, whose errors `_planned` raises,
    and for triple terms, which it binds.
    """
    if not params:
        return NO_PARAMETERS if params is None or isinstance(params, Mapping) else None
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
        if value is None:
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
