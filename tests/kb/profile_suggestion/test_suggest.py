"""A suggested profile is a profile, the same for the same graph, and says from what it has been made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg import KnowledgeBase, LoadError, StorageError
from hybridkg.entities.profile.profile import Profile
from hybridkg.entities.profile.profile_reader import load_profile
from hybridkg.kb.profile_suggestion.figures import SAMPLE, PredicateFigures
from hybridkg.kb.profile_suggestion.kinds import PredicateKind, judge
from hybridkg.rdf.terms import Literal, NamedNode

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
LONG = "one two three four five six seven eight nine ten eleven twelve thirteen"
GRAPH = f"""
@prefix : <http://e/> . @prefix rdfs: <{RDFS}> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:a1 a :Thing ; rdfs:label "First thing" ; :abstract "{LONG} a" ; :code "T-0001" ; :page "http://x/1" ;
  :hash "0123456789abcdef0123456789abcdef01" ; :colour "red" ; :year 1999 ; :maker :m1 ; :other <http://x/9f1> .
:a2 a :Thing ; rdfs:label "Second thing"@en , "Zweites Ding"@de ; :abstract "{LONG} b" ; :code "T-0002" ;
  :page "http://x/2" ; :hash "1123456789abcdef0123456789abcdef01" ; :colour "red" ; :year 2000 ; :maker :m1 ;
  :other <http://x/9f2> .
:a3 a :Thing ; rdfs:label "Third thing" ; :abstract "{LONG} c" ; :code "T-0003" ; :page "http://x/3" ;
  :hash "2123456789abcdef0123456789abcdef01" ; :colour "red" ; :year 2000 ; :maker :m2 ; :other <http://x/9f3> .
