"""The rules of the guess, one by one; tests/tables/test_triples.py has the law that what is guessed always loads."""

from __future__ import annotations

import re

import pytest
from made_tables import write_csv

from hybridkg.errors import LoadError
from hybridkg.interfaces.table_reader import ValueKind
from hybridkg.tables.inputs import guess_mapping
from hybridkg.tables.yarrrml_reader import read_yarrrml

EX = "http://example.org/"


def guessed(tmp_path, column, cells):
    """The term map of a column with these cells."""
    rows = [[f"r{i}", cell] for i, cell in enumerate(cells)]
    path = write_csv(tmp_path / "things.csv", ["id", column], rows)
    (table,) = guess_mapping(path, id="id").tables
    return {one.target.columns[0]: one.target for one in table.properties if one.target.columns}.get(column)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "", "-20"], ValueKind.INTEGER),
        (["1", "2.50"], ValueKind.DECIMAL),
        (["1", "2e-3"], ValueKind.DOUBLE),
        (["TRUE", "false"], ValueKind.BOOLEAN),
        (["1999-12-31"], ValueKind.DATE),
        (["1999-12-31 23:59:00", "1999-12-31T23:59:00.5Z"], ValueKind.DATETIME),
        (["http://e.org/a", "https://e.org/b"], ValueKind.IRI),
        (["007", "12"], ValueKind.STRING),  # an identifier
        (["1234567890123456789"], ValueKind.STRING),  # longer than Oxigraph computes with
        (["1", "n/a"], ValueKind.STRING),
        (["1,5"], ValueKind.STRING),
        (["2023-02-29"], ValueKind.STRING),  # not in the calendar
        (["31.12.1999"], ValueKind.STRING),
        (["1999-12-31", "1999-12-31T00:00:00"], ValueKind.STRING),
        (["http://e.org/a", "http://e.org/a b"], ValueKind.STRING),
        (["yes", "no"], ValueKind.STRING),
    ],
)
def test_the_kind_is_the_strictest_of_all_cells(tmp_path, cells, kind):
    assert guessed(tmp_path, "v", cells).kind is kind


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (["1", "NA", "", "20"], "row 2 has 'NA' (2 of 3 values are integers)"),
        (["1.5", "2", "n/a"], "row 3 has 'n/a' (2 of 3 values are decimals)"),
        (["1999-12-31", "31.12.1999"], "row 2 has '31.12.1999' (1 of 2 values are dates)"),
        ([*map(str, range(6_000)), "x"], "row 6,001 has 'x' (6,000 of 6,001 values are integers)"),
        ([*map(str, range(6_000)), "1.5", "x"], "row 6,002 has 'x' (6,001 of 6,002 values are decimals)"),
        (["1", "a", "b"], ""),
        (["a", "b"], ""),
        (["1", "2"], ""),
        (["1|2", "3|x", "4"], ""),
        ([], ""),
    ],
)
def test_a_note_says_why_a_column_of_numbers_or_dates_is_text(tmp_path, cells, reason):
    path = write_csv(tmp_path / "t.csv", ["id", "v"], [[f"r{i}", cell] for i, cell in enumerate(cells)])
    (table,) = guess_mapping(path).tables
    found = [note for note in table.notes if "is text" in note]
    assert found == ([f"column 'v' is text, because {reason}"] if reason else [])


def test_the_last_row_counts_as_much_as_the_first(tmp_path):
    assert guessed(tmp_path, "v", ["1"] * 50_000 + ["x"]).kind is ValueKind.STRING


@pytest.mark.parametrize(
    ("cells", "separator", "kind"),
    [
        (["drama|war", "drama"], "", ValueKind.STRING),  # one cell is no rule
        (["drama|war", "war|noir"], "|", ValueKind.STRING),
        (["drama; war", "war; noir", "war"], "; ", ValueKind.STRING),
        (["a; b", "b;c"], ";", ValueKind.STRING),
        (["1|2", "3|4"], "|", ValueKind.INTEGER),
        (["x", "1|2", "3|4"], "|", ValueKind.STRING),
        ([*["plain"] * 30, "a|b", "c|d"], "", ValueKind.STRING),  # too rare
        ([f"{'word ' * 20}; {'word ' * 20}"] * 3, "", ValueKind.STRING),  # punctuation
    ],
)
def test_cells_of_several_values(tmp_path, cells, separator, kind):
    term = guessed(tmp_path, "v", cells)
    assert (term.separator, term.kind) == (separator, kind)


