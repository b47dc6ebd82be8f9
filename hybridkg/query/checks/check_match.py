"""Checks of MATCH: its names and numbers, and its score and snippet variables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from hybridkg.errors import QueryCheckError, Span
from hybridkg.interfaces.text_index import MAX_WEIGHT
from hybridkg.query import ast


@dataclass
class ScopeBindings:
    """The variables that a pattern binds; it grows as the parts are visited.

    Args:
        bound: all of them.
        computed: those that are the score or the snippet of a MATCH, with the word for it. A second source for one of
            these would be joined with it, which is never intended.
    """

    bound: set[str] = field(default_factory=set)
    computed: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Iterable[str]) -> ScopeBindings:
        """ScopeBindings without scores and snippets."""
        return cls(set(names))

    def join(self, other: ScopeBindings, span: Span) -> None:
        """Adds a pattern that is joined with this one.

        Raises:
            QueryCheckError: both bind a variable that is a score or a snippet in one of them.
        """
        for name in sorted(other.bound) if self.computed or other.computed else ():
            kinds = [b.computed[name] for b in (self, other) if name in b.computed]
            if kinds and name in self.bound:
                raise QueryCheckError(
                    f"?{name} is the {kinds[0]} of "
                    + ("two MATCHes" if len(kinds) == 2 else "a MATCH and a variable of another pattern")
                    + " that meet in one row",
                    hint=f"give each {kinds[0]} a name of its own",
                    span=span,
                )
        self.either(other)

    def either(self, other: ScopeBindings) -> None:
        """Adds another branch of a UNION: branches are never joined."""
        self.bound |= other.bound
        self.computed.update(other.computed)


def check_match(match: ast.Match) -> ScopeBindings:
    """The bindings of a MATCH."""
    roles = [("entity", match.entity), ("score", match.score), ("snippet", match.snippet)]
    if isinstance(match.text, ast.Var):
        roles.insert(1, ("text", match.text))
    check_roles("MATCH", roles)
    check_fields(match.fields)
    if match.model is not None:
        # Imported here because the registry comes with numpy, which no other rule needs.
        from hybridkg.interfaces.ranking_model import RANKING_MODELS

        if match.model.name not in RANKING_MODELS.names():
            RANKING_MODELS.get(match.model.name, span=match.model.span)
        check_arguments(match.model.arguments)
    check_top(match)
    computed = {
        variable.name: kind
        for variable, kind in ((match.score, "score"), (match.snippet, "snippet"))
        if variable is not None
    }
    return ScopeBindings({match.entity.name, *computed}, computed)


def check_top(node: ast.RankedItem | ast.Rerank) -> None:
    """TOP must be at least 1."""
    if node.top is not None and node.top < 1:
        raise QueryCheckError("TOP needs a number of at least 1", span=node.span)


def check_roles(keyword: str, roles: Iterable[tuple[str, ast.Var | None]]) -> None:
    """A variable must have one role in a ranked predicate."""
    seen: dict[str, str] = {}
    for role, variable in roles:
        if variable is None:
            continue
        if variable.name in seen:
            raise QueryCheckError(
                f"?{variable.name} is both the {seen[variable.name]} and the {role} of this {keyword}",
                hint=f"give the {role} a name of its own",
                span=variable.span,
            )
        seen[variable.name] = role


def check_fields(fields: tuple[ast.OnField, ...]) -> None:
    """The fields of an ON clause must be distinct, their weights in range.

    Raises:
        QueryCheckError: they are not; the span is that of the field.
    """
    seen: set[str] = set()
    for on_field in fields:
        written = on_field.name + (f"@{on_field.language.lower()}" if on_field.language else "")
        if written in seen:
            raise QueryCheckError(
                f"the field {written!r} stands twice in ON", hint="give it one weight", span=on_field.span
            )
        seen.add(written)
        if on_field.weight is not None and not 0 <= on_field.weight <= MAX_WEIGHT:
            raise QueryCheckError(
                f"the weight of {on_field.name!r} is {on_field.weight:,.10g}; it must be between 0 and {MAX_WEIGHT:,}",
                span=on_field.span,
            )
        check_arguments(on_field.arguments)


def check_arguments(arguments: tuple[ast.NamedArgument, ...]) -> None:
    """An argument must not be repeated."""
    seen: set[str] = set()
    for argument in arguments:
        if argument.name in seen:
            raise QueryCheckError(f"the argument {argument.name!r} is given twice", span=argument.span)
        seen.add(argument.name)
