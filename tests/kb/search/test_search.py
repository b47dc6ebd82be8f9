"""A search is a query: its rows are those of the query that it shows, one for each entity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg import KnowledgeBase, UnknownNameError, UserError
from hybridkg.errors import HybridkgError, IndexMissingError, QuerySyntaxError
from hybridkg.kb.search.conditions import read_conditions
from hybridkg.kb.search.result import COLUMNS
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.rdf.terms import RDF_TYPE, NamedNode

FILMS = "http://example.org/films/"
WORDS = ("space", "crew", "policeman", "artificial", "scott", "science", "film", "two", "Kubrick", "1979")
CONDITIONS = (
    ":genre ?genre",
    ":genre :Drama",
    ":year ?year . FILTER(?year > 1970)",
    ":director/:bornIn ?where",
    ":genre [ rdfs:label ?name ]",
    ":genre ?score ; :director ?passage",
    "rdfs:label ?value ; :year ?count",
    ':director [ :bornIn "Japan" ]',
)
"""Some hold in several ways, some use the names of the query's own variables."""

searches = st.tuples(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    st.lists(st.sampled_from(["Film", ":Director", f"<{FILMS}Film>"]), max_size=2, unique=True),
    st.lists(st.sampled_from(CONDITIONS), max_size=2, unique=True),
)


