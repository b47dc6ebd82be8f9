"""References into tables that were loaded earlier: the triples are those of one call, and nothing dangling is made."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sampling import examples, sampled

from hybridkg import KnowledgeBase, LoadError, guess_mapping
from hybridkg.cli import cli
from hybridkg.interfaces.row_subject import RowSubject
from hybridkg.kb.write.described_already import described_already
from hybridkg.rdf.well_known import shortened
from hybridkg.store.generations.kept_tables import MAX_LENGTH, MAX_TABLES, KeptTables
from hybridkg.tables import foreign_keys
from hybridkg.tables.earlier_tables import EarlierTables

EX = "http://example.org/"
BRANDS = "brand_id,name\nb1,Acme\nb 2,Ajax\nb3,Arco\n"
PRODUCTS = "sku,brand_id\ns1,b1\ns2,b 2\ns3,b1\n"


@pytest.fixture
def files(tmp_path):
    def write(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.csv").write_text(text)
        return [tmp_path / f"{name}.csv" for name in texts]

    return write


@pytest.fixture
def kb(tmp_path):
    with KnowledgeBase.create(tmp_path / "shop.kb") as made:
        yield made


def triples(kb):
    return {tuple(row[name].n3() for name in "spo") for row in kb.query("SELECT ?s ?p ?o { ?s ?p ?o }")}


def makers(kb):
    """The brand of each product."""
    found = kb.query(f"SELECT ?s ?o {{ ?s <{EX}brand> ?o }}")
    return {str(row["s"]).removeprefix(EX): row["o"].n3().replace(EX, "") for row in found}


def note(mapping, of):
    return [note for table in mapping.tables for note in table.notes if of in note]


def test_a_later_table_refers_to_an_earlier_one_as_in_one_call(kb, files, tmp_path):
    brands, products = files(brands=BRANDS, products=PRODUCTS)
    kb.load(brands)
    kb.load(products)
    assert makers(kb) == {"Product/s1": "<Brand/b1>", "Product/s2": "<Brand/b%202>", "Product/s3": "<Brand/b1>"}
    with KnowledgeBase.create(tmp_path / "one.kb") as one:
        one.load(brands, products)
        assert triples(one) == triples(kb)


def triples_of_products(kb):
    return {row for row in triples(kb) if row[0].startswith(f"<{EX}Product/")}


few_ids = st.lists(st.sampled_from(["a", "b", "c d", "é", "7"]), min_size=1, max_size=4)


@settings(max_examples=examples(3, 60))
@given(few_ids, few_ids, few_ids)
@example(["a", "7"], ["a", "7"], ["7"])  # the identifiers of the second refer to the first
def test_several_loads_give_the_triples_of_one(tmp_path_factory, first, second, referring):
    folder = tmp_path_factory.mktemp("tables")
    brands, makers_, products = (folder / f"{name}.csv" for name in ("brands", "makers", "products"))
    brands.write_text("id,n\n" + "".join(f"{one},1\n" for one in dict.fromkeys(first)))
    makers_.write_text("id,n\n" + "".join(f"{one},1\n" for one in dict.fromkeys(second)))
    products.write_text("sku,brand,maker\n" + "".join(f"s{i},{one},{one}\n" for i, one in enumerate(referring)))
    with KnowledgeBase.create(folder / "a.kb") as parts, KnowledgeBase.create(folder / "b.kb") as one:
        parts.load(brands, index=False)
        parts.load(makers_, index=False)
        parts.load(products, index=False)
        one.load(makers_, brands, products, index=False)
        assert triples_of_products(parts) == triples_of_products(one)


def test_one_value_that_is_no_earlier_row_keeps_all_of_them_texts_and_gives_a_note(kb, files):
    brands, products = files(brands=BRANDS, products=PRODUCTS + "s4,b9\n")
    kb.load(brands)
    mapping = kb.guess_mapping(products)
    assert note(mapping, "brand_id") == [
        "column 'brand_id' is no reference to 'brands', which was loaded earlier: no row there has 'b9', so all "
        "cells are values, and queries by ex:brand find none of these rows"
    ]
    kb.load(products)
    assert makers(kb) == {}
    assert ("<http://example.org/Product/s1>", f"<{EX}brand_id>", '"b1"') in triples(kb)


def test_values_are_looked_up_in_rows_of_both_loads(kb, files):
    old, new = files(categories="id,parent_category\nc1,\nc2,c1\n", more="id,parent_category\nc3,c1\nc4,c3\n")
    kb.load(old)
    kb.load(new, class_="Category")
    found = kb.query(f"SELECT ?s ?o {{ ?s <{EX}parent_category> ?o }}")
    assert {(str(row["s"])[-2:], str(row["o"])[-2:]) for row in found} == {("c2", "c1"), ("c3", "c1"), ("c4", "c3")}


def test_numbers_refer_to_an_earlier_table_only_by_its_name(kb, files):
    brands, products = files(brands="id,n\n1,x\n2,y\n", products="sku,brand_id,stock\ns1,1,2\ns2,2,1\n")
    kb.load(brands)
    kb.load(products)
    assert makers(kb) == {"Product/s1": "<Brand/1>", "Product/s2": "<Brand/2>"}
    assert kb.query(f"SELECT ?o {{ ?s <{EX}stock> ?o }}")[0]["o"].toPython() in (1, 2)


@pytest.mark.parametrize("kept", [("1", "2"), ("1", "3a")])
def test_a_later_part_with_identifiers_of_another_kind_leaves_both_to_be_referred_to(kb, files, kept):
    kb.load(*files(brands="id,n\n1,x\n2,y\n"))
    kb.load(*files(brands="id,n\n3a,z\n"))
    kb.load(*files(products=f"sku,brand_id\ns1,{kept[0]}\ns2,{kept[1]}\n"))
    assert makers(kb) == {f"Product/s{i}": f"<Brand/{one}>" for i, one in enumerate(kept, 1)}


def test_a_part_in_one_call_with_a_table_that_refers_to_an_earlier_part_is_found(kb, files):
    kb.load(*files(brands="id,n\n1,x\n2,y\n"))
    kb.load(*files(brands="id,n\n3a,z\n", products="sku,brand_id\ns1,1\ns2,2\n"))
    assert makers(kb) == {"Product/s1": "<Brand/1>", "Product/s2": "<Brand/2>"}


def test_a_table_refers_to_the_last_class_of_another(kb, files):
    brands, products = files(brands=BRANDS, products=PRODUCTS)
    for class_ in ("Brand", "Maker", "Brand", "Maker"):
        kb.load(brands, class_=class_)
    kb.load(products)
    assert {one[:7] for one in makers(kb).values()} == {"<Maker/"}


def test_rows_that_another_process_has_loaded_are_referred_to(kb, files, tmp_path):
    brands, products = files(brands=BRANDS, products=PRODUCTS)
    with KnowledgeBase.open(tmp_path / "shop.kb") as other:
        other.load(brands)
    assert kb.guess_mapping(products).tables[0].properties[-1].predicates == (f"{EX}brand",)
    kb.load(products)
    assert len(makers(kb)) == 3


@pytest.mark.parametrize("index", sampled([None, True, False], None))
def test_references_are_decided_anew_if_the_rows_go_before_the_load_begins(kb, files, tmp_path, monkeypatch, index):
    brands, products = files(brands=BRANDS, products=PRODUCTS)
    kb.load(brands)
    others = [f"DELETE WHERE {{ <{EX}Brand/b1> ?p ?o }}", "INSERT DATA { <a:b> <a:b> <a:b> }"]

    def another_writer(*arguments):
        if others:
            with KnowledgeBase.open(tmp_path / "shop.kb") as other:
                other.update(others.pop(0))
        return described_already(*arguments)

    monkeypatch.setattr("hybridkg.kb.write.load_inputs.described_already", another_writer)
    report = kb.load(products, index=index)
    assert (makers(kb), report.triples, others) == ({}, 9, [])


def test_rows_that_are_gone_are_referred_to_no_more(kb, files):
    brands, products = files(brands=BRANDS, products=PRODUCTS)
    kb.load(brands)
    kb.update(f"DELETE WHERE {{ <{EX}Brand/b1> ?p ?o }}")
    kb.load(products)
    assert makers(kb) == {}


def test_a_replaced_graph_has_no_earlier_tables(kb, files):
    brands, products = files(brands=BRANDS, products=PRODUCTS)
    kb.load(brands)
    kb.load(products, replace="default")  # the brands are gone
    assert makers(kb) == {}
    kb.load(brands, products, replace="default")
    kb.load(*files(offers="offer,sku\no1,s1\no2,s2\n"))
    assert len(kb.query(f"SELECT ?o {{ ?s <{EX}product> ?o }}")) == 2


def test_a_table_that_is_loaded_again_under_another_class_does_not_refer_to_itself(kb, files):
    (brands,) = files(brands=BRANDS)
    kb.load(brands)
    mapping = kb.guess_mapping(brands, class_="Maker")
    assert all(one.target.kind != "iri" for one in mapping.tables[0].properties if one.target.columns)


def test_a_transaction_sees_the_tables_that_it_has_loaded(kb, files):
    brands, products = files(brands=BRANDS, products=PRODUCTS)
    with kb.transaction() as t:
        t.load(brands)
        t.load(products)
    assert len(makers(kb)) == 3


def test_a_failed_load_of_a_transaction_leaves_no_table(kb, files):
    brands, products = files(brands=BRANDS, products=PRODUCTS)
    mapping = guess_mapping(brands)
    with kb.transaction() as t:
        with pytest.raises(LoadError, match="row 4 has 3 cells"):
            t.load(*files(brands=BRANDS + "b4,x,y\n"), mapping=mapping)
        files(brands=BRANDS)
        t.load(products)
    assert makers(kb) == {}


def test_the_tables_stay_through_updates_a_backup_and_a_restoration(kb, files, tmp_path):
    brands, products = files(brands=BRANDS, products=PRODUCTS)
    kb.load(brands)
    kb.update(f'INSERT DATA {{ <{EX}x> <{EX}y> "z" }}')
    kb.backup(tmp_path / "copy")
    KnowledgeBase.restore(tmp_path / "copy", tmp_path / "again.kb")
    with KnowledgeBase.open(tmp_path / "again.kb") as again:
        again.load(products)
        assert len(makers(again)) == 3


def test_a_table_that_was_loaded_by_a_mapping_is_referred_to(kb, files, tmp_path):
    brands, products = files(brands=BRANDS, products=PRODUCTS)
    (tmp_path / "m.yml").write_text(
        'mappings: {brands: {sources: [["brands.csv~csv"]], s: "http://e.org/b/$(brand_id)", '
        'po: [["http://e.org/name", "$(name)"]]}}'
    )
    kb.load(brands, mapping=tmp_path / "m.yml")
    kb.load(products)
    assert {one.removeprefix("<http://e.org/b/") for one in makers(kb).values()} == {"b1>", "b%202>"}


def test_a_table_that_comes_after_those_that_refer_to_it_says_so(kb, files):
    products, brands = files(products=PRODUCTS, brands=BRANDS)
    kb.load(products)
    assert note(kb.guess_mapping(brands), "earlier") == [
        "'products' was loaded earlier and has identifiers of these rows as texts, by ex:brand_id; to make references "
        "of them, load it again with --replace-rows"
    ]
    assert note(kb.guess_mapping(*files(brands="brand_id\nb7\nb8\n")), "earlier") == []


def test_a_load_without_earlier_tables_looks_nothing_up(kb, files, monkeypatch):
    monkeypatch.setattr("hybridkg.kb.write.loaded_tables.TripleLookups", None)
    kb.load(*files(products=PRODUCTS))


def test_verified_values_are_forgotten_at_a_bound(kb, files, monkeypatch):
    monkeypatch.setattr(foreign_keys, "MAX_FOUND", 1)
    brands, products = files(brands=BRANDS, products=PRODUCTS)
    kb.load(brands)
    kb.load(products)
    assert len(makers(kb)) == 3


def test_the_command_shows_references_to_earlier_tables(files, tmp_path):
    brands, products = files(brands=BRANDS, products=PRODUCTS)
    base = str(tmp_path / "c.kb")
    assert CliRunner().invoke(cli, ["load", base, str(brands)]).exit_code == 0
    done = CliRunner().invoke(cli, ["load", base, str(products)])
    assert "brand_id  ex:brand  <http://example.org/Brand/{brand_id}>" in done.stderr
    replaced = CliRunner().invoke(cli, ["load", base, str(products), "--replace", "default", "--dry-run"])
    assert "brand_id  ex:brand_id  text" in replaced.stderr


def test_tables_and_their_texts_are_bounded():
    kept = KeptTables([])
    kept.add(RowSubject("x" * (MAX_LENGTH + 1), "id", "", "http://e/"))
    assert not kept.kept
    for i in range(MAX_TABLES + 1):
        kept.add(RowSubject(f"t{i}", "id", "", "http://e/"))
    assert (len(kept.kept), kept.kept[0].table) == (MAX_TABLES, "t1")


def test_templates_that_are_no_iris_are_not_looked_up(kb, files, tmp_path):
    kb.load(*files(brands=BRANDS))
    manifest = max((tmp_path / "shop.kb").glob("*/manifest.json"))
    value = json.loads(manifest.read_text())
    del value["checksum"]
    value["tables"][0]["start"] = "> } ; DROP ALL #"
    manifest.write_text(json.dumps(value))
    with KnowledgeBase.open(tmp_path / "shop.kb") as base:
        base.load(*files(products=PRODUCTS))
        assert makers(base) == {}


def test_rows_are_shown_by_a_prefix_that_a_query_takes(kb, files):
    kb.load(*files(film_reviews="id,n\na b,1\nr-2.x,1\n7,1\né,2\n"))
    assert dict(kb.prefixes) == {"ex": EX, "filmReview": f"{EX}FilmReview/"}
    rows = [row["s"] for row in kb.query("SELECT ?s { ?s a ex:FilmReview }")]
    names = {shortened(str(iri), kb.prefixes) for iri in rows}
    assert names == {"filmReview:a%20b", "filmReview:r-2.x", "filmReview:7", f"<{EX}FilmReview/é>"}
    for iri in rows:  # each name leads back to its row
        (row,) = kb.query(f"SELECT ?n {{ {shortened(str(iri), kb.prefixes)} ex:n ?n }}")
        assert row["n"].toPython() in (1, 2)


def test_the_prefix_of_rows_never_takes_the_name_of_another(kb, files, tmp_path):
    (tmp_path / "a.ttl").write_text("@prefix brand: <http://mine/> . brand:a brand:b brand:c .")
    report = kb.load(tmp_path / "a.ttl", *files(brands=BRANDS, geo="id\ng1\n"))
    assert report.warnings == ()
    assert dict(kb.prefixes) == {"brand": "http://mine/", "brand2": f"{EX}Brand/", "ex": EX, "geo2": f"{EX}Geo/"}


def test_a_prefix_of_rows_that_was_removed_stays_away(kb, files):
    (brands,) = files(brands=BRANDS)
    kb.load(brands)
    kb.set_prefixes({"brand": None})
    kb.load(*files(brands=BRANDS + "b4,x\n"))
    assert "brand" not in kb.prefixes


def test_a_namespace_that_has_a_prefix_gets_no_second_one(kb, files, tmp_path):
    (tmp_path / "m.yml").write_text(
        'prefixes: {b: "http://e.org/brand/"}\n'
        'mappings: {brands: {sources: [["brands.csv~csv"]], s: "b:$(brand_id)", po: [["b:name", "$(name)"]]}}'
    )
    kb.load(*files(brands=BRANDS), mapping=tmp_path / "m.yml")
    assert dict(kb.prefixes) == {"b": "http://e.org/brand/"}


@pytest.mark.parametrize("value", ["x" * 201, "\ud800"])
def test_texts_that_identify_nothing_are_not_looked_up(value):
    asked = []

    def find(nodes):
        asked.extend(nodes)
        return {*asked}

    brands = RowSubject("brands", "id", "string", f"{EX}Brand/")
    assert EarlierTables([brands], find).missing([(brands, value), (brands, "b1")]) == [True, False]
    assert [str(node) for node in asked] == [f"<{EX}Brand/b1>"]
