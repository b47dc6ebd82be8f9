"""Counts of a long run that goes on where it was stopped."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self


@dataclass
class Resumable:
    """Counts, whose fields are JSON values or Counters."""

    def save(self, path: Path) -> None:
        """Writes the counts, whole or not at all."""
        new = path.with_suffix(".new")
        new.write_text(json.dumps(vars(self)), encoding="utf-8")
        new.replace(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """The counts of a run that was stopped, or none."""
        if not path.is_file():
            return cls()
        found = json.loads(path.read_text(encoding="utf-8"))
        counters = {one.name for one in fields(cls) if one.default_factory is Counter}
        return cls(**{name: Counter(value) if name in counters else value for name, value in found.items()})
