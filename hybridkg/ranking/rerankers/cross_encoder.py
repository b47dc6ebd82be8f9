"""Cross-encoder reranker: a transformer that reads question and text together and returns one score.

Any model of sentence-transformers' CrossEncoder with one output, by a name on the Hugging Face hub or by the path of
its folder. Only safetensors weights are read, and no code of a model is run. Models stay loaded until the process ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hybridkg.errors import ConfigError, RerankerError
from hybridkg.extras import needs_extra
from hybridkg.interfaces.reranker import RerankCandidates, Reranked, RerankPlace, Setting, Surroundings

AT_ONCE = 16
"""Pairs between two checks of the time limit."""

CHARACTERS = 20_000
"""Maximum length of a text for the tokenizer; no model reads so much."""

LOADED = 2
"""Maximum number of models in memory."""


class CrossEncoderReranker:
    """The reranker `cross_encoder`."""

    settings: ClassVar[Mapping[str, Setting]] = {
        "model": Setting("", note="a name on the Hugging Face hub, or the path of a folder"),
        "fields": Setting("", note="fields that are read, with commas; default: all"),
        "max_length": Setting(512.0, 8, 100_000, whole=True, note="tokens of question and text together"),
    }
    takes_file, needs_query, repeatable, most = False, True, True, 10_000

    def __init__(self, values: Mapping[str, str | float], file: str, place: RerankPlace):
        model = str(values["model"])
        if not model:
            raise ConfigError("cross_encoder needs a model", hint="USING cross_encoder(model='cross-encoder/...')")
        if model.startswith(("/", ".", "~")):
            path = Path(model).expanduser()
            found = next((folder / path for folder in place.folders if (folder / path / "config.json").is_file()), None)
            if found is None:
                searched = " and ".join(dict.fromkeys(repr(str(folder / path)) for folder in place.folders))
                raise ConfigError(f"no model in {searched}", hint="the folder of a model has a config.json")
            model = str(found.resolve())
        self._model, self._length = model, int(values["max_length"])
        self._fields = [name.strip() for name in str(values["fields"]).split(",") if name.strip()]

    @property
    def name(self) -> str:
        return f"cross_encoder ({Path(self._model).name if self._model.startswith('/') else self._model})"

    def rerank(self, candidates: RerankCandidates, around: Surroundings) -> Reranked:
        model = loaded(self._model, self._length)
        texts = around.running_texts(candidates.nodes, self._fields, CHARACTERS)
        pairs = list(zip(candidates.queries, texts, strict=True))
        batches = []
        for begin in range(0, len(pairs), AT_ONCE):
            around.check()
            try:
                scores = np.asarray(model.predict(pairs[begin : begin + AT_ONCE], show_progress_bar=False))
            except (RuntimeError, ValueError, IndexError) as e:
                raise RerankerError(f"{self.name} failed: {_first_line(e)}") from e
            if scores.ndim != 1:
                raise RerankerError(
                    f"{self.name} returns {scores.shape[-1]} numbers for a pair",
                    hint="use a model that was trained to rank: one with a single output",
                )
            batches.append(scores.astype(np.float64))
        return Reranked(np.concatenate(batches))


@lru_cache(maxsize=LOADED)
def loaded(model: str, max_length: int) -> Any:
    """A CrossEncoder of sentence-transformers.

    Raises:
        MissingExtraError: the package is not installed.
        RerankerError: the model does not exist, or is none.
    """
    with needs_extra("models", "cross_encoder"):
        from sentence_transformers import CrossEncoder
    try:
        return CrossEncoder(
            model, max_length=max_length, trust_remote_code=False, model_kwargs={"use_safetensors": True}
        )
    except (OSError, ValueError, RuntimeError, KeyError) as e:
        raise RerankerError(
            f"cannot load the cross-encoder {model!r}: {_first_line(e)}",
            hint="a name on the Hugging Face hub, or the path of a folder that begins with / or .",
        ) from e


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]
