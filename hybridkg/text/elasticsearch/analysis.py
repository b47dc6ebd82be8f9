"""Native analysis: Elasticsearch's own analyzers behind the Analyzer protocol.

The server tokenises the texts that are indexed; queries and passages use its `_analyze` request.
"""

from __future__ import annotations

import hashlib
import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

from hybridkg.errors import HybridkgError, TextQueryError, UnknownNameError
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.registry import did_you_mean
from hybridkg.remote.elasticsearch.server import Server

NATIVE_ANALYZERS = (
    "arabic", "armenian", "basque", "bengali", "brazilian", "bulgarian", "catalan", "cjk", "czech", "danish", "dutch",
    "english", "estonian", "fingerprint", "finnish", "french", "galician", "german", "greek", "hindi", "hungarian",
    "indonesian", "irish", "italian", "keyword", "latvian", "lithuanian", "norwegian", "pattern", "persian",
    "portuguese", "romanian", "russian", "serbian", "simple", "sorani", "spanish", "standard", "stop", "swedish",
    "thai", "turkish", "whitespace",
)  # fmt: skip
"""The analyzers of Elasticsearch 8; plug-ins add others."""

MAX_CACHED_TEXTS = 1_000
MAX_CHARACTERS = 1_000_000


class NativeAnalyzer:
    """An analyzer of Elasticsearch. A raw word is a token already; a place without one has an empty word."""

    def __init__(self, server: Server, name: str):
        self._server, self._name = server, name
        self._cache: OrderedDict[str, tuple[tuple[str, int, int], ...]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def chain(self) -> str:
        """The name; the server's version decides the rest."""
        return f"elasticsearch:{self._name}"

    def stemmer(self, language: str) -> str:
        """Empty: a field has one analyzer, whatever the tag of a literal."""
        del language
        return ""

    def words(self, text: str) -> list[str]:
        """The tokens; empty for a dropped one."""
        return [token for token, _, _ in self._tokens(text)]

    def spans(self, text: str) -> Iterator[tuple[str, int, int]]:
        """The tokens with their character offsets, which may overlap; dropped ones are empty."""
        yield from self._tokens(text)

    def term(self, word: str, stemmer: str) -> str:
        del stemmer
        return word

    def is_stop_word(self, word: str, stemmer: str) -> bool:
        """False: the server drops the stop words of its analyzers, so they are no words here."""
        del word, stemmer
        return False

    def _tokens(self, text: str) -> tuple[tuple[str, int, int], ...]:
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        tokens = self._request(text)
        with self._lock:
            self._cache[key] = tokens
            if len(self._cache) > MAX_CACHED_TEXTS:
                self._cache.popitem(last=False)
        return tokens

    def _request(self, text: str) -> tuple[tuple[str, int, int], ...]:
        if not text.strip():
            return ()
        if len(text) > MAX_CHARACTERS:
            raise TextQueryError(f"a text of {len(text):,} characters; at most {MAX_CHARACTERS:,} are analysed")
        response = self._server.ask(
            f"analysing by {self._name!r}", lambda client: client.indices.analyze(analyzer=self._name, text=text)
        )
        tokens: list[tuple[str, int, int]] = []
        place, offsets = -1, _offsets(text)
        for token in response["tokens"]:
            step = int(token["position"]) - place
            if step < 1:
                raise TextQueryError(
                    f"the analyzer {self._name!r} returns several terms for one word, which is not supported",
                    hint="choose an analyzer without synonyms or compounds",
                )
            start, end = offsets(int(token["start_offset"])), offsets(int(token["end_offset"]))
            tokens += [("", start, start)] * (step - 1)
            tokens.append((str(token["token"]), start, end))
            place = int(token["position"])
        return tuple(tokens)


def native_analyzers(server: Server, names: Sequence[str]) -> dict[str, Analyzer]:
    """The analyzers of these names, each tried on the server.

    Raises:
        UnknownNameError: the server has no such analyzer.
    """
    analyzers: dict[str, Analyzer] = {}
    for name in names:
        analyzer = NativeAnalyzer(server, name)
        try:
            analyzer.words("word")
        except TextQueryError:
            raise
        except HybridkgError as e:
            if "analyzer" not in e.message or "failed to find" not in e.message:
                raise
            raise UnknownNameError(
                f"Elasticsearch has no analyzer {name!r}; built in: {', '.join(NATIVE_ANALYZERS)}",
                hint=did_you_mean(name, list(NATIVE_ANALYZERS))
                or 'with analysis = "native", hk:analyzer in the profile names one of the server\'s',
            ) from e
        analyzers[name] = analyzer
    return analyzers


def _offsets(text: str) -> Callable[[int], int]:
    """Converts offsets in UTF-16 units, which Java counts, to characters."""
    if all(character <= "\uffff" for character in text):
        return lambda offset: offset
    units = [0]
    for character in text:
        units.append(units[-1] + (2 if character > "\uffff" else 1))
    return lambda offset: bisect_left(units, offset)
