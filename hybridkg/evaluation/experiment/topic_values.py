"""Query parameters that vary by topic: links of a question, its author, its year."""

from __future__ import annotations

from pathlib import Path

from hybridkg.evaluation.text_lines import decoded, numbered_lines, quoted, refuse


def read_values(path: Path) -> dict[str, str]:
    """Value of each topic, from lines `topic<TAB>value`, in the syntax of `--param`; a value may be empty.

    Raises:
        LoadError: with file and line: no tab, no topic, a repeated topic, not text.
    """
    values: dict[str, str] = {}
    for number, line in numbered_lines(path, "a file of values"):
        topic, tab, value = decoded(path, number, line).partition("\t")
        topic = topic.strip(" ")
        if not tab or not topic:
            refuse(path, number, f"no topic in {quoted(line)}", "each line is a topic, a tab, and its value")
        if topic in values:
            refuse(path, number, f"the topic {quoted(topic)} is repeated")
        values[topic] = value.strip()
    return values
