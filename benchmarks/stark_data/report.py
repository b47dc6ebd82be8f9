"""The tables of docs/evaluation.md from the stored results: python -m benchmarks.stark_data.report"""

from __future__ import annotations

import json
from typing import Any

from benchmarks.record import RESULTS

TITLES = {
    "acl": "ACL Anthology",
    "cacm": "CACM",
    "hetionet": "Hetionet's sources",
    "attack": "ATT&CK",
}


def data_table(data: dict[str, Any]) -> str:
    """Nodes and edges by type, and the templates that are not expressed."""
    lines = ["| data | form | nodes | edges | templates | not expressed |", "|---|---|--:|--:|--:|---|"]
    for name, title in TITLES.items():
        found = data[name]
        expressed = len(found["templates"]) - len(found["not_expressed"])
        missing = ", ".join(one.rpartition("-")[2] for one in found["not_expressed"])
        cells = [title, found["form"], f"{found['nodes']:,}", f"{found['edges']:,}", str(expressed), missing]
        lines.append(f"| {' | '.join(cells)} |".replace("|  |", "| |"))
    return "\n".join(lines)


def type_lists(data: dict[str, Any]) -> str:
    """Nodes and edges by type, and for each template the number of nodes that are an answer for some anchors."""
    parts = []
    for name, title in TITLES.items():
        found = data[name]
        answers = {one: counts["answers"] for one, counts in found["templates"].items()}
        parts.append(
            f"- **{title}.** Nodes: {_counts(found['node_types'])}. Edges: {_counts(found['edge_types'])}. "
            f"Answers by template: {_counts(answers)}."
        )
    return "\n".join(parts)


def synthesis_table(data: dict[str, Any]) -> str:
    """Draws and questions."""
    lines = [
        "| data | 1,000 draws | 1,000 questions | on the clock | candidates | answers | with properties |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, title in TITLES.items():
        found = data[name]
        lines.append(
            f"| {title} | {found['draws_cpu_s']} s | {found['questions_cpu_s']} s | {found['questions_s']} s "
            f"| {found['mean_candidates']:,} | {found['mean_answers']} | {found['with_properties']:,} |"
        )
    return "\n".join(lines)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)


def stored(name: str) -> dict[str, Any]:
    """The data of stored results."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())["data"]
    return found


if __name__ == "__main__":
    print(data_table(stored("stark_data")), type_lists(stored("stark_data")), sep="\n\n")
    print()
    print(synthesis_table(stored("stark_synthesis")))