def test_blank_columns_give_no_triple_and_a_note(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["id", "v"], [["a", ""], ["b", "  "]])
    (table,) = guess_mapping(path).tables
    assert [one.predicates[-1] for one in table.properties[1:]] == [EX + "id"]
    assert table.notes == ("column 'v' is blank in every row, so it gives no triple",)


def subject(tmp_path, header, rows, name="films.csv", **options):
    (table,) = guess_mapping(write_csv(tmp_path / name, header, rows), **options).tables
    return "".join(f"{{{part}}}" if i % 2 else part for i, part in enumerate(table.subject.template))


def test_the_column_that_identifies_the_rows(tmp_path):
    assert subject(tmp_path, ["name", "Id"], [["a", "1"], ["b", "2"]]) == EX + "Film/{Id}"
    assert subject(tmp_path, ["name", "film_id"], [["a", "1"], ["b", "2"]]) == EX + "Film/{film_id}"
    assert subject(tmp_path, ["id", "code"], [["a", "1"], ["a", "2"]]) == EX + "Film/{code}"  # the id is not unique
    assert subject(tmp_path, ["rating", "name"], [["1.5", "x"], ["2.5", "y"]]) == EX + "Film/{name}"
    assert subject(tmp_path, ["name"], [["x"], ["x"]]) == EX + "Film/{#row}"
    assert subject(tmp_path, ["id"], [["http://e.org/a"], ["http://e.org/b"]]) == "{id}"
    chosen = subject(tmp_path, ["id", "n"], [["1", "x"]], id="n", class_="Movie", prefix="http://e.org/#")
    assert chosen == "http://e.org/#Movie/{n}"
    chosen = subject(tmp_path, ["id"], [["1"]], class_="http://schema.org/Movie")
    assert chosen == EX + "Movie/{id}"  # in our own namespace


@pytest.mark.parametrize(
    ("name", "iri"),
    [
        ("ex:Product", "http://e.org/#Product"),
        ("Product", "http://e.org/#Product"),
        ("schema:Product", "http://schema.org/Product"),
        ("shop:Product", "http://shop.example/Product"),
        ("urn:x:Product", "urn:x:Product"),
    ],
)
def test_a_class_may_have_a_prefix(tmp_path, name, iri):
    path = write_csv(tmp_path / "films.csv", ["id"], [["1"]])
    kept = {"shop": "http://shop.example/", "ex": "http://other/"}
    (table,) = guess_mapping(path, class_=name, prefix="http://e.org/#", prefixes=kept).tables
    assert table.properties[0].target.template == (iri,)


def test_rows_of_one_identifier_are_one_entity_and_a_note(tmp_path):
    path = write_csv(tmp_path / "cast.csv", ["film", "actor"], [["a", "x"], ["a", "y"]])
    (table,) = guess_mapping(path, id="film").tables
    assert table.notes == ("rows with the same 'film' describe one entity: rows 1 and 2 have the same 'a'",)


def notes(tmp_path, header, rows, **options):
    (table,) = guess_mapping(write_csv(tmp_path / "stock.csv", header, rows), **options).tables
    return table.subject.columns, table.notes


def guess_note(name):
    return f"{name!r} identifies the rows by a guess, because its numbers differ: --id COLUMN chooses another"


