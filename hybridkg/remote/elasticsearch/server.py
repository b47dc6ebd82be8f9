"""The connection to Elasticsearch, with retries where they are safe, and errors by cause.

Searches are batched: a generator yields search bodies and receives their responses; several generators advance in
step, and all their pending searches go into one `_msearch`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from hybridkg.config.settings import ElasticSettings
from hybridkg.errors import ConfigError, HybridkgError, TextQueryError, TextServerError
from hybridkg.extras import check_extra, needs_extra
from hybridkg.interfaces.text_engine import TEXT_ENGINES
from hybridkg.remote.credentials import API_KEY, USERNAME, Credentials, check_destination, read_credentials, server_url

T = TypeVar("T")
Body = dict[str, Any]
Response = Mapping[str, Any]
Steps = Generator[list[Body], list[Response], T]

OLDEST_SERVER = (8, 16)
"""Elasticsearch 8.16 brought `_termStats` to scripts, from which term frequencies are read."""

SEARCHES_AT_ONCE = 64

WAITS = (0.2, 1.0, 3.0, 6.0)
"""Seconds before each retry of a read, enough for a node that restarts behind a proxy."""

TRY_AGAIN = (429, 502, 503, 504)

NO_INDEX = "index_not_found_exception"
OTHER_CLIENT = "media_type_header_exception"
"""Error of servers before version 8 for a client of version 8."""

CLOSED = "it closed the connection"
LOST = (
    ("Connection refused", "connection refused"),
    ("Failed to resolve", "unknown host"),
    ("No route to host", "no route to the host"),
    ("Network is unreachable", "the network cannot be reached"),
    ("Remote end closed", CLOSED),
    ("reset by peer", CLOSED),
)
"""Signs of a lost connection in the client's messages, and our words for them."""

LOST_PLACE = "search_context_missing_exception"
"""Error of a point in time that has expired, or was lost in a restart."""

ANSWER = [
    "responses.error",
    "responses.status",
    "responses.timed_out",
    "responses._shards",
    "responses.pit_id",
    "responses.hits.total",
    "responses.hits.hits._score",
    "responses.hits.hits.sort",
    "responses.hits.hits.matched_queries",
    "responses.hits.hits._source",
    "responses.hits.hits.fields",
]


