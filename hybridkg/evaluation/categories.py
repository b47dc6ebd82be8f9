"""Categories of topics: measures are told for each beside the total.

From a file, or from how the topics are named: the category is what stands before the last "-" or "_" of the id.
The four groups of DBpedia-Entity are made of seven such prefixes (ranking.md, 1.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from hybridkg.evaluation.text_lines import columns, decoded, numbered_lines, quoted, refuse

DBPEDIA_ENTITY = {
    "SemSearch_LS": "ListSearch",
    "INEX_XER": "ListSearch",
    "TREC_Entity": "ListSearch",
    "QALD2_te": "QALD2",
    "QALD2_tr": "QALD2",
}
"""The prefixes of DBpedia-Entity topics whose group has another name."""

LAST_PART = re.compile(r"[-_][^-_]*$")


def read_categories(path: Path) -> dict[str, str]:
    """Category of each topic, from lines `topic category` parted by a tab or blanks.

    Raises:
        LoadError: with file and line: a wrong number of columns, a topic that was there before, not text at all.
    """
    path = Path(path)
    found: dict[str, str] = {}
    for number, line in numbered_lines(path, "a file of categories"):
        # A category may hold blanks where a tab parts the columns.
        parts = line.split(b"\t") if line.count(b"\t") == 1 else columns(path, number, line, ("topic", "category"))
        topic, category = (decoded(path, number, part.strip()) for part in parts)
        if topic in found:
            refuse(path, number, f"the topic {quoted(topic)} was there before")
        found[topic] = category
    return found


def categories_by_prefix(topics: Iterable[str]) -> dict[str, str]:
    """Category of each topic, from its id.

    >>> categories_by_prefix(["INEX_LD-2009022", "TREC_Entity-1", "QALD2_te-12", "plain"])
    {'INEX_LD-2009022': 'INEX_LD', 'TREC_Entity-1': 'ListSearch', 'QALD2_te-12': 'QALD2', 'plain': 'plain'}
    """
    prefixes = {topic: LAST_PART.sub("", topic) or topic for topic in topics}
    return {topic: DBPEDIA_ENTITY.get(prefix, prefix) for topic, prefix in prefixes.items()}