def test_a_column_that_would_identify_the_rows_but_for_a_few_cells_is_in_a_note(tmp_path):
    rows = [[f"SKU-{i}", f"name {i % 7}", i] for i in range(1, 31)]
    header = ["sku", "name", "price"]
    assert notes(tmp_path, header, rows) == (("sku",), ())
    rows[20][0] = "SKU-5"
    same = "'sku' would identify the rows, but rows 5 and 21 have the same 'SKU-5'; correct it, or say --id sku"
    assert notes(tmp_path, header, rows) == (("price",), (same, guess_note("price")))
    rows[3][0] = " "
    blank = "'sku' would identify the rows, but row 4 is blank; correct it"
    assert notes(tmp_path, header, rows)[1] == (blank, guess_note("price"))
    with pytest.raises(LoadError, match=r"(?s)row 4, no value in column 'sku', which identifies.*stock.csv:5"):
        guess_mapping(tmp_path / "stock.csv", id="sku")


def test_duplicates_far_apart_are_found_by_their_rows(tmp_path):
    rows = [[f"s{i}", "x"] for i in range(6_000)]
    rows[5_000][0] = "s7"
    _, found = notes(tmp_path, ["stock_id", "kind"], rows)
    assert "'stock_id' would identify the rows, but rows 8 and 5,001 have the same value; correct it" in found[-1]


def test_a_column_of_references_does_not_nearly_identify_the_rows(tmp_path):
    rows = [[f"f{i // 3}", f"a{i % 4}", i] for i in range(30)]
    assert notes(tmp_path, ["film_id", "actor_id", "order"], rows) == (("order",), (guess_note("order"),))


def test_the_first_of_label_name_title_is_a_label_too(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["id", "Title", "name"], [["1", "a", "b"]])
    (table,) = guess_mapping(path).tables
    labels = [
        one.target.columns for one in table.properties if "http://www.w3.org/2000/01/rdf-schema#label" in one.predicates
    ]
    assert labels == [("name",)]


def test_texts_about_the_rows_are_comments_too(tmp_path):
    header = ["id", "title", "Description", "summary_en", "summary_de", "comment"]
    path = write_csv(tmp_path / "t.csv", header, [["1", "a", "b", "c", "d", "7"]])
    (table,) = guess_mapping(path).tables
    comment = "http://www.w3.org/2000/01/rdf-schema#comment"
    found = [one.target.columns[0] for one in table.properties if comment in one.predicates]
    assert found == ["Description", "summary_en", "summary_de"]  # a number is no text about a row


def test_languages_of_headers(tmp_path):
    header = ["id", "title_en", "title_de", "plot@fr-CA", "film_id", "film", "year_it", "year"]
    path = write_csv(tmp_path / "t.csv", header, [["1", "a", "b", "c", "d", "e", "7", "x"]])
    (table,) = guess_mapping(path).tables
    found = {one.target.columns[0]: (one.predicates[0], one.target.language) for one in table.properties[1:]}
    assert found["title_en"] == (EX + "title", "en")
    assert found["title_de"] == (EX + "title", "de")
    assert found["plot@fr-CA"] == (EX + "plot", "fr-ca")
    assert found["film_id"] == (EX + "film_id", "")
    assert found["year_it"] == (EX + "year_it", "")  # numbers have no language


def test_two_headers_never_share_a_predicate(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["id", "a b", "a_b", "a%20b", "a/b"], [["1", "w", "x", "y", "z"]])
    (table,) = guess_mapping(path).tables
    names = [one.predicates[0] for one in table.properties[1:]]
    assert len(set(names)) == 5
    assert {EX + "a%20b", EX + "a%2520b"} < set(names)


def test_foreign_keys_between_the_tables_of_a_call(tmp_path):
    films = write_csv(
        tmp_path / "films.csv",
        ["id", "director_id", "actors", "sequel_of_film", "year"],
        [["1", "10", "nm1|nm2", "", "10"], ["2", "11", "nm2", "1", "11"], ["3", "10", "nm1|nm2", "1", "10"]],
    )
    directors = write_csv(tmp_path / "directors.csv", ["id", "name"], [["10", "x"], ["11", "y"]])
    people = write_csv(tmp_path / "people.csv", ["person", "born"], [["nm1", "1"], ["nm2", "1"], ["nm3", "2"]])
    mapping = guess_mapping(films, directors, people)
    terms = {one.target.columns[0]: one.target for one in mapping.tables[0].properties[1:]}
    assert terms["director_id"].template == (EX + "Director/", "director_id", "")
    assert terms["actors"].template == (EX + "People/", "actors", "")
    assert terms["actors"].separator == "|"
    assert terms["sequel_of_film"].template == (EX + "Film/", "sequel_of_film", "")
    assert terms["year"].kind is ValueKind.INTEGER  # numbers refer to a table only by name


