"""Tables whose rows may be those of a table that was loaded earlier under another name: a copy, or a corrected file."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable

from hybridkg.interfaces.row_subject import RowSubject
from hybridkg.tables.names import class_name

_COPY = re.compile(
    r"(?:copy of )?(.+?)(?:[\s_.-]*(?:\(\d+\)|\bcopy|copy|\d+|v\d+|fixed|corrected|new|final|updated?))*", re.IGNORECASE
)
"""A name, and what is added to that of a copy: `products (1)`, `products-2`, `products_fixed`."""


def similar_table(new: RowSubject, earlier: Iterable[RowSubject]) -> RowSubject | None:
    """The earlier table with the most similar name among those with the same column of identifiers; None for none.

    >>> products = RowSubject("products", "sku", "", "http://e/Product/")
    >>> similar_table(RowSubject("products_fixed", "sku", "", "http://e/ProductsFixed/"), [products]) == products
    True
    """
    same = [one for one in earlier if one.column == new.column and one.start != new.start]
    return max(same, key=lambda one: difflib.SequenceMatcher(None, one.table, new.table).ratio(), default=None)


def is_copy(name: str, earlier: str) -> bool:
    """Whether the name of a table is that of a copy of an earlier one, or of another copy.

    >>> is_copy("products (1)", "products"), is_copy("orders-2025", "orders-2024"), is_copy("product_parts", "products")
    (True, True, False)
    """
    names = [found[1] for one in (name, earlier) if (found := _COPY.fullmatch(one))]
    return len(names) == 2 and class_name(names[0]) == class_name(names[1])


def class_of(row: RowSubject) -> str:
    """The name of the class of some rows, by their subjects; empty where they do not tell.

    >>> class_of(RowSubject("films", "id", "", "http://e/Movie/"))
    'Movie'
    >>> class_of(RowSubject("films", "id", "", "http://example.org/"))
    ''
    """
    found = re.search(r"[/#:]([^/#:]+)/$", re.sub(r"^\w+://[^/]*", "", row.start))
    return "" if found is None or row.end else found[1]


def class_option(table: str, row: RowSubject) -> str:
    """The option by which rows of a table become those of an earlier one, for a shell; empty where none does."""
    name = class_of(row)
    return f"--class {shlex.quote(f'{table}={name}')}" if name else ""


def copy_note(new: RowSubject | None, earlier: Iterable[RowSubject]) -> list[str]:
    """A remark about a table of a new class whose name is that of a copy of an earlier one."""
    known = [*earlier]
    if new is None or any(one.start == new.start for one in known):
        return []
    other = similar_table(new, [one for one in known if is_copy(new.table, one.table)])
    option = "" if other is None else class_option(new.table, other)
    if other is None or not option:
        return []
    return [
        f"{new.table!r} has the name of a copy of {other.table!r}, which was loaded earlier, and its rows become other "
        f"entities than the rows there; if they are the same: {option}"
    ]
