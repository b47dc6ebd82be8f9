"""Late interaction reranker: the vectors of the tokens of question and text, compared pair by pair.

The vectors of texts are read from a store (token_store.py) where the query names one, and made otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridkg.entities.compact_text import FORMS, PLAIN
from hybridkg.errors import ConfigError, RerankerError
from hybridkg.interfaces.encoder import TokenTable, Vectors
from hybridkg.interfaces.reranker import RerankCandidates, Reranked, RerankPlace, Setting, Surroundings
from hybridkg.vector.late.max_similarity import maxima
from hybridkg.vector.late.table_tokens import TableTokens
from hybridkg.vector.late.token_model import QuestionTokens, TokenModel, open_token_model
from hybridkg.vector.late.token_store import SEGMENT, TokenStore

CHARACTERS = 100_000
"""Maximum length of a text for the tokenizer; no model reads so much."""

AT_ONCE = 16
"""Texts between two checks of the time limit."""

OPENED = 4
"""Maximum number of stores that stay open."""


class LateReranker:
    """The reranker `late`."""

    settings: ClassVar[Mapping[str, Setting]] = {
        "model": Setting("", note="a name on the Hugging Face hub, or the path of a folder; default: the encoder"),
        "vectors": Setting("", note="a folder that `hybridkg tokens` made; default: they are made now"),
        "fields": Setting("", note="fields that are read, with commas; default: all"),
        "form": Setting(PLAIN, words=tuple(FORMS), note="compact: on one line, as STaRK's models read documents"),
        "max_length": Setting(0.0, 0, 100_000, whole=True, note="tokens of a text; default: the model's own limit"),
    }
    takes_file, needs_query, repeatable, most = False, True, True, 100_000

    def __init__(self, values: Mapping[str, str | float], file: str, place: RerankPlace):
        self._place = place
        self._model, self._fields, self._form = (str(values[name]) for name in ("model", "fields", "form"))
        self._length = int(values["max_length"])
        self._store: TokenStore | None = None
        if name := str(values["vectors"]):
            given = [key for key in ("fields", "form", "max_length") if values[key] != self.settings[key].default]
            if given:
                raise ConfigError(
                    f"stored vectors are those of one text, so late takes no {given[0]} beside 'vectors'",
                    hint="hybridkg tokens made them with its own fields, form and length",
                )
            self._store = _opened(_folder(name, place.folders))
            stored = self._store.settings
            self._fields, self._form = str(stored["fields"]), str(stored["form"])
            self._length = int(stored["max_length"])
            self._model = self._model or str(stored["model"])
            if self._form not in FORMS:
                raise ConfigError(f"stored vectors of an unknown form {self._form!r}; known: {', '.join(FORMS)}")

    @property
    def name(self) -> str:
        model = Path(self._model).name if self._model.startswith(("/", ".", "~")) else self._model
        return f"late ({model})" if model else "late"

    def rerank(self, candidates: RerankCandidates, around: Surroundings) -> Reranked:
        """Sums of maxima, and these as parts; an entity without text has the lowest score."""
        model = token_model(self._model, self._place.folders, self._length, around)
        if self._store is not None and self._store.fingerprint != model.fingerprint:
            raise RerankerError(
                f"the stored vectors are those of {self._store.fingerprint!r}, and the model is {model.fingerprint!r}",
                hint="name their model, or make them again: hybridkg tokens KB --out DIR",
            )
        questions: dict[str, QuestionTokens] = {}
        for text in dict.fromkeys(candidates.queries):
            questions[text] = model.question(text)
            around.check()
        names = [name.strip() for name in self._fields.split(",") if name.strip()]
        written = [FORMS[self._form](text) for text in around.running_texts(candidates.nodes, names, CHARACTERS)]
        parts = _Parts(len(candidates))
        made = 0
        known = np.full((len(written), 2), -1) if self._store is None else self._store.known(written)
        missing = [at for at in range(len(written)) if known[at, 0] < 0]
        for place in np.flatnonzero(known[:, 0] >= 0).tolist():
            assert self._store is not None
            if place % AT_ONCE == 0:
                around.check()
            parts.add(place, questions[candidates.queries[place]], self._store.vectors(*known[place].tolist()))
        texts = list(dict.fromkeys(written[at] for at in missing))
        for first in range(0, len(texts), AT_ONCE):
            around.check()
            some = texts[first : first + AT_ONCE]
            vectors = dict(zip(some, model.documents(some), strict=True))
            made += len(some)
            for at in missing:
                if written[at] in vectors:
                    parts.add(at, questions[candidates.queries[at]], vectors[written[at]])
        notes = [f"the model knows no token of {text[:60]!r}" for text, own in questions.items() if not own.names][:1]
        if self._store is not None and made:
            notes.append(f"{made:,} of {len(written):,} texts had no stored vectors")
        return Reranked(parts.scores, parts.of, note="; ".join(notes))


class _Parts:
    """The maxima of candidates, by the token of the question."""

    def __init__(self, count: int):
        self.scores = np.zeros(count)
        self._own: list[tuple[tuple[str, ...], NDArray[np.float64]]] = [((), np.zeros(0))] * count

    def add(self, place: int, question: QuestionTokens, document: Vectors) -> None:
        own = maxima(question.vectors, document)
        self.scores[place] = own.sum()
        self._own[place] = question.names, own

    def of(self, place: int) -> Mapping[str, float]:
        pairs = zip(*self._own[place], strict=True)
        return {f"{number} {token}": float(value) for number, (token, value) in enumerate(pairs, 1)}


def token_model(model: str, folders: Sequence[Path], max_length: int, around: Surroundings) -> TokenModel:
    """The model that a query names, or the encoder of the knowledge base, if its tokens have vectors.

    Raises:
        RerankerError: the encoder has none.
        ConfigError: there is a limit of tokens without a model.
        HybridkgError: the model cannot be used.
    """
    if model:
        return open_token_model(model, folders, max_length)
    if max_length:
        raise ConfigError(
            "a limit of tokens needs a model: an encoder with vectors of tokens has none",
            hint="name a model as well, or no limit",
        )
    vectors = None if around.text is None else around.text.vectors
    encoder = None if vectors is None else vectors.encoder
    if isinstance(encoder, TokenTable):
        return TableTokens(encoder)
    raise RerankerError(
        "late needs a model: the knowledge base has no vectors of tokens"
        if encoder is None
        else f"late needs a model: the encoder {encoder.name!r} has no vectors of tokens",
        hint="USING late(model='...'), or the encoder model2vec:MODEL",
    )


def _folder(name: str, folders: Sequence[Path]) -> Path:
    inside = PurePosixPath(name)
    if not inside.is_absolute() and ".." not in inside.parts:
        found = next((folder / inside for folder in folders if (folder / inside).is_dir()), None)
        if found is not None:
            return found
    searched = " and ".join(repr(str(folder)) for folder in folders)
    raise ConfigError(
        f"no folder of token vectors {name!r} in {searched}",
        hint="hybridkg tokens KB --out DIR makes one; name it by a path inside one of these folders",
    )


def _opened(folder: Path) -> TokenStore:
    """The store of a folder; one that has grown or was made again since it was opened is opened again."""
    headers = [(path.name, path.stat()) for path in sorted(folder.glob(f"{SEGMENT}*.json"))]
    return _cached(folder.resolve(), tuple((name, own.st_ino, own.st_mtime_ns) for name, own in headers))


@lru_cache(maxsize=OPENED)
def _cached(folder: Path, headers: tuple[tuple[str, int, int], ...]) -> TokenStore:
    del headers
    return TokenStore(folder)