:m1 a :Maker ; rdfs:label "Ada Maker" . :m2 a :Maker ; rdfs:label "Bob Maker" .
"""


def suggested(kb: KnowledgeBase, tmp_path: Path) -> Profile:
    """The suggested profile, as the reader reads it."""
    path = tmp_path / "suggested.ttl"
    path.unlink(missing_ok=True)
    kb.suggest_profile().save(path)
    return load_profile(path)


@pytest.fixture
def kb(tmp_path: Path):
    (tmp_path / "g.ttl").write_text(GRAPH, encoding="utf-8")
    with KnowledgeBase.create(tmp_path / "g.kb") as base:
        base.load(tmp_path / "g.ttl", index=True)
        yield base


def test_each_predicate_goes_where_its_values_belong(kb, tmp_path):
    profile = suggested(kb, tmp_path)
    fields = {field.name: field for field in profile.fields}
    assert list(fields) == ["label", "abstract", "identifiers", "attributes", "related", "types"]
    assert profile.labels == (f"{RDFS}label",)
    assert set(profile.ignore) == {"http://e/page", "http://e/hash", "http://e/other"}
    assert set(profile.entities) == {"http://e/Thing", "http://e/Maker"}
    assert (fields["identifiers"].analyzer, fields["label"].weight) == ("identifier", 3)
    assert not fields["label"].local_name


def test_the_file_shows_an_example_and_the_figures_of_each_field(kb):
    text = str(kb.suggest_profile())
    assert (
        "# rdfs:label: 5 nodes (100%), 100% of the values distinct, 2.0 words, languages de 17%, en 17%, each" in text
    )
    assert 'hk:languages ( "' in text
    assert f'# :abstract: 3 nodes (60%), 100% of the values distinct, 14.0 words; e.g. "{LONG[:59]}…"' in text
    assert '#   :page: addresses; e.g. "http://x/2"' in text
    assert '; e.g. "T-0002"' in text
    assert "# :maker: 3 nodes (60%), 67% of the values distinct, 100% of the linked nodes have a label" in text
    assert "counts from the columns of the projection" in text


def test_the_suggested_profile_indexes_the_graph_as_it_is(kb, tmp_path):
    path = tmp_path / "p.ttl"
    kb.suggest_profile().save(path)
    kb.index(path)
    assert kb.search("T-0002")[0].label in ("Second thing", "Zweites Ding")
    assert kb.search("ada maker", types="Thing")[0].reasons[0].field == "related"
    assert not len(kb.search("0123456789abcdef0123456789abcdef01"))
    assert all(field["tokens"] for field in kb.stats()["fields"])
    with pytest.raises(StorageError, match="there is a file"):
        kb.suggest_profile().save(path)


def test_the_same_graph_gives_the_same_text_whatever_the_index(kb, tmp_path):
    first = kb.suggest_profile()
    path = tmp_path / "p.ttl"
    first.save(path)
    kb.index(path)
    assert kb.suggest_profile() == first
    other = KnowledgeBase.temporary(tmp_path / "g.ttl")
    assert other.suggest_profile() == first
    other.close()


def test_without_a_projection_it_reads_samples_of_the_store_and_says_so(kb, tmp_path):
    with_columns = suggested(kb, tmp_path)
    with KnowledgeBase.create(tmp_path / "bare.kb") as bare:
        bare.load(tmp_path / "g.ttl", index=False)
        assert bare.suggest_profile().source.startswith("counted in the store; ")
        assert suggested(bare, tmp_path).fields == with_columns.fields
        assert suggested(bare, tmp_path).ignore == with_columns.ignore


def test_the_films_have_their_fields(copy_films: Callable[[Path], Path], tmp_path):
    with KnowledgeBase.open(copy_films(tmp_path / "films.kb")) as kb:
        profile = suggested(kb, tmp_path)
        assert [field.name for field in profile.fields] == ["label", "comment", "attributes", "related", "types"]
        assert profile.entities == ()  # the genres have no class
        assert "# hk:entities :Film , :Director ;" in str(kb.suggest_profile())


def test_a_graph_without_text_has_no_profile(tmp_path):
    (tmp_path / "g.ttl").write_text("<http://e/a> <http://e/p> <http://e/b> .")
    with KnowledgeBase.temporary(tmp_path / "g.ttl") as kb, pytest.raises(LoadError, match="no text"):
        kb.suggest_profile()
    with KnowledgeBase.create(tmp_path / "e.kb") as empty, pytest.raises(LoadError, match="no text"):
        empty.suggest_profile()


hostile = st.one_of(
    st.text(max_size=30),
    st.sampled_from(['"] ) . <x:a> <x:b> "', "\n hk:fields ( ) .", "\u2028x", "\r", "# x", "\x1b[31m", '"""', "\\"]),
)


@settings(max_examples=examples(5, 100))
@given(
    st.dictionaries(
        st.sampled_from(["p", "Q", "1", "é", "name", "a-b", "label", "x.y"]),
        st.lists(hostile, min_size=1, max_size=4),
        min_size=1,
    )
)
def test_values_and_names_of_the_data_never_become_syntax(tmp_path_factory, values):
    lines = []
    for number, (name, texts) in enumerate(values.items()):
        subject, predicate = NamedNode(f"http://e/s{number}"), NamedNode(f"http://e/{name}")
        lines += [
            f"{subject} {predicate} {Literal(text)} ."
            for text in texts
            if text.encode("utf-8", "replace").decode() == text
        ]
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "g.nt").write_text("\n".join([*lines, '<http://e/z> <http://e/z> "z" .']), encoding="utf-8", newline="\n")
    with KnowledgeBase.create(folder / "g.kb") as kb:
        kb.load(folder / "g.nt", index=False)
        assert suggested(kb, folder).fields