@pytest.fixture(scope="module")
def kb(copy_films: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(copy_films(tmp_path_factory.mktemp("search") / "films.kb")) as base:
        yield base


def made(tmp_path: Path, turtle: str) -> KnowledgeBase:
    path = tmp_path / "data.ttl"
    path.write_text(
        f"@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . {turtle}", encoding="utf-8"
    )
    return KnowledgeBase.temporary(path)


def satisfying(kb: KnowledgeBase, types: list[str], where: list[str]) -> set[str]:
    """The subjects that satisfy the conditions, by Oxigraph alone."""
    names = {"Film": ":Film", ":Director": ":Director"}
    branches = [f"?entity a {names.get(one, one)}" for one in types] or ["?entity ?any ?thing"]
    typed = " UNION ".join(f"{{ {branch} }}" for branch in branches)
    header = f"PREFIX : <{FILMS}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>"
    conditions = " ".join(f"FILTER EXISTS {{ ?entity {one} }}" for one in where)
    rows = snapshot_of(kb).store.select(f"{header} SELECT DISTINCT ?entity {{ {typed} {conditions} }}").rows
    return {str(row[0]) for row in rows}


def matching(kb: KnowledgeBase, words: str) -> set[str]:
    return {str(row.term("x")) for row in kb.query("SELECT ?x { ?x MATCH $words }", {"words": words})}


@settings(max_examples=examples(9, 300))
@given(searches)
def test_a_search_is_the_query_that_it_shows(kb, search):
    words, types, where = search
    found = kb.search(words, types=types, where=where, limit=5)
    rows = kb.query(found.query)
    assert [hit.entity for hit in found] == [row[0] for row in rows.cells]
    assert [hit.score for hit in found] == [row.scores[rows.columns[1]] for row in rows]


@settings(max_examples=examples(9, 300))
@given(searches)
def test_each_entity_that_matches_and_satisfies_the_conditions_is_one_hit(kb, search):
    words, types, where = search
    found = kb.search(words, types=types, where=where, limit=1000)
    expected = matching(kb, words) & satisfying(kb, types, where)
    assert Counter(str(hit.entity) for hit in found) == Counter(expected)


@settings(max_examples=examples(5, 200))
@given(searches)
def test_facets_count_what_oxigraph_counts_over_the_matching_entities(kb, search):
    words, types, where = search
    found = kb.search(words, types=types, where=where, facets=True, limit=1)
    expected = matching(kb, words) & satisfying(kb, types, where)
    assert found.matches == len(expected)
    for facet in found.facets:
        rows = snapshot_of(kb).store.select(
            f"SELECT ?value (COUNT(DISTINCT ?e) AS ?n) {{ VALUES ?e {{ {' '.join(sorted(expected))} }} "
            f"?e <{facet.predicate}> ?value }} GROUP BY ?value"
        )
        slow = {value: int(n.value) for value, n in rows.rows}
        if facet.ranges:
            continue  # the laws of ranges are in test_ranges.py
        assert {value.term: value.count for value in facet.values} == slow
        assert [row[0] for row in kb.query(facet.query).cells] == [value.term for value in facet.values]
        assert [value.count for value in facet.values] == sorted(slow.values(), reverse=True)


@settings(max_examples=examples(24, 1000))
@given(
    st.lists(st.sampled_from([*WORDS, "+", "-", "(", ")", '"', "*", "~1", "^2", ":", "\\", "AND", "NOT", " ", "\n"]))
)
def test_the_words_of_a_search_are_plain_words(kb, parts):
    text = "".join(parts)
    if not text.strip():
        return
    found = kb.search(text, limit=50)
    rows = kb.query("SELECT ?x ?s { ?x MATCH $text AS ?s } RANK BY ?s", {"text": text})
    assert [(hit.entity, hit.score) for hit in found] == [(row.term("x"), row.scores["s"]) for row in rows]


def test_a_hit_has_label_types_passage_score_and_reasons(kb):
    (hit,) = kb.search("potatoes")
    assert hit.label == "The Martian"
    assert hit.iri == f"{FILMS}TheMartian"
    assert hit.types == (f"{FILMS}Film",)
    assert (hit.short_iri, hit.short_types) == (":TheMartian", (":Film",))
    assert "grows **potatoes**" in hit.passage
    (reason,) = hit.reasons
    assert (reason.field, reason.words) == ("description", ("potatoes",))
    assert reason.contribution == pytest.approx(hit.score)


def test_the_reasons_add_up_to_the_score(kb):
    for hit in kb.search("space crew science fiction scott"):
        assert sum(reason.contribution for reason in hit.reasons) == pytest.approx(hit.score)
        assert [r.contribution for r in hit.reasons] == sorted((r.contribution for r in hit.reasons), reverse=True)


@pytest.mark.parametrize("name", ["Film", "film", f"{FILMS}Film", f"<{FILMS}Film>", ":Film"])
def test_a_type_is_an_iri_a_prefixed_name_or_a_local_name(kb, name):
    assert "a :Film ." in kb.search("space", types=name).query


def test_a_type_is_found_by_its_label(tmp_path):
    with made(tmp_path, ':Q5 rdfs:label "human being" . :a a :Q5 ; rdfs:label "Ada" .') as kb:
        assert [hit.label for hit in kb.search("ada", types="Human being")] == ["Ada"]


@pytest.mark.parametrize("name", ["film", "Bildwerk", "œuvre"])
def test_a_type_is_found_by_its_label_in_any_language(tmp_path, name):
    labels = '"film"@en , "Bildwerk"@de , "œuvre"@fr'
    with made(tmp_path, f':Q5 rdfs:label {labels} . :a a :Q5 ; rdfs:label "Ada" .') as kb:
        assert [hit.label for hit in kb.search("ada", types=name)] == ["Ada"]


@pytest.mark.parametrize("name", ["humann", "Menschh"])
def test_a_misspelled_label_of_a_type_is_an_error_with_the_near_class(tmp_path, name):
    with made(tmp_path, ':Q5 rdfs:label "human"@en , "Mensch"@de . :a a :Q5 ; rdfs:label "Ada" .') as kb:
        with pytest.raises(UnknownNameError) as e:
            kb.search("ada", types=name)
        assert e.value.hint == "did you mean :Q5 ('human', 1 instance)"


def test_a_text_of_a_search_that_is_no_string_is_an_error_that_says_so(kb):
    with pytest.raises(UserError) as e:
        kb.search(["kettle"])
    assert e.value.message == "the text of a search is a string, not a list"
    assert "hybridkg" not in e.value.hint


def test_an_unknown_type_is_an_error_with_near_names_and_counts(kb):
    with pytest.raises(UnknownNameError) as e:
        kb.search("space", types="Filmm")
    assert e.value.message == "no entity has the type 'Filmm'"
    assert e.value.hint == "did you mean :Film (15 instances)"
    with pytest.raises(UnknownNameError, match="no prefix 'a:'"):
        kb.search("space", types="a:Film")
    with pytest.raises(UnknownNameError) as e:
        kb.search("space", types="wdt:Film")
    assert ":Film (15 instances)" in e.value.hint
    with pytest.raises(UnknownNameError) as e:
        kb.search("space", types="zzzz")
    assert e.value.hint == "there are :Film (15 instances), :Director (8 instances), rdfs:Class (2 instances)"


@pytest.mark.parametrize("name", ["", " ", "<>", "-"])
def test_a_type_without_a_letter_is_no_type(kb, name):
    with pytest.raises(UnknownNameError, match="no entity has the type"):
        kb.search("space", types=[name])


def test_the_unnamed_prefix_is_listed_with_its_colon(kb):
    with pytest.raises(UnknownNameError, match="known: :, dbo:"):
        kb.search("space", types="a:Film")


def test_an_ambiguous_type_is_an_error_that_lists_the_meanings(tmp_path):
    with made(tmp_path, ':a a :Tool . :b a <http://f/Tool> , <http://f/tool> ; rdfs:label "saw" .') as kb:
        with pytest.raises(UnknownNameError) as e:
            kb.search("saw", types="Tool")
        assert e.value.message.startswith("the type 'Tool' has 2 meanings here: ")
        assert "<http://f/Tool>" in e.value.message or "f:Tool" in e.value.message
        assert [hit.label for hit in kb.search("saw", types="tool")] == ["saw"]  # the case tells


@pytest.mark.parametrize(
    ("fragment", "at", "message"),
    [
        (":year }", 6, "a triple needs a subject"),
        ("nope:year 1979", 0, "the prefix 'nope:' is not declared"),
        (":year 1979 . ?entity MATCH 'a'", 13, "a MATCH cannot stand here"),
        (":year 1979 . OPTIONAL { ?entity :genre ?g }", 13, "only triples and FILTER can stand here"),
        (":year 1979 } LIMIT 1 #", 22, '"}" cannot stand here'),
        (":year 1979 } VALUES ?x { 1", 0, "this is more than conditions of an entity"),
        (":year 1979 } UNION { ?entity :year 1980", 13, "patterns stand inside the braces"),
        (":year 1979 . { ?entity :genre ?g }", 13, "only triples and FILTER can stand here"),
        (":year 1979 . FILTER EXISTS { ?entity MATCH 'a' }", 29, "a MATCH cannot stand here"),
        (":year", 5, ""),
        ("", 0, ""),
        ("OPTIONAL { ?entity :genre ?g }", 0, "only triples and FILTER can stand here"),
        ("FILTER(?p < 3", 13, ""),
        ("PREFIX f: <http://e/> g:year 1", 22, "the prefix 'g:' is not declared"),
    ],
)
def test_a_wrong_condition_has_its_caret_in_the_fragment(kb, fragment, at, message):
    with pytest.raises(HybridkgError) as e:
        kb.search("space", where=[":genre ?g", fragment])
    assert message in e.value.message
    assert e.value.source is not None
    assert (e.value.source.name, e.value.source.text) == ("where", fragment)
    assert e.value.span is not None
    assert e.value.span.start == at


@pytest.mark.parametrize(
    ("fragment", "at", "hint"),
    [
        ("year < 1980", 5, "write a property and a variable, then a filter: :year ?p . FILTER(?p < 1980)"),
        (":years <= 1980", 7, "write a property and a variable, then a filter: :year ?p . FILTER(?p <= 1980)"),
        (
            f"<{FILMS}year> < ?p",
            32,
            "write a property and a variable, then a filter: :year ?value . FILTER(?value < ?p)",
        ),
        ("?y < 1980", 3, "write a property and a variable, then a filter: :property ?y . FILTER(?y < 1980)"),
        ("label='Alien'", 5, "write a property and a value: rdfs:label 'Alien'"),
        ("year ?p", 0, "did you mean :year?"),
        ("nothing-like-it 5", 0, "list what there is: hybridkg schema KB; in Python: kb.schema()"),
    ],
)
def test_a_comparison_or_a_bare_word_as_a_condition_is_answered_with_the_right_form(kb, fragment, at, hint):
    with pytest.raises(HybridkgError) as e:
        kb.search("space", where=fragment)
    assert e.value.hint == hint
    assert e.value.span is not None
    assert e.value.span.start == at


def test_an_error_behind_a_good_beginning_is_that_of_the_grammar(kb):
    with pytest.raises(HybridkgError) as e:
        kb.search("space", where=f"<{FILMS}genre> <{FILMS}Drama> ; =")
    assert "comparison" not in e.value.message


def test_a_condition_may_be_a_filter_alone_or_name_the_entity(kb):
    def found(*where: str) -> list[str]:
        return sorted(hit.label for hit in kb.search("space crew", where=where, limit=50))

    late = found(":year ?y . FILTER(?y > 1970)")
    assert found(":year ?y", "FILTER(?y > 1970)") == found("?entity :year ?y . FILTER(?y > 1970)") == late
    assert 0 < len(late) < len(found())
    assert found("FILTER NOT EXISTS { ?entity :year ?y . FILTER(?y > 1970) }") == sorted({*found()} - {*late})


def test_a_condition_may_declare_its_prefixes_and_end_with_a_comment(kb):
    found = kb.search("space", where=f"PREFIX f: <{FILMS}> f:year 1979 # of that year")
    assert [hit.label for hit in found] == ["Alien"]


def test_blank_nodes_of_several_fragments_are_several():
    conditions = read_conditions(["<http://e/p> []", "<http://e/p> []"], {})
    first, second = (element.items[0].object for element in conditions.elements)
    assert first != second


def test_a_graph_pattern_that_uses_the_names_of_the_query_keeps_its_meaning(kb):
    found = kb.search("space crew", where=":genre ?score ; :director ?passage ; :year ?entity_")
    assert len(found) == 4
    assert "?score_" in found.query
    assert "?passage_" in found.query


def test_facets_have_types_and_properties_of_few_values_with_labels(kb):
    found = kb.search("space crew", facets=True, limit=1)
    assert (len(found), found.matches) == (1, 4)
    kinds, genres = found.facets
    assert (kinds.predicate, kinds.name) == (RDF_TYPE, "type")
    assert [(value.label, value.count) for value in kinds.values] == [(":Film", 4)]
    assert genres.name == ":genre"
    assert [(v.label, v.count) for v in genres.values] == [("science fiction", 4), ("drama", 2), ("thriller", 1)]
    assert genres.values[0].term == NamedNode(f"{FILMS}ScienceFiction")


def test_nothing_found_is_answered_with_near_words(kb):
    found = kb.search("asstronaut pluto")
    assert not len(found)
    assert found.advice == ("no text has 'asstronaut'; did you mean 'astronaut'?", "no text has 'pluto'")
    assert found.summary == "no entity matches, exact"


def test_a_word_that_no_text_has_is_named_where_others_match_too(kb):
    found = kb.search("space 99999 crew zyzzyva")
    assert len(found) > 1
    assert found.advice == ("no text has '99999'", "no text has 'zyzzyva'")
    assert kb.search("space the crew").advice == ()
    assert kb.search("the zyzzyva").advice == ("no text has 'zyzzyva'",)


def test_a_full_page_of_hits_does_not_say_that_there_are_no_more(kb):
    n = len(matching(kb, "space crew"))
    assert kb.search("space crew", limit=n + 1).summary == f"{n} entities (all that match), exact"
    for limit in (1, 2, n):
        noun = "entity" if limit == 1 else "entities"
        assert kb.search("space crew", limit=limit).summary == f"the best {limit} {noun} (more may match), exact"
        counted = kb.search("space crew", limit=limit, facets=True)
        assert counted.summary == f"{limit} {noun} ({n} match), exact"


def test_a_word_of_another_language_is_no_slip_of_itself(tmp_path):
    with made(tmp_path, ':a rdfs:label "شبكة"@ar .') as kb:
        found = kb.search("شبكة")
        assert found.advice == ("""'شبكة' is in texts tagged @ar: add --language ar (in Python: language="ar")""",)
        assert len(kb.search("شبكة", language="ar")) == 1


@pytest.mark.parametrize("word", ["München", "münchen", "Munchen"])
def test_the_language_of_the_texts_with_a_word_is_named_in_place_of_the_word_itself(tmp_path, word):
    with made(tmp_path, ':a rdfs:label "München"@de , "Munich"@en . :b rdfs:label "Monaco di Baviera"@it .') as kb:
        (line,) = kb.search(word).advice
        assert not kb.search(word).result.warnings
        assert line == f"""{word!r} is in texts tagged @de: add --language de (in Python: language="de")"""
        assert len(kb.search(word, language="de")) == 1
        (warning,) = kb.query(f'SELECT ?x {{ ?x MATCH "{word}" }}').warnings
        assert (warning.code, warning.hint) == ("W116", f'name the language: "{word}"@de')
        assert not kb.query(f'SELECT ?x {{ ?x MATCH "{word}"@de }}').warnings
        assert kb.search("xylophone").advice == ("no text has 'xylophone'",)


def test_nothing_found_because_of_a_condition_is_answered_with_the_count_without_it(kb):
    found = kb.search("space", types="Director", where=":year 1000")
    assert found.advice == (
        f"{len(matching(kb, 'space'))} entities match the words without the type and the conditions",
    )


def test_an_entity_without_a_label_shows_its_shortened_iri(tmp_path):
    with made(tmp_path, ':a a :Thing ; :note "red fish" . :b :note "blue fish" ; rdfs:label "B"@de , "Bee"@en .') as kb:
        assert [hit.label for hit in kb.search("fish red")] == [":a", "Bee"]


def test_a_document_that_is_not_in_the_graph_is_named_by_its_title(tmp_path):
    (tmp_path / "d.jsonl").write_text('{"id": "http://e/d", "title": "A red fish", "body": "swims"}\n')
    with KnowledgeBase.create(tmp_path / "d.kb") as kb:
        kb.load(text=tmp_path / "d.jsonl")
        (hit,) = kb.search("swims")
        assert (hit.label, hit.types) == ("A red fish", ())


def test_a_blank_node_is_a_hit_too(tmp_path):
    with made(tmp_path, '[] a :Thing ; rdfs:label "red fish" .') as kb:
        (hit,) = kb.search("fish", types="Thing", facets=True)
        assert hit.iri.startswith("_:")
        assert (hit.label, hit.types) == ("red fish", ("http://e/Thing",))


def test_operators_count_where_the_text_is_a_query_string(kb):
    found = kb.search("+space -crew", query_string=True)
    assert {str(hit.entity) for hit in found} == matching(kb, "space") - matching(kb, "crew")
    with pytest.raises(HybridkgError, match="this quote is not closed"):
        kb.search('"space', query_string=True)


def test_a_text_without_words_or_an_impossible_limit_is_an_error(kb):
    with pytest.raises(QuerySyntaxError, match="there is no word to search for"):
        kb.search("  ")
    for limit in (0, -1, 10_001, "3", 2.5, True):
        with pytest.raises(UserError, match="the limit of a search"):
            kb.search("space", limit=limit)


def test_a_knowledge_base_without_a_text_index_says_how_to_build_one(tmp_path):
    with KnowledgeBase.create(tmp_path / "e.kb") as kb, pytest.raises(IndexMissingError, match="no text index"):
        kb.search("space")


def test_near_adds_similarity_by_rrf(copy_films, tmp_path):
    with KnowledgeBase.open(copy_films(tmp_path / "films.kb")) as kb:
        with pytest.raises(IndexMissingError):
            kb.search("space crew", near=True)
        kb.index(encoder="lsa")
        found = kb.search("space crew", near=True, types="Film", limit=4)
        assert "rrf(?words, ?similarity)" in found.query
        assert [hit.entity for hit in found] == [row[0] for row in kb.query(found.query).cells]
        assert all(hit.reasons[-1].field == "similarity" for hit in found)
        assert all(hit.score < 0.05 for hit in found)
        assert "NEAR" not in kb.search("space crew").query
        found = kb.search("the", near=True, types="Film")  # no word of the vectors
        assert not len(found)
        assert found.advice == ("9 entities match the words; no vector is near them, so search without similarity",)


def test_html_escapes_the_data_and_marks_the_words(tmp_path):
    with made(tmp_path, ':a rdfs:label "<script>alert(1)</script> red" ; a :T .') as kb:
        html = kb.search("red", facets=True)._repr_html_()
        assert "<script>" not in html
        assert "<mark>red</mark>" in html
        assert '<a href="http://e/a" title="http://e/a">' in html
        assert "SELECT ?entity" in html


def test_the_text_has_no_control_characters_of_the_data(tmp_path):
    with made(tmp_path, r':a rdfs:label "\u001b[31mred" ; :note "fish\u202e" .') as kb:
        text = str(kb.search("red fish"))
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_rows_and_json_have_what_the_hits_have(kb):
    found = kb.search("space crew", facets=True)
    rows = found.rows()
    assert rows.columns == COLUMNS
    assert [row["label"].value for row in rows] == [hit.label for hit in found]
    assert [row.rank_score for row in rows] == [hit.score for hit in found]
    data = found.to_json()
    assert data["query"] == found.query
    assert data["matches"] == 4
    assert [hit["label"] for hit in data["hits"]] == [hit.label for hit in found]
    assert data["facets"][0]["values"] == [{"value": f"<{FILMS}Film>", "label": ":Film", "count": 4}]


def test_a_time_limit_holds_for_a_search(kb):
    assert kb.search("space", timeout=60)[0].label == "2001: A Space Odyssey"
    with pytest.raises(UserError, match="timeout"):
        kb.search("space", timeout=-1)


def test_an_index_that_is_behind_is_told_with_every_result(tmp_path):
    (tmp_path / "more.ttl").write_text('<http://e/b> <http://e/name> "blue fish" .')
    with made(tmp_path, ':a rdfs:label "red fish" .') as kb:
        assert not kb.search("fish").notes
        kb.load(tmp_path / "more.ttl", index=False)
        found = kb.search("fish")
        note = "the text index is older than the graph"
        assert note in str(found)
        assert note in found._repr_html_()
        assert found.to_json()["stale_indexes"] == ["text"]


WIKIDATA = """
@prefix wd: <http://www.wikidata.org/entity/> . @prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
wd:Q1 a wikibase:Item ; rdfs:label "Ada Lovelace" ; wdt:P31 wd:Q5 .
wd:Q2 a wikibase:Item ; rdfs:label "Ada, a language" ; wdt:P31 wd:Q9143 .
wd:Q3 a wikibase:Item , wd:Q5 ; rdfs:label "Ada Yonath" ; wdt:P31 wd:Q5 .
wd:Q5 a wikibase:Item ; rdfs:label "human" . wd:Q9143 rdfs:label "programming language" .
"""


def test_a_type_is_one_by_any_of_the_predicates_of_the_profile(tmp_path):
    with made(tmp_path, WIKIDATA) as kb:
        for name in ("human", "wd:Q5", "Q5"):
            found = kb.search("ada", types=name, facets=True)
            assert {hit.label for hit in found} == {"Ada Lovelace", "Ada Yonath"}
        assert found.hits[0].short_types[0] == "human"
        assert {hit.label for hit in kb.search("ada", types=["programming language", "human"])} == {
            "Ada Lovelace", "Ada Yonath", "Ada, a language",
        }  # fmt: skip
        assert len(kb.search("ada", types="Item")) == 3
        by_rdf, by_p31 = kb.search("ada", facets=True).facets[:2]
        assert (by_rdf.name, by_p31.name) == ("type by rdf:type", "type by wdt:P31")
        assert by_p31.counts == (("human", 2), ("programming language", 1))
        with pytest.raises(UnknownNameError) as e:
            kb.search("ada", types="humann")
        assert "wd:Q5 ('human', 2 instances)" in e.value.hint


def test_a_type_by_a_predicate_that_the_profile_does_not_list_is_named_with_the_condition_that_works(tmp_path):
    profile = tmp_path / "p.ttl"
    profile.write_text(
        "@prefix hk: <https://w3id.org/hybridkg/ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        '<> a hk:Profile ; hk:fields ( [ hk:name "label" ; hk:path rdfs:label ] ) .'
    )
    with made(tmp_path, WIKIDATA) as kb:
        kb.index(profile)
        with pytest.raises(UnknownNameError) as e:
            kb.search("ada", types="programming language")
        assert e.value.message == (
            "no entity has the type 'programming language' by rdf:type, but by wdt:P31: "
            "wd:Q9143 ('programming language', 1 instance)"
        )
        assert e.value.hint.startswith("add --where 'wdt:P31 wd:Q9143' (in Python: where='wdt:P31 wd:Q9143'); with ")
        assert "hk:types ( rdf:type wdt:P31 )" in e.value.hint
        assert [hit.label for hit in kb.search("ada", where="wdt:P31 wd:Q9143")] == ["Ada, a language"]


def test_the_entities_of_a_profile_are_instances_by_its_predicates_of_classes(tmp_path):
    profile = tmp_path / "p.ttl"
    profile.write_text(
        "@prefix hk: <https://w3id.org/hybridkg/ns#> . @prefix wd: <http://www.wikidata.org/entity/> .\n"
        "@prefix wdt: <http://www.wikidata.org/prop/direct/> .\n"
        '<> a hk:Profile ; hk:types ( wdt:P31 ) ; hk:entities wd:Q9143 ; hk:fields ( [ hk:name "all" ; hk:rest '
        "hk:Literals ] ) ."
    )
    with made(tmp_path, WIKIDATA) as kb:
        kb.index(profile)
        assert [hit.label for hit in kb.search("ada")] == ["Ada, a language"]
