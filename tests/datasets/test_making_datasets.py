"""Datasets are made whole or not at all, from files that are where and what they should be."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from click.testing import CliRunner
from small_sources import CACM, CRANFIELD, METAQA, SMALL, lay_out

from hybridkg.cli import cli
from hybridkg.datasets import DATASETS, sources
from hybridkg.datasets.building import make_dataset
from hybridkg.datasets.recipe import Recipe
from hybridkg.entities.profile.profile_reader import known_profiles
from hybridkg.errors import LoadError, UnknownNameError, UserError
from hybridkg.interfaces.progress import SILENT


class Stop(SILENT.__class__):
    """Interrupts when the triples are written."""

    def start(self, label: str, total_bytes: int | None) -> None:
        if label.startswith("writing"):
            raise KeyboardInterrupt


def test_nothing_is_left_where_the_work_is_interrupted(made, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        make_dataset("cranfield", made / "data", tmp_path / "out", progress=Stop())
    assert list(tmp_path.iterdir()) == []


def test_what_exists_is_refused_and_left_alone(made, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("empty", "link"):
        with pytest.raises(UserError) as e:
            make_dataset("cranfield", made / "data", tmp_path / name)
        assert e.value.render() == (
            f"error[H001]: {str(tmp_path / name)!r} exists already\n"
            "  hint: remove it, or choose another: hybridkg dataset cranfield --out FOLDER"
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "link"]


@pytest.mark.parametrize(
    "below", ["", "ir-collections", "ir-collections/cranfield", "kg-with-text/fb15k-237", "dbpedia-entity-v2/v2"]
)
def test_the_data_folder_and_every_folder_on_the_way_will_do(made, below):
    name = "cranfield" if below.startswith("ir") else "fb15k-dbpedia-entity"
    recipe: Recipe = DATASETS.get(name)
    found = sources.find_sources(name, recipe.files, made / "data" / below, recipe.origin)
    assert {key: found[key].path.resolve() for key in found} == {
        key: (made / "data" / place).resolve() for key, place in recipe.files.items()
    }


def test_the_files_alone_will_do_unpacked(made, tmp_path):
    recipe: Recipe = DATASETS.get("cranfield")
    for key, place in recipe.files.items():
        (tmp_path / Path(place).with_suffix("").name).write_text(CRANFIELD[key])
    found = sources.find_sources("cranfield", recipe.files, tmp_path, recipe.origin)
    assert len(recipe.read(found).qrels) == 3


def test_a_missing_file_is_named_with_where_to_get_it(made, tmp_path):
    data = lay_out(tmp_path, "cacm", CACM)
    (data / "ir-collections/cacm/query.text.xz").unlink()
    with pytest.raises(LoadError) as e:
        make_dataset("cacm", data, tmp_path / "out")
    assert e.value.render() == (
        f"error[L301]: 'ir-collections/cacm/query.text.xz' is not in {str(data)!r}\n"
        "  hint: --from is the data folder, or the folder with the files of 'cacm'\n"
        "        they come from the repository kavinsan/Information-Retrieval-Project on GitHub, commit feda4806"
    )
    with pytest.raises(LoadError, match="and 2 more of its 3 files"):
        make_dataset("cranfield", data, tmp_path / "out")
    with pytest.raises(LoadError, match="does not exist"):
        make_dataset("cranfield", data / "nowhere", tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "key", "old", "new", "message", "line"),
    [
        ("cranfield", "documents", "<docno>2", "<docno>3", "document number '3', where 2 comes next", 8),
        ("cranfield", "documents", "<bib></bib>", "", "document 2 has no <bib>", 8),
        ("cranfield", "documents", ".</text>\n</doc>", ".</text>", "<doc> is not closed", 8),
        ("cranfield", "documents", "doc>", "dog>", "there is no <doc> in this file", 1),
        ("cranfield", "queries", "what of heat", " ", "question 2 has no text", 5),
        ("cranfield", "qrels", "2 0 2 3", "2 0 3 1", "there is no question 2 or no document 3", 2),
        ("cranfield", "qrels", "2 0 2 3", "2 0 2", "a judgement is four numbers: question 0 document grade", 2),
        ("cacm", "documents", "1\t4\t2", "7\t4\t2", "document 2 has a link to 7, which does not exist", 24),
        ("cacm", "documents", "1\t4\t2", "1\t9\t2", "document 2 has a link '1 9 2', not 'other 4|5|6 this'", 24),
        ("cacm", "documents", ".I 2", ".I 1", "record 1 occurs twice", 24),
        ("cacm", "documents", ".W\nOn", ".T\nOn", "record 1 has .T twice", 5),
        ("cacm", "queries", ".I 1", "hello", "a record begins with '.I' and its number", 1),
        ("cacm", "qrels", "0002", "0003", "there is no question '01' or no document '0003'", 1),
        ("fb15k-dbpedia-entity", "entities", "/m/0b", "m.0b", "'m.0b' is not the id of an entity with a name", 3),
        ("fb15k-dbpedia-entity", "entities", "/m/0b", "/m/0a", "'/m/0a' occurs twice", 3),
        ("fb15k-dbpedia-entity", "relations", "/people/", "/peo ple/", "is not the name of a relation", 2),
        ("fb15k-dbpedia-entity", "train", "/m/0a", "/m/0z", "'/m/0z' is not in the file of entities", 1),
        ("fb15k-dbpedia-entity", "train", "/m/0c\t", "/m/0c ", "2 cells, where 3 are expected", 1),
        ("fb15k-dbpedia-entity", "valid", "profession", "job", "is not in the file of relations", 1),
        ("fb15k-dbpedia-entity", "numeric", "1964.0", "1e9", "is not a property of Freebase and a number", 1),
        ("fb15k-dbpedia-entity", "sameas", "http://db", "file://db", "is not a resource of DBpedia", 1),
        ("fb15k-dbpedia-entity", "qrels", "\t2\n", "\tx\n", "'x' is not a grade: 0, 1 or 2", 1),
        ("fb15k-dbpedia-entity", "stopped", "QALD2_te-1", "x", "the query 'QALD2_te-1' has judgements, but no text", 1),
        ("fb15k-dbpedia-entity", "folds", '"0"', "0", "folds are", 1),
        ("fb15k-dbpedia-entity", "folds", "testing", "test", "folds are", 1),
        ("metaqa", "graph", "release_year", "released", "no relation 'released'; known: directed_by", 2),
        ("metaqa", "dev1-types", "movie_to_director\n", "a\nb\n", "2 types for 1 questions", 2),
        ("metaqa", "test1", "[Ann]", "Ann", "a question has its entity in brackets", 2),
        ("metaqa", "test1", "\tCold", " Cold", "1 cells, where 2 are expected", 1),
        ("metaqa", "dev-triples", '"h"', '"x"', 'a line is {"question"', 1),
    ],
)
def test_a_wrong_file_is_told_with_its_line_and_nothing_is_made(tmp_path, name, key, old, new, message, line):
    files = {**SMALL[name], key: SMALL[name][key].replace(old, new)}
    assert files != SMALL[name]
    lay_out(tmp_path / "data", name, files)
    with pytest.raises(LoadError) as e:
        make_dataset(name, tmp_path / "data", tmp_path / "out")
    assert message in e.value.message
    assert e.value.place == f"{tmp_path / 'data' / DATASETS.get(name).files[key]}:{line}"
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lzma.compress(b"<doc>" * 700)[:-20], "cannot read 'cran.all.1400.xml.xz'"),
        (b"no archive", "cannot read 'cran.all.1400.xml.xz'"),
        (lzma.compress(b"a\nb\xff"), "'cran.all.1400.xml.xz' is not UTF-8 text"),
        (lzma.compress(b"a" * 5000), "'cran.all.1400.xml.xz' is larger than 4,000 bytes"),
    ],
    ids=["cut", "other", "latin", "vast"],
)
def test_a_damaged_or_vast_file_is_refused(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr(sources, "MAX_TEXT", 4000)
    data = lay_out(tmp_path, "cranfield", CRANFIELD)
    (data / "ir-collections/cranfield/cran.all.1400.xml.xz").write_bytes(content)
    with pytest.raises(LoadError) as e:
        make_dataset("cranfield", data, tmp_path / "out")
    assert message in e.value.message
    assert "cran.all" in e.value.place


def test_the_command_makes_the_folder_and_counts(made, tmp_path):
    result = CliRunner().invoke(
        cli, ["dataset", "cranfield", "--from", str(made / "data"), "--out", str(tmp_path / "c")]
    )
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert "documents: 2\n" in result.stderr
    assert "topics: 2\n" in result.stderr
    assert (tmp_path / "c/kb/CURRENT").exists()


def test_an_unknown_name_is_told_before_what_it_would_need():
    ran = CliRunner().invoke(cli, ["dataset", "cranfeld"])
    assert ran.exit_code == 2
    assert "did you mean 'cranfield'" in ran.output


def test_the_help_names_every_dataset_and_an_unknown_name_lists_them(tmp_path):
    shown = CliRunner().invoke(cli, ["dataset", "--help"]).output
    for name in DATASETS.names():
        recipe = DATASETS.get(name)
        assert recipe.name == name
        assert name in shown
        assert recipe.profile in known_profiles()
    with pytest.raises(UnknownNameError, match="no dataset 'cranfeld'; known: cacm, cranfield, dbpedia-entity-v2"):
        make_dataset("cranfeld", tmp_path, tmp_path / "out")


@pytest.mark.parametrize("kind", ["movie_to_director", "movie_to_x_to_year", "person_to_movie_to_year"])
def test_a_type_of_metaqa_has_a_relation_for_each_hop(tmp_path, kind):
    lay_out(tmp_path / "data", "metaqa", {**METAQA, "test2-types": kind + "\n"})
    with pytest.raises(LoadError, match=f"no type '{kind}' of a question of 2 hops"):
        make_dataset("metaqa", tmp_path / "data", tmp_path / "out")