class Server:
    """One server or cluster, from the settings and the environment. Safe to use from many threads."""

    def __init__(self, settings: ElasticSettings):
        self.settings = settings
        self._answered = False
        """Whether it has ever responded: only then is a lost connection worth waiting for."""

    def __reduce__(self) -> tuple[type[Server], tuple[ElasticSettings]]:
        """A copy without credentials, which another process reads itself."""
        return Server, (self.settings,)

    @cached_property
    def url(self) -> str:
        """The address, without credentials."""
        return server_url(self.settings.url)

    @cached_property
    def credentials(self) -> Credentials:
        """The credentials in the environment."""
        return read_credentials()

    @cached_property
    def client(self) -> Any:
        """The unconnected official client. Raises MissingExtraError: no package; ConfigError: bad settings."""
        with needs_extra("elasticsearch", "Elasticsearch"):
            from elasticsearch import Elasticsearch
        check_extra("elasticsearch", "Elasticsearch", "orjson")  # else a build would fail halfway
        own = self.credentials
        check_destination(self.url, own)
        options: dict[str, Any] = {}
        if self.settings.ca_file:
            if not self.url.startswith("https:"):
                raise ConfigError("'elasticsearch.ca_file' is set, but the address is not https://")
            options["ca_certs"] = _readable(self.settings.ca_file)
        if own.api_key:
            options["api_key"] = own.api_key
        elif own.username:
            options["basic_auth"] = (own.username, own.password)
        try:
            return Elasticsearch(self.url, request_timeout=self.settings.timeout, max_retries=0, **options)
        except (OSError, ValueError, TypeError) as e:
            raise ConfigError(f"cannot prepare the connection to {self.url}: {own.without_secrets(str(e))}") from e

    @cached_property
    def version(self) -> str:
        """The version of the server, such as `8.19.8`. Raises TextServerError: it is too old, or does not respond."""
        number = self.ask("asking for its version", lambda client: str(client.info()["version"]["number"]))
        version = tuple(int(part) for part in number.split("-", maxsplit=1)[0].split(".")[:2] if part.isdigit())
        if version < OLDEST_SERVER:
            raise self._too_old(number[:40])
        return number

    def ask(self, doing: str, question: Callable[[Any], T], *, again: bool = True) -> T:
        """The result of a call of the client.

        Args:
            doing: purpose, for an error: `reading the index`.
            question: calls the client and extracts the result.
            again: whether to retry after a lost connection or an overloaded server.

        Raises:
            TextServerError: there is no usable response.
        """
        client = self.client
        for wait in (*WAITS, None) if again else (None,):
            try:
                answer = question(client)
                self._answered = True
                return answer
            except HybridkgError:
                raise
            except (KeyError, IndexError, TypeError, AttributeError) as e:  # not a response of Elasticsearch
                raise self._no_proper_answer(doing) from e
            except Exception as e:
                error, may_help = self._understood(e, doing)
                if wait is None or not may_help:
                    raise error from e
                time.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def together(self, index: str, askers: Sequence[Steps[T]], *, dfs: bool) -> list[T]:
        """Runs generators in step; their pending searches go out in one `_msearch`.

        Args:
            index: name of the index, for searches without a point in time.
            askers: generators; their return values are the result.
            dfs: whether to add up the statistics of several shards first.

        Raises:
            TextServerError: a search failed, in whole or on one shard.
        """
        results: dict[int, T] = {}
        pending_bodies: dict[int, list[Body]] = {}

        def advance(i: int, answers: list[Response] | None) -> None:
            try:
                pending_bodies[i] = next(askers[i]) if answers is None else askers[i].send(answers)
            except StopIteration as end:
                pending_bodies.pop(i, None)
                results[i] = end.value

        try:
            for i in range(len(askers)):
                advance(i, None)
            while pending_bodies:
                pending = list(pending_bodies.items())
                answers = self.search(index, [body for _, bodies in pending for body in bodies], dfs=dfs)
                at = 0
                for i, bodies in pending:
                    advance(i, answers[at : at + len(bodies)])
                    at += len(bodies)
        finally:
            for asker in askers:
                asker.close()
        return [results[i] for i in range(len(askers))]

    def search(self, index: str, bodies: Sequence[Body], *, dfs: bool) -> list[Response]:
        """The responses of some searches; one whose point in time is lost has the key `lost`."""
        results: list[Response] = []
        for start in range(0, len(bodies), SEARCHES_AT_ONCE):
            lines: list[Body] = []
            for body in bodies[start : start + SEARCHES_AT_ONCE]:
                header: Body = {"allow_partial_search_results": False}
                lines += [header if "pit" in body else {**header, "index": index}, body]

            def multi_search(client: Any, lines: list[Body] = lines) -> list[Response]:
                answer = client.msearch(
                    searches=lines,
                    include_named_queries_score=True,
                    filter_path=ANSWER,
                    **({"search_type": "dfs_query_then_fetch"} if dfs else {}),
                )
                responses = answer["responses"]
                if 2 * len(responses) != len(lines):
                    raise self._no_proper_answer("searching")
                return [self._whole(response) for response in responses]

            results += self.ask("searching", multi_search)
        return results

    def _whole(self, response: Response) -> Response:
        error = response.get("error")
        if error:
            kinds = {error.get("type"), *(cause.get("type") for cause in error.get("root_cause", ()))}
            if LOST_PLACE in kinds:
                return {"lost": True}
            if response.get("status") in TRY_AGAIN:
                raise _Overloaded(_reason(error))
            raise self._refused("searching", int(response.get("status", 500)), error)
        if response.get("timed_out") or response.get("_shards", {}).get("failed"):
            raise TextServerError(
                f"{self.url} answered a search only in part", hint="see the server's log; nothing was returned"
            )
        return response

    def _understood(self, error: Exception, doing: str) -> tuple[HybridkgError, bool]:
        """The error for an exception of the client, and whether a retry may help."""
        with needs_extra("elasticsearch", "Elasticsearch"):
            import elasticsearch as es

        if isinstance(error, _Overloaded):
            return TextServerError(f"{self.url} is overloaded, while {doing}: {error}", hint="try again later"), True
        if isinstance(error, es.SSLError):
            return self._no_trust(self.credentials.without_secrets(str(error.message))), False
        if isinstance(error, es.ConnectionTimeout):
            return TextServerError(
                f"{self.url} did not answer within {self.settings.timeout:g} s, while {doing}",
                hint="elasticsearch.timeout in kb.toml limits one request",
            ), False
        if isinstance(error, es.ConnectionError):
            return self._no_connection(str(error.message), doing), self._answered
        if isinstance(error, es.UnsupportedProductError):
            return self._stranger(error.meta.status), False
        if isinstance(error, es.ApiError):
            self._answered = True
            body = error.body if isinstance(error.body, Mapping) else {}
            details = body.get("error", {})
            details = details if isinstance(details, Mapping) else {"reason": details}
            if OTHER_CLIENT in str(details):
                return self._too_old("of a version before 8"), False
            may_help = error.status_code in TRY_AGAIN
            if "error" not in body and error.status_code not in (401, 403, *TRY_AGAIN):
                return self._stranger(error.status_code), False
            return self._refused(doing, error.status_code, details), may_help
        if isinstance(error, es.SerializationError | es.TransportError):
            return self._no_proper_answer(doing), False
        raise error

    def _no_connection(self, detail: str, doing: str) -> TextServerError:
        why = "no connection"
        hint = "is it running? Its address is elasticsearch.url in kb.toml; queries without MATCH need no server"
        for text, short in LOST:
            why = short if text in detail else why
        if why == CLOSED and self.url.startswith("http:") and not self._answered:
            hint = f"a server with TLS does so: is its address https{self.url.removeprefix('http')} ?"
        return TextServerError(f"cannot reach Elasticsearch at {self.url}, while {doing}: {why}", hint=hint)

    def _no_trust(self, detail: str) -> TextServerError:
        """The error of a failed TLS connection."""
        if "CERTIFICATE_VERIFY_FAILED" in detail:
            why = detail.partition("verify failed: ")[2].partition(" (_ssl")[0] or detail
            names = "elasticsearch.ca_file in kb.toml names the certificate (PEM) of the authority that signed it"
            return TextServerError(f"the certificate of {self.url} is not trusted: {why[:200]}", hint=names)
        if any(sign in detail for sign in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "record layer")):
            plain = f"http{self.url.removeprefix('https')}"
            return TextServerError(f"what answers at {self.url} does not speak TLS", hint=f"is its address {plain} ?")
        return TextServerError(f"no secure connection to {self.url}: {detail[:200]}", hint="see the server's log")

    def _stranger(self, status: int) -> TextServerError:
        return TextServerError(
            f"what answers at {self.url} (status {status}) is not Elasticsearch",
            hint="its address is elasticsearch.url in kb.toml, with the path where a proxy is in front of it",
        )

    def _too_old(self, number: str) -> TextServerError:
        return TextServerError(
            f"{self.url} is Elasticsearch {number}; {'.'.join(map(str, OLDEST_SERVER))} or newer is needed",
            hint=f"upgrade it, or keep the index on disk: hybridkg index KB --text-engine {TEXT_ENGINES.default}",
        )

    def _no_proper_answer(self, doing: str) -> TextServerError:
        return TextServerError(
            f"{self.url} gave no proper answer, while {doing}",
            hint="is it Elasticsearch, and no proxy that changes it?",
        )

    def refused_document(self, item: Mapping[str, Any]) -> HybridkgError:
        """The error of one document in a bulk request."""
        error = item.get("error")
        details = error if isinstance(error, Mapping) else {"reason": str(error)}
        return self._refused(f"adding entity {item.get('_id')}", int(item.get("status", 500)), details)

    def _refused(self, doing: str, status: int, error: Mapping[str, Any]) -> HybridkgError:
        reason = self.credentials.without_secrets(_reason(error))
        if status == 401:
            who = "the credentials" if self.credentials != Credentials() else "anonymous requests"
            return TextServerError(
                f"{self.url} does not accept {who}",
                hint=f"set {API_KEY} (the key as Elasticsearch encodes it), or {USERNAME} and its password, in the "
                "environment",
            )
        if status == 403 and "block" not in str(error.get("type", "")):
            return TextServerError(
                f"{self.url} does not allow {doing}: {reason}",
                hint="a key or user needs 'monitor' on the cluster and, on the alias and every index whose name begins "
                "like it, 'read', 'view_index_metadata' and 'monitor' to query, 'manage', 'read' and 'write' to index",
            )
        if "maxClauseCount" in reason or "too_many_nested_clauses" in str(error):
            return TextQueryError(
                "more words times fields than Elasticsearch takes in one query",
                hint="name fewer fields in ON, or fewer words",
            )
        if "read-only" in reason or "flood" in reason or "disk usage" in reason:
            return TextServerError(
                f"{self.url} refuses to write, while {doing}: its disk is nearly full",
                hint="free space on the server; it lifts the block by itself",
            )
        if error.get("type") == NO_INDEX:
            return TextServerError(
                f"the index is gone from {self.url}, while {doing}: {reason}", hint="build it again: hybridkg index KB"
            )
        if status in TRY_AGAIN:
            return TextServerError(
                f"{self.url} is overloaded or not ready, while {doing} (status {status}): {reason}",
                hint="try again later",
            )
        return TextServerError(f"{self.url} refuses, while {doing} (status {status}): {reason}")


class _Overloaded(Exception):  # noqa: N818 - a signal inside this module
    """A search was rejected because too many are waiting."""


def _readable(ca_file: str) -> str:
    """The path of a readable file of certificates. Raises ConfigError: it is not one."""
    import ssl

    shown = f"the file of 'elasticsearch.ca_file', {ca_file!r},"
    try:
        ssl.create_default_context(cafile=ca_file)
    except ssl.SSLError as e:
        raise ConfigError(f"{shown} holds no certificates", hint="PEM: -----BEGIN CERTIFICATE----- ...") from e
    except (OSError, ValueError) as e:
        raise ConfigError(f"{shown} cannot be read: {getattr(e, 'strerror', None) or e}") from e
    return ca_file


def _reason(error: Mapping[str, Any]) -> str:
    """The innermost reason of an Elasticsearch error, on one line."""
    causes = [error, *error.get("root_cause", ())]
    nested = error.get("caused_by")
    while isinstance(nested, Mapping):
        causes.append(nested)
        nested = nested.get("caused_by")
    reasons = [str(cause.get("reason")) for cause in causes if cause.get("reason")]
    return " ".join((reasons[-1] if reasons else str(error.get("type", "no reason given"))).split())[:500]
