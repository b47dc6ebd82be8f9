"""The compact form of a document, which models read.

Source: snap-stanford/stark, `stark_qa/tools/process_text.py` (`compact_text`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_WHITE_SPACE = re.compile(r"\s{2,}")


def compacted(document: str) -> str:
    """STaRK's compact form of a document: one line, without the dashes of its list.

    A document without a line end, of a brand, a category or a color, has no other form.

    >>> compacted("- product: Tent\\n- features: \\n#1: Dry\\n")
    'product: Tent. features: #1: Dry. '
    """
    if "\n" not in document:
        return document
    text = document.replace("\n", ". ").replace("\r", "")
    text = text.replace("- ", "").replace(": .", ":").replace(":.", ":")
    return _WHITE_SPACE.sub(" ", text).replace(".. ", ". ")


PLAIN, COMPACT = "plain", "compact"

FORMS: Mapping[str, Callable[[str], str]] = {PLAIN: str, COMPACT: compacted}
"""Forms of a text for a model: as it is, or compact."""
