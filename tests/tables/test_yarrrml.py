"""Mappings in YARRRML: what is written is read back, the forms of the specification, and what is left to morph-kgc.

tests/tables/test_triples.py has the round trip as a law.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.errors import LoadError
from hybridkg.interfaces.table_reader import ValueKind
from hybridkg.tables.kinds import DATATYPES
from hybridkg.tables.mapping import RDF_TYPE, PropertyMap, TableMap, TableMapping, TermMap, constant_iri, literal_of
from hybridkg.tables.yarrrml_reader import BeyondRowsError, read_yarrrml

EX = "http://e.org/"
COLUMNS = st.sampled_from(["a", "a b", "x)y", "back\\slash", "$(x)", 'qu"ote', "é~iri", "#row", "a: b", "\u2028"])
PREDICATES = st.sampled_from([RDF_TYPE, EX + "p", EX + "q/r", "http://www.w3.org/2000/01/rdf-schema#label"])
SEPARATORS = st.sampled_from(["", "|", "; ", "\\"])


@st.composite
def objects(draw):
    column, separator = draw(COLUMNS), draw(SEPARATORS)
    match draw(st.integers(0, 4)):
        case 0:
            return constant_iri(EX + "c")
        case 1:
            return TermMap((EX + "x/", column, "#y"), ValueKind.IRI, separator=separator)
        case 2:
            return literal_of(column, ValueKind.STRING, language="de", separator=separator)
        case 3:
            return TermMap(("", column, " of ", draw(COLUMNS), "$(no"))
    return literal_of(column, draw(st.sampled_from([*DATATYPES, ValueKind.IRI, ValueKind.STRING])), separator=separator)


maps = st.builds(
    TableMap,
    st.sampled_from(["films", "a: b", "#x"]),
    st.sampled_from(["films.csv", "data/films.tsv.gz", "books.jsonl", "all.sqlite", "x.json"]),
    st.sampled_from(["", "Sheet 1"]),
    st.builds(lambda column: TermMap((EX + "f/", column, ""), ValueKind.IRI), COLUMNS),
    st.lists(st.builds(PropertyMap, st.tuples(PREDICATES), objects()), max_size=4).map(tuple),
).filter(lambda one: not (one.part and ".json" in one.source))


@pytest.mark.quick
@given(st.lists(maps, min_size=1, max_size=3, unique_by=lambda one: one.name), st.sampled_from([(), (("ex", EX),)]))
def test_a_written_mapping_is_read_back(tmp_path_factory, tables, prefixes):
    path = tmp_path_factory.getbasetemp() / "round.yml"
    mapping = TableMapping(tuple(tables), prefixes)
    # A class in a literal form is an IRI in YARRRML.
    kept = tuple(
        TableMap(
            one.name,
            one.source,
            one.part,
            one.subject,
            tuple(p for p in one.properties if p.predicates != (RDF_TYPE,) or p.target.kind is ValueKind.IRI),
        )
        for one in mapping.tables
    )
    mapping = TableMapping(kept, prefixes)
    mapping.save(path, overwrite=True)
    assert read_yarrrml(path) == mapping, path.read_text()


def test_a_mapping_is_saved_over_a_file_only_if_somebody_says_so(tmp_path):
    mapping = TableMapping((TableMap("a", "a.csv", "", TermMap((EX, "id", ""), ValueKind.IRI), ()),))
    path = tmp_path / "m.yml"
    path.write_text("edited")
    with pytest.raises(LoadError, match=r"there is a file .*m.yml"):
        mapping.save(path)
    assert path.read_text() == "edited"
    mapping.save(path, overwrite=True)
    assert read_yarrrml(path) == mapping


def read(tmp_path, text):
    path = tmp_path / "m.yml"
    path.write_text("prefixes: {ex: 'http://e.org/'}\n" + text)
    return read_yarrrml(path)


def test_the_forms_of_the_specification(tmp_path):
    mapping = read(
        tmp_path,
        """
sources:
  all: ['films.csv~csv']
mapping:
  film:
    source: all
    subject: ex:film/$(id)
    predicateobjects:
      - [a, ex:Film]
      - [[ex:title, ex:name], $(title), en~lang]
      - [ex:year, $(year), xsd:integer]
      - [ex:page, $(page)~iri]
      - predicates: ex:by
        objects:
          - ex:person/$(by)~iri
          - {value: "$(by)", language: de}
      - p: ex:rated
        o: {value: "$(rated)", datatype: xsd:boolean}
