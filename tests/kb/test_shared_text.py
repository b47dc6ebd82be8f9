"""A text of a known shape is answered as if it were the first: rows, warnings, errors and plan."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg import HybridkgError, KnowledgeBase
from hybridkg.errors import ParameterError, QueryLimitError, QuerySyntaxError, UnknownNameError
from hybridkg.kb import parsed_query, shared_text
from hybridkg.kb.parsed_query import ParsedQuery
from hybridkg.kb.shared_text import SharedText, query_text
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.query.text_shape import CANONICAL_NAMES, MAX_SHARED_LENGTH, read_shape, restored

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
PREFIX = "PREFIX f: <http://example.org/films/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
HEADS = (
    "SELECT *",
    "SELECT ?x",
    "SELECT DISTINCT ?x ?y",
    'SELECT ?x (CONCAT(STR(?y), "!") AS ?str)',
    "SELECT (COUNT(*) AS ?count)",
    "ASK",
    "CONSTRUCT { ?x f:seen 7 }",
    "DESCRIBE ?x",
)
TAILS = (
    "",
    "LIMIT 3",
    "RANK BY ?s",
    "RANK BY ?s + 0.5 * ?y AS ?r LIMIT 2",
    "RANK BY ?s + IF(EXISTS { ?x f:director f:Villeneuve }, 1, 0)",
    "RANK BY rrf(?s, ?u)",
    "ORDER BY ?y ?x LIMIT 4 OFFSET 1",
    "GROUP BY ?y",
    "GROUP BY ?x HAVING (COUNT(*) > 1)",
)
ELEMENTS = (
    "?x f:director f:Scott .",
    "?x <http://example.org/films/director> ?d .",
    "f:Alien ?p ?x .",
    "?x a f:Film ; f:year ?y .",
    "?x f:director/rdfs:label 'Ridley Scott' .",
    "?x f:year 1979 , ?y .",
    "FILTER(?y > 1979)",
    "FILTER(?y -1 > 1979.5 || ?y = 1e3)",
    "FILTER(?y IN (1982, 1979, 2001))",
    'FILTER(LANG(?l) = "en")',
    'FILTER(REGEX(?l, "^A", "i"))',
    'FILTER(?l != "Alien"@en && ?l != "x"^^xsd:string)',
    "FILTER EXISTS { ?x f:director f:Scott }",
    "FILTER NOT EXISTS { ?x f:year 1979 }",
    "OPTIONAL { ?x f:year ?w FILTER(?w != 1982) }",
    "MINUS { ?x f:year 1979 }",
    '?x MATCH "space" AS ?s .',
    "?x MATCH 'crew ship' TOP 3 AS ?s .",
    '?x MATCH QUERY "label:space^2 -crew" AS ?s .',
    '?x MATCH ALL "mars \\"crew\\"" ON (label^2, abstract) AS ?s SNIPPET ?n .',
    '?x MATCH "mars" AS ?u SNIPPET ?m .',
    '?x MATCH "ship" USING bm25(k1=1.4) AS ?s .',
    '{ ?x f:director f:Scott } UNION { ?x MATCH "alien" AS ?s }',
    "{ SELECT ?x WHERE { ?x f:director f:Scott ; f:year ?v } }",
    '{ SELECT ?x WHERE { ?x MATCH "space" AS ?q } RANK BY ?q LIMIT 2 }',
    'BIND("1979"^^xsd:integer AS ?c2)',
    "BIND(?y + 10 AS ?d2)",
    "VALUES ?y { 1979 1982 UNDEF }",
    "VALUES (?x ?y) { (f:Alien 1979) (<http://example.org/films/Arrival> 2016) }",
    "GRAPH ?g { ?x f:year ?y }",
    "?x rdfs:label ?l .",
    "[] f:director ?x .",
    "?x ?p ( 1 2 ) .",
    "?x f:year 1979 ~ ?r {| f:source f:Alien |} .",
    '<< f:Alien f:year 1979 >> f:source "space" .',
    'FILTER(?l != "Alien"@en--ltr && ?l != "Alien"@en)',
    "BIND(<<( f:Alien f:year 1979 )>> AS ?t)",
    "VALUES ?y { <<( f:Alien f:year 1979 )>> 1979 }",
)
CONSTANTS = ("f:Scott", "f:Alien", "<http://example.org/films/Villeneuve>", "f:nowhere", "f:a\\.b", "rdf:type")
STRINGS = (
    '"space"', "'crew of a ship'", '"""long "text\n of lines"""', '""', '"caf\N{LATIN SMALL LETTER E WITH ACUTE}"',
    '"a\\tb"', '"spa*"', '"crew~"', '"label:x"', '"("',
)  # fmt: skip
NUMBERS = ("1979", "2016", "0", "10", "1.5", "2e0", "99999999999999999999999")
NAMES = ("x", "y", "film", "zeta", "a1", "\N{GREEK SMALL LETTER PI}", "titel", "s", "score")
TOKEN = re.compile(
    r'"""[\s\S]*?"""|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|<[^<>\s]*>|[?$]\w+|\b\w*:\w+|\b\d[\d.]*\b|\s+'
)


