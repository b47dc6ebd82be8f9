"""Ranges of numbers and years in facets: their counts are those of Oxigraph with the same FILTER."""

from __future__ import annotations

import math
import random
import re
import struct
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


@settings(max_examples=examples(2, 60))
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


DOUBLES = ("NaN", "INF", "-INF", "-0.0E0", "1.7E308", "-1.7E308", "3.5E0", "-2.25E-7", "1.0E17")
PARTS = {"YEAR": 0, "MONTH": 1, "DAY": 2}
ZONES = ("", "Z", "-05:00", "+14:00")


def drawn(draw: random.Random, kind: str) -> str:
    """A literal of a kind in Turtle."""
    match kind:
        case "integer":
            return str(draw.randint(-50, 50))
        case "decimal":
            return f"{draw.randint(-300, 300) / 100:.2f}"
        case "double":
            return f'"{draw.choice(DOUBLES)}"^^xsd:double' if draw.random() < 0.3 else f"{draw.uniform(-1, 1)!r}e0"
        case "extreme":
            odd = draw.choice(["1.7e308", "-1.7e308", "9223372036854775807", "1e300", '"n/a"'])
            return odd if draw.random() < 0.3 else str(draw.randint(0, 99))
        case "largest":
            return str(2**63 - draw.randint(1, 40))
        case "near":
            return str(10**17 + draw.randint(0, 900))
        case "float":
            return f'"{draw.choice(["0.1", "INF", draw.uniform(0, 9)])}"^^xsd:float'
        case "years":
            return f'"{draw.randint(1, 2600):04}-{draw.randint(1, 12):02}-15{draw.choice(ZONES)}"^^xsd:date'
        case "months":
            return f'"2024-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}{draw.choice(ZONES)}"^^xsd:date'
        case "days":
            return f'"2024-02-{draw.randint(1, 28):02}"^^xsd:date' if draw.random() < 0.9 else '"unknown"'
        case _:
            return f'"2024-02-03T{draw.randint(0, 23):02}:30:00"^^xsd:dateTime'


def measured(literal: str, part: str) -> int | Decimal | float | None:
    """What a range compares, in plain Python; None for a literal without it."""
    text, _, datatype = literal.partition("^^")
    text = text.strip('"')
    if part:
        date = re.match(r"(\d+)-(\d+)-(\d+)", text)
        return date and int(date[PARTS[part] + 1])
    if text == "n/a" or "date" in datatype:
        return None
    if datatype == "xsd:float":
        return struct.unpack("f", struct.pack("f", float(text)))[0]
    return float(text) if "e" in text or datatype else Decimal(text)


KINDS = ("integer", "decimal", "double", "extreme", "largest", "near", "float", "years", "months", "days", "one day")


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(2, 30))])
def test_ranges_of_any_numbers_and_dates_count_what_plain_python_counts(tmp_path, seed):
    draw = random.Random(seed)
    for kinds in (KINDS[:4], KINDS[4:8], KINDS[8:]):
        values = {
            E + f"m{kind.replace(' ', '')}": [
                [drawn(draw, kind)] + [drawn(draw, kind)] * (n % 7 == 0) for n in range(40)
            ]
            for kind in kinds
        }
        lines = [
            f'<{E}{n}> rdfs:label "kettle" . <{E}{n}> <{iri}> {" , ".join(own)} .'
            for iri, each in values.items()
            for n, own in enumerate(each)
        ]
        path = tmp_path / f"{kinds[0]}.ttl"
        path.write_text(
            "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
            "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n" + "\n".join(lines),
            encoding="utf-8",
        )
        with KnowledgeBase.temporary(path) as base:
            facets = {facet.predicate: facet for facet in base.search("kettle", facets=True).facets}
        for iri, each in values.items():
            if iri in (E + "moneday", E + "mlargest"):  # equal as days, or as doubles
                assert iri not in facets or not facets[iri].ranges
                continue
            ranges = facets[iri].ranges
            assert len(ranges) > 1, iri
            part = next((one for one in PARTS if one in ranges[0].where), "")
            known = [[one for text in own if (one := measured(text, part)) is not None] for own in each]
            finite = [one for own in known for one in own if math.isfinite(one)]
            for end, exact in ((ranges[0].least, min(finite)), (ranges[-1].greatest, max(finite))):
                assert end == (exact if isinstance(end, int) else pytest.approx(float(exact), rel=1e-7)), iri
            for one in ranges:
                bounds = dict(re.findall(r'(>=|<) "?(-?[\d.eE+-]+)', one.where.partition("FILTER")[2]))
                low, high = Decimal(bounds.get(">=", "-Infinity")), Decimal(bounds.get("<", "Infinity"))
                inside = [any(low <= v and (v < high or "<" not in bounds) for v in own if v == v) for own in known]
                assert one.count == sum(inside), one


def test_dates_of_one_month_are_ranges_of_days_and_those_of_one_year_of_months(tmp_path):
    path = tmp_path / "g.ttl"
    days = " ".join(
        f'<{E}{n}> <http://www.w3.org/2000/01/rdf-schema#label> "kettle" ; '
        f'<{E}seen> "2024-01-{n:02}"^^xsd:date ; <{E}made> "1999-{n:02}-05"^^xsd:date .'
        for n in range(1, 13)
    )
    path.write_text(f"@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . {days}", encoding="utf-8")
    with KnowledgeBase.temporary(path) as base:
        facets = {facet.predicate: facet for facet in base.search("kettle", facets=True).facets}
        assert len(base.search("kettle", where=facets[E + "made"].ranges[1].where, limit=20)) == 2
    assert [(one.label, one.count) for one in facets[E + "seen"].ranges] == [
        ("below 2024-01-04", 3),
        ("2024-01-04 to 2024-01-06", 2),
        ("2024-01-06 to 2024-01-08", 2),
        ("2024-01-08 to 2024-01-10", 2),
        ("from 2024-01-10", 3),
    ]
    assert [one.label for one in facets[E + "made"].ranges][:2] == ["below 1999-04", "1999-04 to 1999-06"]


numbers = st.one_of(
    st.integers(-1000, 1000).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e-3, 1e-3, allow_nan=False),
)


@settings(max_examples=examples(90, 3000))
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


@settings(max_examples=examples(36, 1000))
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
