"""Occurrence of a pattern: in the default graph, in a named one, and the requests that it takes."""

from __future__ import annotations

import pytest

from hybridkg.kb.occurrence import occurs_in_a_graph


class Store:
    """Answers from a set of requests, and keeps the requests."""

    def __init__(self, *true: str):
        self.true, self.asked = true, []

    def ask(self, sparql):
        self.asked.append(sparql)
        return sparql in self.true


DEFAULT, NAMED = "ASK { ?s <e:p> ?o }", "ASK { GRAPH ?g { ?s <e:p> ?o } }"


@pytest.mark.parametrize(
    ("true", "occurs", "asked"),
    [((DEFAULT,), True, [DEFAULT]), ((NAMED,), True, [DEFAULT, NAMED]), ((), False, [DEFAULT, NAMED])],
)
def test_named_graphs_are_asked_only_where_the_default_graph_has_no_such_triple(true, occurs, asked):
    store = Store(*true)
    assert occurs_in_a_graph(store, "?s <e:p> ?o") is occurs
    assert store.asked == asked