@st.composite
def queries(draw: st.DrawFn) -> str:
    """Queries of whole elements; names and constants are shared between them."""
    elements = draw(st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=4, unique=True))
    head, tail = draw(st.sampled_from(HEADS)), draw(st.sampled_from(TAILS))
    text = f"{head} {{ {' '.join(elements)} }} {tail}"
    return re.sub(r"\$(\w+)", r"?\1", text)


PROLOGUE = PREFIX + "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "


def mutated(text: str, seed: int) -> str:
    """Another text, mostly of the same shape: other names, constants and white space; at times with a mistake."""
    rng = random.Random(seed)
    names: dict[str, str] = {}

    def change(found: re.Match[str]) -> str:
        token = found[0]
        if token[0] in "?$":
            return token[0] + names.setdefault(token[1:], rng.choice((*NAMES, token[1:] + str(rng.randrange(3)))))
        if rng.random() < 0.5:
            return token
        if token[0] in "\"'":
            return rng.choice(STRINGS)
        if token[0] == "<" or ":" in token:
            return token if rng.random() < 0.6 else rng.choice(CONSTANTS)
        if token[0].isdigit():
            return rng.choice(NUMBERS)
        return rng.choice((" ", "\n  ", " # a comment\n", "\t"))

    text = TOKEN.sub(change, text)
    if rng.random() < 0.1:
        at = rng.randrange(len(text))
        text = text[:at] + text[at + 1 :]
    return (
        PROLOGUE if rng.random() < 0.8 else PROLOGUE.replace("f:", "g:", 1) + "PREFIX f: <http://example.org/films/> "
    ) + text


def outcome(work: Any) -> Any:
    try:
        return work()
    except HybridkgError as e:
        return type(e), e.render()


def answer(kb: KnowledgeBase, query: Any) -> Any:
    """All that a user sees of an answer."""

    def work() -> Any:
        result = kb.query(query)
        about = (
            result.requested,
            result.exact,
            result.strategy,
            result.shortfall,
            result.limits_reached,
            result.reranked,
        )
        warnings = [(w.code, w.render()) for w in result.warnings]
        rows = [(row.facts(), row.scores, row.rank_score) for row in result[:2]]
        try:
            why = [str(row.why()) for row in result[:1]]
        except Exception as e:  # the same kind of refusal
            why = [str(e)]
        cells = sorted(map(str, result.cells)) if result._ranked_by is None else [str(cells) for cells in result.cells]
        visible = [tuple(map(str, list(row.values()))) for row in result] if result._ranked_by else []
        return result.columns, result.score_names, result.boolean, about, warnings, rows, why, len(cells), visible

    return outcome(work)


def planned(kb: KnowledgeBase, query: ParsedQuery) -> Any:
    """Strategies with their estimated times, as `choose` sees them."""

    def work() -> Any:
        session = kb._current_session()
        plan = session.plan(session.bind(query, None, services=False), None, None)
        return plan.strategy, plan.cost, [(other.strategy, other.cost) for other in plan.rejected]

    return outcome(work)


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory, copy_films) -> KnowledgeBase:
    kb = KnowledgeBase.open(copy_films(tmp_path_factory.mktemp("shared") / "films.kb"))
    kb.set_prefixes({"kept": "http://example.org/films/"})
    return kb


@example(
    text='SELECT ?x { FILTER(REGEX(?l, "^A", "i")) VALUES (?x ?y) { (f:Alien 1979) (f:Scott 2016) } }',
    seeds=[0, 0, 0, 1],
)
@settings(max_examples=examples(18, 3000), deadline=None)
@given(queries(), st.lists(st.integers(0, 2**32), min_size=4, max_size=6))
def test_a_text_of_a_known_shape_is_answered_as_if_it_were_alone(films, text, seeds):
    for seed in seeds:
        other = mutated(text, seed)
        alone = outcome(lambda other=other: ParsedQuery(other))
        if not isinstance(alone, ParsedQuery):
            assert outcome(lambda other=other: query_text(other)) == alone
            continue
        shared = query_text(other)
        assert answer(films, shared) == answer(films, alone), other
        if isinstance(shared, SharedText):
            assert planned(films, shared) == planned(films, alone), other


