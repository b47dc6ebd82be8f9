"""Every group of entry points is documented, and no two registries share one."""

from __future__ import annotations

import re
from pathlib import Path

import hybridkg

PACKAGE = Path(hybridkg.__file__).parent
DOCUMENT = PACKAGE.parent / "docs" / "extensions.md"
GROUP = re.compile(r'Registry\(\s*"[^"]+",\s*"(hybridkg\.\w+)"')


def test_every_group_of_entry_points_is_documented():
    groups = [group for file in PACKAGE.rglob("*.py") for group in GROUP.findall(file.read_text(encoding="utf-8"))]
    assert len(groups) == len(set(groups)) >= 14
    documented = re.findall(r"^\| `(hybridkg\.\w+)`", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(documented) == sorted(groups)
