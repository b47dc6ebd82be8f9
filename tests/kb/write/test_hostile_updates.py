"""Large, deep, odd and multiplying requests: done exactly, or refused within their limits."""

from __future__ import annotations

import threading
from typing import Any

import pyoxigraph as ox
import pytest
from rebuilt import quads_of

from hybridkg import KnowledgeBase
from hybridkg.errors import HybridkgError, QueryLimitError, QueryStoppedError
from hybridkg.kb.query_run import QueryRun
from hybridkg.store import changes

PREFIX = "PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
XSD = "http://www.w3.org/2001/XMLSchema#"

DATATYPES = {
    "integer": ("01", "+1", "-0", "9" * 30, "one", ""),
    "decimal": ("1.50", ".5", "1e3", "-00.0"),
    "double": ("1", "1e3", "INF", "NaN", "-0.0", "1.0E400", "x"),
    "float": ("1.10", "-INF", "abc"),
    "boolean": ("1", "true", "TRUE", "yes"),
    "date": ("2001-02-30", "2001-05-05", "2001-05-05Z", "2001-05-05+00:00", "soon"),
    "dateTime": ("2001-05-05T00:00:00Z", "2001-05-05T24:00:00Z", "2001-05-05T00:00:00.000+00:00"),
    "time": ("12:00:00", "25:00:00"),
    "duration": ("P1Y2M", "P1D", "PT0S", "forever"),
    "dayTimeDuration": ("PT24H", "P1Y"),
    "gYear": ("2001", "-0001", "01"),
    "byte": ("300", "1"),
    "unsignedInt": ("-1", "07"),
    "int": ("007", "99999999999"),
    "string": ("x", ""),
    "anyURI": ("http://e/ x",),
    "hexBinary": ("0aF",),
}
LITERALS = [f'"{text}"^^<{XSD}{name}>' for name, texts in DATATYPES.items() for text in texts]
LITERALS += [
    '"x"@EN',
    '"x"@en-gb',
    '"x"@De-At-1996',
    '"line\\nbreak \\"quoted\\" \\\\ \\u0000 \\U0001F41F"',
    '"\\uFFFE"',
    '"a\\rb"',
]
IRIS = [
    "http://e/ä",
    "http://e/日本",
    "http://e/a%20b",
    "http://e/a'b",
    "http://e/(x)",
    "urn:x",
    "http://e/#",
    "http://e/?a=b&c=d",
]


@pytest.fixture
def kb(tmp_path) -> KnowledgeBase:
    return KnowledgeBase.create(tmp_path / "kb")


def test_literals_and_iris_are_stored_as_oxigraph_stores_them_and_removed_as_they_were_written(kb):
    data = " ".join(f"<{iri}> :p {literal} ." for iri in IRIS[:2] for literal in LITERALS)
    data += " ".join(f"<{iri}> <{iri}> <{iri}> . GRAPH <{iri}> {{ <{iri}> :p <{iri}> }}" for iri in IRIS)
    store = ox.Store()
    store.update(f"{PREFIX} INSERT DATA {{ {data} }}")
    report = kb.update(f"{PREFIX} INSERT DATA {{ {data} }}")
    assert quads_of(kb) == frozenset(store)
    assert report.added == len(store) == kb.stats()["triples"]
    assert set(report.change.added) == set(store)
    assert kb.update(f"{PREFIX} INSERT DATA {{ {data} }}").added == 0
    with kb.transaction(dry_run=True) as t:
        assert t.update(f"{PREFIX} DELETE {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o }}").removed > 0
    assert kb.update(f"{PREFIX} DELETE DATA {{ {data} }}").removed == len(store)
    assert quads_of(kb) == frozenset()
    kb.verify()


def test_what_is_written_differently_and_stored_equal_is_the_same_triple(kb):
    assert (
        kb.update(f'{PREFIX} INSERT DATA {{ :a :p "01"^^xsd:integer , 1 , "+1"^^xsd:integer , "1"^^xsd:int }}').added
        == 1
    )
    assert kb.update(f"{PREFIX} INSERT DATA {{ :a :p 1 }}", index=False).added == 0
    assert kb.update(f'{PREFIX} DELETE DATA {{ :a :p 001 }} ; INSERT DATA {{ :a :q "x"@EN }}').removed == 1
    assert kb.update(f'{PREFIX} DELETE DATA {{ :a :q "x"@en }}').removed == 1
    report = kb.update(f'{PREFIX} DELETE {{ :a :p "1"^^xsd:integer }} INSERT {{ :a :p "01"^^xsd:integer }} WHERE {{}}')
    assert (report.added, report.removed) == (1, 0)
    again = kb.update(f'{PREFIX} DELETE {{ :a :p "1"^^xsd:integer }} INSERT {{ :a :p "01"^^xsd:integer }} WHERE {{}}')
    assert (again.added, again.removed, again.entities) == (0, 0, 0)


