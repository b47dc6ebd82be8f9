"""Links as text, as values and in files; the annotations that others have published."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.errors import LoadError, TextQueryError
from hybridkg.interfaces.links import EntityLink
from hybridkg.linking.annotations import entity_iri, read_annotations
from hybridkg.linking.given import MAX_LINKS, links_from, parse_links, strongest
from hybridkg.linking.link_file import read_link_file, write_link_file
from hybridkg.rdf.terms import Literal, NamedNode

confidences = st.floats(0.001, 1, allow_nan=False)
some_links = st.lists(
    st.builds(EntityLink, st.sampled_from(["http://e/a", "http://e/b", "urn:x:ü"]), confidences), max_size=6
)
texts = st.text(st.characters(exclude_categories=["C"], exclude_characters="\t"), min_size=1).filter(str.strip)


@given(some_links)
def test_links_written_as_text_are_read_back_each_node_once_with_its_highest_confidence(links):
    written = " ".join(f"<{link.node}> {link.confidence!r}" for link in links)
    best = {node: max(link.confidence for link in links if link.node == node) for node in {x.node for x in links}}
    assert parse_links(written) == strongest(links) == links_from(links)
    assert {link.node: link.confidence for link in parse_links(written)} == best


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("http://e/a", "no link begins with 'http://e/a'"),
        ("<http://e/a> <http://e/b", "no link begins with '<http://e/b'"),
        ("<http://e/a> much", "the confidence 'much' is not a number"),
        ("<http://e/a> 2", "has confidence 2; it must be above 0 and at most 1"),
        ("<http://e/a> nan", "has confidence nan"),
        ("<e/a>", "'e/a', which is not an absolute IRI"),
        ("<http://e/a> 0.5 0.6", "no link begins with '<http://e/a> 0.5 0.6'"),
    ],
)
def test_a_text_that_is_no_list_of_links_is_refused(text, message):
    with pytest.raises(TextQueryError) as error:
        parse_links(text)
    assert message in error.value.message
    assert error.value.span is not None


def test_commas_and_blanks_do_not_matter():
    assert parse_links(" <x:a>,<x:b> 0.5 , <x:c>\n0.25 ") == (
        EntityLink("x:a"),
        EntityLink("x:b", 0.5),
        EntityLink("x:c", 0.25),
    )
    assert parse_links(" ") == ()


def test_values_of_many_kinds_are_links():
    values = ["x:a", "<x:b>", NamedNode("x:c"), (NamedNode("x:d"), Literal(0.5)), ("x:e", 1), EntityLink("x:f", 0.1)]
    assert [link.node for link in links_from(values)] == [f"x:{name}" for name in "abcdef"]
    for wrong in (7, None, ("x:a",), ("x:a", True), Literal("x:a")):
        with pytest.raises(TextQueryError, match="is not a link"):
            links_from([wrong])


def test_there_is_a_most_number_of_links():
    many = " ".join(f"<x:{i}>" for i in range(MAX_LINKS + 1))
    with pytest.raises(TextQueryError, match="more than 200 links of one text"):
        parse_links(many)


def test_a_long_list_of_links_is_refused_in_no_time():
    with pytest.raises(TextQueryError):
        parse_links("<x:a> " + "0" * 200_000 + "x")
    with pytest.raises(TextQueryError):
        parse_links("<" * 200_000)


@given(st.dictionaries(texts, some_links, max_size=4))
def test_a_file_of_links_is_read_back_as_it_was_written(tmp_path_factory, links):
    path = tmp_path_factory.mktemp("links") / "l.tsv"
    write_link_file(path, links)
    read = read_link_file(path)
    keys = {" ".join(text.casefold().split()) for text in links}
    for text, some in links.items():
        if len(keys) == len(links):
            assert read.of(text) == strongest(some)
    assert set(read.links) == keys


def test_texts_of_a_file_are_compared_without_case_and_blanks(tmp_path):
    path = tmp_path / "l.tsv"
    path.write_text("Red  fish\t<x:a>\t0.5\nred fish\tx:b\nnothing\n\nnothing else\t\t\n")
    assert read_link_file(path).of("RED fish ") == (EntityLink("x:a", 0.5), EntityLink("x:b"))
    assert read_link_file(path).of("nothing") == read_link_file(path).of("unknown") == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"\t<x:a>\t1", "no text in the first column"),
        (b"q\t<x:a>\t1\t2", "4 columns"),
        (b"q\tnoiri\t1", "'noiri', which is not an absolute IRI"),
        (b"q\t<x:a>\thigh", "the confidence 'high' is not a number"),
        (b"q\t<x:a>\t-1", "confidence -1"),
        (b"q\xff\t<x:a>", "not UTF-8"),
        (b"q" * 70_000, "a line of more than 65,536 bytes".removeprefix("a ")),
    ],
)
def test_a_wrong_line_is_named_by_file_and_number(tmp_path, line, message):
    path = tmp_path / "l.tsv"
    path.write_bytes(b"fine\t<x:a>\t1\n" + line + b"\n")
    with pytest.raises(LoadError) as error:
        read_link_file(path)
    assert message in error.value.message
    assert error.value.place == f"{path}:2"


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(LoadError, match=r"no file '.*absent\.tsv'"):
        read_link_file(tmp_path / "absent.tsv")


def test_entities_of_dbpedia_by_their_names_elsewhere():
    assert entity_iri("<dbpedia:A_(b),_c>") == entity_iri("ENTITY/A (b), c") == "http://dbpedia.org/resource/A_(b),_c"
    assert NamedNode(entity_iri("ENTITY/`a\\b^{c}")).value.endswith("%60a%5Cb%5E%7Bc%7D")
    with pytest.raises(TextQueryError):
        entity_iri("http://elsewhere/x")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"q": {"entities": [["http://dbpedia.org/resource/A,_B", 0.5]]}}'),
        ("a.json", '{"q": {"interpretations": {"0": {"annots": {"a": {"score": 0.5, "uri": "<dbpedia:A,_B>"}}}}}}'),
        ("a.csv", ',query_id,tag,confidence\n0,q,ENTITY/A,_B,0.5\n1,q,"ENTITY/A,_B",0.25\n2,q,,0.1\n'),
    ],
)
def test_known_annotations_say_the_same_in_their_own_ways(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert read_annotations(tmp_path / name) == {"q": (EntityLink("http://dbpedia.org/resource/A,_B", 0.5),)}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", "[]"),
        ("a.json", '{"q": {"entities": [["x"]]}}'),
        ("a.json", "[" * 100_000),
        ("a.csv", ",original,redirect\n"),
        ("a.csv", ",query_id,tag,confidence\n0,q,ENTITY/A,high\n"),
        ("a.txt", "q\tone\t<dbpedia:A>\n"),
        ("a.txt", "q\t1\tA\n"),
    ],
)
def test_other_files_are_no_annotations(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(LoadError) as error:
        read_annotations(tmp_path / name)
    assert error.value.place.startswith(str(tmp_path / name))


@pytest.mark.needs_shared
@pytest.mark.parametrize(
    ("path", "topics", "links"),
    [
        ("elr-v1/data/tagme_annotations.json", 485, 1194),
        ("kewer/entity-extraction/query-entities.json", 467, 504),
        ("kewer/entity-extraction/nordlys/ltr-query-entities.json", 467, 501),
        ("kewer/entity-extraction/smaph/query-entities.json", 467, 732),
        ("geeer-annotations/geeer_annotated_ELQ.csv", 464, 637),
        ("geeer-annotations/geeer_conf_tagme.csv", 467, 1139),
        ("geeer-annotations/webis_linked.csv", 391, 818),
        ("nordlys-el/erd/qrels_ERD_elq.txt", 91, 61),
        ("nordlys-el/yerd/qrels_YERD_elq.txt", 2398, 1385),
    ],
)
def test_published_annotations_are_read_and_kept(shared_data, tmp_path, path, topics, links):
    found = read_annotations(shared_data / "dbpedia-entity-v2" / path)
    assert (len(found), sum(map(len, found.values()))) == (topics, links)
    write_link_file(tmp_path / "l.tsv", found)
    read = read_link_file(tmp_path / "l.tsv")
    assert all(read.of(topic) == some for topic, some in found.items())
