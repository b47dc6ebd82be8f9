"""The package graph, from hand-made distributions and from the environment that runs the tests."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pyoxigraph
import pytest

from hybridkg.demo.markup import MAX_LENGTH, clean, plain
from hybridkg.demo.packages import write_packages
from hybridkg.demo.queries import demo_queries
from hybridkg.demo.vocabulary import package_iri, web_page
from hybridkg.entities.profile.profile_reader import load_profile
from hybridkg.errors import StorageError

PK = "https://w3id.org/hybridkg/packages#"

FISH = """Metadata-Version: 2.1
Name: Red_Fish
Version: 1.0
Summary: Counts fish
Author: Ann Lee, Bo Ek and Cy
Author-email: "Dee Fox" <dee@example.org>, only@example.org
License: UNKNOWN
Keywords: fish,counting by hand
Classifier: License :: OSI Approved :: MIT License
Classifier: Topic :: Text Processing :: Indexing
Requires-Python: >=3.9
Requires-Dist: blue.fish (>=2)
Requires-Dist: numpy>=1 ; extra == "fast"
Requires-Dist: winfish; sys_platform == "win32"
Requires-Dist: ; nonsense
Provides-Extra: fast
Home-page: https://example.org/red fish
Project-URL: Source, https://example.org/src
Project-URL: Odd, not a url

# Red fish

