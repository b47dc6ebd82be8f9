"""A file of finished trainings, so that a second run of a command resumes an interrupted one.

The key is a hash of everything that a training depends on: the index, the settings, and the texts, links and grades of
its training topics.
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
"""Name of the file in the result folder."""

MAX_FILE_BYTES = 1 << 24
"""Maximum bytes; a training takes a few hundred."""


def content_key(
    snapshot: Snapshot,
    topics: Topics,
    qrels: Qrels,
    settings: Settings,
    training: Sequence[str],
    linked: Sequence[LinkedNode] = (),
) -> str:
    """The hash of everything that a training depends on; `linked` has the model's nodes of the graph."""
    manifest = snapshot.generation.manifest
    files = {path: f.checksum for path, f in manifest.files.items() if not path.startswith(("graph/", "documents/"))}
    judged = [(topic, topics.texts[topic], sorted(qrels.grades[topic].items())) for topic in training]
    own = {name: value for name, value in asdict(settings).items() if name != "choose" or value}
    whole = [__version__, files, dict(manifest.engines), own, judged, *map(_node_content, linked)]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _node_content(node: LinkedNode) -> list[Any]:
    fields = [
        [f.predicate, hashlib.sha256(f.ids.tobytes()).hexdigest(), f.df, f.entities, f.values] for f in node.fields
    ]
    return [node.link.node, node.link.confidence, fields]


class Kept:
    """The file of finished trainings in a folder; ConfigError if it has another form. Not thread-safe."""

    def __init__(self, folder: Path):
        self._path = folder / NAME
        self._entries: dict[str, dict[str, Any]] = {}
        try:
            with self._path.open("rb") as file:
                self._entries = json.loads(file.read(MAX_FILE_BYTES))["trainings"]
            self._learned = {key: _read(value, str(self._path)) for key, value in self._entries.items()}
        except FileNotFoundError:
            self._learned = {}
        except OSError as e:
            raise ConfigError(f"cannot read {str(self._path)!r}: {e.strerror}") from e
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
            raise ConfigError(
                "not a file of finished trainings", hint="remove it to train again", place=str(self._path)
            ) from e

    def get(self, key: str) -> Learned | None:
        return self._learned.get(key)

    def put(self, key: str, learned: Learned) -> None:
        """Writes a finished training to the disk; StorageError if that fails."""
        self._learned[key] = learned
        self._entries[key] = {
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
            new.write_text(json.dumps({"trainings": self._entries}, indent=1) + "\n", encoding="utf-8")
            new.replace(self._path)
        except OSError as e:
            raise StorageError(f"cannot write {str(self._path)!r}: {e.strerror}") from e


def _read(value: dict[str, Any], place: str) -> Learned:
    parameters = parse_model_parameters(value["parameters"], place)
    default, best, seconds, cpu = (float(value[key]) for key in ("default", "value", "seconds", "cpu"))
    return Learned(parameters, default, best, int(value["evaluations"]), seconds, cpu)
