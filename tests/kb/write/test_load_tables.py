"""Tables in a knowledge base: all or nothing, indexes that follow, mappings, DataFrames, and the command line."""

from __future__ import annotations

import csv
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest
from click.testing import CliRunner

from hybridkg import KnowledgeBase, LoadError, guess_mapping
from hybridkg.cli import cli
from hybridkg.tables.morph_kgc import INTERPRETER, interpreter

ROWS = [
    ["tt1", "Alien", "1979", "horror|space"],
    ["tt2", "Solaris", "1972", "space"],
    ["tt3", "Jaws", "1975", "horror|sea"],
]
QUERY = 'SELECT ?f { ?f MATCH "space" AS ?s } RANK BY ?s'
COUNT = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"


@pytest.fixture
def films(tmp_path):
    path = tmp_path / "films.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["imdb_id", "title", "year", "genres"], *ROWS])
    return path


@pytest.fixture
def kb(tmp_path):
    with KnowledgeBase.create(tmp_path / "films.kb") as made:
        yield made


def triples(kb):
    return {tuple(row[name].n3() for name in "spo") for row in kb.query("SELECT ?s ?p ?o { ?s ?p ?o }")}


def triple(*terms):
    """A triple of texts as `triples` has it: IRIs, and a literal where the last one is none."""
    return tuple(f"<{text}>" if text.startswith("http") else f'"{text}"' for text in terms)


def test_a_table_is_loaded_and_ranked(kb, films):
    report = kb.load(films)
    assert (report.statements, report.triples) == (20, 20)
    assert {str(row["f"]) for row in kb.query(QUERY)} == {f"http://example.org/Film/tt{n}" for n in (1, 2)}
    year = kb.query("SELECT ?f { ?f <http://example.org/year> ?y FILTER(?y < 1975) }")
    assert [str(row["f"]) for row in year] == ["http://example.org/Film/tt2"]


def test_a_column_of_descriptions_is_found_in_the_field_description(kb, tmp_path):
    path = tmp_path / "shops.csv"
    path.write_text("id,name,description\n1,Corner,sells tea\n2,Mall,sells shoes\n")
    kb.load(path)
    found = kb.query('SELECT ?s { ?s MATCH "tea" ON (description) }')
    assert [str(row["s"]) for row in found] == ["http://example.org/Shop/1"]


def test_a_data_frame_to_a_ranked_answer_in_four_lines():
    frame = pd.DataFrame([row[:2] for row in ROWS], columns=["imdb_id", "title"])
    with KnowledgeBase.temporary(frame, id="imdb_id", class_="Film", prefix="http://e.org/") as kb:
        rows = kb.query('SELECT ?f { ?f MATCH "jaws" AS ?s } RANK BY ?s')
        assert [str(row["f"]) for row in rows] == ["http://e.org/Film/tt3"]
        kb.load(frame.assign(year=1999), id="imdb_id", class_="Film", prefix="http://e.org/")
        assert kb.query(COUNT)[0]["n"].toPython() == 3 * 4 + 3


def test_an_error_in_the_last_row_loads_nothing(kb, films, tmp_path):
    kb.load(films)
    before = triples(kb)
    mapping = tmp_path / "m.yml"
    guess_mapping(films).save(mapping)
    films.write_text(films.read_text() + "tt4,Blade Runner,nineteen,space\n")
    (tmp_path / "more.nt").write_text('<http://e/a> <http://e/p> "x" .\n')
    with pytest.raises(LoadError, match="row 4, column 'year': 'nineteen' is not of the datatype integer"):
        kb.load(tmp_path / "more.nt", films, mapping=mapping)
    assert triples(kb) == before
    kb.load(films)  # the guess says it is a text now
    assert triple("http://example.org/Film/tt4", "http://example.org/year", "nineteen") in triples(kb)


def test_a_small_table_is_followed_by_the_indexes(kb, films):
    kb.load(films)
    more = films.with_name("more.csv")
    more.write_text("imdb_id,title\ntt9,Space Odyssey\n")
    report = kb.load(more, class_="Film")
    assert report.has_followed
    assert "http://example.org/Film/tt9" in {str(row["f"]) for row in kb.query(QUERY)}


def test_a_table_replaces_a_graph(kb, films):
    kb.load(films)
    films.write_text("imdb_id,title\ntt1,Alien\n")
    report = kb.load(films, replace="default")
    assert report.removed == 16
    films.write_text("imdb_id,title\n")
    with pytest.raises(LoadError, match=r"no statement in .*films.csv.*would be emptied"):
        kb.load(films, replace="default")
    assert [warning.code for warning in kb.load(films).warnings] == ["W301"]


