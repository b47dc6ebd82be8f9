"""JSON objects for files that people look at and every commit writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MAX_ON_A_LINE = 100
"""Characters of a value up to which it stays on the line of its key."""


def json_lines(value: Mapping[str, Any], indent: int = 1) -> str:
    r"""The text of an object: its keys in their order, a line for each key, also of long objects in it.

    With `indent`, the library's encoder is the one in Python, which takes ten times as long.

    >>> print(json_lines({"b": [1, 2], "a": {"x": "\u00e9"}}))
    {
     "a": {"x": "é"},
     "b": [1, 2]
    }
    """
    lines = []
    for key in sorted(value):
        own = json.dumps(value[key], ensure_ascii=False, sort_keys=True)
        if len(own) > MAX_ON_A_LINE and isinstance(value[key], Mapping) and all(isinstance(k, str) for k in value[key]):
            own = json_lines(value[key], indent + 1)
        lines.append(f"{' ' * indent}{json.dumps(key, ensure_ascii=False)}: {own}")
    return "{\n" + ",\n".join(lines) + "\n" + " " * (indent - 1) + "}" if lines else "{}"
