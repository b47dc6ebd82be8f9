"""Serialiser of expressions, with only the parentheses that precedence requires."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridkg.query import ast
from hybridkg.query.write_terms import TermWriter, _number, _refuse, quoted

_OR, _AND, _RELATION, _SUM, _PRODUCT, _SIGN, _PRIMARY = range(1, 8)
"""Precedence of operators (productions 111-119)."""

_LEVEL = {
    "||": _OR,
    "&&": _AND,
    **dict.fromkeys(("=", "!=", "<", ">", "<=", ">="), _RELATION),
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
}

_LEFT_FLOOR = {op: level + 1 if level == _RELATION else level for op, level in _LEVEL.items()}
"""Operators are left-associative, except comparisons, which do not chain."""


class ExpressionWriter(TermWriter):
    """Writer of expressions and terms; `group` and `node` are defined with the patterns."""

    def group(self, group: ast.Group) -> None:
        raise NotImplementedError

    def node(self, node: Any) -> None:
        raise NotImplementedError

    def bracketed(self, expression: ast.Expression) -> None:
        self.add("(")
        self.expression(expression)
        self.add(")")

    def named(self, expression: ast.Expression, variable: ast.Var) -> None:
        """`(expression AS ?x)`."""
        self.add("(")
        self.expression(expression)
        self.as_variable("AS", variable)
        self.add(")")

    def separated(self, nodes: Sequence[ast.Syntax], separator: str) -> None:
        for i, node in enumerate(nodes):
            self.add(separator if i else "")
            self.node(node)

    def expression(self, node: ast.Expression, floor: int = _OR) -> None:
        """An expression, in parentheses where its level is below `floor`."""
        if _level(node) < floor:
            self.bracketed(node)
            return
        match node:
            case ast.Binary():
                self._binary(node)
            case ast.Unary(op, operand):
                # "- 5" is the negation of a number, "-5" is a number; the space keeps them apart.
                sign = op if op in ("!", "+", "-") else _refuse("operator", op)
                self.add(f"{sign} " if isinstance(operand, ast.Lit) else sign)
                self.expression(operand, _PRIMARY)
            case ast.In(operand, options, negated):
                self.expression(operand, _SUM)
                self.add(" NOT IN " if negated else " IN ")
                self.arguments(options)
            case ast.Call(function, arguments, distinct, base):
                if base is not None:
                    self.use_base(base)
                if isinstance(function, str):
                    self.add(function if function.replace("_", "").isalnum() else _refuse("function name", function))
                else:
                    self.add(self.iri(function.value))
                self.arguments(arguments, distinct)
            case ast.Exists(pattern, negated):
                self.add("NOT EXISTS " if negated else "EXISTS ")
                self.group(pattern)
            case ast.Aggregate():
                self._aggregate(node)
            case ast.RankFunction():
                self.rank_function(node)
            case _:
                self.term(node)

    def _binary(self, node: ast.Binary) -> None:
        """Iterates down the left side, because chains of operators lean to the left."""
        chain = [node]
        left = node.left
        while isinstance(left, ast.Binary) and _level(left) >= _LEFT_FLOOR[chain[-1].op]:
            chain.append(left)
            left = left.left
        self.expression(left, _LEFT_FLOOR[chain[-1].op])
        for link in reversed(chain):
            self.add(f" {link.op} ")
            self.expression(link.right, _LEVEL[link.op] + 1)

    def arguments(self, arguments: Sequence[ast.Expression], distinct: bool = False) -> None:
        self.add("(DISTINCT " if distinct else "(")
        for i, argument in enumerate(arguments):
            self.add(", " if i else "")
            self.expression(argument)
        self.add(")")

    def rank_function(self, node: ast.RankFunction) -> None:
        """`rrf(?a^2, ?b, k=60)`."""
        self.add((node.name if node.name.isidentifier() else _refuse("function name", node.name)) + "(")
        self._listed((*node.lists, *node.arguments), self._rank_argument)
        self.add(")")

    def _rank_argument(self, node: ast.RankedList | ast.NamedArgument) -> None:
        if isinstance(node, ast.NamedArgument):
            self.argument(node)
            return
        self.term(node.score)
        if node.weight is not None:
            self.add(f"^{_number(node.weight)}")

    def _aggregate(self, node: ast.Aggregate) -> None:
        self.add(node.name if node.name.replace("_", "").isalpha() else _refuse("aggregate", node.name))
        self.add("(DISTINCT " if node.distinct else "(")
        if node.argument is None:
            self.add("*")
        else:
            self.expression(node.argument)
        if node.separator is not None:
            self.add(f"; SEPARATOR={quoted(node.separator)}")
        self.add(")")


def _level(node: ast.Expression) -> int:
    if isinstance(node, ast.Binary):
        return _LEVEL.get(node.op) or _refuse("operator", node.op)
    if isinstance(node, ast.In):
        return _RELATION
    return _SIGN if isinstance(node, ast.Unary) else _PRIMARY
