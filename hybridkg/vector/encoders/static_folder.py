"""Folders of static models as sentence-transformers writes them: a table of token vectors and a tokenizer.

The first module of such a model is `StaticEmbedding`, whose text vector is the mean over its tokens. Files are read
here, within bounds, and without torch.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from hybridkg.errors import ConfigError
from hybridkg.interfaces.encoder import Vectors
from hybridkg.storage.tensor_file import TensorFile, write_tensors
from hybridkg.storage.whole_file import whole_file
from hybridkg.vector.encoders.model_folder import MODULES, ModelFolder
from hybridkg.vector.encoders.transformer import TOKENIZER, tokenizer_of

MODULE = "StaticEmbedding"
WEIGHTS = "embedding.weight"
TENSORS = "model.safetensors"

MAX_BYTES = 1 << 32
"""Maximum bytes of a table: a million tokens with 1,024 numbers."""

MAX_TOKENIZER_BYTES = 1 << 28
"""Maximum bytes of a tokenizer; that of a multilingual model has 17 MB."""

PATHS = ("0_StaticEmbedding", "1_Normalize")


@dataclass(frozen=True, eq=False)
class StaticTable:
    """A static model.

    Args:
        tokenizer: JSON of the tokenizer.
        tokens: float32[vocabulary, dimensions].
        unknown: the token of unknown words, if its vector is 0 and it counts for nothing; else None.
    """

    tokenizer: str
    tokens: Vectors
    unknown: int | None


def is_static(model: ModelFolder) -> bool:
    """Whether the first module of a model is a StaticEmbedding; ConfigError if its list of modules is malformed."""
    return _module(model.path) is not None


def read_static(model: ModelFolder) -> StaticTable:
    """Reads a static model.

    Raises:
        ConfigError: a file is missing, damaged or too large, or the tokenizer does not fit the table.
        MissingExtraError: the package of the tokenizer is not installed.
    """
    folder = _module(model.path)
    if folder is None:
        raise ConfigError(f"{str(model.path)!r} is no static model: its first module is not {MODULE!r}")
    file = TensorFile.open(folder / TENSORS, max_bytes=MAX_BYTES)
    entry = file.entries.get(WEIGHTS)
    if len(file.entries) != 1 or entry is None or len(entry.shape) != 2 or 0 in entry.shape:
        raise ConfigError(f"a static model has one table {WEIGHTS!r} of two axes", place=str(file.path))
    path = folder / TOKENIZER
    try:
        if path.stat().st_size > MAX_TOKENIZER_BYTES:
            raise ConfigError(f"a tokenizer has at most {MAX_TOKENIZER_BYTES >> 20} MiB", place=str(path))
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"cannot read {str(path)!r}: {e}") from e
    tokenizer = tokenizer_of(text, str(path))
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    if max(vocabulary.values(), default=0) >= entry.shape[0]:
        raise ConfigError(
            f"the tokenizer has {max(vocabulary.values()) + 1:,} tokens, and the table {entry.shape[0]:,}",
            place=str(path),
        )
    tokens = file.read(WEIGHTS)
    unknown = vocabulary.get(str(json.loads(text)["model"].get("unk_token")))
    return StaticTable(text, tokens, None if unknown is None or tokens[unknown].any() else unknown)


def write_static(folder: Path, table: StaticTable) -> None:
    """Writes a static model into an existing folder; the same model is the same bytes.

    Raises:
        StorageError: a file cannot be written.
    """
    static, normalize = (folder / name for name in PATHS)
    static.mkdir()
    normalize.mkdir()
    tokens = table.tokens.copy()
    if table.unknown is not None:
        tokens[table.unknown] = 0.0  # the library counts the token, which adds nothing to the direction of a mean
    write_tensors(static / TENSORS, {WEIGHTS: tokens})
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{path.partition('_')[2]}"}
        for i, path in enumerate(PATHS)
    ]
    for path, text in (
        (static / TOKENIZER, table.tokenizer),
        (folder / MODULES, json.dumps(modules, indent=2) + "\n"),
    ):
        with whole_file(path) as file:
            file.write(text)


def _module(path: Path) -> Path | None:
    """The folder of the StaticEmbedding that a model begins with; None for other models."""
    if not (path / MODULES).is_file():
        return None
    try:
        modules = json.loads((path / MODULES).read_text(encoding="utf-8"))
        if modules == []:
            return None
        first = modules[0]
        if str(first["type"]).rpartition(".")[2] != MODULE:
            return None
        folder = path / str(first["path"])
        if not folder.resolve().is_relative_to(path.resolve()):
            raise ValueError(f"the folder {first['path']!r} is outside of the model")
        return folder
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError) as e:
        raise ConfigError(f"the list of modules {str(path / MODULES)!r} cannot be read: {e}") from e
