"""Rows of a table in place of earlier ones: what is left is what a load of the new table alone gives."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from made_tables import CELLS, write_csv
from sampling import examples

from hybridkg import KnowledgeBase, LoadError, guess_mapping
from hybridkg.cli import cli
from hybridkg.interfaces.table_reader import ValueKind
from hybridkg.tables.foreign_keys import ReferredTable
from hybridkg.tables.former_predicates import former_predicates
from hybridkg.tables.mapping import TermMap
from hybridkg.tables.names import local_names, reference_names

EX = "http://example.org/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
OLD = "imdb_id,title,title@de,year,genres\ntt1,Alien,Alien (de),1979,horror|space\ntt2,Jaws,,1975,horror|sea\n"
NEW = "imdb_id,title,title@de,year,genres\ntt1,Aliens,,1986,horror|space\ntt3,Dune,Dune (de),2021,sand|space\n"


@pytest.fixture
def kb(tmp_path):
    with KnowledgeBase.create(tmp_path / "films.kb") as made:
        yield made


@pytest.fixture
def films(tmp_path):
    path = tmp_path / "films.csv"
    path.write_text(OLD)
    return path


def triples(kb):
    return {tuple(row[name].n3() for name in "spo") for row in kb.query("SELECT ?s ?p ?o { ?s ?p ?o }")}


def values(kb, subject, predicate):
    found = kb.query(f"SELECT ?o {{ <{EX}{subject}> <{predicate if ':' in predicate else EX + predicate}> ?o }}")
    return sorted(row["o"].n3().replace(EX, "") for row in found)


@st.composite
def versions(draw):
    """(header, rows, other rows of the same identifiers): cells of each column are of several kinds."""
    names = draw(
        st.lists(st.sampled_from(["year", "name@en", "list", "title", "summary"]), min_size=1, max_size=3, unique=True)
    )
    cells = st.sampled_from([cell for kind in ("integer", "boolean", "list", "text") for cell in CELLS[kind]] + [""])
    ids = [f"t{i}" for i in range(draw(st.integers(1, 3)))]
    old, new = ([[one, *(draw(cells) for _ in names)] for one in ids] for _ in range(2))
    return ["id", *names], old, new


@settings(max_examples=examples(3, 100))
@given(versions())
def test_new_rows_in_place_of_old_ones_leave_what_the_new_table_alone_gives(tmp_path_factory, tables):
    header, old, new = tables
    folder = tmp_path_factory.mktemp("rows")
    with KnowledgeBase.create(folder / "a.kb") as changed, KnowledgeBase.create(folder / "b.kb") as alone:
        changed.load(write_csv(folder / "things.csv", header, old), id="id", index=False)
        path = write_csv(folder / "things.csv", header, new)
        report = changed.load(path, id="id", index=False, replace_rows=True)
        alone.load(path, id="id", index=False)
        assert triples(changed) == triples(alone)
        assert changed.load(path, id="id", index=False, replace_rows=True).triples == 0
        assert report.removed is not None


def test_only_values_of_rows_of_the_table_are_replaced(kb, films):
    kb.load(films)
    kb.update(f"INSERT DATA {{ <{EX}Film/tt1> a <{EX}Classic> ; <{EX}seen> true ; <{EX}year> 1980 }}")
    films.write_text(NEW)
    report = kb.load(films, replace_rows=True)
    assert (report.triples, report.removed, report.warnings) == (3 + 9, 2 + 2 + 2, ())
    assert values(kb, "Film/tt1", "title") == ['"Aliens"']
    assert values(kb, "Film/tt1", LABEL) == ['"Aliens"']
    assert [one[1:5] for one in values(kb, "Film/tt1", "year")] == ["1986"]
    assert values(kb, "Film/tt1", "seen")
    assert "<Classic>" in values(kb, "Film/tt1", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    assert values(kb, "Film/tt2", "title") == ['"Jaws"']  # its row is gone from the file, and it stays
    assert values(kb, "Film/tt3", "title") == ['"Dune (de)"@de', '"Dune"']
    assert [str(row["f"]) for row in kb.query('SELECT ?f { ?f MATCH "aliens" AS ?s }')] == [f"{EX}Film/tt1"]


def test_a_column_that_the_new_table_has_not_is_left_alone(kb, films):
    kb.load(films)
    films.write_text("imdb_id,title\ntt1,Aliens\n")
    assert kb.load(films, replace_rows=True).removed == 4
    assert len(values(kb, "Film/tt1", "genres")) == 2


def test_a_column_that_is_blank_in_every_new_row_loses_its_values(kb, films):
    kb.load(films)
    films.write_text("imdb_id,title,title@de,year,genres\ntt1,Alien,,,\ntt2,Jaws,,,\n")
    kb.load(films, replace_rows=True)
    assert [values(kb, "Film/tt1", name) for name in ("title", "year", "genres")] == [['"Alien"'], [], []]


def test_two_tables_of_one_entity_do_not_remove_the_values_of_each_other(kb, tmp_path):
    one = write_csv(tmp_path / "a.csv", ["id", "v"], [["1", "x"]])
    two = write_csv(tmp_path / "b.csv", ["id", "v"], [["1", "y"]])
    classes = {"a": "T", "b": "T"}
    kb.load(one, two, class_=classes)
    report = kb.load(one, two, class_=classes, replace_rows=True)
    assert (report.triples, report.removed) == (0, 0)


def test_texts_become_references_and_references_stay(kb, tmp_path):
    products = write_csv(tmp_path / "products.csv", ["sku", "brand_id"], [["s1", "b1"], ["s2", "b2"]])
    kb.load(products)
    kb.load(write_csv(tmp_path / "brands.csv", ["brand_id"], [["b1"], ["b2"]]))
    assert kb.load(products, replace_rows=True).removed == 2
    assert (values(kb, "Product/s1", "brand_id"), values(kb, "Product/s1", "brand")) == ([], ["<Brand/b1>"])
    write_csv(products, ["sku", "brand_id"], [["s1", "b9"], ["s2", "b2"]])
    kb.load(products, replace_rows=True)
    assert (values(kb, "Product/s1", "brand_id"), values(kb, "Product/s1", "brand")) == ([], ["<Brand/b9>"])


references = st.lists(st.sampled_from(["brand_id", "brandId", "brand", "brand_ref", "id"]), unique=True, max_size=4)


@settings(max_examples=examples(18, 500))
@given(references, st.data())
def test_every_predicate_that_a_guess_gives_to_a_reference_is_a_former_one(headers, data):
    targets = [
        ReferredTable(name, key, TermMap((f"{EX}{name}/", key, ""), ValueKind.IRI), ValueKind.STRING)
        for name, key in (("brands", "id"), ("makers", "brand"), ("makers", "brand_id"))
    ]
    local = local_names(headers)
    taken, former = {*local.values()}, {*former_predicates(headers, EX, targets)}
    for header in headers:
        target = data.draw(st.sampled_from([None, *targets]))
        if target is not None:
            name = next(reference_names(header, target.name, target.key, taken, local[header]))
            taken.add(name)
            assert former & {(EX + name, target.subject.template[0]), (EX + name, "")}


def test_two_columns_of_one_stem_stay_references(kb, tmp_path):
    things = tmp_path / "things.csv"
    kb.load(write_csv(tmp_path / "brands.csv", ["id"], [["b1"], ["b2"]]))
    kb.load(write_csv(things, ["id", "brand_id", "brandId"], [["t1", "b1", "b2"], ["t2", "b2", "b1"]]))
    assert (values(kb, "Thing/t1", "brand"), values(kb, "Thing/t1", "brand_ref")) == (["<Brand/b1>"], ["<Brand/b2>"])
    kb.load(write_csv(things, ["id", "brand_id", "brandId"], [["t1", "x", "y"]]), replace_rows=True)
    assert (values(kb, "Thing/t1", "brand"), values(kb, "Thing/t1", "brand_ref")) == (["<Brand/x>"], ["<Brand/y>"])


def test_a_reference_to_a_row_of_an_earlier_class_is_replaced(kb, tmp_path):
    brands, things = tmp_path / "brands.csv", tmp_path / "things.csv"
    kb.load(write_csv(brands, ["id"], [["b1"], ["b2"]]))
    kb.load(write_csv(things, ["id", "brand_id"], [["t1", "b1"], ["t2", "b2"]]))
    kb.load(write_csv(brands, ["id"], [["b8"], ["b9"]]), class_="Maker")
    kb.load(write_csv(things, ["id", "brand_id"], [["t1", "b9"], ["t2", "b8"]]), replace_rows=True)
    assert (values(kb, "Thing/t1", "brand"), values(kb, "Thing/t1", "brand_id")) == (["<Maker/b9>"], [])


def test_a_row_of_blanks_replaces_too(kb, tmp_path):
    path = write_csv(tmp_path / "t.csv", ["id", "v"], [["1", "x"], ["2", "y"]])
    mapping = tmp_path / "m.yml"
    mapping.write_text('mappings: {t: {sources: [["t.csv~csv"]], s: "http://e/$(id)", po: [["http://e/v", "$(v)"]]}}')
    kb.load(path, mapping=mapping)
    write_csv(path, ["id", "v"], [["1", ""], ["2", "y"]])
    assert kb.load(path, mapping=mapping, replace_rows=True).removed == 1


def test_rdf_beside_tables_is_added(kb, films, tmp_path):
    kb.load(films)
    (tmp_path / "a.ttl").write_text(f'<{EX}Film/tt1> <{EX}title> "Alien" .')
    films.write_text(NEW)
    kb.load(films, tmp_path / "a.ttl", replace_rows=True)
    assert values(kb, "Film/tt1", "title") == ['"Alien"', '"Aliens"']


def test_a_malformed_row_changes_nothing(kb, films):
    kb.load(films)
    before, mapping = triples(kb), guess_mapping(films)
    films.write_text(NEW + "tt4,x,,nineteen,\n")
    with pytest.raises(LoadError, match="'nineteen' is not of the datatype integer"):
        kb.load(films, mapping=mapping, replace_rows=True)
    assert triples(kb) == before


def test_what_cannot_be_replaced_is_refused(kb, films, tmp_path):
    (tmp_path / "a.ttl").write_text('<http://e/a> <http://e/b> "c" .')
    with pytest.raises(LoadError, match="for the rows of tables"):
        kb.load(tmp_path / "a.ttl", replace_rows=True)
    with pytest.raises(LoadError, match="two answers"):
        kb.load(films, replace="default", replace_rows=True)


SKUS = "sku,name\ns1,A\ns2,B\ns3,C\n"


@pytest.mark.parametrize(
    ("new", "hint"),
    [
        ("sku,name\ns1,A\ns1,A\ns2,B\n", "--id sku"),  # no column identifies the rows now
        ("sku,name\ns1,A\ns1,D\ns2,B\n", "--id sku"),  # the other one does
        ("sku,iri\ns1,http://e/1\ns2,http://e/2\n", "--id sku"),
    ],
)
def test_rows_that_would_get_other_subjects_replace_nothing_and_are_refused(kb, tmp_path, new, hint):
    path = tmp_path / "products.csv"
    path.write_text(SKUS)
    kb.load(path)
    before = triples(kb)
    path.write_text(new)
    with pytest.raises(LoadError) as caught:
        kb.load(path, replace_rows=True)
    assert caught.value.hint.startswith(hint)
    assert triples(kb) == before
    kb.load(path, id="sku", replace_rows=True)
    assert "s1" in "".join(values(kb, "Product/s1", "sku"))


def test_rows_of_a_former_class_may_be_replaced_and_those_of_a_new_one_not(kb, tmp_path):
    path = write_csv(tmp_path / "products.csv", ["sku", "n"], [["s1", "1"], ["s2", "2"]])
    kb.load(path)
    kb.load(path, class_="Item")
    assert kb.load(path, replace_rows=True).removed == 0
    with pytest.raises(LoadError, match=r"was <http://example.org/Product/\{sku\}> .* is <http://example.org/Thing/"):
        kb.load(path, class_="Thing", replace_rows=True)


def test_the_column_of_the_identifiers_may_be_renamed(kb, tmp_path):
    path = write_csv(tmp_path / "products.csv", ["id", "n"], [["s1", "1"], ["s2", "2"]])
    kb.load(path)
    kb.load(write_csv(path, ["sku", "n"], [["s1", "3"], ["s2", "4"]]), replace_rows=True)
    assert len(values(kb, "Product/s1", "n")) == 1


def test_a_number_of_a_row_is_no_identity(kb, tmp_path):
    path = write_csv(tmp_path / "t.csv", ["v"], [["x"], ["x"]])
    kb.load(path)
    with pytest.raises(LoadError, match="their numbers alone") as caught:
        kb.load(path, replace_rows=True)
    assert caught.value.hint.startswith("--id COLUMN")


def test_a_table_without_rows_replaces_nothing(kb, films):
    kb.load(films)
    films.write_text(OLD.splitlines()[0])
    report = kb.load(films, replace_rows=True)
    assert (report.triples, report.removed, [one.code for one in report.warnings]) == (0, 0, ["W301"])


def test_rows_in_a_named_graph_stay_with_a_warning(kb, films):
    kb.load(films, replace="http://e/g")
    with kb.transaction(dry_run=True) as t:
        (warning,) = t.load(films, replace_rows=True).warnings
    (of_the_load,) = kb.load(films, replace_rows=True).warnings
    for one in (warning, of_the_load, *t.report.warnings):
        assert (one.code, "14 triples of its rows are in the graph <http://e/g>" in one.message) == ("W303", True)


def test_two_answers_to_what_is_removed_are_an_error_before_the_mapping_is_shown(films, tmp_path):
    done = CliRunner().invoke(
        cli, ["load", str(tmp_path / "c.kb"), str(films), "--replace", "default", "--replace-rows"]
    )
    assert done.exit_code == 2
    assert "films.csv" not in done.stderr


def test_a_transaction_replaces_rows(kb, films):
    kb.load(films)
    films.write_text(NEW)
    with kb.transaction() as t:
        assert t.load(films, replace_rows=True).removed == 5
    assert values(kb, "Film/tt1", "title") == ['"Aliens"']


def test_the_command_counts_and_a_dry_run_shows_what_would_change(films, tmp_path):
    def run(*arguments):
        done = CliRunner().invoke(cli, ["load", str(tmp_path / "c.kb"), str(films), *arguments])
        assert done.exit_code == 0, done.stderr
        return done

    run()
    films.write_text(NEW)
    tried = run("--replace-rows", "--dry-run")
    assert f'D <{EX}Film/tt1> <{EX}title> "Alien" .' in tried.stdout.splitlines()
    assert f'A <{EX}Film/tt1> <{EX}title> "Aliens" .' in tried.stdout.splitlines()
    assert "triples: 12 added, 5 removed" in tried.stderr
    assert "triples: 12 new, 5 removed" in run("--replace-rows").output
    assert "nothing has changed" in run("--replace-rows", "--dry-run").stderr
