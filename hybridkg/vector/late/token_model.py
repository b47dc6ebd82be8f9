"""The protocol of token models, which turn a text into one vector for each token, and how a query names one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hybridkg.errors import ConfigError
from hybridkg.interfaces.encoder import ModelChoice, Vectors


@dataclass(frozen=True, eq=False)
class QuestionTokens:
    """A question.

    Args:
        names: the tokens, for people.
        vectors: float32[len(names), dimensions].
    """

    names: tuple[str, ...]
    vectors: Vectors


class TokenModel(Protocol):
    """Token vectors of questions and documents, in one space."""

    @property
    def fingerprint(self) -> str:
        """Kind, model and settings; only vectors of equal fingerprints are compared."""

    @property
    def dimensions(self) -> int: ...

    def question(self, text: str) -> QuestionTokens:
        """The tokens of a question; none for a text without any that the model knows."""

    def documents(self, texts: Sequence[str]) -> list[Vectors]:
        """float32[tokens, dimensions] of each text, rows of length 1; the same whatever the other texts are."""


def open_token_model(model: str, folders: Sequence[Path], max_length: int) -> TokenModel:
    """The model of a folder, or of a name on the Hugging Face hub.

    Args:
        model: a path begins with `/`, `.` or `~`.
        folders: search path of a relative path.
        max_length: maximum tokens of a document; 0 for the model's own limit.

    Raises:
        ConfigError: there is no such model.
        MissingExtraError: a package is not installed.
        EncoderError: the model cannot be used.
    """
    from hybridkg.vector.late.transformer_tokens import opened

    if model[0].isalnum():
        return opened(ModelChoice(model, max_length=max_length))
    path = Path(model).expanduser()
    found = next((folder / path for folder in folders if (folder / path / "config.json").is_file()), None)
    found = found or next((folder / path for folder in folders if (folder / path / "modules.json").is_file()), None)
    if found is None:
        searched = " and ".join(dict.fromkeys(repr(str(folder / path)) for folder in folders))
        raise ConfigError(f"no model in {searched}", hint="the folder of a model has a config.json or a modules.json")
    return opened(ModelChoice(str(found.resolve()), max_length=max_length))
