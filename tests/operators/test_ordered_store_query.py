"""ORDER BY over what only Oxigraph answers: any mixture of terms, which would abort the process in its own sort."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.errors import QueryLimitError
from hybridkg.rdf.order import value_key
from hybridkg.rdf.terms import XSD, NamedNode

VALUES = ("2.5", "1e3", "9", "10", '""', '"fish"@de', '"1999 films"', '"NaN"^^<http://www.w3.org/2001/XMLSchema#double>',
          '"ten"^^<http://www.w3.org/2001/XMLSchema#integer>', "true", "<http://e/x>")  # fmt: skip
NO_ORDER = ("2.5", "1e3", '""', '"fish"@de', '"1999 films"')
"""Oxigraph 0.5.13 aborts when it sorts 21 of these."""

PREFIX = "PREFIX : <http://e/> "
FLOAT = NamedNode(XSD + "float")


def large_numbers(random: Random, count: int) -> list[str]:
    """Numbers around 2 ** 53, where a double equals several integers and decimals; also NaN and infinities."""
    xsd, special = "http://www.w3.org/2001/XMLSchema#", ("NaN", "INF", "-INF", "0", "-0")
    near = [2**53 + random.randrange(-6, 7) for _ in range(count)]
    forms = ("{0}", "{0}.5", '"{0}"^^<{1}double>', '"9007199254740992"^^<{1}float>', '"{2}"^^<{1}double>')
    return [random.choice(forms).format(number, xsd, random.choice(special)) for number in near]


@pytest.fixture(scope="module")
def kb(tmp_path_factory) -> KnowledgeBase:
    """Without indexes, so that Oxigraph answers."""
    kb = KnowledgeBase.create(tmp_path_factory.mktemp("ordered") / "kb")
    choose = Random(1).choice
    triples = " ".join(f":s{n:03} :value {choose(VALUES)} ; :group {n % 7} ." for n in range(300))
    choose = Random(0).choice
    triples += " ".join(f":s{n:03} :mixed {choose(NO_ORDER)} ." for n in range(21))
    numbers = Random(0)
    forms = ("{0}", "{0}.5", "{1}e2", '"{0}"', '"{0} films"')
    varied = (numbers.choice(forms).format(numbers.randrange(3000), numbers.randrange(1, 9)) for _ in range(1500))
    triples += " ".join(f":t{n} :varied {value} ." for n, value in enumerate(varied))
    triples += " ".join(f":n{n} :large {value} ." for n, value in enumerate(large_numbers(Random(1), 400)))
    kb.update(f"{PREFIX} INSERT DATA {{ {triples} }}", index=False)
    return kb


def rows(kb: KnowledgeBase, query: str) -> list[tuple[str, ...]]:
    result = kb.query(PREFIX + query)
    return [tuple(str(row.term(name)) for name in result.columns) for row in result]


@pytest.mark.parametrize(("name", "count"), [("mixed", 21), ("value", 300)])
def test_a_mixture_of_terms_is_ordered_by_value(kb, name, count):
    found = kb.query(f"{PREFIX} SELECT ?s ?v {{ ?s :{name} ?v }} ORDER BY ?v ?s")
    terms = [(row.term("v"), row.term("s")) for row in found]
    assert len(terms) == count
    assert terms == sorted(terms, key=lambda pair: tuple(map(value_key, pair)))


@settings(max_examples=examples(12, 200), deadline=None)
@given(st.booleans(), st.integers(0, 310), st.none() | st.integers(0, 310))
def test_offset_and_limit_cut_the_ordered_rows(kb, descending, offset, limit):
    query = f"SELECT ?s ?v {{ ?s :value ?v }} ORDER BY {'DESC' if descending else 'ASC'}(?v) ?s"
    cut = f" OFFSET {offset}" + ("" if limit is None else f" LIMIT {limit}")
    assert rows(kb, query + cut) == rows(kb, query)[offset:][:limit]


def test_distinct_takes_the_first_of_equal_rows_also_where_the_key_is_no_column(kb):
    whole = [value for _, value in rows(kb, "SELECT ?s ?v { ?s :value ?v } ORDER BY DESC(?s)")]
    found = rows(kb, "SELECT DISTINCT ?v { ?s :value ?v } ORDER BY DESC(?s)")
    assert found == [(value,) for value in dict.fromkeys(whole)]
    assert rows(kb, "SELECT DISTINCT ?v { ?s :value ?v } ORDER BY DESC(?s) LIMIT 3 OFFSET 1") == found[1:4]


def test_keys_are_expressions_aggregates_and_variables_that_groups_lack(kb):
    by_text = rows(kb, "SELECT ?s { ?s :group ?g } ORDER BY (-?g) STR(?s) LIMIT 2")
    assert by_text == [("<http://e/s006>",), ("<http://e/s013>",)]
    groups = rows(kb, "SELECT ?g (COUNT(*) AS ?n) { ?s :group ?g } GROUP BY ?g ORDER BY DESC(COUNT(?s)) ?s DESC(?g)")
    assert [n.split('"')[1] for _, n in groups] == ["43"] * 6 + ["42"]
    assert [g.split('"')[1] for g, _ in groups] == ["5", "4", "3", "2", "1", "0", "6"]


def test_explain_shows_the_text_that_oxigraph_has(kb):
    assert "SELECT ?v ?s WHERE { ?s :value ?v . }" in str(
        kb.explain(f"{PREFIX} SELECT ?v {{ ?s :value ?v }} ORDER BY ?s")
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * {{ {{ SELECT ?s ?v {{ ?s :varied ?v }} ORDER BY {0} LIMIT 9 }} }}",
        "SELECT * {{ ?s :varied ?v {{ SELECT DISTINCT ?v {{ ?s :varied ?v }} ORDER BY {0} OFFSET 2 LIMIT 9 }} }}",
        "CONSTRUCT {{ ?s :p ?v }} {{ ?s :varied ?v }} ORDER BY {0} LIMIT 9",
        "DESCRIBE ?s {{ ?s :varied ?v }} ORDER BY {0} LIMIT 9",
    ],
)
@pytest.mark.parametrize("key", ["?v", "DESC(?v)"])
def test_oxigraph_does_not_abort_where_it_orders(kb, query, key):
    assert len(list(kb.query(PREFIX + query.format(key)))) >= 9


@pytest.mark.parametrize("order", ["ASC", "DESC"])
def test_oxigraph_does_not_abort_where_a_double_equals_several_integers(kb, order):
    def numbers(query: str) -> list[float]:
        literals = [row.term("v") for row in kb.query(PREFIX + query)]
        return [float(np.float32(one.value) if one.datatype == FLOAT else one.value) + 0.0 for one in literals]

    found = numbers(f"SELECT ?v {{ {{ SELECT ?v {{ ?s :large ?v }} ORDER BY {order}(?v) LIMIT 300 }} }}")
    every = numbers("SELECT ?v { ?s :large ?v }")
    first = sorted(every, key=lambda number: (number == number, number), reverse=order == "DESC")[:300]
    assert sorted(map(repr, found)) == sorted(map(repr, first))  # NaN equals itself as a text only


def test_a_sub_select_takes_the_first_by_value(kb):
    found = rows(kb, "SELECT ?v { { SELECT DISTINCT ?v { ?s :value ?v } ORDER BY DESC(?v) LIMIT 4 } }")
    assert {value for (value,) in found} == {
        '"fish"@de',
        '"ten"^^<http://www.w3.org/2001/XMLSchema#integer>',
        '""',
        '"1999 films"',
    }


def test_a_limit_needs_memory_for_no_more_rows_than_it_reaches(kb):
    query = "SELECT ?s ?v { ?s :value ?v } ORDER BY DESC(?v) ?s"
    whole = rows(kb, query)
    found = kb.query(f"{PREFIX} {query} OFFSET 3 LIMIT 20", max_rows=23)
    assert [(str(row.term("s")), str(row.term("v"))) for row in found] == whole[3:23]
    with pytest.raises(QueryLimitError):
        kb.query(f"{PREFIX} {query} OFFSET 3 LIMIT 21", max_rows=23)
    distinct = rows(kb, "SELECT DISTINCT ?v { ?s :value ?v } ORDER BY DESC(?s)")
    found = kb.query(f"{PREFIX} SELECT DISTINCT ?v {{ ?s :value ?v }} ORDER BY DESC(?s) LIMIT 5", max_rows=7)
    assert [(str(row.term("v")),) for row in found] == distinct[:5]


MOMENTS = ("-0044-03-15T12:00:00Z", "-0043-03-15T12:00:00Z", "0001-01-01T00:00:00Z", "2024-01-01T00:00:00Z")
SPANS = ("PT0S", "P2D", "P10D", "P41DT16H")


@pytest.mark.parametrize(
    ("strategy", "indexed"),
    [(None, False), (None, True), ("columns", True), ("oxigraph", True), ("reference", True)],
)
def test_moments_before_the_common_era_and_durations_are_ordered_by_value(tmp_path, strategy, indexed):
    kb = KnowledgeBase.create(tmp_path / "kb")
    triples = [f':m{n} :at "{text}"^^xsd:dateTime .' for n, text in enumerate(MOMENTS)]
    triples += [f':d{n} :takes "{text}"^^xsd:dayTimeDuration .' for n, text in enumerate(SPANS)]
    kb.update(f"{PREFIX} INSERT DATA {{ {' '.join(triples)} }}", index=indexed)
    for name, texts in (("at", MOMENTS), ("takes", SPANS)):
        for key, wanted in (("?v", texts), ("DESC(?v)", texts[::-1])):
            found = kb.query(f"{PREFIX} SELECT ?v {{ ?s :{name} ?v }} ORDER BY {key}", strategy=strategy)
            assert [row.term("v").value for row in found] == list(wanted)