""",
    )
    (film,) = mapping.tables
    assert (film.source, film.part, film.subject.template) == ("films.csv", "", (EX + "film/", "id", ""))
    assert film.properties == (
        PropertyMap((RDF_TYPE,), constant_iri(EX + "Film")),
        PropertyMap((EX + "title", EX + "name"), literal_of("title", ValueKind.STRING, language="en")),
        PropertyMap((EX + "year",), literal_of("year", ValueKind.INTEGER)),
        PropertyMap((EX + "page",), literal_of("page", ValueKind.IRI)),
        PropertyMap((EX + "by",), TermMap((EX + "person/", "by", ""), ValueKind.IRI)),
        PropertyMap((EX + "by",), literal_of("by", ValueKind.STRING, language="de")),
        PropertyMap((EX + "rated",), literal_of("rated", ValueKind.BOOLEAN)),
    )


ONE = "mappings:\n  m:\n    sources: [['a.csv~csv']]\n    s: ex:$(id)\n    po:\n      - "


@pytest.mark.parametrize(
    "text",
    [
        ONE + "{p: ex:p, o: {mapping: other, condition: {function: equal}}}",
        ONE + "{p: ex:p, o: {function: grel:toUpperCase, parameters: [[grel:valueParameter, $(a)]]}}",
        ONE + "[ex:$(p), $(a)]",
        ONE + "[ex:p, b$(a)~blanknode]",
        ONE.replace("po:", "graphs: ex:g\n    po:") + "[ex:p, $(a)]",
        ONE.replace("csv'", "xpath'") + "[ex:p, $(a)]",
    ],
)
def test_what_is_left_to_morph_kgc(tmp_path, text):
    with pytest.raises(BeyondRowsError):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mappings: {a: [b", "not valid YAML.*m.yml:"),
        ("mappings: {}", "nothing under the key mappings"),
        ("mappings: {a: {s: ex:x}}", "has no source"),
        ("mappings: {a: {sources: [[x.csv]]}}", "has no subject"),
        (ONE + "[eks:p, $(a)]", "has a prefix 'eks' that is not declared"),
        (ONE + "[ex:p, $(a), 'no tag~lang']", "no language tag"),
        (ONE + "ex:p", "no predicate with an object"),
        (
            ONE.replace("ex:$(id)", '"http://e/$(sku"') + "[ex:p, $(a)]",
            r"'\$\(sku' is not closed, in the mapping 'm'.*yml:5",
        ),
        (ONE + "[ex:p, 'of $(a) and $(b']", r"'\$\(b' is not closed.*m.yml:7"),
        (ONE.replace("ex:$(id)", "'http://e.org/a b/$(id)'") + "[ex:p, $(a)]", "is no IRI.*a space is %20"),
        (ONE.replace("po:", "predicates:") + "[ex:p, $(a)]", r"the key 'predicates'.*mean predicateobjects \(po\)\?"),
        (ONE.replace("sources:", "surces:") + "[ex:p, $(a)]", r"the key 'surces' .*did you mean sources"),
        ("- a", "no YARRRML"),
        ("mappings: " + "[" * 100_000, "too deep"),
        ("mappings: " + "- " * 20_000, "too deep|not valid YAML"),
        ("mappings:\n" + "- " * 20_000, "too deep|not valid YAML"),
    ],
)
def test_what_is_wrong(tmp_path, text, message):
    path = tmp_path / "m.yml"
    path.write_text(text if text.startswith("- ") else "prefixes: {ex: 'http://e.org/'}\n" + text)
    with pytest.raises(LoadError) as caught:
        read_yarrrml(path)
    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)


def test_the_sheet_of_a_workbook_with_json_in_its_name_is_kept():
    table = TableMap("a", "data.json.xlsx", "Sheet1", TermMap(("http://e/", "id", ""), ValueKind.IRI), ())
    assert '["data.json.xlsx~csv", "Sheet1"]' in TableMapping((table,)).to_yarrrml()


@pytest.mark.parametrize(
    "text", ["".join([f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40)]), "b: &b [*b]\n"]
)
def test_aliases_do_not_multiply_without_a_bound(tmp_path, text):
    (tmp_path / "m.yml").write_text(f"a0: &a0 [x]\n{text}mappings: {{m: {{sources: x, s: x, po: x}}}}\n")
    with pytest.raises(LoadError, match="aliases make it too large"):
        read_yarrrml(tmp_path / "m.yml")


def test_the_maps_of_a_file_are_bounded(tmp_path):
    many = ", ".join(["http://e/a"] * 200)
    (tmp_path / "m.yml").write_text(f"mappings: {{m: {{sources: [{many}], s: [{many}], po: [[a, http://e/b]]}}}}\n")
    with pytest.raises(LoadError, match="more than 10,000 pairs of a source and a subject"):
        read_yarrrml(tmp_path / "m.yml")
