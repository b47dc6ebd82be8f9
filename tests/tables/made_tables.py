"""Generated tables, small, of the values that the rules of the guess tell apart."""

from __future__ import annotations

import csv
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import strategies as st

from hybridkg.errors import LoadError
from hybridkg.tables.inputs import guess_mapping, opened_tables, table_sources

TEXTS = ["a", "b c", 'with "quotes"', "back\\slash", "two\nlines", "tab\t", "éß", "中 あ", "\x7f", "x;y", " ", "%/?#"]

CELLS = {
    "integer": ["0", "7", "-12", "123456789012345678"],
    "decimal": ["1.5", "-0.25", "3"],
    "double": ["1e3", "2.5E-7", "4"],
    "boolean": ["true", "False", "TRUE"],
    "date": ["1999-12-31", "2024-02-29"],
    "moment": ["1999-12-31T23:59:59", "2000-01-01 00:00:00.5Z"],
    "web": ["http://e.org/a", "https://e.org/b?c=d#e"],
    "list": ["x|y", "y", "x|z|y"],
    "code": ["007", "+1", "1,5", "nan"],
    "text": TEXTS,
}
"""Cells of columns, by the name of the column; every one may be blank as well."""


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    """(header, rows): an `id` of its own in each row, and some columns of CELLS."""
    names = draw(st.lists(st.sampled_from(sorted(CELLS)), max_size=4, unique=True))
    count = draw(st.integers(0, 7))
    ids = draw(st.lists(st.sampled_from([*"abcdefgh", "a b", "é/%", "0"]), min_size=count, max_size=count, unique=True))
    columns = [draw(st.lists(st.sampled_from([*CELLS[name], ""]), min_size=count, max_size=count)) for name in names]
    return ["id", *names], [list(row) for row in zip(ids, *columns, strict=True)]


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]], delimiter: str = ",") -> Path:
    """Writes a file of separated values; returns its path."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *rows])
    return path


def loaded(value, **options) -> list[str]:
    """The triples of a file or a data frame as sorted N-Triples, by a guessed mapping."""
    tables = opened_tables([value])
    mapping = guess_mapping(value, **options)
    lines = b"".join(text for source in table_sources(tables, mapping) for text, _ in source.lines())
    return sorted(lines.decode().splitlines())


def refused(file, message) -> None:
    """Asserts that a file cannot be loaded, and that the error matches a pattern."""
    with pytest.raises(LoadError) as caught:
        loaded(file)
    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)


def changed_sheet(path, old: bytes, new: bytes):
    """A copy of a workbook with another text in its sheet."""
    copy = path.with_name(f"changed-{path.name}")
    with zipfile.ZipFile(path) as book, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as target:
        for name in book.namelist():
            text = book.read(name)
            if name.endswith("sheet1.xml"):
                assert old in text
                text = text.replace(old, new)
            target.writestr(name, text)
    return copy