def test_a_transaction_takes_tables(kb, films):
    with kb.transaction() as t:
        t.load(films)
        assert len(t.query(QUERY)) == 2
    assert len(kb.query(QUERY)) == 2


def test_rows_about_entities_that_are_there_already_give_a_warning(kb, films):
    assert kb.load(films).warnings == ()
    films.write_text("imdb_id,title\ntt1,Aliens\ntt9,Dune\n")
    (warning,) = kb.load(films).warnings
    assert warning.code == "W304"
    assert "1 row describes an entity that the knowledge base has already: the values are added" in warning.message
    assert "--replace default" in warning.hint
    assert kb.load(films).warnings == ()  # nothing is added
    films.write_text("imdb_id,title\ntt1,Alien 3\n")
    assert kb.load(films, replace="default").warnings == ()


def test_a_table_is_loaded_where_the_text_index_is_damaged(tmp_path, films):
    with KnowledgeBase.create(tmp_path / "d.kb") as made:
        made.load(films)
    generation = tmp_path / "d.kb" / (tmp_path / "d.kb" / "CURRENT").read_text().strip()
    description = generation / "text" / "text.json"
    description.write_bytes(b"{" * description.stat().st_size)
    with KnowledgeBase.open(tmp_path / "d.kb") as damaged:
        damaged.load(films, index=True)
        assert len(damaged.query(QUERY)) == 2


def test_tables_and_rdf_are_one_load(kb, films, tmp_path):
    (tmp_path / "more.ttl").write_text('<http://e/a> <http://e/p> "space" .\n')
    assert kb.load(films, tmp_path / "more.ttl").triples == 21


def test_a_mapping_for_other_files_is_an_error(kb, films, tmp_path):
    mapping = tmp_path / "m.yml"
    other = tmp_path / "people.csv"
    other.write_text("id\np1\n")
    guess_mapping(films, other).save(mapping)
    with pytest.raises(LoadError, match=r"names 'people.csv', which is not among the inputs"):
        kb.load(films, mapping=mapping)
    guess_mapping(films).save(mapping, overwrite=True)
    with pytest.raises(LoadError, match=r"does not name .*people.csv"):
        kb.load(films, other, mapping=mapping)
    renamed = films.rename(tmp_path / "films-2024.csv")
    assert kb.load(renamed, mapping=mapping).triples == 20  # one table, one map
    renamed.rename(films)
    assert kb.load(mapping=mapping).statements == 20  # the files beside the mapping
    with pytest.raises(LoadError, match="prefix is for tables without a mapping"):
        kb.load(films, mapping=mapping, prefix="http://e.org/")
    with pytest.raises(LoadError, match="id is for tables without a mapping, and no input is a table"):
        kb.load(tmp_path / "x.ttl", id="a")


def run(*arguments):
    return CliRunner().invoke(cli, [str(one) for one in arguments])


def test_the_command_shows_the_mapping_and_saves_it(tmp_path, films):
    kb, saved = tmp_path / "c.kb", tmp_path / "saved.yml"
    tried = run("load", kb, films, "--dry-run")
    assert tried.exit_code == 0, tried.stderr
    assert not kb.exists()
    assert tried.stdout.splitlines()[1] == '<http://example.org/Film/tt1> <http://example.org/imdb_id> "tt1" .'
    done = run(
        "load", kb, films, "--id", "imdb_id", "--class", "Movie", "--prefix", "http://e.org/", "--save-mapping", saved
    )
    assert done.exit_code == 0, done.stderr
    assert "each row is <http://e.org/Movie/{imdb_id}>, of class ex:Movie" in done.stderr
    assert "genres   ex:genres             text, several separated by '|'" in done.stderr
    other = tmp_path / "d.kb"
    again = run("load", other, "--mapping", saved, films)
    assert again.exit_code == 0, again.stderr
    with KnowledgeBase.open(kb) as one, KnowledgeBase.open(other) as two:
        assert triples(one) == triples(two)
    shown = run("load", other, "--mapping", saved, films, "--dry-run")
    assert "each row is <http://e.org/Movie/{imdb_id}>" in shown.stderr


