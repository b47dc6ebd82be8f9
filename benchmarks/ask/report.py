"""The tables of docs/asking.md from the stored results: python -m benchmarks.ask.report"""

from __future__ import annotations

import json
from typing import Any

from benchmarks.ask.grading import MEASURES, SYSTEMS
from benchmarks.record import RESULTS
from benchmarks.stark_data.report import TITLES
from hybridkg.evaluation.gold_queries import PARTS

TARGETS = {"mag": (0.98, 0.85, 0.85, 0.70), "prime": (0.90, 0.80, 0.70, 0.55), "amazon": (0.95, 0.80, 0.80, 0.60)}
"""Figures of PARTS to reach."""


def parts_table(data: dict[str, Any]) -> str:
    """Parts of readings, as `learned (not learned)`, bold where the learned one misses the target."""
    lines = ["| data | form | questions | " + " | ".join(PARTS) + " |", "|---|---|--:|" + "--:|" * len(PARTS)]
    for name, found in data.items():
        cells = []
        for part, target in zip(PARTS, TARGETS[found["form"]], strict=True):
            value = found["parts"][part]
            shown = f"{value:.2f}" if value >= target else f"**{value:.2f}** < {target:.2f}"
            cells.append(f"{shown} ({found['parts_not_learned'][part]:.2f})")
        lines.append(f"| {TITLES[name]} | {found['form']} | {found['questions']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def rankings_table(data: dict[str, Any]) -> str:
    """Measures of all systems."""
    lines = ["| data | system | " + " | ".join(MEASURES) + " |", "|---|---|" + "--:|" * len(MEASURES)]
    for name, found in data.items():
        for system in SYSTEMS:
            values = " | ".join(f"{found['rankings'][system][measure]:.3f}" for measure in MEASURES)
            lines.append(f"| {TITLES[name]} | {system} | {values} |")
    return "\n".join(lines)


def losing_cells(data: dict[str, Any]) -> str:
    """Comparisons in which `ask` is not better with p < .01."""
    lines = []
    for name, found in data.items():
        for against, cell in found["against"].items():
            if cell["gain"] <= 0 or cell["p_holm"] >= 0.01:
                lines.append(f"- {TITLES[name]}, {against}: {cell['gain']:+.3f}, p {cell['p_holm']}")
    return "\n".join(lines)


if __name__ == "__main__":
    stored = json.loads((RESULTS / "ask.json").read_text())["data"]
    print(parts_table(stored), rankings_table(stored), losing_cells(stored), sep="\n\n")
