"""Whether a published figure and ours are of the same data and the same model, so that a difference says something."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hybridkg.evaluation.experiment.spec import SystemSpec

OTHER_DATA, OTHER_MODEL = "other data", "other model"
COMPARABLE = "comparable"

_MODEL = re.compile(r"\bmodel\s*=\s*(?:'([^']*)'|\"([^\"]*)\")")


@dataclass(frozen=True)
class PublishedData:
    """The data of published figures.

    Args:
        topics, qrels: SHA-256, as in manifest.json.
        candidates: their number; None where it is not known.
    """

    topics: str
    qrels: str
    candidates: int | None = None


def obstacles(spec: SystemSpec, data: PublishedData, context: Mapping[str, Any], kb: str) -> tuple[str, ...]:
    """The reasons why figures of a system are not comparable with published ones; empty if they are.

    Args:
        spec: the system; `model` is that of the published figures, empty for none.
        data: of the published figures.
        context: `surroundings` of the experiment.
        kb: path of the system's knowledge base, as in `context`.
    """
    found = []
    candidates = (context.get("candidates") or {}).get("candidates")
    same = (context["topics"]["sha256"], context["qrels"]["sha256"]) == (data.topics, data.qrels)
    if not same or data.candidates not in (None, candidates):
        found.append(OTHER_DATA)
    if spec.model and spec.model not in models_of(spec, context, kb):
        found.append(OTHER_MODEL)
    return tuple(found)


def models_of(spec: SystemSpec, context: Mapping[str, Any], kb: str) -> frozenset[str]:
    """The models of a system: that of the vectors of its knowledge base, and those that its query names.

    >>> context = {"knowledge_bases": {"kb": {"vectors": "openai/1 text-embedding-ada-002 0123456789ab"}}}
    >>> found = models_of(SystemSpec("s", "query", "... USING llm(model='gpt-4') ..."), context, "kb")
    >>> "text-embedding-ada-002" in found, "gpt-4" in found, "gpt" in found
    (True, True, False)
    """
    encoder = (context["knowledge_bases"].get(kb) or {}).get("vectors") or ""
    named = _MODEL.findall(spec.value) if spec.kind == "query" else []
    return frozenset([*encoder.split(), *("".join(one) for one in named)])