@pytest.mark.parametrize("condition", ["?l != 'Alien'@en", "LANG(?l) = 'en'"])
def test_a_condition_on_an_unbound_variable_has_one_place_in_all_plans_of_a_shape(films, condition):
    """The values of the other condition decide whether a pattern can express it; those of this one never do."""
    for year in (1979, 1980, 1981):
        text = f"{PREFIX}SELECT * {{ ?x f:year ?y FILTER(?y - 1 > {year}.5 || ?y = 1e3) FILTER({condition}) }}"
        shared = query_text(text)
        assert planned(films, shared) == planned(films, ParsedQuery(text))
    assert isinstance(shared, SharedText)


def seen(kb: KnowledgeBase, prologue: str, text: str) -> Any:
    """All that a user sees of an answer and of its plan, apart from the lines of places."""
    whole = prologue + text

    def work() -> Any:
        result = kb.query(whole)
        own = [(w.code, w.message, w.hint, w.span and whole[w.span.start : w.span.end]) for w in result.warnings]
        cells = sorted(map(str, result.cells)) if result._ranked_by is None else [str(cells) for cells in result.cells]
        return result.columns, result.boolean, result.strategy, result.shortfall, own, cells

    try:
        return work(), kb.explain(whole).text(times=False)
    except HybridkgError as e:
        return type(e), e.message, e.hint, e.span and whole[e.span.start : e.span.end]


@settings(max_examples=examples(36, 2000), deadline=None)
@given(queries(), st.sampled_from(["", "kept"]))
def test_a_prefix_that_is_known_means_the_same_as_one_that_is_declared(films, text, name):
    text = re.sub(r"(?<![\w\\<])f:", f"{name}:", text)
    known, declared = seen(films, "", text), seen(films, PREFIX.replace("f:", f"{name}:", 1), text)
    # The namespace has two kept prefixes, and a declared one is preferred for abbreviations.
    assert repr(known).replace("kept:", ":") == repr(declared).replace("kept:", ":")


def test_the_third_text_of_a_shape_is_not_parsed(films, monkeypatch):
    def text(name: str, year: int, space: str = " ") -> str:
        return (
            f'{PREFIX}SELECT ?{name}{space}{{ ?{name} f:year {year} ; rdfs:label ?l FILTER(?l != "x{year}") }} LIMIT 4'
        )

    first = films.query(text("film", 1979))
    prefixes = snapshot_of(films).prefixes
    assert not isinstance(query_text(text("film", 1979), prefixes=prefixes), SharedText)
    assert isinstance(query_text(text("work", 2001), prefixes=prefixes), SharedText)
    films.query(text("work", 2001))
    monkeypatch.setattr(shared_text, "parse_shared", None)
    monkeypatch.setattr(parsed_query, "parse", None)
    assert films.query(text("film", 1979)).cells == first.cells
    other = films.query(text("zz", 2016, "\n\t "))
    assert other.columns == ("zz",)
    assert other.cells != first.cells
    with pytest.raises(TypeError):  # another LIMIT is another plan
        films.query(text("film", 1979).replace("LIMIT 4", "LIMIT 5"))


def test_names_are_those_of_the_text(films):
    def text(film: str, score: str) -> str:
        return f'SELECT ?{film} ?{score} {{ ?{film} MATCH "space crew" AS ?{score} }} RANK BY ?{score} LIMIT 2'

    films.query(text("a", "b"))
    films.query(text("c", "d"))
    result = films.query(text("zeta", "alpha"))
    assert result.columns == ("zeta", "alpha")
    row = result[0]
    assert list(row) == ["zeta", "alpha"]
    assert list(row.scores) == ["alpha"]
    assert "?alpha of" in str(row.why())
    assert row.rank_score == row.scores["alpha"]
    nothing = films.query('SELECT ?beta ?x { ?beta MATCH "qqqq" AS ?x } RANK BY ?x LIMIT 2')
    assert nothing.shortfall == "no entity matches the text of ?beta"


def test_a_warning_points_into_the_text(films):
    def text(name: str, space: str) -> str:
        return f"{PREFIX}SELECT ?{name} {{{space}?{name} f:nothing ?o }}"

    films.query(text("x", " "))
    films.query(text("yy", "  "))
    (warning,) = films.query(text("longer", " # a comment\n   ")).warnings
    assert "query:2:12" in warning.render()
    assert warning.render().count("^") == len("f:nothing")


def test_an_error_of_the_run_names_the_variables_of_the_text(films):
    def text(one: str, other: str) -> str:
        return f'SELECT ?{one} {{ ?{one} ?p ?o . ?{other} MATCH "space" AS ?s }} RANK BY ?s'

    for names in (("a", "b"), ("c", "d"), ("zeta", "alpha")):
        with pytest.raises(QueryLimitError) as raised:
            films.query(text(*names), max_rows=3)
        assert all(name not in raised.value.render() for name in CANONICAL_NAMES[:8])


