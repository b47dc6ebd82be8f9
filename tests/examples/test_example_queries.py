"""The queries of the examples: each states its question, and names only fields that its profile has."""

from __future__ import annotations

import re
from pathlib import Path

import pyoxigraph
import pytest

from hybridkg.entities.extraction import extract
from hybridkg.entities.passage_texts import entity_texts
from hybridkg.entities.profile.profile_reader import load_profile
from hybridkg.rdf.terms import NamedNode
from hybridkg.store.oxigraph import OxigraphStore

EXAMPLES = Path(__file__).parents[2] / "examples"
QUERIES = [(path, "acl") for path in sorted((EXAMPLES / "acl").glob("*.hq"))] + [(EXAMPLES / "films.hq", "default")]


@pytest.mark.parametrize(("path", "profile"), QUERIES, ids=lambda value: getattr(value, "stem", value))
def test_a_query_starts_with_its_question_and_names_fields_of_its_profile(path, profile):
    text = path.read_text(encoding="utf-8")
    assert re.match(r"# [A-Z][^\n]+[.?]\n", text)
    names = {field.name for field in load_profile(profile).fields}
    used = [part.split() for inside in re.findall(r" ON \(([^)]*)\)", text) for part in inside.split(",")]
    assert used
    assert {words[0].split("^")[0] for words in used} <= names


def test_the_anthology_has_at_least_eight_numbered_queries():
    numbers = [path.name[:2] for path, profile in QUERIES if profile == "acl"]
    assert len(numbers) >= 8
    assert numbers == [f"{i:02}" for i in range(1, len(numbers) + 1)]


def test_the_films_are_fifteen_and_each_has_text_of_its_own():
    quads = pyoxigraph.parse(path=EXAMPLES / "films.ttl", format=pyoxigraph.RdfFormat.TURTLE)
    store = OxigraphStore.memory(quads)
    profile = load_profile("default")
    films = [row[0] for row in store.select("SELECT ?s WHERE { ?s a <http://example.org/films/Film> }").rows]
    assert len(films) == 15
    assert set(films) <= set(extract(profile, store).nodes)
    arrival = NamedNode("http://example.org/films/Arrival")
    assert entity_texts(profile, store, None, arrival, ["related", "types"]) == [
        ("related", "Denis Villeneuve", ""),
        ("related", "drama", ""),
        ("related", "science fiction", ""),
        ("types", "film", ""),
    ]
