"""After any changes, indexes on Elasticsearch that have followed them answer as those of a build from scratch."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import toy_encoder
from changed_knowledge_base import PROFILES, Changing
from elastic_server import unique_name
from generated_changes import DOCUMENT_FIELDS, PREFIXES, UpdateMaker
from generated_profiles import HEADER
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rebuilt import assert_equals_rebuilt, queries
from sampling import examples
from test_updates_equal_rebuilt import followed

from hybridkg import KnowledgeBase
from hybridkg.config.settings import ElasticSettings
from hybridkg.store.generations.folder import Folder

pytestmark = [pytest.mark.needs_elastic, pytest.mark.exhaustive]
"""tests/kb/write/test_follow_on_elasticsearch.py has an example for the default run."""

FILTERED = """hk:filters ( :year <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> ) ; hk:fields (
    [ hk:name "title" ; hk:path rdfs:label ; hk:weight 2 ] [ hk:name "plot" ; hk:path :plot ]
    [ hk:name "around" ; hk:rest hk:Labels ; hk:weight 0.5 ] ) ."""
PUSHED_DOWN = (
    'SELECT ?x ?s ?y { ?x MATCH "red" AS ?s . ?x :year ?y FILTER(?y >= 2000) } RANK BY ?s',
    'SELECT ?x ?s { ?x MATCH "fish boat" AS ?s . ?x a :Film } RANK BY ?s LIMIT 3',
)
"""With the profile FILTERED, the server evaluates the conditions."""

SERVER_RANKED = (
    'SELECT ?x ?s { ?x MATCH "red boat" ON (title) USING bm25 AS ?s } RANK BY ?s',
    'SELECT ?x ?s { ?x MATCH "red fish" USING combined_fields AS ?s } RANK BY ?s LIMIT 4',
)

LOCAL = ("text/text.json", "text/numbers*", "vectors/vectors.json", "vectors/elasticsearch.json", "vectors/numbers*")
"""Files with the name of an index on the server, or with the numbers of its documents."""


def made(folder: Path, url: str, alias: str, profile: str, data: str, shards: int) -> KnowledgeBase:
    """A knowledge base whose text and vectors are on the server."""
    KnowledgeBase.create(folder / "kb").close()
    here = Folder.open(folder / "kb")
    elastic = replace(ElasticSettings(timeout=20), url=url, alias=alias, shards=shards)
    here.configure(replace(here.config, text="elasticsearch", vectors="elasticsearch", elasticsearch=elastic))
    (folder / "profile.ttl").write_text(HEADER + profile)
    (folder / "data.ttl").write_text(PREFIXES + data)
    kb = KnowledgeBase.open(folder / "kb")
    document = {"id": "http://e/other", **dict.fromkeys(DOCUMENT_FIELDS, "fish")}
    (folder / "documents.jsonl").write_text(json.dumps(document))
    chosen = folder / "profile.ttl" if profile else None
    texts = folder / "documents.jsonl"
    kb.load(folder / "data.ttl", text=texts, profile=chosen, encoder=toy_encoder.NAME, index=True)
    return kb


def check(seed: int, folder: Path, url: str) -> None:
    """Applies the changes of a seed, each in a commit, and compares with a build from scratch on the same server."""
    random, alias = Random(seed), unique_name("followed")
    choose = random.choice
    maker = UpdateMaker(choose, vectors=True)
    profile = choose([*PROFILES.values(), FILTERED])
    data = f"{maker.data(4, 12)} {maker.more_than_a_block()}"
    with followed(), pytest.MonkeyPatch.context() as patch:
        toy_encoder.register(patch)
        changing = Changing(folder, made(folder, url, alias, profile, data, choose([1, 1, 2])), None)
        for step in [maker.change() for _ in range(choose([6, 9, 12]))]:
            if not step.ranked:  # the server follows with the commit only
                changing.run(step)
            if changing.kb._snapshot.generation.behind():
                changing.kb.index()
        with changing.kb as kb:
            pool = [*random.sample(queries(kb), 25), *SERVER_RANKED, *PUSHED_DOWN]
            assert_equals_rebuilt(kb, folder / "fresh", leave_out=LOCAL, pool=pool)


@settings(
    max_examples=examples(1, 15),
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 2**32))
def test_after_any_changes_a_server_answers_as_after_a_build_from_scratch(elastic, tmp_path_factory, seed):
    try:
        check(seed, tmp_path_factory.mktemp("followed"), elastic.url)
    finally:
        elastic.clear("hybridkg-test-followed")