@pytest.mark.parametrize(
    ("key", "header", "predicate"),
    [
        ("brand_id", "brand_id", "brand"),
        ("id", "brand_id", "brand"),
        ("id", "main brand ID", "main_brand"),
        ("id", "mainBrandIds", "mainBrand"),
        ("id", "brand", "brand"),
        ("sku", "sku", "brand"),  # a better name than that of the identifier
        ("brand", "brand", "brand_ref"),
    ],
)
def test_a_reference_never_shares_its_predicate_with_the_identifier_that_it_refers_to(tmp_path, key, header, predicate):
    brands = write_csv(tmp_path / "brands.csv", [key, "x"], [["b1", "1"], ["b2", "1"]])
    products = write_csv(tmp_path / "products.csv", ["product", header], [["p1", "b1"], ["p2", "b2"], ["p3", "b2"]])
    of_brand, of_product = guess_mapping(brands, products).tables
    links = [one for one in of_product.properties if one.target.columns == (header,)]
    assert [(one.predicates, one.target.template) for one in links] == [
        ((EX + predicate,), (EX + "Brand/", header, ""))
    ]
    assert links[0].predicates[0] not in {name for one in of_brand.properties for name in one.predicates}


def test_a_reference_never_shares_its_predicate_with_another_column(tmp_path):
    brands = write_csv(tmp_path / "brands.csv", ["id"], [["b1"], ["b2"]])
    header = ["product", "brand_id", "brand", "brand_ref", "brandId"]
    rows = [["p1", "b1", "Acme", "x", "b1"], ["p2", "b2", "Ajax", "x", "b2"]]
    products = guess_mapping(brands, write_csv(tmp_path / "products.csv", header, rows)).tables[1]
    found = {one.target.columns[0]: one.predicates[0] for one in products.properties[1:]}
    assert found["brand_id"] == EX + "brand_ref2"
    assert len({*found.values()}) == len(header)


def test_the_name_of_another_entity_is_a_reference_and_no_label(tmp_path):
    films = write_csv(tmp_path / "films.csv", ["title"], [["Alien"], ["Jaws"]])
    reviews = write_csv(tmp_path / "reviews.csv", ["id", "title"], [["1", "Alien"], ["2", "Jaws"], ["3", "Jaws"]])
    review = guess_mapping(films, reviews).tables[1]
    found = {one.target.columns[0]: one.predicates for one in review.properties[1:]}
    assert found["title"] == (EX + "film",)


def test_a_dangling_reference_stays_a_value_and_a_note(tmp_path):
    films = write_csv(tmp_path / "films.csv", ["id", "director_id"], [["1", "10"], ["2", "99"]])
    directors = write_csv(tmp_path / "directors.csv", ["id"], [["10"], ["11"]])
    table = guess_mapping(films, directors).tables[0]
    assert {one.target.columns: one.target.kind for one in table.properties}[("director_id",)] is ValueKind.INTEGER
    assert table.notes == (
        "column 'director_id' is no reference to 'directors': no row there has '99', so all cells are values, and "
        "queries by ex:director find none of these rows",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"id": "imbd"}, r"no column 'imbd' in .*did you mean 'imdb'"),
        ({"prefix": "no iri"}, "'no iri' cannot begin an IRI"),
        ({"class_": {"fims": "Film"}}, r"given for a table 'fims'.*did you mean 'films'"),
        ({"class_": "http://e.org/a b"}, "no IRI of a class"),
        ({"class_": "shcema:Movie"}, "'shcema:Movie' has a prefix that is not known; known: .*did you mean 'schema'"),
        ({"class_": "qqqq:Movie"}, "known: ex, .*as a whole IRI"),
        ({"prefix": "http://shop.example"}, "ends within a word.*--prefix http://shop.example/"),
    ],
)
def test_wrong_choices(tmp_path, options, message):
    path = write_csv(tmp_path / "films.csv", ["imdb", "b"], [["1", "2"]])
    with pytest.raises(LoadError) as caught:
        guess_mapping(path, **options)
    assert re.search(message, str(caught.value), re.DOTALL)


