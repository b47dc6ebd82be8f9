"""Elasticsearch's own analyzers seen as ours: with native analysis the server cuts the texts, and is asked how
(`_analyze`) whenever a query or a passage needs to know.
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
"""Those that come with Elasticsearch 8; plug-ins bring others, which the server knows."""

MAX_CACHED_TEXTS = 1_000
MAX_CHARACTERS_ASKED = 1_000_000


class NativeAnalyzer:
    """One of Elasticsearch's analyzers. A word is a token already; a place without one gets an empty word.

    Args:
        server: is asked.
        name: of the analyzer.
    """

    def __init__(self, server: Server, name: str):
        self._server, self._name = server, name
        self._known: OrderedDict[str, tuple[tuple[str, int, int], ...]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def chain(self) -> str:
        """The name; the server's version decides the rest."""
        return f"elasticsearch:{self._name}"

    def stemmer(self, language: str) -> str:
        """A field has one analyzer, whatever the tag of a literal."""
        del language
        return ""

    def words(self, text: str) -> list[str]:
        """The tokens; empty where one was dropped."""
        return [token for token, _, _ in self._tokens(text)]

    def spans(self, text: str) -> Iterator[tuple[str, int, int]]:
        """The tokens with their character offsets, which may overlap; dropped ones are left out only at places without
        text.
        """
        yield from self._tokens(text)

    def term(self, word: str, stemmer: str) -> str:
        """The token itself."""
        del stemmer
        return word

    def _tokens(self, text: str) -> tuple[tuple[str, int, int], ...]:
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        tokens = self._asked(text)
        with self._lock:
            self._known[key] = tokens
            if len(self._known) > MAX_CACHED_TEXTS:
                self._known.popitem(last=False)
        return tokens

    def _asked(self, text: str) -> tuple[tuple[str, int, int], ...]:
        if not text.strip():
            return ()
        if len(text) > MAX_CHARACTERS_ASKED:
            raise TextQueryError(f"a text of {len(text):,} characters; at most {MAX_CHARACTERS_ASKED:,} are analysed")
        answer = self._server.ask(
            f"analysing by {self._name!r}", lambda client: client.indices.analyze(analyzer=self._name, text=text)
        )
        found: list[tuple[str, int, int]] = []
        place, offsets = -1, _offsets(text)
        for token in answer["tokens"]:
            step = int(token["position"]) - place
            if step < 1:
                raise TextQueryError(
                    f"the analyzer {self._name!r} gives several terms for one word, which is not in this version",
                    hint="choose an analyzer without synonyms or compounds",
                )
            start, end = offsets(int(token["start_offset"])), offsets(int(token["end_offset"]))
            found += [("", start, start)] * (step - 1)
            found.append((str(token["token"]), start, end))
            place = int(token["position"])
        return tuple(found)


def native_analyzers(server: Server, names: Sequence[str]) -> dict[str, Analyzer]:
    """Elasticsearch's analyzers of these names, once the server has used each.

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
                f"Elasticsearch has no analyzer {name!r}; it brings: {', '.join(NATIVE_ANALYZERS)}",
                hint=did_you_mean(name, list(NATIVE_ANALYZERS))
                or 'with analysis = "native", hk:analyzer in the profile names one of the server\'s',
            ) from e
        analyzers[name] = analyzer
    return analyzers


def _offsets(text: str) -> Callable[[int], int]:
    """From offsets in UTF-16 units, which Java counts, to characters."""
    if all(character <= "\uffff" for character in text):
        return lambda offset: offset
    units = [0]
    for character in text:
        units.append(units[-1] + (2 if character > "\uffff" else 1))
    return lambda offset: bisect_left(units, offset)
