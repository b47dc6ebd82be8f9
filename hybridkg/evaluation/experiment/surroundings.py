"""What the figures of an experiment depend on beside its systems: versions, machine, knowledge bases, judgements."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
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
"""Whose versions may change a ranking, or a figure."""


def surroundings(
    topics: Topics, qrels: Qrels, opened: Mapping[Path, KnowledgeBase], candidates: AnswerCandidates | None = None
) -> dict[str, Any]:
    """Everything of it, as JSON values.

    Args:
        topics: what is asked.
        qrels: how it was judged.
        opened: the knowledge bases that systems asked, by path.
        candidates: what may be an answer, where that is known.
    """
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
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
