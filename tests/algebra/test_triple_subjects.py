"""Conditions on the subjects of triple terms change no answer, and spare Oxigraph the terms that it cannot make."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from generated_triple_terms import Reified, rows
from hypothesis import example, given
from hypothesis import strategies as st

from hybridkg.algebra.triple_subjects import with_node_subjects
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.query.walk import walk
from hybridkg.query.write import write


@given(st.integers(0, 2**32))
@example(14625)
def test_no_query_fails_and_none_has_another_answer(seed):
    drawn, store = Reified(seed), ox.Store()
    store.extend(drawn.data())
    text = drawn.query().replace("_:", "?b")
    ours, theirs = rows(store, write(with_node_subjects(parse(text).form))), rows(store, text)
    assert not isinstance(ours, str)
    assert ours == theirs or isinstance(theirs, str)


def test_some_queries_fail_without_the_conditions():
    failed = []
    for seed in range(80):
        drawn, store = Reified(seed), ox.Store()
        store.extend(drawn.data())
        failed.append(isinstance(rows(store, drawn.query().replace("_:", "?b")), str))
    assert any(failed)


@pytest.mark.parametrize(
    ("pattern", "conditions"),
    [
        ("?s :p ?o {| :q 1 |}", 0),
        ("?s :p ?o {| :q 1 |} . ?x :p ?s", 1),
        ("?s :p ?x OPTIONAL { << ?x :p ?o >> :q ?s }", 1),
        ("VALUES ?x { 1 } ?r :q <<( ?x :p <<( :a :b 1 )>> )>>", 1),
        ("?r :q <<( :a :p ?x )>> FILTER NOT EXISTS { << ?x :q 1 >> }", 1),
        ("?x :p* ?y . << ?x :q 1 >>", 1),
        ("?x :p ?y", 0),
    ],
)
def test_only_what_may_be_a_literal_has_a_condition(pattern, conditions):
    form = parse(f"PREFIX : <http://e/> SELECT * {{ {pattern} }}").form
    changed = with_node_subjects(form)
    filters = [node for node in walk(changed) if isinstance(node, ast.Binary)]
    assert len(filters) == conditions
    assert (changed is form) == (not conditions)