def figures(texts: list[str], *, triples: int = 0, predicate: str = "http://e/p") -> PredicateFigures:
    n = triples or len(texts)
    return PredicateFigures(predicate, n, n, len(texts), 0.0, tuple(map(Literal, texts)))


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["Blade Runner", "The Shining", "Seven Samurai"], PredicateKind.LABEL),
        ([f"{LONG} {n}" for n in range(3)], PredicateKind.LONG),
        (["http://a/b", "https://c"], PredicateKind.ADDRESS),
        (["S0366", "T1055.001", "G0032"], PredicateKind.IDENTIFIER),
        (["0af0ca99-357d-4ba1-805f-674fdfb7bef9"], PredicateKind.OPAQUE),
        (["red", "green"], PredicateKind.SHORT),
        (["9.99", "12.50", "100"], PredicateKind.SHORT),
        (["EUR 5.00", "EUR 7.25", "EUR 12"], PredicateKind.SHORT),
        (["250 ml", "1.5 kg", "40 %"], PredicateKind.SHORT),
        (["2024-01-31", "2023-12-01"], PredicateKind.SHORT),
        (["17", "4", "1999"], PredicateKind.SHORT),
        (["00017", "00004", "01999"], PredicateKind.IDENTIFIER),
        (["4006381333931", "9780306406157", "73513537"], PredicateKind.IDENTIFIER),
        (["978-3-16-148410-0", "978-0-306-40615-7"], PredicateKind.IDENTIFIER),
    ],
)
def test_the_kind_of_a_predicate_is_told_by_its_values(texts, kind):
    assert judge(figures(texts), len(texts)).kind is kind


def test_names_that_repeat_are_no_labels_unless_the_predicate_says_so():
    assert judge(figures(["United States", "New Zealand"], triples=20), 20).kind is PredicateKind.SHORT
    assert judge(figures(["United States"], triples=20, predicate="http://e/name"), 20).kind is PredicateKind.LABEL


def test_a_large_graph_is_read_in_samples(tmp_path):
    lines = [f'<http://e/s{n}> <http://e/note> "text number {n}" .' for n in range(3 * SAMPLE)]
    (tmp_path / "g.nt").write_text("\n".join(lines) + "\n")
    with KnowledgeBase.temporary(tmp_path / "g.nt") as kb:
        from hybridkg.kb.profile_suggestion.figures import figures_of
        from hybridkg.kb.snapshot import snapshot_of

        (note,) = figures_of(snapshot_of(kb)).predicates
        assert (note.triples, note.objects, len(note.literals)) == (3 * SAMPLE, 3 * SAMPLE, SAMPLE)


SKOS = "http://www.w3.org/2004/02/skos/core#"
PRODUCTS = """id,name,description
1,Red kettle,A kettle for two litres of water with a whistle
2,Blue kettle,A kettle that heats one litre of water in a minute
3,Toaster,Toasts two slices of bread at once and keeps them warm
4,Tea pot,Holds one litre of tea and keeps it warm for an hour
"""


def test_a_description_of_one_line_is_a_text_and_no_name(tmp_path):
    (tmp_path / "products.csv").write_text(PRODUCTS)
    with KnowledgeBase.temporary(tmp_path / "products.csv") as kb:
        profile = suggested(kb, tmp_path)
    assert profile.labels == (f"{RDFS}label", "http://example.org/name")
    assert [field.name for field in profile.fields][:2] == ["label", "description"]


@pytest.mark.parametrize("indexed", [True, False])
def test_labels_are_in_the_order_of_how_well_they_name(tmp_path, indexed):
    """The predicate of more nodes comes first only among those that name alike."""
    node = """<x:{n}> <http://e/motto> "In vino veritas {n}" ; <http://e/slogan> "We keep the promise number {n}" ;
      <http://e/alias> "Thing{n}" ; <http://e/title> "Thing {n}" ; <http://schema.org/name> "Thing {n}" ;
      skos:altLabel "T{n}" .
    """
    few = f'<x:1> rdfs:label "One" ; skos:prefLabel "One" ; <http://e/description> "In short {1}" .'
    graph = f"@prefix skos: <{SKOS}> . @prefix rdfs: <{RDFS}> ."
    (tmp_path / "g.ttl").write_text(graph + "".join(node.replace("{n}", str(n)) for n in range(4)) + few)
    with KnowledgeBase.create(tmp_path / "g.kb") as kb:
        kb.load(tmp_path / "g.ttl", index=indexed)
        labels = suggested(kb, tmp_path).labels
    assert labels[:4] == (f"{RDFS}label", f"{SKOS}prefLabel", "http://schema.org/name", "http://e/title")
    assert labels[4:] == ("http://e/alias", f"{SKOS}altLabel", "http://e/motto", "http://e/slogan")


