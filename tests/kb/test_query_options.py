"""Every door to a query takes the same options, under the same names and with the same defaults."""

from __future__ import annotations

import inspect
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event
from typing import Any

import click
import pytest

from hybridkg import KnowledgeBase
from hybridkg.cli.explain import explain
from hybridkg.cli.query import query
from hybridkg.errors import QueryLimitError, QueryStoppedError, UnknownNameError, UserError
from hybridkg.kb.prepared import PreparedQuery
from hybridkg.kb.query_options import QueryOptions
from hybridkg.results.result import Result

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
PRODUCT = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory, copy_films) -> KnowledgeBase:
    return KnowledgeBase.open(copy_films(tmp_path_factory.mktemp("kb") / "films.kb"))


def keywords(method: Any) -> dict[str, Any]:
    """Defaults of the keywords that only `name=` can give."""
    parameters = inspect.signature(method).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def test_the_doors_of_python_take_the_same_options():
    options = QueryOptions()._asdict()
    assert keywords(KnowledgeBase.query) == options
    assert keywords(KnowledgeBase.stream) == options
    assert keywords(KnowledgeBase.explain) == {**options, "analyze": False}
    del options["name"]  # given once, to `prepare`
    assert keywords(PreparedQuery.query) == options
    assert keywords(PreparedQuery.stream) == options
    assert keywords(PreparedQuery.explain) == {**options, "analyze": False}


def test_the_commands_take_the_same_options():
    def names(command: click.Command) -> set[str]:
        return {parameter.name or "" for parameter in command.params}

    assert names(query) - names(explain) == {"why", "explain", "output", "labels"}
    assert names(explain) <= names(query)
    assert {"limit", "strategy", "timeout", "max_rows", "max_megabytes"} <= names(explain)


def test_every_door_keeps_every_option(films):
    prepared = films.prepare(PRODUCT)
    stopped = Event()
    stopped.set()

    def read(stream: AbstractContextManager[Result]) -> int:
        with stream as result:
            return sum(1 for _ in result)

    doors = (
        lambda **options: films.query(PRODUCT, **options),
        lambda **options: films.explain(PRODUCT, analyze=True, **options),
        prepared.query,
        lambda **options: read(films.stream(PRODUCT, **options)),
        lambda **options: read(prepared.stream(**options)),
        lambda **options: prepared.explain(analyze=True, **options),
    )
    for door in doors:
        for options, error in (
            ({"timeout": 0.05}, QueryStoppedError),
            ({"cancel": stopped}, QueryStoppedError),
            ({"max_rows": 50}, QueryLimitError),
            ({"max_megabytes": 0.001}, QueryLimitError),
            ({"strategy": "none such"}, UnknownNameError),
            ({"limit": -1}, UserError),
        ):
            with pytest.raises(error):
                door(**options)


def test_explain_plans_with_the_limit_of_the_call(films):
    ranked = "SELECT ?f ?s { ?f MATCH 'space' AS ?s } RANK BY ?s"
    assert len(films.prepare(ranked).query(limit=2)) == 2
    assert "k=2" in str(films.prepare(ranked).explain(limit=2))
