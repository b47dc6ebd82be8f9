"""Where the files of a sentence-transformers model are, and what distinguishes them from those of another model."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path

from hybridkg.errors import ConfigError, EncoderError
from hybridkg.extras import needs_extra
from hybridkg.interfaces.encoder import ModelChoice

_log = logging.getLogger(__name__)

SUFFIXES = (".json", ".safetensors", ".txt", ".model")
"""Of the files that a model consists of: settings, weights, vocabularies. Pickled weights are not read."""

PATTERNS = [f"*{suffix}" for suffix in SUFFIXES]

MODULES = "modules.json"

ORGANISATION = "sentence-transformers"
"""Whose a model on the hub is, where its name says none."""

DIGITS = 12
"""Of the hash in the name of an encoder."""


@dataclass(frozen=True)
class ModelFolder:
    """A model on this disk.

    Args:
        name: as messages and `stats` show it.
        path: its folder.
    """

    name: str
    path: Path

    def files(self) -> list[Path]:
        """What it consists of, relative to its folder, in one order: no other formats of its weights, no readme.

        Raises:
            ConfigError: a file is missing, or cannot be read.
        """
        try:
            folders = [self.path]
            if (self.path / MODULES).exists():
                own = json.loads((self.path / MODULES).read_text(encoding="utf-8"))
                folders += [self.path / str(module["path"]) for module in own if module["path"]]
            found = sorted(
                path.relative_to(self.path)
                for folder in folders
                if folder.is_dir()
                for path in folder.iterdir()
                if path.suffix in SUFFIXES and path.is_file()
            )
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise ConfigError(f"the model {str(self.path)!r} cannot be read: {e}") from e
        if not any(path.name in (MODULES, "config.json") for path in found):
            raise ConfigError(
                f"{str(self.path)!r} is no sentence-transformers model: it has neither {MODULES!r} nor 'config.json'"
            )
        if not any(path.suffix == ".safetensors" for path in found):
            raise ConfigError(
                f"the model {str(self.path)!r} has no weights: no file '*.safetensors'",
                hint="weights of other formats can be saved anew with SentenceTransformer(...).save(FOLDER)",
            )
        return found

    def digest(self, *settings: object) -> str:
        """Hexadecimal digits that other files, or other settings, do not have.

        Raises:
            ConfigError: a file is missing, or cannot be read.
        """
        whole = hashlib.sha256(json.dumps(settings).encode())
        for path in self.files():
            try:
                with (self.path / path).open("rb") as file:
                    own = hashlib.file_digest(file, "sha256").digest()
            except OSError as e:
                raise ConfigError(f"cannot read {str(self.path / path)!r}: {e.strerror}") from e
            whole.update(path.as_posix().encode() + b"\0" + own)
        return whole.hexdigest()[:DIGITS]


def find_model(choice: ModelChoice) -> ModelFolder:
    """The model that kb.toml names: a folder, or a name on the Hugging Face hub, fetched where it is not here yet.

    A name begins with a letter or a digit, a path does not: `all-MiniLM-L6-v2`, `intfloat/e5-small-v2`, `/data/e5`,
    `./e5`, `~/e5`.

    Raises:
        ConfigError: the folder does not exist, or the hub knows no such model.
        MissingExtraError: a package is not installed.
        EncoderError: it cannot be fetched.
    """
    written = choice.model
    if not written[0].isalnum():
        path = choice.folder / Path(written).expanduser()
        if not path.is_dir():
            what = "is a file, not a folder" if path.exists() else "does not exist"
            raise ConfigError(f"the folder of the model {what}: {str(path)!r}")
        return ModelFolder(path.resolve().name, path)
    return _from_hub(written if "/" in written else f"{ORGANISATION}/{written}", choice.folder / written)


def _from_hub(name: str, beside: Path) -> ModelFolder:
    with needs_extra("models", f"the model {name!r}"):
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import RepositoryNotFoundError

    try:
        found = ModelFolder(name, Path(snapshot_download(name, allow_patterns=PATTERNS, local_files_only=True)))
        found.files()  # one that was half fetched lacks some
        return found
    except (OSError, ValueError, ConfigError):
        _log.warning("fetching the model %r from the Hugging Face hub", name)
    hint = f'a folder is written with its path: "./{beside.name}"' if beside.is_dir() else ""
    try:
        return ModelFolder(name, Path(snapshot_download(name, allow_patterns=PATTERNS)))
    except RepositoryNotFoundError as e:
        raise ConfigError(f"the Hugging Face hub has no model {name!r}, or does not show it", hint=hint) from e
    except Exception as e:  # the client raises errors of its own and of two libraries below it
        raise EncoderError(
            f"the model {name!r} is not on this disk, and cannot be fetched: {str(e).splitlines()[0]}",
            hint=hint or "fetch it elsewhere, copy its folder here, and write the path of the folder",
        ) from e