def test_parameters_keep_their_names(films):
    def text(name: str) -> str:
        return f"{PREFIX}SELECT ?x {{ ?x f:year ${name} FILTER(STRLEN(STR(?x)) > 3) }}"

    for name in ("year", "other_year", "wanted"):
        prepared = films.prepare(text(name))
        assert prepared.parameters == (name,)
        assert len(prepared.query({name: 1979})) == len(films.query(text(name), {name: 1979})) > 0
        with pytest.raises(ParameterError, match="it uses: " + ", ".join(sorted((name, "x")))):
            prepared.query({"third": 1})


def test_other_canonical_names_in_a_message_stay():
    message = f"?{CANONICAL_NAMES[0]} is not <http://e/{CANONICAL_NAMES[200]}>"
    assert restored(message, ("film",)) == f"?film is not <http://e/{CANONICAL_NAMES[200]}>"


def test_equal_constants_are_equal_in_every_text_of_the_shape(films):
    template = PREFIX + "SELECT ?x { ?x f:year %d , %d }"
    assert read_shape(template % (1979, 1979)).key != read_shape(template % (1979, 1980)).key
    assert read_shape(template % (1982, 1983)).key == read_shape(template % (1979, 1980)).key


@pytest.mark.parametrize(
    "text",
    [
        "BASE <http://e/> SELECT ?x { ?x ?p <a> }",
        "EXPLAIN SELECT ?x { ?x ?p ?o }",
        "SELECT ?\\u0061 { ?a ?p ?o }",
        "SELECT ?x { ?x ?p <relative> }",
        "SELECT ?x { ?x e:undeclared ?o }",
        f"SELECT ?x {{ ?x ?p '{CANONICAL_NAMES[0]}' }}",
        f"SELECT ?x {{ ?x ?p '{'a' * MAX_SHARED_LENGTH}' }}",
        f"SELECT ?x {{ {' '.join(f'?v{n} ?p ?x .' for n in range(300))} }}",
        f"PREFIX e: <http://e/{'a' * 600}> SELECT ?x {{ ?x e:p ?o }}",
    ],
)
def test_texts_without_a_shape(text):
    assert read_shape(text) is None


def test_words_that_the_parser_reads_in_another_way_have_no_shared_tree(films):
    for _ in range(2):
        assert not isinstance(query_text('SELECT ?x { ?x MATCH "space" ON (own-field) AS ?s }'), SharedText)
        assert not isinstance(query_text('SELECT ?x { ?x MATCH "space" USING bm25(@../a.toml) AS ?s }'), SharedText)
    with pytest.raises(UnknownNameError, match="own-field"):
        films.query('SELECT ?x { ?x MATCH "space" ON (own-field) AS ?s }')


def test_only_declarations_declare(films):
    body = "SELECT ?x { ?x <http://example.org/films/director> f:%s }"
    films.query(PREFIX + body % "Kubrick")
    known = films.query(PREFIX + body % "Scott")
    assert len(known) > 0
    for text in (PREFIX + "# PREFIX f: <http://old.org/>\n" + body % "Scott", "# a\n" + PREFIX + body % "Scott"):
        assert films.query(text).cells == known.cells
    for text in (
        "#PREFIX f: <http://example.org/films/>\n" + body % "Scott",
        "PREFIXf:<http://example.org/films/>" + body % "Scott",
        PREFIX.replace("PREFIX f", "PREF\u0130X f") + body % "Scott",
    ):
        with pytest.raises(QuerySyntaxError):
            films.query(text)


def test_a_canonical_name_is_no_parameter(films):
    with pytest.raises(ParameterError, match="has no variable"):
        films.query(PREFIX + "SELECT ?x { ?x f:year ?y }", {CANONICAL_NAMES[1]: 1979})


def test_nothing_of_a_hostile_text_is_scanned_twice():
    commented = read_shape("#\n" * 9_000 + "SELECT ?x { ?x ?p ?y }")
    assert commented is not None
    assert commented.names == ("x", "p", "y")
    for word in ("a.", "'\\\\", "<a"):  # each could begin a token that reaches to the end
        assert read_shape("SELECT ?x { ?x ?p " + word * 6_000 + " }") is None
    unclosed = read_shape("SELECT ?x { ?x ?p " + "'\\' " * 4_000 + " }")
    assert unclosed is not None
    assert len(unclosed.key[0][-1]) > 10_000  # the rest is one token, which the parser refuses


def test_hostile_texts_do_not_fill_the_caches(films):
    for number in range(shared_text.MAX_TEXTS * 5 // 4):
        query_text(f"SELECT ?x {{ ?x ?p ?o . {'?x ?p ?o . ' * (number % 30)} FILTER(?o > {number}) }} LIMIT {number}")
    for cache in (shared_text._TEXTS, shared_text._FIXED, shared_text._SHARED):
        assert len(cache._items) <= shared_text.MAX_TEXTS
