"""The canonical text: it parses back to the same tree, and Oxigraph reads it as we do."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridkg.errors import QueryCheckError, UnsupportedQueryError
from hybridkg.query import ast
from hybridkg.query.check import check
from hybridkg.query.parser import parse
from hybridkg.query.write import write

relaxed = settings(
    deadline=None,
    max_examples=200,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@relaxed
@given(data=st.data())
def test_every_tree_parses_back_from_its_text(trees, data):
    query = data.draw(trees.queries)
    text = write(query)
    assert parse(text) == query, text


@relaxed
@given(data=st.data())
def test_prefixes_shorten_the_text_but_not_its_meaning(trees, data):
    query = data.draw(trees.queries)
    text = write(query, prefixes={"e": "http://e/", "": "http://e/q#", "rdf": ast.RDF})
    assert parse(text) == query, text


@relaxed
@given(data=st.data())
def test_what_passes_the_checks_is_accepted_by_oxigraph(trees, data):
    query = data.draw(trees.plain)
    try:
        check(query)
    except (QueryCheckError, UnsupportedQueryError):
        return
    text = write(query)
    try:
        ox.Store().query(text)
    except SyntaxError as e:
        pytest.fail(f"{e}\n{text}")
    except (RuntimeError, OSError, ValueError):
        pass
