"""Values that differ from topic to topic: links of a question, its author, its year."""

from __future__ import annotations

from pathlib import Path

from hybridkg.evaluation.text_lines import decoded, numbered_lines, quoted, refuse


def read_values(path: Path) -> dict[str, str]:
    """Value of each topic, from lines `topic<TAB>value`, written as behind `--param`; an empty value is one.

    Raises:
        LoadError: with file and line: no tab, no topic, a topic that was there before, not text at all.
    """
    found: dict[str, str] = {}
    for number, line in numbered_lines(path, "a file of values"):
        topic, tab, value = decoded(path, number, line).partition("\t")
        topic = topic.strip(" ")
        if not tab or not topic:
            refuse(path, number, f"no topic in {quoted(line)}", "each line is a topic, a tab, and its value")
        if topic in found:
            refuse(path, number, f"the topic {quoted(topic)} was there before")
        found[topic] = value.strip()
    return found
