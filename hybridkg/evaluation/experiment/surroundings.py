"""The environment of an experiment: versions, machine, knowledge bases, topics and judgements."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridkg import __version__
from hybridkg.evaluation.experiment.collection import content_of
from hybridkg.evaluation.measures.stark import AnswerCandidates
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.topics import Topics
from hybridkg.kb.snapshot import snapshot_of

if TYPE_CHECKING:
    from hybridkg.kb import KnowledgeBase

PACKAGES = ("numpy", "numba", "pyoxigraph", "PyStemmer", "regex", "scipy", "faiss-cpu", "onnxruntime")
"""Packages whose versions may change a ranking or a figure."""


def surroundings(
    topics: Topics, qrels: Qrels, opened: Mapping[Path, KnowledgeBase], candidates: AnswerCandidates | None = None
) -> dict[str, Any]:
    """The environment as JSON values; `opened` has the knowledge bases of the systems by path."""
    grades = {topic: dict(own) for topic, own in qrels.grades.items()}
    return {
        "hybridkg": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "packages": _versions(),
        "knowledge_bases": {str(path): _about(kb) for path, kb in opened.items()},
        "topics": {"topics": len(topics), "sha256": _hash(dict(topics.texts))},
        "qrels": {"topics": len(qrels), "sha256": _hash(grades)},
        "candidates": None
        if candidates is None
        else {"candidates": len(candidates), "sha256": _hash(list(candidates.place))},
    }


def _hash(values: Any) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def _about(kb: KnowledgeBase) -> dict[str, Any]:
    snapshot = snapshot_of(kb)
    manifest = snapshot.generation.manifest
    vectors = snapshot.vectors
    return {
        "sha256": content_of(kb),
        "generation": manifest.generation,
        "hybridkg": manifest.hybridkg,
        "counts": dict(manifest.counts),
        "engines": dict(manifest.engines),
        "vectors": None if vectors is None else str(vectors.about().get("encoder", "")),
        "behind": list(manifest.behind()),
    }


def _versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
