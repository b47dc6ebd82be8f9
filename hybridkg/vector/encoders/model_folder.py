"""Files of a sentence-transformers model: where they are, and a digest that distinguishes them from another model's."""

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
"""Settings, weights and vocabularies of a model. Pickled weights are not read."""

PATTERNS = [f"*{suffix}" for suffix in SUFFIXES]

MODULES = "modules.json"

ORGANISATION = "sentence-transformers"
"""Owner of a model on the hub whose name has none."""

DIGITS = 12
"""Length of the hash in the name of an encoder."""


@dataclass(frozen=True)
class ModelFolder:
    """A model on this disk: its name in messages and `stats`, and its folder."""

    name: str
    path: Path

    def files(self) -> list[Path]:
        """Its files, relative to its folder, sorted: no other formats of its weights, no readme.

        Raises:
            ConfigError: a file is missing, or cannot be read.
        """
        try:
            folders = [self.path]
            if (self.path / MODULES).exists():
                own = json.loads((self.path / MODULES).read_text(encoding="utf-8"))
                folders += [self.path / str(module["path"]) for module in own if module["path"]]
            files = sorted(
                path.relative_to(self.path)
                for folder in folders
                if folder.is_dir()
                for path in folder.iterdir()
                if path.suffix in SUFFIXES and path.is_file()
            )
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise ConfigError(f"the model {str(self.path)!r} cannot be read: {e}") from e
        if not any(path.name in (MODULES, "config.json") for path in files):
            raise ConfigError(
                f"{str(self.path)!r} is not a sentence-transformers model: it has neither {MODULES!r} nor 'config.json'"
            )
        if not any(path.suffix == ".safetensors" for path in files):
            raise ConfigError(
                f"the model {str(self.path)!r} has no weights: no file '*.safetensors'",
                hint="save weights of other formats as safetensors with SentenceTransformer(...).save(FOLDER)",
            )
        return files

    def digest(self, *settings: object) -> str:
        """Hexadecimal digest of the files and of settings.

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
    """The model that kb.toml names: a folder, or a name on the Hugging Face hub, fetched unless it is on this disk.

    A name begins with a letter or a digit, a path does not: `all-MiniLM-L6-v2`, `intfloat/e5-small-v2`, `/data/e5`,
    `./e5`, `~/e5`.
    Raises:
        ConfigError: the folder does not exist, or the hub has no such model.
        MissingExtraError: a package is not installed.
        EncoderError: the model cannot be fetched.
    """
    written = choice.model
    if not written[0].isalnum():
        path = choice.folder / Path(written).expanduser()
        if not path.is_dir():
            problem = "is a file, not a folder" if path.exists() else "does not exist"
            raise ConfigError(f"the folder of the model {problem}: {str(path)!r}")
        return ModelFolder(path.resolve().name, path)
    return _from_hub(written if "/" in written else f"{ORGANISATION}/{written}", choice.folder / written)


def _from_hub(name: str, same_name: Path) -> ModelFolder:
    with needs_extra("models", f"the model {name!r}"):
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import RepositoryNotFoundError

    try:
        model = ModelFolder(name, Path(snapshot_download(name, allow_patterns=PATTERNS, local_files_only=True)))
        model.files()  # fails where only a part was fetched
        return model
    except (OSError, ValueError, ConfigError):
        _log.warning("fetching the model %r from the Hugging Face hub", name)
    hint = f'a folder is written with its path: "./{same_name.name}"' if same_name.is_dir() else ""
    try:
        return ModelFolder(name, Path(snapshot_download(name, allow_patterns=PATTERNS)))
    except RepositoryNotFoundError as e:
        raise ConfigError(f"the Hugging Face hub has no model {name!r}, or does not show it", hint=hint) from e
    except Exception as e:  # the client raises errors of its own and of two libraries below it
        raise EncoderError(
            f"the model {name!r} is not on this disk, and cannot be fetched: {str(e).splitlines()[0]}",
            hint=hint or "fetch it on another machine, copy its folder to this one, and write the path of the folder",
        ) from e
