"""Ranges of numbers and years in facets: their counts are those of Oxigraph with the same FILTER."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.interfaces.statistics import Bucket
from hybridkg.kb.search.ranges import MAX_RANGES, boundaries
from hybridkg.kb.search.result import Facet, FacetValue
from hybridkg.kb.search.text import _facet_lines
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.rdf.terms import Literal

E = "http://e/"
WORDS = ("kettle", "red", "blue", "green", "tea", "nothing")
MEASURES = ("price", "made", "seen", "stock", "grade")


def graph() -> str:
    """120 products: a skewed decimal, dates, moments with a zone, integers with gaps, several grades, a number."""
    draw = random.Random(20261126)
    lines = []
    for n in range(120):
        grades = " , ".join(f"{draw.randint(-50, 50)}.{draw.randint(0, 9)}e0" for _ in range(draw.randint(1, 3)))
        odd = ' , "unknown"' if n % 10 == 0 else ""
        lines.append(
            f':p{n} a :Product ; rdfs:label "{draw.choice(WORDS[1:4])} kettle {n}" ; '
            f":price {draw.lognormvariate(3, 1.5):.2f}{odd} ; :stock {draw.choice([0, 0, 0, draw.randint(1, 4000)])} ; "
            f':made "{draw.randint(1890, 2024)}-0{draw.randint(1, 9)}-11"^^xsd:date ; :grade {grades} ; '
            f':seen "{draw.randint(2019, 2024)}-12-31T23:30:00-05:00"^^xsd:dateTime ; :sku {1000 + n} ; '
            f":colour :{draw.choice(['A', 'B'])} ."
        )
    return "\n".join(lines)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    path: Path = tmp_path_factory.mktemp("ranges") / "g.ttl"
    prefixes = (
        f"@prefix : <{E}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
        "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
    )
    path.write_text(prefixes + graph(), encoding="utf-8")
    with KnowledgeBase.temporary(path) as base:
        yield base


searches = st.tuples(
    st.lists(st.sampled_from(WORDS[:4]), min_size=1, max_size=2, unique=True).map(" ".join),
    st.sampled_from([(), (":colour :A",), (":price ?p . FILTER(?p < 30)",)]),
)


@settings(max_examples=examples(4, 60))
@given(searches)
def test_each_range_counts_what_oxigraph_counts_with_its_filter(kb, search):
    words, where = search
    found = kb.search(words, where=where, facets=True, limit=120)
    entities = " ".join(str(hit.entity) for hit in found)
    assert {facet.predicate for facet in found.facets if facet.ranges} <= {E + name for name in MEASURES}
    for facet in found.facets:
        for one in facet.ranges:
            rows = snapshot_of(kb).store.select(
                f"PREFIX : <{E}> SELECT (COUNT(DISTINCT ?e) AS ?n) {{ VALUES ?e {{ {entities} }} ?e {one.where} }}"
            )
            assert int(next(iter(rows.rows))[0].value) == one.count
            assert kb.query(one.query).cells[0][0].value == str(one.count)


@settings(max_examples=examples(3, 30))
@given(searches)
def test_the_condition_of_a_range_selects_the_entities_that_it_counts(kb, search):
    words, where = search
    for facet in kb.search(words, where=where, facets=True).facets:
        for one in facet.ranges[:2]:
            assert len(kb.search(words, where=(*where, one.where), limit=200)) == one.count


def test_many_numbers_and_dates_are_ranges_and_numbers_that_identify_are_no_facet(kb):
    facets = {facet.name: facet for facet in kb.search("kettle", facets=True).facets}
    assert ":sku" not in facets
    assert [one.label for one in facets[":made"].ranges] == [
        "below 1920", "1920 to 1940", "1940 to 1980", "1980 to 2000", "from 2000",
    ]  # fmt: skip
    assert facets[":seen"].ranges == ()
    assert len(facets[":seen"].values) == 6  # a few moments, each with many things
    ranges = facets[":price"].ranges
    assert 2 <= len(ranges) <= MAX_RANGES
    assert all(one.greatest == other.least for one, other in pairwise(ranges))
    assert ranges[0].where.startswith(":price ?price . FILTER(?price < ")
    data = facets[":price"].to_json()
    assert data["values"] == []
    assert set(data["ranges"][0]) == {"label", "min", "max", "count", "where", "query"}


numbers = st.one_of(
    st.integers(-1000, 1000).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e-3, 1e-3, allow_nan=False),
)


@settings(max_examples=examples(150, 3000))
@given(
    st.lists(st.tuples(numbers, numbers, st.integers(1, 100)), min_size=1, max_size=6), numbers, numbers, st.booleans()
)
def test_boundaries_are_few_ascending_inside_and_the_same_again(parts, one, other, whole):
    buckets = [Bucket(min(a, b), max(a, b), n, n) for a, b, n in parts]
    low, high = min(one, other), max(one, other)
    found = boundaries(buckets, low, high, whole=whole)
    assert len(found) < MAX_RANGES
    assert list(found) == sorted(set(found))
    assert all(Decimal(low) < cut <= Decimal(high) for cut in found)
    assert not whole or all(cut == cut.to_integral_value() for cut in found)
    assert found == boundaries(buckets, low, high, whole=whole)


@settings(max_examples=examples(60, 1000))
@given(
    st.lists(st.tuples(st.text("ab中", min_size=1, max_size=60), st.integers(1, 10**6)), min_size=1, max_size=8),
    st.integers(24, 120),
)
def test_no_line_of_a_facet_ends_between_a_value_and_its_count(values, width):
    shown = tuple(FacetValue(Literal(label), label, n) for label, n in values)
    lines = [line.plain for line in _facet_lines(Facet("http://e/p", ":p", 7, shown, ""), width)]
    assert all(cell_len(line) <= width for line in lines)
    first, *rest = lines
    assert first.startswith(":p (7):")
    assert all(line[:4] == "    " and not line[4:].removesuffix(" ·").replace(",", "").isdigit() for line in rest)
    items = " ".join([first[7:].strip(), *(line[4:] for line in rest)]).split(" · ")
    assert [item.replace(" ", "") for item in items if item] == [f"{label}{n:,}" for label, n in values]


def test_a_narrow_terminal_keeps_values_and_counts_together():
    shown = tuple(FacetValue(Literal(label), label, n) for label, n in (("science fiction", 1234), ("drama", 2)))
    lines = _facet_lines(Facet("http://e/p", ":genre", 1300, shown, ""), 30)
    assert [line.plain for line in lines] == [":genre (1,300):", "    science fiction 1,234 ·", "    drama 2"]