[![badge](https://img/x.svg)](https://ci) A **counter** of [fish](https://example.org/fish).
"""


def make(folder: Path, name: str, metadata: str | bytes | None, record: str = "") -> Distribution:
    info = folder / f"{name}.dist-info"
    info.mkdir()
    if metadata is not None:
        (info / "METADATA").write_bytes(metadata.encode() if isinstance(metadata, str) else metadata)
    if record:
        (info / "RECORD").write_text(record)
    return Distribution.at(info)


def graph(path: Path) -> set[tuple[str, str, str]]:
    quads = pyoxigraph.parse(path=path, format=pyoxigraph.RdfFormat.N_TRIPLES)
    short = {"http://www.w3.org/2000/01/rdf-schema#label": "label"}
    return {
        (
            q.subject.value.removeprefix("https://pypi.org/project/"),
            short.get(q.predicate.value, q.predicate.value.removeprefix(PK)),
            q.object.value.removeprefix("https://pypi.org/project/"),
        )
        for q in quads
    }


def test_every_header_becomes_what_the_vocabulary_says(tmp_path):
    record = "redfish/__init__.py,,\nredfish/a.py,,\n_priv.py,,\nfishy.cpython-311.so,,\n../../bin/fish,,\n"
    written = write_packages(tmp_path, [make(tmp_path, "red", FISH, record)])
    assert (written.installed, written.unreadable) == (1, 0)
    found = graph(written.path)
    assert written.triples == len(found)
    about = {(p, o.removeprefix("https://w3id.org/hybridkg/packages/")) for s, p, o in found if s == "red-fish"}
    assert about - {("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", PK + "Package")} == {
        ("label", "Red_Fish"),
        ("version", "1.0"),
        ("summary", "Counts fish"),
        ("description", "Red fish\n\n A counter of fish."),
        ("pythonRequires", ">=3.9"),
        ("keyword", "fish"),
        ("keyword", "counting by hand"),
        ("module", "redfish"),
        ("module", "fishy"),
        ("extra", "fast"),
        ("requires", "blue-fish"),
        ("optionalRequires", "numpy"),
        ("conditionalRequires", "winfish"),
        ("requirement", "blue.fish (>=2)"),
        ("requirement", 'numpy>=1 ; extra == "fast"'),
        ("requirement", 'winfish; sys_platform == "win32"'),
        ("requirement", "; nonsense"),
        ("author", "person/Ann_Lee"),
        ("author", "person/Bo_Ek"),
        ("author", "person/Cy"),
        ("author", "person/Dee_Fox"),
        ("licence", "licence/MIT_License"),
        ("classifier", "classifier/License/OSI_Approved/MIT_License"),
        ("classifier", "classifier/Topic/Text_Processing/Indexing"),
        ("topic", "topic/Text_Processing/Indexing"),
        ("homepage", "https://example.org/red%20fish"),
        ("link", "https://example.org/src"),
    }
    assert ("blue-fish", "label", "blue-fish") in found
    assert not any("@" in o for _, _, o in found)


def test_strange_distributions_are_counted_and_never_stop_the_rest(tmp_path):
    strange = [
        make(tmp_path, "nothing", None),
        make(tmp_path, "nameless", "Metadata-Version: 2.1\nVersion: 1\n"),
        make(tmp_path, "latin", b"Name: caf\xe9\nSummary: caf\xe9\n"),
        make(tmp_path, "ok", "Name: ok\nSummary: a \x07 bell and a \x00 zero\nHome-page: javascript:alert(1)\n"),
        make(tmp_path, "odd", 'Name: we"ird <name>\nHome-page: https://x.org/<>"{}|\\^`\n', record='"unclosed,,\n'),
    ]
    written = write_packages(tmp_path, strange)
    assert (written.installed, written.unreadable) == (2, 3)
    found = graph(written.path)
    assert ("ok", "summary", "a   bell and a   zero") in found
    assert ("we%22ird%20%3Cname%3E", "homepage", "https://x.org/%3C%3E%22%7B%7D%7C%5C%5E%60") in found


def test_the_first_distribution_of_a_name_is_the_one_that_an_import_finds(tmp_path):
    both = [make(tmp_path, "a", "Name: a.b\nVersion: 1\n"), make(tmp_path, "b", "Name: A_B\nVersion: 2\n")]
    found = graph(write_packages(tmp_path, both).path)
    assert {o for s, p, o in found if p in ("version", "label")} == {"1", "a.b"}


def test_the_same_packages_give_the_same_bytes_without_paths_of_this_machine(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    found = list(distributions())
    one = write_packages(tmp_path / "one", found).path.read_bytes()
    two = write_packages(tmp_path / "two", reversed(found)).path.read_bytes()
    assert one == two
    assert str(Path.cwd()).encode() not in one
    assert str(Path.home()).encode() + b"/" not in one


def test_the_running_environment_holds_what_hybridkg_needs(tmp_path):
    found = graph(write_packages(tmp_path).path)
    assert ("numba", "requires", "numpy") in found
    assert {o for s, p, o in found if s == "lark" and p == "module"} >= {"lark"}
    labels = [s for s, p, _ in found if p == "label"]
    assert len(labels) == len(set(labels))


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path):
    with pytest.raises(StorageError, match=r"cannot write 'packages\.nt': no such file or directory"):
        write_packages(tmp_path / "none", [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Title\n=====\n\n.. image:: x.png\n   :alt: y\n\n``code`` and :ref:`link`", "Title\n\ncode and link"),
        ("<p align='center'>Hi<br/>there</p><!-- no -->", "Hi there"),
        ("`Docs <https://x.org>`_ here\n\n.. _target: https://x.org", "Docs here"),
        ("[a][1] b\n\n[1]: https://x.org", "a b"),
        ("x < y and y > z", "x < y and y > z"),
    ],
)
def test_markup_is_taken_off(text, words):
    assert plain(text) == words


def test_markup_of_any_shape_takes_little_time():
    for hostile in (
        "[" * MAX_LENGTH,
        "<a " * 70_000,
        "`" * MAX_LENGTH,
        "![" * 100_000,
        ".. image:: x\n" * 15_000,
        "<!--" * 50_000,
    ):
        plain(hostile)


def test_clean_text_can_be_written_as_utf8():
    assert clean("a\udce9b\x00").encode() == "a\ufffdb ".encode()


def test_iris_of_packages_and_pages():
    assert package_iri("zope.interface") == package_iri("Zope_Interface")
    assert web_page("ftp://example.org") is None
    assert web_page("https://") is None


def test_every_query_starts_with_its_question_and_names_fields_of_the_profile():
    queries = demo_queries()
    assert len(queries) >= 5
    names = {field.name for field in load_profile("python-packages").fields}
    for query in queries:
        assert query.question.endswith("?"), query.name
        used = re.findall(r"ON \(([^)]*)\)", query.text)
        assert {name.strip().split("^")[0] for part in used for name in part.split(",")} <= names
        assert "MATCH" in query.text
