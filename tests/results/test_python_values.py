"""A value of a result is what rdflib makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from hybridkg.rdf.terms import XSD, Literal, NamedNode, to_python, to_rdflib

WRITTEN = (
    "7", "-0", "+007", " 7 ", "1_000", "7.0", "1e3", "-1E-2", "INF", "-INF", "NaN", "nan", "", "x",
    "\u0663", "9" * 5_000,
)  # fmt: skip


@pytest.mark.parametrize("datatype", ["double", "integer", "decimal", "boolean", "string"])
@pytest.mark.parametrize("text", WRITTEN)
def test_a_literal_is_the_value_that_rdflib_reads_or_its_text(text: str, datatype: str) -> None:
    term = Literal(text, datatype=NamedNode(XSD + datatype))
    want: Any = to_rdflib(term).toPython()
    if hasattr(want, "n3"):
        want = text
    assert repr(to_python(term)) == repr(want)
    assert type(to_python(term)) is type(want)
