"""No module calls `np.unique` for the distinct values alone: it hashes from numpy 2.3 on (storage/distinct.py).

With indexes, inverse or counts, or along an axis, it sorts.
"""

from __future__ import annotations

import ast

from package_sources import PACKAGE, files, tree


def hashes(node: ast.AST) -> bool:
    """Whether a node is a call of `np.unique` without another result.

    >>> [hashes(ast.parse(f"np.unique({text})").body[0].value) for text in ("a", "a, return_counts=True", "a, axis=0")]
    [True, False, False]
    """
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "unique"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "np"
        and not node.keywords
    )


def test_no_module_hashes_for_distinct_values() -> None:
    found = [
        f"{file.relative_to(PACKAGE.parent)}:{node.lineno}"
        for file in files()
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Call) and hashes(node)
    ]
    assert not found
