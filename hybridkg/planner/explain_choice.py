"""EXPLAIN of the operator that chooses the rows: what it expects of the candidate sets, and how far it had to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybridkg.operators.best_rows import BestRows
from hybridkg.operators.filtered_topk import FilteredTopK
from hybridkg.operators.known import Known
from hybridkg.operators.rank_first import RankFirst

Told = Mapping[int, Mapping[str, int]]
"""What operators have told of their work (ExecutionContext.tell), by their identity."""


def choice_json(operator: BestRows, known: Known, told: Told | None) -> dict[str, Any]:
    """The facts, under names with units; with `told`, those of the run beside the estimates."""
    own = {} if told is None else told.get(id(operator), {})
    instead = _instead(operator) if own.get("switched") else None
    last = own if instead is None or told is None else told.get(id(instead), {})
    sets: list[dict[str, Any]] = []
    for candidates in operator.candidates:
        estimate = candidates.estimate(known)
        one = {"variable": candidates.variable, "in": candidates.shown, "est_entities": estimate}
        if "candidates" in last:
            one["entities"] = last["candidates"]
        sets.append(one)
    found: dict[str, Any] = {"candidates": sets}
    if own:
        names = ("looks", "read", "seen", "passed")
        found["run"] = {
            ("looks" if name == "looks" else f"{name}_entities"): own[name] for name in names if name in own
        }
        if "matching" in last:
            found["run"]["matching_entities"] = last["matching"]
        if instead is not None:
            found["run"]["switched_to"] = "filtered_topk" if isinstance(instead, FilteredTopK) else "filter_first"
    return found


def choice_lines(operator: BestRows, known: Known, told: Told | None) -> list[str]:
    """The same in words: a line for each candidate set, and one for the run."""
    facts = choice_json(operator, known, told)
    lines = []
    for one in facts["candidates"]:
        estimate, head = one["est_entities"], f"candidates of ?{one['variable']}:"
        if not one["in"]:
            lines.append(f"{head} every entity, {estimate:,.0f}")
            continue
        sizes = [] if estimate is None else [f"est. {estimate:,.0f}"]
        sizes += [f"found {one['entities']:,}"] if "entities" in one else []
        sizes.append(f"in {one['in']}")
        lines.append(f"{head} {', '.join(sizes)}")
    if "run" in facts:
        lines.append(
            _run(facts["run"], "each list" if len(operator.top.matches + operator.top.optional) > 1 else "the list")
        )
    return lines


def _run(run: Mapping[str, Any], lists: str) -> str:
    parts = []
    if "looks" in run:
        looks = f"{run['looks']:,} {'look' if run['looks'] == 1 else 'looks'}"
        parts.append(f"{looks}, the best {run['read_entities']:,} of {lists}")
        if "seen_entities" in run:
            parts.append(f"{run['seen_entities']:,} entities tried, {run['passed_entities']:,} passed")
    elif "read_entities" in run:
        parts.append(f"the best {run['read_entities']:,} candidates")
    if "switched_to" in run:
        parts.append(f"then {run['switched_to']}")
    if "matching_entities" in run:
        parts.append(f"{run['matching_entities']:,} of the candidates match")
    return f"read: {'; '.join(parts)}"


def _instead(operator: BestRows) -> BestRows | None:
    return operator.other[0] if isinstance(operator, RankFirst) else None