def test_a_class_with_a_prefix_that_the_knowledge_base_keeps(tmp_path, films):
    (tmp_path / "a.ttl").write_text("@prefix shop: <http://shop.example/> . shop:a a shop:B .")
    kb = tmp_path / "c.kb"
    assert run("load", kb, tmp_path / "a.ttl", "--no-index").exit_code == 0
    assert run("load", kb, films, "--class", "shop:Film", "--no-index").exit_code == 0
    with KnowledgeBase.open(kb) as base:
        base.load(films, class_="shop:Movie", index=False)
        classes = {str(row["c"]) for row in base.query("SELECT ?c { ?s a ?c }")}
    assert classes == {f"http://shop.example/{name}" for name in ("B", "Film", "Movie")}


def test_the_command_saves_no_mapping_over_a_file(tmp_path, films):
    before = films.read_bytes()
    for further in ((), ("--dry-run",)):
        refused = run("load", tmp_path / "c.kb", films, "--save-mapping", films, *further)
        assert (refused.exit_code, "there is a file" in refused.stderr) == (2, True)
    assert films.read_bytes() == before
    assert not (tmp_path / "c.kb").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--id", "imbd_id"), "did you mean 'imdb_id'?"),
        (("--class", "x=Film"), "class is given for a table 'x'; the tables: films"),
        (("--id", "films=a", "--id", "films=b"), "once a table"),
        (("--mapping", "none.yml"), "no file 'none.yml'"),
        (("--prefix", "a b"), "'a b' cannot begin an IRI"),
    ],
)
def test_wrong_options(tmp_path, films, arguments, message):
    done = run("load", tmp_path / "x.kb", films, *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "x.kb").exists()


def test_options_without_a_table(tmp_path):
    (tmp_path / "a.ttl").write_text("<http://e/a> <http://e/p> 1 .")
    for option in (("--save-mapping", "m.yml"), ("--dry-run",), ("--id", "x")):
        done = run("load", tmp_path / "x.kb", tmp_path / "a.ttl", *option)
        assert done.exit_code == 2
        assert "table" in done.stderr


def test_a_table_that_is_called_turtle(tmp_path):
    (tmp_path / "a.ttl").write_text("id,name\n1,x\n")
    done = run("load", tmp_path / "x.kb", tmp_path / "a.ttl")
    assert "looks like the header of a table: give it a name that ends in .csv" in done.stderr
    (tmp_path / "page.html").write_text("<html/>")
    done = run("load", tmp_path / "x.kb", tmp_path / "page.html")
    assert "did you mean" not in done.stderr
    assert ".csv" in done.stderr


def test_what_is_no_table_and_no_statement():
    with pytest.raises(LoadError, match="'a': it needs a subject, a predicate and an object"):
        KnowledgeBase.temporary(["a"])


def test_two_files_of_one_name_are_an_error_and_none_is_left_out(kb, films, tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "films.csv").write_bytes(films.read_bytes())
    files = [tmp_path / name / "films.csv" for name in "ab"]
    mapping = guess_mapping(films)
    with pytest.raises(LoadError, match="have the same"):
        kb.load(*files, mapping=replace(mapping, tables=(*mapping.tables, replace(mapping.tables[0], source="x.csv"))))
    monkeypatch.setenv(INTERPRETER, sys.executable)
    (tmp_path / "m.yml").write_text("mappings: {m: {sources: films.csv, s: http://e/x, condition: x}}")
    with pytest.raises(LoadError, match=r"two are called 'films\.csv'"):
        kb.load(*files, mapping=tmp_path / "m.yml")


def test_morph_kgc_that_is_not_there(kb, films, tmp_path, monkeypatch):
    monkeypatch.delenv(INTERPRETER, raising=False)
    monkeypatch.setattr("hybridkg.tables.morph_kgc.find_spec", lambda name: None)
    (tmp_path / "m.rml.ttl").write_text(GRAPHS)
    done = run("load", tmp_path / "x.kb", films, "--mapping", tmp_path / "m.rml.ttl")
    assert done.exit_code == 2
    assert "the property 'graph' of RML needs morph-kgc" in done.stderr
    assert f"export {INTERPRETER}=" in done.stderr


def test_a_morph_kgc_that_fails_loads_nothing(kb, films, tmp_path, monkeypatch):
    (tmp_path / "m.rml.ttl").write_text(GRAPHS)
    monkeypatch.setenv(INTERPRETER, sys.executable)  # has no module morph_kgc
    with pytest.raises(LoadError, match=r"morph-kgc failed: .*No module named morph_kgc"):
        kb.load(films, mapping=tmp_path / "m.rml.ttl")
    monkeypatch.setenv(INTERPRETER, str(tmp_path / "none"))
    with pytest.raises(LoadError, match="cannot run"):
        kb.load(films, mapping=tmp_path / "m.rml.ttl")


