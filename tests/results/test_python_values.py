"""A value of a result is what rdflib makes of it."""

from __future__ import annotations

from typing import Any

import pytest
import rdflib

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


@pytest.mark.parametrize(
    ("text", "name"),
    [("-0043-03-15T12:00:00Z", "dateTime"), ("-0043-03-15", "date"), ("12024-01-01", "date"), ("ten", "integer")],
)
def test_a_literal_without_a_python_value_is_logged_for_own_code_of_the_user_only(caplog, text, name):
    term = Literal(text, datatype=NamedNode(XSD + name))
    assert str(to_rdflib(term)) == to_python(term) == text
    assert not caplog.records
    rdflib.Literal(text, datatype=rdflib.URIRef(XSD + name))
    assert [record.name for record in caplog.records] == ["rdflib.term"]