def test_predicates_that_are_not_read_are_in_the_field_of_the_rest(tmp_path, monkeypatch):
    monkeypatch.setattr("hybridkg.kb.profile_suggestion.figures.MAX_PREDICATES", 1)
    (tmp_path / "g.nt").write_text(
        "".join(f'<http://e/{n}> <{RDFS}label> "Thing {n}" .\n' for n in range(3))
        + '<http://e/1> <http://e/p> "rare" .'
    )
    with KnowledgeBase.temporary(tmp_path / "g.nt") as kb:
        assert "# and 1 predicates of fewer triples" in str(kb.suggest_profile())
        assert "attributes" in [field.name for field in suggested(kb, tmp_path).fields]


INTEGER, DECIMAL, DOUBLE = (
    NamedNode(f"http://www.w3.org/2001/XMLSchema#{n}") for n in ("integer", "decimal", "double")
)


@pytest.mark.parametrize("datatype", [DECIMAL, DOUBLE])
@pytest.mark.parametrize("name", ["code", "id", "price", "p"])
def test_a_decimal_never_identifies(datatype, name):
    values = tuple(Literal(f"{n}.5", datatype=datatype) for n in range(20))
    assert judge(PredicateFigures(f"http://e/{name}", 20, 20, 20, 0.0, values), 20).kind is PredicateKind.VALUE


@pytest.mark.parametrize(
    ("name", "distinct", "kind"),
    [
        ("productId", 100, PredicateKind.IDENTIFIER),
        ("sku", 100, PredicateKind.IDENTIFIER),
        ("sku", 60, PredicateKind.VALUE),  # several products have one, so it is none
        ("population", 100, PredicateKind.VALUE),
        ("stock", 100, PredicateKind.VALUE),
    ],
)
def test_an_integer_identifies_if_it_is_nearly_unique_and_the_name_says_so(name, distinct, kind):
    values = tuple(Literal(str(n), datatype=INTEGER) for n in range(distinct))
    assert judge(PredicateFigures(f"http://e/{name}", 100, 100, distinct, 0.0, values), 100).kind is kind


OBO = """
@prefix : <http://e/GO_> . @prefix obo: <http://purl.obolibrary.org/obo/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> . @prefix wd: <http://www.wikidata.org/entity/> .
obo:IAO_0000115 rdfs:label "Définition" . obo:IAO_0000116 rdfs:label "definition"@en , "Definition"@de .
wd:P1476 wikibase:directClaim wdt:P1476 ; rdfs:label "comment on it"@en . obo:IAO_0000117 rdfs:label "定义" .
[] a owl:Axiom ; owl:annotatedSource :0 ; owl:annotatedTarget "a text that a definition has already" .
"""
TERM = """:{n} a owl:Class ; rdfs:label "term number {n}" ; obo:IAO_0000115 "{long} a{n}" ;
  obo:IAO_0000116 "{long} b{n}" ;
  obo:IAO_0000117 "{long} c{n}" ; wdt:P1476 "{long} d{n}" ; wdt:P31 wd:Q{kind} ; rdfs:subClassOf :{parent} ,
  [ a owl:Restriction ; owl:onProperty :part_of ; owl:someValuesFrom :{parent} ] ,
  [ a owl:Restriction ; owl:onProperty :part_of ; owl:allValuesFrom :{parent} ] .
"""


