"""Narrowing of fragments under DISTINCT to the variables that are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias

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
    children,
    walk,
)
from hybridkg.algebra.rules.rebuild import with_children
from hybridkg.query import ast
from hybridkg.query.scope import in_scope
from hybridkg.query.walk import variables


def narrow_distinct(plan: Plan) -> Plan:
    """Distinct ?p (... Fragment { ?p :author ?a . ?q :author ?a }) -> the fragment as SELECT DISTINCT ?p.

    Under DISTINCT a fragment needs only the distinct combinations of the variables that the columns, the order, a
    condition or another part of the pattern reads: the co-authors of a paper's authors are many, the papers few.
    Fragments below an aggregate, or on the right of MINUS, stay unchanged, but for sub-selects there that are DISTINCT
    themselves.
    """
    if isinstance(plan, Project) and plan.distinct:
        read = frozenset(plan.columns) | read_by(plan.child)
        return replace(plan, child=narrowed(plan.child, read, distinct_fragment, narrow_distinct))
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
                sides = within(left, read | right.variables), within(right, read | left.variables)
                return replace(part, left=sides[0], right=sides[1])
            case Union(branches):
                return Union(tuple(_only(within(branch, read), read) for branch in branches))
            case Minus(left, right):
                return Minus(within(left, read | right.variables), rest(right))
            case MatchEach(child, match):
                return replace(part, child=within(child, read | match.variables))
            case Rank() | OrderBy() | Extend() | Filter():
                return replace(part, child=within(part.child, read))
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
    names: frozenset[str] = frozenset()
    if isinstance(plan, Rank | OrderBy):
        names |= frozenset(plan.tie_breakers or ())
    if isinstance(plan, OrderBy):
        names |= {name for name, _ in plan.keys}
    below = children(plan)
    if not isinstance(plan, Fragment | Match):
        for field in fields(plan):
            for node in _syntax(getattr(plan, field.name), below):
                names |= variables(node)
    return names.union(*map(read_by, below))


def _syntax(value: Any, below: tuple[Plan, ...]) -> Iterator[ast.Syntax]:
    """The syntax in an attribute of a node, without that of the plans below it; a MATCH there is one that it reads."""
    if any(value is child for child in below):
        return
    if isinstance(value, ast.Syntax):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _syntax(item, below)
    elif is_dataclass(value) and isinstance(value, Match):
        yield value.match
