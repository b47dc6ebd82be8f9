"""Narrowing of fragments under DISTINCT to the variables that are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

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
)
from hybridkg.algebra.rules.rebuild import with_children
from hybridkg.query import ast
from hybridkg.query.scope import in_scope
from hybridkg.query.walk import variables


def narrow_distinct(plan: Plan) -> Plan:
    """Distinct ?p (... Fragment { ?p :author ?a . ?q :author ?a }) -> the fragment as SELECT DISTINCT ?p.

    Under DISTINCT a fragment needs only the distinct combinations of the variables that the columns, the order, a
    condition or another part of the pattern reads: the co-authors of a paper's authors are many, the papers few.
    Fragments below an aggregate, or on the right of OPTIONAL and MINUS, stay unchanged, but for sub-selects there that
    are DISTINCT themselves.
    """
    if isinstance(plan, Project) and plan.distinct:
        return replace(plan, child=_narrowed(plan.child, frozenset(plan.columns) | read_by(plan.child)))
    return with_children(plan, narrow_distinct)


def _narrowed(plan: Plan, read: frozenset[str]) -> Plan:
    """The plan with each fragment on its spine narrowed to the variables that are read."""
    match plan:
        case Fragment():
            return _fragment(plan, read)
        case Join(left, right):
            return Join(_narrowed(left, read | right.variables), _narrowed(right, read | left.variables))
        case Union(branches):
            return Union(tuple(_narrowed(branch, read) for branch in branches))
        case LeftJoin(left, right) | Minus(left, right):
            return replace(plan, left=_narrowed(left, read | right.variables), right=narrow_distinct(right))
        case MatchEach(child, match):
            return replace(plan, child=_narrowed(child, read | match.variables))
        case Rank() | OrderBy() | Extend() | Filter():
            return replace(plan, child=_narrowed(plan.child, read))
    return narrow_distinct(plan)


def _fragment(plan: Fragment, read: frozenset[str]) -> Plan:
    needed = plan.variables & read
    return plan if not needed or needed == plan.variables else distinct_fragment(plan, needed)


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
    if not isinstance(plan, Fragment | Match):
        for field in fields(plan):
            for node in _syntax(getattr(plan, field.name)):
                names |= variables(node)
    return names.union(*map(read_by, children(plan)))


def _syntax(value: Any) -> Iterator[ast.Syntax]:
    """The syntax in an attribute of a node, without that of the plans below it."""
    if isinstance(value, ast.Syntax):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _syntax(item)
    elif is_dataclass(value) and isinstance(value, Match):
        yield value.match
