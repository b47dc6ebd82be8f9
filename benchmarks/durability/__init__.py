"""Endurance of updates: kills, generated sequences and a soak. They run for an hour or so, and never in CI.

The changes and the comparison with a build from scratch are those of the tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "properties"))
