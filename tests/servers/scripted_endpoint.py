"""An endpoint that answers as a test says: whole, cut, slowly, wrongly, or not at all."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from local_server import LocalHandler, LocalServer
from pyoxigraph import QueryBoolean, QueryResultsFormat, QuerySolutions, RdfFormat, Store, serialize

JSON, TSV, N_TRIPLES = "application/sparql-results+json", "text/tab-separated-values", "application/n-triples"


@dataclass(frozen=True)
class Said:
    """An answer.

    Args:
        body: all of it, or its pieces.
        kind: Content-Type.
        status: of HTTP.
        headers: further ones.
        breaks: whether the connection ends before the body does.
    """

    body: bytes | Iterable[bytes] = b""
    kind: str = JSON
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    breaks: bool = False


Rule = Callable[["Asked"], Said | None]


@dataclass(frozen=True)
class Asked:
    """A request: the query, the headers, and how many came before."""

    query: str
    headers: Mapping[str, str]
    number: int
    path: str


class ScriptedEndpoint(LocalServer):
    """`with ScriptedEndpoint(store, rule) as endpoint: ... endpoint.url`.

    Args:
        store: the graph.
        rule: what it returns is the answer; for None the graph is asked.
        cap: rows in an answer at most; said to nobody.
        port: to listen at; 0 for any.
        union: whether the default graph is the union of all.
    """

    def __init__(
        self,
        store: Store,
        rule: Rule = lambda asked: None,
        *,
        cap: int | None = None,
        port: int = 0,
        union: bool = False,
    ):
        self.store, self.rule, self.cap, self.union = store, rule, cap, union
        self.asked: list[Asked] = []
        self._lock = threading.Lock()
        super().__init__(_handler(self), port)
        self.url += "/sparql"

    def answer(self, query: str, accept: str) -> Said:
        """As an endpoint does that holds the graph, and cuts long answers."""
        found = self.store.query(query, use_default_graph_as_union=self.union)
        if isinstance(found, QueryBoolean):
            return Said(json.dumps({"head": {}, "boolean": bool(found)}).encode())
        if not isinstance(found, QuerySolutions):
            return Said(serialize(list(found)[: self.cap], format=RdfFormat.N_TRIPLES) or b"", N_TRIPLES)
        if accept.startswith(TSV):
            lines = found.serialize(format=QueryResultsFormat.TSV).splitlines(keepends=True)
            return Said(b"".join(lines[: None if self.cap is None else 1 + self.cap]), TSV)
        body = json.loads(found.serialize(format=QueryResultsFormat.JSON))
        body["results"]["bindings"] = body["results"]["bindings"][: self.cap]
        return Said(json.dumps(body).encode())


def _handler(endpoint: ScriptedEndpoint) -> type[LocalHandler]:
    class Handler(LocalHandler):
        def reply(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            query = parse_qs(sent or urlsplit(self.path).query).get("query", [""])[0]
            with endpoint._lock:
                asked = Asked(query, dict(self.headers), len(endpoint.asked), urlsplit(self.path).path)
                endpoint.asked.append(asked)
            said = endpoint.rule(asked) or endpoint.answer(query, self.headers.get("Accept", ""))
            try:
                self._say(said)
            except OSError:
                self.close_connection = True

        def _say(self, said: Said) -> None:
            self.send_response(said.status)
            self.send_header("Content-Type", said.kind)
            for name, value in said.headers.items():
                self.send_header(name, value)
            pieces = [said.body] if isinstance(said.body, bytes) else said.body
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in pieces:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            if said.breaks:
                self.close_connection = True
                self.connection.close()
                return
            self.wfile.write(b"0\r\n\r\n")

        do_GET = do_POST = reply  # noqa: N815 - called by these names

    return Handler
