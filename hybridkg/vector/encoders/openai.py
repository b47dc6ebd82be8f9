"""Encoders behind an OpenAI-compatible embeddings endpoint: `encoder = "openai:MODEL"`, `url` in the table [vectors].

Texts go to the server and cost money there, so a large run says first what it will send, and waits for a yes. A text
that had a vector before is not sent again. Queries ask the server too, one short request for each new text.
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
"""Of a text, unless max_length says otherwise: OpenAI's own models read 8,191."""

BYTES_PER_TOKEN = 3
"""A text is cut there: English has more than four, and no tokenizer is at hand to count."""

MAX_VECTOR = 65_536

PROBE = "text"
"""What is sent to learn how long the vectors are."""


class OpenAI:
    """The kind.

    Args:
        choice: of the model and its server.
    """

    takes_model, has_tokens, is_billed = True, False, True

    def __init__(self, choice: ModelChoice = NO_MODEL):
        self._choice = choice

    def fingerprint(self) -> str:
        """Kind, version, model, and a hash of the server, the prompts and the length."""
        choice = self._choice
        _server(choice.url, choice.timeout, choice.per_minute)
        if not choice.model.isprintable() or len(choice.model) > 200:
            raise ConfigError("the name of the encoder's model has signs that no name has")
        settings = [choice.url.rstrip("/"), choice.query_prompt, choice.passage_prompt, choice.max_length]
        digest = hashlib.sha256(repr(settings).encode()).hexdigest()[:12]
        return f"{KIND}/{LAYOUT.version} {choice.model} {digest}"

    def train(self, folder: Path, texts: Texts, count: int, progress: Progress) -> OpenAIEncoder:
        """As EncoderKind has it: asks for one vector, to see how long they are."""
        if not (folder / LAYOUT.header).exists():
            choice, name = self._choice, self.fingerprint()
            server = _server(choice.url, choice.timeout, choice.per_minute)
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
        """As EncoderKind has it."""
        return OpenAIEncoder(folder)


class OpenAIEncoder:
    """Asks the server that made the vectors.

    Args:
        folder: filled by `OpenAI.prepare`.

    Raises:
        CorruptError: a file is missing or damaged.
    """

    def __init__(self, folder: Path):
        reader = MappedArrays(LAYOUT, folder)
        self._name, self._model, self._url = (str(reader.about(key)) for key in ("name", "model", "url"))
        self._dimensions, self._batch = int(reader.about("dimensions")), max(1, int(reader.about("batch")))
        self._most = int(reader.about("most_tokens")) * BYTES_PER_TOKEN
        self._timeout, self._per_minute = float(reader.about("timeout")), int(reader.about("per_minute"))
        self._prompts = str(reader.about("query_prompt")), str(reader.about("passage_prompt"))
        self._server: ModelServer | None = None

    @property
    def name(self) -> str:
        """Kind, version, model, and what distinguishes its server and settings."""
        return self._name

    @property
    def dimensions(self) -> int:
        """Of the model."""
        return self._dimensions

    def passages(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions], at the rate that [vectors] allows."""
        if self._server is None:
            self._server = _server(self._url, self._timeout, self._per_minute)
        return self._encoded(self._server, texts, self._prompts[1])

    def queries(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions]; each call has a connection of its own, so threads do not meet."""
        return self._encoded(_server(self._url, self._timeout, 0), texts, self._prompts[0])

    def _encoded(self, server: ModelServer, texts: Sequence[str], prompt: str) -> Vectors:
        found = np.zeros((len(texts), self._dimensions), np.float32)
        written = [(prompt + text).encode("utf-8", "replace")[: self._most].decode("utf-8", "ignore") for text in texts]
        full = [i for i, text in enumerate(texts) if text.strip()]  # a server refuses an empty text
        for begin in range(0, len(full), self._batch):
            some = full[begin : begin + self._batch]
            vectors = embedded(server, self._model, [written[i] for i in some])
            if any(len(vector) != self._dimensions for vector in vectors):
                raise ModelServerError(
                    f"the model server {server.url} gives a vector of "
                    f"{next(len(v) for v in vectors if len(v) != self._dimensions):,} numbers; those of "
                    f"{self._model!r} had {self._dimensions:,}",
                    hint="is it another model by now? then build the index again: hybridkg index KB",
                )
            found[some] = vectors
        return unit(found)


def _server(url: str, timeout: float, per_minute: int) -> ModelServer:
    return ModelServer(url, timeout, per_minute)


def embedded(server: ModelServer, model: str, texts: Sequence[str]) -> list[list[float]]:
    """A vector of each of some texts, none of them empty, by one request.

    Raises:
        ModelServerError: the server does not answer, or not with a vector of finite numbers for each text.
    """
    answer = server.post("/embeddings", {"model": model, "input": list(texts), "encoding_format": "float"})
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise ModelServerError(
            f"the model server {server.url} gives no vectors", hint="does it speak OpenAI's embeddings interface?"
        )
    if len(items) != len(texts):
        raise ModelServerError(f"the model server {server.url} gives {len(items):,} vectors for {len(texts):,} texts")
    found: dict[int, list[float]] = {}
    for place, item in enumerate(items):
        vector = item.get("embedding") if isinstance(item, dict) else None
        number = item.get("index", place) if isinstance(item, dict) else place
        if not isinstance(vector, list) or not 0 < len(vector) <= MAX_VECTOR or not all(map(_is_finite, vector)):
            raise ModelServerError(f"the model server {server.url} gives a vector that is no list of finite numbers")
        if not isinstance(number, int) or not 0 <= number < len(texts) or number in found:
            raise ModelServerError(f"the model server {server.url} does not say which text each vector is of")
        found[number] = vector
    return [found[number] for number in range(len(texts))]


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and abs(value) < 1e30
