"""Narrowing of fragments under DISTINCT to the variables that are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TypeAlias

from hybridkg.algebra.nodes import (
    Extend,
    Filter,
    Fragment,
    Join,
    LeftJoin,
    Match,
    MatchEach,
    Minus,
    OrderBy,
    Plan,
    Project,
    Rank,
    Union,
    walk,
)
from hybridkg.algebra.rules.rebuild import with_children, with_sides
from hybridkg.query import ast
from hybridkg.query.scope import in_scope
from hybridkg.query.walk import variables


def narrow_distinct(plan: Plan) -> Plan:
    """Distinct ?p (... Fragment { ?p :author ?a . ?q :author ?a }) -> the fragment as SELECT DISTINCT ?p; a fragment
    alone then needs no DISTINCT above it.

    Under DISTINCT a fragment needs only the distinct combinations of the variables that the columns, the order, a
    condition or another part of the pattern reads: the co-authors of a paper's authors are many, the papers few.
    Fragments below an aggregate, or on the right of MINUS, stay unchanged, but for sub-selects there that are DISTINCT
    themselves.
    """
    if isinstance(plan, Project) and plan.distinct:
        read = frozenset(plan.columns) | read_by(plan.child)
        child = narrowed(plan.child, read, distinct_fragment, narrow_distinct)
        has_distinct_rows = isinstance(child, Fragment) and child is not plan.child and not plan.hidden
        return replace(plan, child=child, distinct=not has_distinct_rows)
    return with_children(plan, narrow_distinct)


Narrow: TypeAlias = Callable[[Fragment, frozenset[str]], Fragment]
"""A fragment whose solutions have some of its variables only."""


def narrowed(plan: Plan, read: frozenset[str], narrow: Narrow, rest: Callable[[Plan], Plan]) -> Plan:
    """The plan with each fragment narrowed to the variables that are read, as far as each of its solutions makes
    solutions of the plan; `rest` rewrites what is below anything else.
    """

    def within(part: Plan, read: frozenset[str]) -> Plan:
        match part:
            case Fragment():
                needed = part.variables & read
                return part if not needed or needed == part.variables else narrow(part, needed)
            case Join(left, right) | LeftJoin(left, right):
                return with_sides(part, within(left, read | right.variables), within(right, read | left.variables))
            case Union():
                return with_children(part, lambda branch: _only(within(branch, read), read))
            case Minus(left, right):
                return with_sides(part, within(left, read | right.variables), rest(right))
            case MatchEach(_, match):
                return with_children(part, lambda child: within(child, read | match.variables))
            case Rank() | OrderBy() | Extend() | Filter():
                return with_children(part, lambda child: within(child, read))
        return rest(part)

    return within(plan, read)


def _only(branch: Plan, read: frozenset[str]) -> Plan:
    """A branch of a UNION without the variables that nothing reads, such as the scores of its MATCHes.

    The entity of a score that is read stays: a rank function reads it.
    """
    scored = [part for part in walk(branch) if isinstance(part, Match) and part.score in read]
    needed = branch.variables & read.union(part.match.entity.name for part in scored)
    if isinstance(branch, Fragment) or not needed or needed == branch.variables:
        return branch
    return Project(branch, tuple(sorted(needed)))


def distinct_fragment(fragment: Fragment, names: frozenset[str]) -> Fragment:
    """The distinct combinations of some variables in the solutions of a fragment."""
    return Fragment(_distinct_group(fragment.group, names), fragment.dataset)


def _distinct_group(group: ast.Group, names: frozenset[str]) -> ast.Group:
    """A group as SELECT DISTINCT; so are the branches of its UNIONs whose variables nothing else in it reads."""
    elements = list(group.elements)
    for place, element in enumerate(elements):
        if isinstance(element, ast.UnionPattern):
            others = ast.Group((*elements[:place], *elements[place + 1 :]))
            read = names | variables(others)
            elements[place] = replace(element, branches=tuple(_branch(branch, read) for branch in element.branches))
    projection = tuple(ast.SelectItem(ast.Var(name)) for name in sorted(names))
    select = ast.SelectQuery(projection, replace(group, elements=tuple(elements)), "DISTINCT")
    return ast.Group((ast.SubSelect(select),))


def _branch(branch: ast.Group, read: frozenset[str]) -> ast.Group:
    bound = in_scope(branch)
    needed = bound & read
    return branch if not needed or needed == bound else _distinct_group(branch, needed)


def read_by(plan: Plan) -> frozenset[str]:
    """The variables that the operators of a plan read, without those of its relations."""
    names: set[str] = set()
    for part in walk(plan):
        if isinstance(part, Rank | OrderBy):
            names.update(part.tie_breakers or ())
        if isinstance(part, OrderBy):
            names.update(name for name, _ in part.keys)
        for name in _syntax_fields(type(part)):
            value = getattr(part, name)
            for node in value if isinstance(value, tuple) else (value,):
                names |= variables(node.match if isinstance(node, Match) else node)
    return frozenset(names)


_SYNTAX_FIELDS: dict[type[Plan], tuple[str, ...]] = {Fragment: (), Match: ()}
"""The names of the fields with the syntax and the MATCHes that an operator reads, by class; a relation reads none."""


def _syntax_fields(kind: type[Plan]) -> tuple[str, ...]:
    if kind not in _SYNTAX_FIELDS:
        _SYNTAX_FIELDS[kind] = tuple(
            field.name for field in fields(kind) if "ast." in str(field.type) or field.type == "Match"
        )
    return _SYNTAX_FIELDS[kind]
