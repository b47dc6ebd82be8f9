"""Topics: the queries of a test collection, each an identifier and a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hybridkg.evaluation.text_lines import decoded, numbered_lines, quoted, refuse


@dataclass(frozen=True)
class Topics:
    """Texts by topic, in the order of the file.

    >>> len(Topics({"q1": "red fish", "q2": "blue fish"}))
    2
    """

    texts: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.texts)


def read_topics(path: Path) -> Topics:
    """Reads lines `id<TAB>text` in UTF-8; blanks around the text are removed, further tabs belong to it.

    Raises:
        LoadError: with file and line: no tab, no id, no text, a repeated topic, not text.
    """
    path = Path(path)
    texts: dict[str, str] = {}
    for number, line in numbered_lines(path, "a file of topics"):
        topic, tab, text = decoded(path, number, line).partition("\t")
        topic, text = topic.strip(" "), text.strip()
        if not tab:
            refuse(path, number, f"no tab in {quoted(line)}", "each line is an id, a tab, and the text of the topic")
        if any(c.isspace() for c in topic):
            refuse(path, number, f"the topic id {quoted(topic)} contains blanks", "no run or judgement could name it")
        if not topic or not text:
            refuse(path, number, f"the topic {quoted(topic)} has no text" if topic else "a text without a topic id")
        if topic in texts:
            refuse(path, number, f"the topic {quoted(topic)} is repeated")
        texts[topic] = text
    return Topics(texts)
