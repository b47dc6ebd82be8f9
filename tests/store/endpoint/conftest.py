"""Servers of the endpoint tests: one of each kind for a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sparql_server import SERVERS, SparqlServer

from hybridkg.store.endpoint import connection


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried again is tried soon."""
    monkeypatch.setattr(connection, "WAITS", (0.01, 0.01, 0.01))


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[SparqlServer]:
    """Each of the real servers, running."""
    yield from running(request.param)


@pytest.fixture(scope="module")
def oxigraph_server() -> Iterator[SparqlServer]:
    """The quicker one alone."""
    yield from running("oxigraph")


def running(name: str) -> Iterator[SparqlServer]:
    """A server, until the end of the module."""
    if why := SERVERS[name].unavailable():
        pytest.skip(why)
    one = SERVERS[name]()
    try:
        yield one.start()
    finally:
        one.stop()
