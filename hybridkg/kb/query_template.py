"""The plan of a query text with parameters in it, and the same with values in place."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from hybridkg.algebra import nodes
from hybridkg.algebra.reranking import below_rerank
from hybridkg.errors import HybridkgError, QueryWarning
from hybridkg.interfaces.parameter import Substitution, UnboundParameterError
from hybridkg.interfaces.ranking_model import RANKING_MODELS
from hybridkg.kb.absent_constants import End, Option, sought_constants
from hybridkg.kb.blank_aggregates import AggregateColumn, aggregate_columns
from hybridkg.kb.data_warnings import predicates_and_classes
from hybridkg.query import ast
from hybridkg.query.invalid_constants import checked_nodes
from hybridkg.query.ranked_order import arbitrary_rows
from hybridkg.query.scope import ranked_items
from hybridkg.query.warnings import advise
from hybridkg.results.build import Shape


@dataclass(frozen=True, eq=False)
class QueryTemplate:
    """The plan of a text for one set of parameters, which are part of it unless their values are.

    Args:
        written: the query as written.
        query: with parameters or values in place.
        logical: its plan.
        parameters: names of the parameters.
        is_cached: whether later requests use it.
        constants: how many of its values, the first ones, have the same datatypes and languages in every request.
    """

    written: ast.Query
    query: ast.Query
    logical: nodes.Plan
    parameters: frozenset[str] = frozenset()
    is_cached: bool = False
    constants: int = 0

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
    def ranks_here(self) -> bool:
        """Whether its MATCHes ask neither an encoder of vectors nor an entity linker.

        Raises:
            UnknownNameError: there is no such ranking model.
        """
        return all(isinstance(item, ast.Match) and not _links(item) for item in self.matches)

    @cached_property
    def reranks(self) -> bool:
        """Whether its rows are reranked."""
        return below_rerank(self.logical) is not None

    @cached_property
    def names_of(self) -> Substitution | None:
        """The ("predicate" or "class", IRI) pairs of the query; None where a value decides which these are."""
        try:
            return Substitution(tuple(predicates_and_classes(self.query.form)))
        except UnboundParameterError:
            return None

    @cached_property
    def parameter_names(self) -> frozenset[str]:
        """The kinds of names, "predicate" and "class", for which parameters stand."""
        if not (self.parameters or self.constants):
            return frozenset()
        names = self.names_of
        if names is None:
            return frozenset(("predicate", "class"))
        return frozenset(kind for kind, iri in names.tree if isinstance(iri, ast.IriParameter))

    @cached_property
    def suspects_of(self) -> Substitution | None:
        """The `sought_constants` and the `checked_nodes`, which warnings about an empty answer read; None where a value
        decides which these are.
        """
        try:
            return Substitution((*sought_constants(self.query), tuple(checked_nodes(self.query.form))))
        except UnboundParameterError:
            return None

    @cached_property
    def aggregates(self) -> tuple[AggregateColumn, ...]:
        """The aggregates that may be blank."""
        return aggregate_columns(self.query)

    @cached_property
    def shape(self) -> Shape:
        """The properties of the result that do not depend on a run."""
        return Shape.of(self.query, self.logical, self.matches)

    @cached_property
    def advice(self) -> tuple[QueryWarning, ...]:
        """Static warnings about the text."""
        return tuple(advise(self.written, self.parameters))

    @cached_property
    def arbitrary(self) -> tuple[QueryWarning, ...]:
        """W118, for a result that the LIMIT of the query has cut."""
        return tuple(arbitrary_rows(self.query.form))

    @cached_property
    def limit(self) -> int | None:
        """LIMIT of the query; None without one."""
        form = self.query.form
        return None if isinstance(form, ast.AskQuery) else form.modifiers.limit


def _links(match: ast.Match) -> bool:
    return match.model is not None and RANKING_MODELS.get(match.model.name)().traits.links


class Wording(Protocol):
    """How messages of a query name the variables and places of its text."""

    prefixes: tuple[tuple[str, str], ...]

    @property
    def names(self) -> Mapping[str, str]:
        """The name of each variable, and the wording of each message with names of variables."""

    def own(self, error: HybridkgError) -> HybridkgError:
        """An error or a warning with the names and the place of this text."""

    def advice(self, template: QueryTemplate) -> tuple[QueryWarning, ...]:
        """Static warnings about this text."""


class SameNames(dict[str, str]):
    """The names of a query that was parsed from its own text: each stands for itself."""

    def __missing__(self, name: str) -> str:
        return name


SAME_NAMES = SameNames()


class OwnWording:
    """Wording of a query that was parsed from its own text."""

    def __init__(self, prefixes: tuple[tuple[str, str], ...]):
        self.names, self.prefixes = SAME_NAMES, prefixes

    def own(self, error: HybridkgError) -> HybridkgError:
        """The error as it is."""
        return error

    def advice(self, template: QueryTemplate) -> tuple[QueryWarning, ...]:
        """The warnings of the template."""
        return template.advice


class BoundQuery:
    """A query with values for its parameters; syntax tree, plan and ranked predicates have them in place.

    `identity` is equal for equal values of the template; by default the values, whose hashes take longer than a text's.
    `repeats` is whether it is asked again; None if that is not known.
    """

    def __init__(
        self,
        template: QueryTemplate,
        values: tuple[ast.Value, ...],
        wording: Wording,
        identity: Hashable | None = None,
        *,
        repeats: bool | None = None,
    ):
        self.template, self.values, self.wording = template, values, wording
        self.identity = values if identity is None else identity
        self.repeats = repeats
        self.matches: tuple[ast.RankedItem, ...] = template.matches_of(self) if values else template.matches

    @cached_property
    def logical(self) -> nodes.Plan:
        plan: nodes.Plan = self.template.logical_of(self) if self.values else self.template.logical
        return plan

    @cached_property
    def query(self) -> ast.Query:
        query: ast.Query = self.template.query_of(self) if self.values else self.template.query
        return query

    @property
    def ranked(self) -> dict[int, ast.RankedItem]:
        """The matches, by the identity of those of the template."""
        return dict(zip(map(id, self.template.matches), self.matches, strict=True))

    @property
    def names(self) -> Iterable[tuple[str, ast.Iri]]:
        """("predicate" or "class", IRI) of each name that the query expects in the graph, in the order of the text."""
        names_of = self.template.names_of if self.values else None
        names: Iterable[tuple[str, ast.Iri]]
        names = predicates_and_classes(self.query.form) if names_of is None else names_of(self)
        return names

    @property
    def suspects(self) -> tuple[tuple[End, ...], tuple[Option, ...], tuple[ast.Lit | ast.Call, ...]]:
        """As QueryTemplate.suspects_of has them, with the values in place."""
        suspects_of = self.template.suspects_of
        if suspects_of is None:
            return (*sought_constants(self.query), tuple(checked_nodes(self.query.form)))
        suspects: tuple[tuple[End, ...], tuple[Option, ...], tuple[ast.Lit | ast.Call, ...]] = suspects_of(self)
        return suspects
