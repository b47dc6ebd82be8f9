"""A server between the client and Elasticsearch, or in its place: it passes requests on, answers itself, or waits."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from local_server import LocalHandler, LocalServer

Answer = tuple[int, Mapping[str, str], bytes]
Rule = Callable[[str, str], Answer | None]

ELASTIC = {"X-Elastic-Product": "Elasticsearch", "Content-Type": "application/vnd.elasticsearch+json;compatible-with=8"}


def elastic_answer(body: Any, status: int = 200) -> Answer:
    """(status, headers, body) as Elasticsearch would answer."""
    return status, ELASTIC, json.dumps(body).encode()


class Between(LocalServer):
    """`with Between(rule, to=server.url) as between: ... between.url`.

    Args:
        rule: gets method and path with query; what it returns is the answer, None passes the request on.
        to: address of the server behind it; empty where there is none.
    """

    def __init__(self, rule: Rule, to: str = ""):
        self.rule, self.behind = rule, to
        self.requests: list[tuple[str, str]] = []
        """(method, path with query) of what was asked."""
        super().__init__(_handler(self))

    def passed_on(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """The answer of the server behind."""
        parts = urlsplit(self.behind)
        assert parts.hostname
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        try:
            kept = {key: value for key, value in headers.items() if key.lower() not in ("host", "content-length")}
            connection.request(method, path, body or None, kept)
            answer = connection.getresponse()
            told = {key: answer.headers[key] for key in ("Content-Type", "X-Elastic-Product") if answer.headers[key]}
            return answer.status, told, answer.read()
        finally:
            connection.close()


def _handler(between: Between) -> type[LocalHandler]:
    class Handler(LocalHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            between.requests.append((self.command, self.path))
            own = between.rule(self.command, self.path)
            try:
                status, headers, text = own or between.passed_on(self.command, self.path, dict(self.headers), body)
                self.send_response(status)
                for key, value in headers.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text)
            except OSError:
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer  # noqa: N815 - called by these names

    return Handler