@pytest.fixture
def ontology(tmp_path: Path) -> Path:
    terms = (TERM.format(n=n, long=LONG, kind=n % 2, parent=n // 2) for n in range(30))
    path = tmp_path / "o.ttl"
    path.write_text(OBO + "".join(terms), encoding="utf-8")
    return path


@pytest.mark.parametrize("indexed", [True, False])
def test_links_are_judged_by_iris_and_structure_is_in_no_figure(ontology, tmp_path, indexed):
    with KnowledgeBase.create(tmp_path / "o.kb") as kb:
        kb.load(ontology, index=indexed)
        text, profile = str(kb.suggest_profile()), suggested(kb, tmp_path)
    # 15 parents and 60 restrictions
    assert (
        "# rdfs:subClassOf: 30 nodes (88%), 83% of the values distinct, 80% of the linked nodes are blank, 100% of"
        in text
    )
    assert "related" in {field.name for field in profile.fields}
    assert not any(name in text for name in ("owl:annotatedTarget", "owl:onProperty", "owl:someValuesFrom"))
    assert " 34 nodes with a literal" in text
    assert profile.types == (
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "http://www.wikidata.org/prop/direct/P31",
    )  # fmt: skip


def test_a_predicate_whose_name_is_a_code_gives_its_field_the_name_of_its_label(ontology, tmp_path):
    with KnowledgeBase.temporary(ontology) as kb:
        text, profile = str(kb.suggest_profile()), suggested(kb, tmp_path)
    names = [field.name for field in profile.fields]
    assert names == ["label", "definition", "definition_2", "iao_0000117", "comment_on_it", "related", "types"]
    assert "# wdt:P1476 (comment on it): 30 nodes" in text


labels = st.one_of(
    st.text(max_size=12), st.sampled_from(["Label", "types", "-", "1", "a" * 60, "定义", "Ünïcödé", "a_"])
)


@settings(max_examples=examples(36, 1000))
@given(st.lists(st.tuples(st.sampled_from(["P1", "IAO_0000115", "1", "é9", "_"]), labels), min_size=1, max_size=6))
def test_names_of_fields_are_legal_and_each_is_another(predicates):
    from hybridkg.entities.profile.profile import FIELD_NAME
    from hybridkg.kb.profile_suggestion.choice import RESERVED, _free
    from hybridkg.kb.profile_suggestion.kinds import JudgedPredicate

    taken: set[str] = set(RESERVED)
    figures = [PredicateFigures(f"http://e/{name}", 1, 1, 1, 0.0, label=label) for name, label in predicates]
    names = [_free(JudgedPredicate(one, PredicateKind.LONG), taken) for one in figures]
    assert all(FIELD_NAME.fullmatch(name) for name in names)
    assert len({*names, *RESERVED}) == len(names) + len(RESERVED)


def test_figures_of_a_part_of_the_triples_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr("hybridkg.kb.profile_suggestion.figures.MAX_TRIPLES_READ", 10)
    lines = [f'<http://e/s{n}> <{RDFS}label> "thing number {n}" .' for n in range(40)]
    lines += [f'<http://e/s{n}> <http://e/colour> "red" .' for n in range(5)]
    (tmp_path / "g.nt").write_text("\n".join(lines) + "\n")
    with KnowledgeBase.create(tmp_path / "g.kb") as kb:
        kb.load(tmp_path / "g.nt", index=False)
        text = str(kb.suggest_profile())
        assert "45 triples, about 40 nodes with a literal. Figures: estimated from the first 10 triples" in text
        assert (
            "# rdfs:label: about 40 nodes (100%), 100% of the values distinct, estimated from the first 10 of 40"
            in text
        )
        assert "# e:colour: 5 nodes (12%), 20% of the values distinct, 1.0 words" in text
        kb.index()
        assert "about" not in str(kb.suggest_profile())
