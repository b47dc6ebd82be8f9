"""Suggestions for a misspelt IRI."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

SIMILAR = 0.6
"""Minimum ratio of difflib between two local names."""


def similar_iris(iri: str, counts: Mapping[str, int]) -> list[str]:
    """The names whose local name resembles that of the IRI: the most similar first, then the most frequent.

    Args:
        iri: the misspelt IRI.
        counts: occurrences of each existing name.

    >>> similar_iris("x:titel", {"x:title": 9, "y:title": 20, "x:year": 7})
    ['y:title', 'x:title']
    """
    local_name = _last_part(iri)
    scored = (
        (-difflib.SequenceMatcher(None, local_name, _last_part(name)).ratio(), -count, name)
        for name, count in counts.items()
    )
    return [name for ratio, _, name in sorted(scored) if -ratio >= SIMILAR]


def _last_part(iri: str) -> str:
    return re.split(r"[/#:]", iri.rstrip("/#"))[-1].lower()
