"""Fresh variable names, and variables for blank nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeVar

from hybridkg.query import ast
from hybridkg.query.scope import is_hybrid, projected
from hybridkg.query.walk import has, rebuild, walk


@dataclass
class FreshNames:
    """Deterministic generator of variable names that the query does not use."""

    taken: frozenset[str]
    generated: set[str] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def name(self, purpose: str) -> str:
        """A new name that contains its purpose."""
        name = next(n for i in self.numbers if (n := f"_{purpose}{i}") not in self.taken)
        self.generated.add(name)
        return name


FormT = TypeVar("FormT", bound=ast.Syntax)


def without_blank_nodes(form: FormT, names: FreshNames) -> FormT:
    """The query with a variable for each blank node label.

    In a pattern both mean the same, but a label is local to one basic graph pattern, and a plan splits those (SPARQL
    1.1 section 4.1.4). The columns of a `SELECT DISTINCT *` of a sub-select become explicit, because DISTINCT compares
    the values of variables, but not of blank nodes.
    """
    if not has(form, ast.Blank):
        return form
    variable_of: dict[str, ast.Var] = {}

    def change(node: ast.Syntax) -> ast.Syntax:
        if isinstance(node, ast.Blank):
            if node.label not in variable_of:
                variable_of[node.label] = ast.Var(names.name("blank"))
            return replace(variable_of[node.label], span=node.span)
        generated_before = len(names.generated)
        changed = rebuild(node, change)
        if (
            isinstance(node, ast.SelectQuery)
            and isinstance(changed, ast.SelectQuery)
            and node.projection is None
            and node.reduction
            and len(names.generated) > generated_before
            and not is_hybrid(node)
        ):
            shown = projected(node)
            in_order = (v.name for v in walk(node) if isinstance(v, ast.Var) and v.name in shown)
            columns = list(dict.fromkeys(in_order)) or [names.name("blank")]
            return replace(changed, projection=tuple(ast.SelectItem(ast.Var(name)) for name in columns))
        return changed

    return rebuild(form, change)
