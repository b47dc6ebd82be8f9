"""Which IRIs a misspelt one may have meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

SIMILAR = 0.6
"""The least ratio of difflib between two last parts."""


def similar_iris(iri: str, counts: Mapping[str, int]) -> list[str]:
    """The names whose last part is like that of the IRI: the most similar first, then the most frequent.

    Args:
        iri: what was written.
        counts: how often each known name occurs.

    >>> similar_iris("x:titel", {"x:title": 9, "y:title": 20, "x:year": 7})
    ['y:title', 'x:title']
    """
    wanted = _last_part(iri)
    scored = (
        (-difflib.SequenceMatcher(None, wanted, _last_part(name)).ratio(), -count, name)
        for name, count in counts.items()
    )
    return [name for ratio, _, name in sorted(scored) if -ratio >= SIMILAR]


def _last_part(iri: str) -> str:
    return re.split(r"[/#:]", iri.rstrip("/#"))[-1].lower()
