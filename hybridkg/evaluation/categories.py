"""Categories of topics, from a file or from the ids: the part before the last "-" or "_".

Seven such prefixes make the four categories of DBpedia-Entity v2.
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
"""Categories of the DBpedia-Entity prefixes with another name."""

LAST_PART = re.compile(r"[-_][^-_]*$")


def read_categories(path: Path) -> dict[str, str]:
    """Category of each topic, of lines `topic category` (tab or blanks between); LoadError for an invalid line."""
    path = Path(path)
    categories: dict[str, str] = {}
    for number, line in numbered_lines(path, "a file of categories"):
        # A category after a tab may contain blanks.
        parts = line.split(b"\t") if line.count(b"\t") == 1 else columns(path, number, line, ("topic", "category"))
        topic, category = (decoded(path, number, part.strip()) for part in parts)
        if topic in categories:
            refuse(path, number, f"the topic {quoted(topic)} is repeated")
        categories[topic] = category
    return categories


def categories_by_prefix(topics: Iterable[str]) -> dict[str, str]:
    """Category of each topic, from its id.

    >>> categories_by_prefix(["INEX_LD-2009022", "TREC_Entity-1", "QALD2_te-12", "plain"])
    {'INEX_LD-2009022': 'INEX_LD', 'TREC_Entity-1': 'ListSearch', 'QALD2_te-12': 'QALD2', 'plain': 'plain'}
    """
    prefixes = {topic: LAST_PART.sub("", topic) or topic for topic in topics}
    return {topic: DBPEDIA_ENTITY.get(prefix, prefix) for topic, prefix in prefixes.items()}
