"""Names that a query does not use, and names for what it leaves unnamed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeVar

from hybridkg.query import ast
from hybridkg.query.walk import rebuild


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
    apart (SPARQL 1.1 section 4.1.4).
    """
    variable_of: dict[str, ast.Var] = {}

    def change(node: ast.Syntax) -> ast.Syntax:
        if isinstance(node, ast.Blank):
            if node.label not in variable_of:
                variable_of[node.label] = ast.Var(names.name("blank"))
            return replace(variable_of[node.label], span=node.span)
        return rebuild(node, change)

    return rebuild(form, change)