RML = """
@prefix rml: <http://semweb.mmlab.be/ns/rml#> . @prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
<#Films> a rr:TriplesMap ;
  rml:logicalSource [ rml:source "films.csv" ; rml:referenceFormulation ql:CSV ] ;
  rr:subjectMap [ rr:template "http://e.org/{imdb_id}" ] ;
  rr:predicateObjectMap [ rr:predicate <http://e.org/title> ; rr:objectMap [ rml:reference "title" ] ] .
"""
GRAPHS = RML.replace('{imdb_id}" ]', '{imdb_id}" ; rr:graph <http://e.org/g> ]')


def test_rml_of_single_rows_needs_no_morph_kgc(kb, films, tmp_path, monkeypatch):
    monkeypatch.setattr("hybridkg.tables.morph_kgc.interpreter", lambda: None)
    mapping = tmp_path / "m.rml.ttl"
    mapping.write_text(RML)
    assert kb.load(films, mapping=mapping).triples == 3
    assert kb.load(mapping=mapping).statements == 3  # the files beside the mapping
    assert triple("http://e.org/tt1", "http://e.org/title", "Alien") in triples(kb)


needs_morph_kgc = pytest.mark.skipif(interpreter() is None, reason=f"no morph-kgc; set {INTERPRETER}")


@needs_morph_kgc
def test_rml_through_morph_kgc(kb, films, tmp_path):
    mapping = tmp_path / "m.rml.ttl"
    mapping.write_text(GRAPHS)
    assert kb.load(films, mapping=mapping).triples == 3
    assert kb.load(mapping=mapping).statements == 3  # the files beside the mapping
    found = kb.query("SELECT ?t { GRAPH <http://e.org/g> { ?f <http://e.org/title> ?t } }")
    assert {str(row["t"]) for row in found} == {"Alien", "Solaris", "Jaws"}


@needs_morph_kgc
def test_morph_kgc_gives_the_triples_of_a_saved_mapping(films, tmp_path):
    films.write_text(
        "id,title_en,title_de,year,rating,seen,at,page,tags,parent_film\n"
        'f 1,"say ""x\\y""",Äh,1979,8.5,TRUE,2001-02-03 04:05:06,http://e.org/a,x|y,f2\n'
        "f2,b,,1972,9.25,false,2001-02-03T04:05:06,http://e.org/b?c=d,z|y,\n"
        'f3,"c\nd",ü,,,,,,w,f 1\n'
    )
    mapping = tmp_path / "m.yml"
    guess_mapping(films, id="id").save(mapping)
    with KnowledgeBase.create(tmp_path / "a.kb") as ours, KnowledgeBase.create(tmp_path / "b.kb") as theirs:
        ours.load(films, mapping=mapping, index=False)
        beyond = tmp_path / "beyond.yml"  # the key `graphs` is for morph-kgc
        text = mapping.read_text(encoding="utf-8")
        beyond.write_text(text.replace("    po:", "    graphs: http://e.org/g\n    po:"), encoding="utf-8")
        theirs.load(films, mapping=beyond, index=False)
        found = theirs.query("SELECT ?s ?p ?o { GRAPH <http://e.org/g> { ?s ?p ?o } }")
        assert {tuple(row[name].n3() for name in "spo") for row in found} == triples(ours)
        assert len(found) == 33


def test_memory_does_not_grow_with_the_rows(tmp_path):
    """The peak of a process that formats ten times as many rows is nearly the same."""
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from hybridkg.tables.inputs import guess_mapping, opened_tables, table_sources\n"
        "path = Path(sys.argv[1])\n"
        "mapping = guess_mapping(path)\n"
        "count = sum(n for s in table_sources(opened_tables([path]), mapping) for _, n in s.lines())\n"
        "print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    peaks = []
    for rows in (4_000, 40_000):
        path = tmp_path / f"t{rows}.csv"
        path.write_text("id,text,number\n" + "".join(f"i{i},{'some words ' * 5}{i},{i}\n" for i in range(rows)))
        done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
        count, peak = map(int, done.stdout.split())
        assert count == rows * 4
        peaks.append(peak)
    assert peaks[1] < peaks[0] + 12_000, peaks  # in kB; the larger file has 3 MB, and its triples 20 MB
