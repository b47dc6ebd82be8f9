"""The questions of a file that `hybridkg synthesise` wrote."""

from __future__ import annotations

import json
from pathlib import Path

from hybridkg.evaluation.synthesis.synthesise import SynthesisedQuestion


def read_gold(path: Path) -> list[SynthesisedQuestion]:
    """The questions of a `gold.jsonl`, in order."""
    return [_question(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _question(about: dict[str, object]) -> SynthesisedQuestion:
    anchors = about["anchors"]
    assert isinstance(anchors, dict)
    return SynthesisedQuestion(
        number=int(str(about["id"])),
        split=str(about["split"]),
        text=str(about["query"]),
        template=str(about["template"]),
        role=str(about["role"]),
        anchors={name: (one["iri"], one["name"]) for name, one in anchors.items()},
        properties=_texts(about["properties"]),
        asked=_texts(about["asked"]),
        query=str(about["hybridql"]),
        gold=str(about["gold"]),
        candidates=int(str(about["candidates"])),
        answers=_texts(about["answers"]),
    )


def _texts(some: object) -> tuple[str, ...]:
    assert isinstance(some, list)
    return tuple(map(str, some))