@pytest.mark.parametrize("count", [6_000, pytest.param(45_000, marks=pytest.mark.exhaustive)])
def test_a_long_request_is_one_commit(kb, count):
    data = " ".join(f":n{n} :p {n} ." for n in range(count))
    report = kb.update(f"{PREFIX} INSERT DATA {{ {data} }}", index=False)
    assert (report.added, report.entities) == (count, count)
    assert kb.stats()["triples"] == count
    assert kb.update(f"{PREFIX} DELETE WHERE {{ ?x :p ?n }}", index=False).removed == count
    assert quads_of(kb) == frozenset()


def test_200_000_triples_in_a_request_are_refused_with_a_better_way(kb):
    data = " ".join(f":n{n} :p {n} ." for n in range(200_000))
    with pytest.raises(QueryLimitError, match="at most 1,000,000") as caught:
        kb.update(f"{PREFIX} INSERT DATA {{ {data} }}", index=False)
    assert "hybridkg load KB FILE" in caught.value.hint
    assert quads_of(kb) == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        f"{PREFIX} INSERT {{ :a :p :b }} WHERE {'{' * 50_000}{'}' * 50_000}",
        f"{PREFIX} INSERT DATA {{ :a :p {'[ :p ' * 20_000} 1 {']' * 20_000} }}",
        f"{PREFIX} INSERT DATA {{ :a :p {'( ' * 20_000}{')' * 20_000} }}",
        f"{PREFIX} INSERT {{ :a :p ?x }} WHERE {{ BIND({'(' * 30_000}1{')' * 30_000} AS ?x) }}",
        f"{PREFIX} INSERT {{ :a :p ?x }} WHERE {{ BIND({'! ' * 30_000}true AS ?x) }}",
    ],
)
def test_deep_nesting_is_an_error_of_ours(kb, text):
    with pytest.raises(HybridkgError):
        kb.update(text)
    assert quads_of(kb) == frozenset()


def test_a_product_is_stopped_by_its_limits(kb):
    kb.update(f"{PREFIX} INSERT DATA {{ {' '.join(f':n{n} :p {n} .' for n in range(300))} }}", index=False)
    product = f"{PREFIX} INSERT {{ ?a :q ?d }} WHERE {{ ?a :p ?w . ?b :p ?x . ?c :p ?y . ?d :p ?z }}"
    with pytest.raises(QueryLimitError):
        kb.update(product, max_rows=10_000)
    with pytest.raises(QueryStoppedError):
        kb.update(product, timeout=0.05, max_rows=10_000_000)
    assert kb.stats()["triples"] == 300


def test_a_template_may_make_many_triples_of_each_solution(kb, monkeypatch):
    kb.update(f"{PREFIX} INSERT DATA {{ {' '.join(f':n{n} :p {n} .' for n in range(6))} }}", index=False)
    template = " ".join(f"?x :q{n} ?n ." for n in range(1_000))
    assert kb.update(f"{PREFIX} INSERT {{ {template} }} WHERE {{ ?x :p ?n }}", index=False).added == 6_000
    assert kb.update(f"{PREFIX} DELETE {{ {template} }} WHERE {{ ?x :p ?n }}", index=False).removed == 6_000


def test_more_triples_than_fit_in_memory_are_refused_and_nothing_changes(kb, monkeypatch):
    monkeypatch.setattr(changes, "MAX_CHANGED", 10)
    kb.update(f"{PREFIX} INSERT DATA {{ :a :p 1 , 2 , 3 , 4 , 5 , 6 , 7 }}", index=False)
    for text in (
        f"{PREFIX} INSERT {{ ?x :q ?n , 1 }} WHERE {{ ?x :p ?n }}",
        f"{PREFIX} INSERT DATA {{ :b :p 1 , 2 , 3 , 4 , 5 , 6 }} ; CLEAR DEFAULT",
        f"{PREFIX} COPY DEFAULT TO :g ; COPY DEFAULT TO :h",
    ):
        with pytest.raises(QueryLimitError, match="too many to be compared in memory"):
            kb.update(text, index=False)
        assert kb.stats()["triples"] == 7
    assert kb.update("CLEAR ALL", index=False).removed == 7


def test_a_time_limit_holds_while_a_template_is_filled(kb, monkeypatch):
    kb.update(f"{PREFIX} INSERT DATA {{ {' '.join(f':n{n} :p {n} .' for n in range(20))} }}", index=False)
    template, cancel = " ".join(f"?x :q{n} ?n ." for n in range(500)), threading.Event()
    answer = QueryRun.answer

    def late(*args: Any) -> Any:
        result = answer(*args)
        cancel.set()
        return result

    monkeypatch.setattr(QueryRun, "answer", late)
    with pytest.raises(QueryStoppedError, match="cancelled"):
        kb.update(f"{PREFIX} INSERT {{ {template} }} WHERE {{ ?x :p ?n }}", index=False, cancel=cancel)
    assert kb.stats()["triples"] == 20


def test_parameters_are_terms_whatever_they_say(kb):
    evil = '" } ; DROP ALL ; INSERT DATA { <x:a> <x:b> "'
    done = kb.update("INSERT DATA { <x:s> <x:p> $text }", {"text": evil}, index=False)
    assert done.added == 1
    (quad,) = quads_of(kb)
    assert quad.object.value == evil
    with pytest.raises(HybridkgError):
        kb.update("INSERT DATA { $s <x:p> 1 }", {"s": "no IRI"}, index=False)
