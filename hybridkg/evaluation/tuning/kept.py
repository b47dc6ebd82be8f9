"""Finished trainings in a file, so that a second run of the same command goes on where the first was interrupted.

Each is found by a hash of all that it depends on: the index, the settings, and the texts, links and grades of its
own training topics. What has changed since is simply not found.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hybridkg import __version__
from hybridkg.config.model_parameters import parse_model_parameters
from hybridkg.errors import ConfigError, StorageError
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.topics import Topics
from hybridkg.evaluation.tuning.training import Learned, Settings
from hybridkg.interfaces.links import LinkedNode
from hybridkg.kb.snapshot import Snapshot

NAME = "trained.json"
"""Of the file, in the folder of the results."""

MAX_FILE_BYTES = 1 << 24
"""Bytes; a training takes some hundred."""


def content_key(
    snapshot: Snapshot,
    topics: Topics,
    qrels: Qrels,
    settings: Settings,
    training: Sequence[str],
    linked: Sequence[LinkedNode] = (),
) -> str:
    """The hash of everything that a training depends on; `linked` is what the model sees of the graph."""
    manifest = snapshot.generation.manifest
    files = {path: f.checksum for path, f in manifest.files.items() if not path.startswith(("graph/", "documents/"))}
    asked = [(topic, topics.texts[topic], sorted(qrels.grades[topic].items())) for topic in training]
    own = {name: value for name, value in asdict(settings).items() if name != "choose" or value}
    whole = [__version__, files, dict(manifest.engines), own, asked, *map(_seen, linked)]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _seen(node: LinkedNode) -> list[Any]:
    fields = [
        [f.predicate, hashlib.sha256(f.ids.tobytes()).hexdigest(), f.df, f.entities, f.values] for f in node.fields
    ]
    return [node.link.node, node.link.confidence, fields]


class Kept:
    """The file. One thread at a time.

    Args:
        folder: where it is, or will be.

    Raises:
        ConfigError: there is one that this was not written by.
    """

    def __init__(self, folder: Path):
        self._path = folder / NAME
        self._found: dict[str, dict[str, Any]] = {}
        try:
            with self._path.open("rb") as file:
                self._found = json.loads(file.read(MAX_FILE_BYTES))["trainings"]
            self._learned = {key: _read(value, str(self._path)) for key, value in self._found.items()}
        except FileNotFoundError:
            self._learned = {}
        except OSError as e:
            raise ConfigError(f"cannot read {str(self._path)!r}: {e.strerror}") from e
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
            raise ConfigError(
                "not a file of finished trainings", hint="remove it to train anew", place=str(self._path)
            ) from e

    def get(self, key: str) -> Learned | None:
        """What a training found before, or None."""
        return self._learned.get(key)

    def put(self, key: str, learned: Learned) -> None:
        """Keeps a finished training, on disk before this returns.

        Raises:
            StorageError: the file cannot be written.
        """
        self._learned[key] = learned
        self._found[key] = {
            "parameters": learned.parameters.to_toml(),
            "default": learned.default,
            "value": learned.value,
            "evaluations": learned.evaluations,
            "seconds": learned.seconds,
            "cpu": learned.cpu,
        }
        new = self._path.with_suffix(".new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(json.dumps({"trainings": self._found}, indent=1) + "\n", encoding="utf-8")
            new.replace(self._path)
        except OSError as e:
            raise StorageError(f"cannot write {str(self._path)!r}: {e.strerror}") from e


def _read(value: dict[str, Any], place: str) -> Learned:
    parameters = parse_model_parameters(value["parameters"], place)
    default, best, seconds, cpu = (float(value[key]) for key in ("default", "value", "seconds", "cpu"))
    return Learned(parameters, default, best, int(value["evaluations"]), seconds, cpu)
