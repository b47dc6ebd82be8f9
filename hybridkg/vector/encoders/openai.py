"""Encoders behind an OpenAI-compatible embeddings endpoint: `encoder = "openai:MODEL"`, `url` in the table [vectors].

The server bills texts, so a large run reports what it will send and waits for confirmation. A text that has a cached
vector is not sent again. Queries go to the server too, one short request for each new text.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybridkg.errors import ConfigError, ModelServerError
from hybridkg.interfaces.encoder import NO_MODEL, ModelChoice, Texts, Vectors
from hybridkg.interfaces.progress import Progress
from hybridkg.remote.model_server import ModelServer
from hybridkg.storage.arrays import FolderLayout, MappedArrays, Writer
from hybridkg.vector.encoders.lsa import unit

KIND = "openai"

LAYOUT = FolderLayout("hybridkg openai", 1, "openai.json", "settings of the encoder")

MAX_TOKENS = 8_000
"""Maximum length of a text, unless max_length sets it: OpenAI's own models read 8,191."""

BYTES_PER_TOKEN = 3
"""Estimate by which a text is truncated without a tokenizer: English has more than four."""

MAX_VECTOR = 65_536

PROBE = "text"
"""Sent to measure the length of the vectors."""


class OpenAI:
    """The encoder kind `openai`."""

    takes_model, has_tokens, is_billed = True, False, True

    def __init__(self, choice: ModelChoice = NO_MODEL):
        self._choice = choice

    def fingerprint(self) -> str:
        """Kind, version, model, and a hash of the server, the prompts and the length."""
        choice = self._choice
        ModelServer(choice.url, choice.timeout, choice.per_minute)
        if not choice.model.isprintable() or len(choice.model) > 200:
            raise ConfigError("the name of the encoder's model has signs that no name has")
        settings = [choice.url.rstrip("/"), choice.query_prompt, choice.passage_prompt, choice.max_length]
        digest = hashlib.sha256(repr(settings).encode()).hexdigest()[:12]
        return f"{KIND}/{LAYOUT.version} {choice.model} {digest}"

    def train(self, folder: Path, texts: Texts, count: int, progress: Progress) -> OpenAIEncoder:
        """Requests one vector, to measure its length."""
        if not (folder / LAYOUT.header).exists():
            choice, name = self._choice, self.fingerprint()
            server = ModelServer(choice.url, choice.timeout, choice.per_minute)
            (vector,) = embedded(server, choice.model, [PROBE])
            settings = {
                "name": name,
                "model": choice.model,
                "url": choice.url,
                "dimensions": len(vector),
                "timeout": choice.timeout,
                "per_minute": choice.per_minute,
                "batch": choice.batch,
                "most_tokens": choice.max_length or MAX_TOKENS,
                "query_prompt": choice.query_prompt,
                "passage_prompt": choice.passage_prompt,
            }
            Writer(LAYOUT, folder).finish(settings)
        return self.open(folder)

    def open(self, folder: Path) -> OpenAIEncoder:
        return OpenAIEncoder(folder)


class OpenAIEncoder:
    """Encoder that requests vectors from the server that made those of the index.

    Raises:
        CorruptError: a file of the folder is missing or damaged.
    """

    def __init__(self, folder: Path):
        reader = MappedArrays(LAYOUT, folder)
        self._name, self._model, self._url = (str(reader.about(key)) for key in ("name", "model", "url"))
        self._dimensions, self._batch = int(reader.about("dimensions")), max(1, int(reader.about("batch")))
        self._max_bytes = int(reader.about("most_tokens")) * BYTES_PER_TOKEN
        self._timeout, self._per_minute = float(reader.about("timeout")), int(reader.about("per_minute"))
        self._prompts = str(reader.about("query_prompt")), str(reader.about("passage_prompt"))
        self._server: ModelServer | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def passages(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions], at the rate limit of [vectors]."""
        if self._server is None:
            self._server = ModelServer(self._url, self._timeout, self._per_minute)
        return self._encoded(self._server, texts, self._prompts[1])

    def queries(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions]; each call has its own connection, so it is safe on many threads."""
        return self._encoded(ModelServer(self._url, self._timeout, 0), texts, self._prompts[0])

    def _encoded(self, server: ModelServer, texts: Sequence[str], prompt: str) -> Vectors:
        rows = np.zeros((len(texts), self._dimensions), np.float32)
        limit = self._max_bytes
        written = [(prompt + text).encode("utf-8", "replace")[:limit].decode("utf-8", "ignore") for text in texts]
        full = [i for i, text in enumerate(texts) if text.strip()]  # a server refuses an empty text
        for begin in range(0, len(full), self._batch):
            some = full[begin : begin + self._batch]
            vectors = embedded(server, self._model, [written[i] for i in some])
            wrong = next((len(vector) for vector in vectors if len(vector) != self._dimensions), None)
            if wrong is not None:
                raise ModelServerError(
                    f"the model server {server.url} returned a vector of {wrong:,} numbers; those of "
                    f"{self._model!r} had {self._dimensions:,}",
                    hint="if the model has changed, build the index again: hybridkg index KB",
                )
            rows[some] = vectors
        return unit(rows)


def embedded(server: ModelServer, model: str, texts: Sequence[str]) -> list[list[float]]:
    """Vectors of texts, none of them empty, by one request.

    Raises:
        ModelServerError: the server does not answer, or not with a vector of finite numbers for each text.
    """
    answer = server.post("/embeddings", {"model": model, "input": list(texts), "encoding_format": "float"})
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise ModelServerError(
            f"the model server {server.url} returned no vectors",
            hint="does it implement OpenAI's embeddings interface?",
        )
    if len(items) != len(texts):
        sizes = f"{len(items):,} vectors for {len(texts):,} texts"
        raise ModelServerError(f"the model server {server.url} returned {sizes}")
    by_number: dict[int, list[float]] = {}
    for place, item in enumerate(items):
        vector = item.get("embedding") if isinstance(item, dict) else None
        number = item.get("index", place) if isinstance(item, dict) else place
        if not isinstance(vector, list) or not 0 < len(vector) <= MAX_VECTOR or not all(map(_is_finite, vector)):
            raise ModelServerError(
                f"the model server {server.url} returned a vector that is not a list of finite numbers"
            )
        if not isinstance(number, int) or not 0 <= number < len(texts) or number in by_number:
            raise ModelServerError(f"the model server {server.url} does not number its vectors by text")
        by_number[number] = vector
    return [by_number[number] for number in range(len(texts))]


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and abs(value) < 1e30