def test_one_choice_for_several_tables_says_how_to_write_it(tmp_path):
    one = write_csv(tmp_path / "a.csv", ["x"], [["1"]])
    two = write_csv(tmp_path / "b.csv", ["x"], [["1"]])
    with pytest.raises(LoadError, match=r"--id a=x"):
        guess_mapping(one, two, id="x")
    assert guess_mapping(one, two, id={"a": "x"}).tables[0].subject.columns == ("x",)


def test_a_header_of_two_lines_is_described_on_one(tmp_path):
    path = write_csv(tmp_path / "t.csv", ["id", "a\nb"], [["1", "x"]])
    mapping = guess_mapping(path)
    assert str(mapping).splitlines()[-1].split() == ["'a\\nb'", "ex:a_b", "text"]
    mapping.save(tmp_path / "m.yml")
    assert read_yarrrml(tmp_path / "m.yml") == mapping


def test_the_description_has_a_line_for_each_column(tmp_path):
    path = write_csv(tmp_path / "films.csv", ["id", "title", "tags"], [["1", "a", "x|y"], ["2", "b", "z|x"]])
    assert str(guess_mapping(path)) == (
        "prefix ex: <http://example.org/>\n"
        "films.csv, 2 rows: each row is <http://example.org/Film/{id}>, of class ex:Film\n"
        "  id     ex:id                 xsd:integer\n"
        "  title  ex:title, rdfs:label  text\n"
        "  tags   ex:tags               text, several separated by '|'"
    )


def test_a_table_without_rows_has_no_notes(tmp_path):
    (table,) = guess_mapping(write_csv(tmp_path / "t.csv", ["id", "v", "w"], [])).tables
    assert (table.rows, table.notes) == (0, ())


def test_a_header_that_was_not_divided_is_in_a_note(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("id,name,year\n1,a,2\n2,b,2\n")
    (table,) = guess_mapping(path).tables
    assert "one column, and its header has 2 ',': is that the separator?" in table.notes
    assert guess_mapping(write_csv(tmp_path / "u.csv", ["a,b"], [["x"]])).tables[0].notes == ()


def test_the_semicolon_of_a_character_reference_separates_nothing(tmp_path):
    term = guessed(tmp_path, "v", ["Tom &amp; Jerry", "Him &#38; Her", "a;b"])
    assert (term.separator, term.kind) == ("", ValueKind.STRING)


def test_a_column_with_the_name_of_the_row_number_never_stands_for_it(tmp_path):
    path = write_csv(tmp_path / "a.csv", ["#row", "v"], [["1", "q"], ["1", "q"]])
    with pytest.raises(LoadError, match="one is called '#row'"):
        guess_mapping(path)
    assert guess_mapping(path, id="v").tables[0].subject.columns == ("v",)


def test_rows_of_two_tables_are_the_same_entities_only_if_somebody_says_so(tmp_path):
    one = write_csv(tmp_path / "film.csv", ["id", "v"], [["1", "x"]])
    two = write_csv(tmp_path / "films.csv", ["id", "w"], [["1", "y"]])
    for chosen in (None, {"film": "Film"}):
        with pytest.raises(LoadError, match="of 'film' and of 'films' would be the same entities"):
            guess_mapping(one, two, class_=chosen)
    subjects = {t.subject for t in guess_mapping(one, two, class_={"film": "Film", "films": "Film"}).tables}
    assert len(subjects) == 1
    assert len({t.subject for t in guess_mapping(one, two, class_={"films": "Screening"}).tables}) == 2
