"""Names that a query does not use, and names for what it leaves unnamed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeVar

from hybridkg.query import ast
from hybridkg.query.scope import is_hybrid, projected
from hybridkg.query.walk import rebuild, walk


@dataclass
class FreshNames:
    """Variable names that the query does not use; deterministic."""

    taken: frozenset[str]
    given: set[str] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def name(self, purpose: str) -> str:
        """A new name that says what it is for."""
        name = next(n for i in self.numbers if (n := f"_{purpose}{i}") not in self.taken)
        self.given.add(name)
        return name


FormT = TypeVar("FormT", bound=ast.Syntax)


def without_blank_nodes(form: FormT, names: FreshNames) -> FormT:
    """The same query with a variable for each blank node label.

    In a pattern both mean the same, but a label holds only within one basic graph pattern, and a plan cuts those
    apart (SPARQL 1.1 section 4.1.4). `SELECT DISTINCT *` of a sub-select tells apart what variables have, but not what
    blank nodes stand for, so its columns are named.
    """
    variable_of: dict[str, ast.Var] = {}

    def change(node: ast.Syntax) -> ast.Syntax:
        if isinstance(node, ast.Blank):
            if node.label not in variable_of:
                variable_of[node.label] = ast.Var(names.name("blank"))
            return replace(variable_of[node.label], span=node.span)
        known = len(names.given)
        changed = rebuild(node, change)
        if (
            isinstance(node, ast.SelectQuery)
            and isinstance(changed, ast.SelectQuery)
            and node.projection is None
            and node.reduction
            and len(names.given) > known
            and not is_hybrid(node)
        ):
            shown = projected(node)
            in_order = (v.name for v in walk(node) if isinstance(v, ast.Var) and v.name in shown)
            columns = list(dict.fromkeys(in_order)) or [names.name("blank")]
            return replace(changed, projection=tuple(ast.SelectItem(ast.Var(name)) for name in columns))
        return changed

    return rebuild(form, change)
