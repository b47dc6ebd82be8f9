"""The bounds of the issue, each beside what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.text import ours
from benchmarks.text.session import Session

MAX_BUILD_S, MAX_BUILD_MB, BYTES_PER_POSTING = 15 * 60, 6_000, 4.0
DBPEDIA = 4_600_000
"""Entities of the collection that the issue gives the bound of a posting's bytes for."""

MAX_OPEN_S, MAX_ANONYMOUS_MB = 0.5, 1_500
TANTIVY = ("tantivy parsed", "tantivy flat")


@dataclass(frozen=True)
class Verdict:
    """One line: what, its figure, its bound, and whether it is met; None where it was not measured."""

    what: str
    figure: str
    bound: str
    met: bool | None

    @property
    def word(self) -> str:
        """`ok`, `NOT REACHED` or `not measured`."""
        return {True: "ok", False: "NOT REACHED", None: "not measured"}[self.met]

    def line(self) -> str:
        """As it is printed."""
        return f"{self.word:12}  {self.what}: {self.figure} (bound: {self.bound})"


def figure(what: str, value: float | None, bound: float, unit: str) -> Verdict:
    """A number that must be under its bound."""
    if value is None:
        return Verdict(what, "-", f"< {bound:,g}{unit}", None)
    return Verdict(what, f"{value:,.6g}{unit}", f"< {bound:,g}{unit}", value < bound)


def of_index(session: Session, entities: int) -> Iterator[Verdict]:
    """Build, size, open and memory."""
    at = f"{entities:,} entities"
    built = session.part(f"build-five-{entities}") or {}
    process = built.get("process", {})
    done = "build_s" in built
    yield figure(f"build, {at}", process.get("wall_s") if done else None, MAX_BUILD_S, " s")
    yield figure(
        f"build, largest memory with all children, {at}",
        process.get("peak_rss_mb") if done else None, MAX_BUILD_MB, " MB",
    )  # fmt: skip
    if done:
        inside = process.get("limit_mb") is not None
        stated = "built inside it" if inside else "no cgroup"
        if "failed_inside_the_limit" in built:
            yield Verdict(f"build inside a cgroup of 6 GB, {at}", "failed", "builds", False)
        else:
            yield Verdict(f"build inside a cgroup of 6 GB, {at}", stated, "builds", True if inside else None)
    if (
        entities >= DBPEDIA
    ):  # of fewer entities the vocabulary, which is as large, weighs more: the figure is in `build`
        yield figure(
            f"bytes per posting, positions excluded, {at}",
            built.get("bytes_per_posting_without_positions"), BYTES_PER_POSTING, "",
        )  # fmt: skip
    opened = session.part(f"open-{entities}") or {}
    yield figure(f"open, {at}", opened.get("open_s"), MAX_OPEN_S, " s")
    memory = session.part(f"memory-{entities}") or {}
    free, limited = memory.get("free", {}), memory.get("limited", {})
    yield figure(
        f"anonymous memory while querying, {at}",
        free["process"]["peak_anon_mb"] if free.get("answers") else None, MAX_ANONYMOUS_MB, " MB",
    )  # fmt: skip
    what, bound = f"answers inside a cgroup of 2 GB, {at}", "the same as without"
    if not free.get("answers") or limited.get("process", {}).get("limit_mb") is None:
        yield Verdict(what, "-", bound, None)
    else:
        same = free["answers"] == limited.get("answers")
        hits = limited["process"]["limit_hits"]
        stated = f"{'the same' if same else 'failed or differ'}; the limit was met {hits} times"
        yield Verdict(what, stated, bound, same)


def of_pruning(session: Session, entities: int) -> Iterator[Verdict]:
    """Whether pruned and exhaustive agree, model by model."""
    found = session.part(f"same-{entities}") or {}
    for model in ours.MODELS:
        what, bound = f"pruned = exhaustive, {model}, {entities:,} entities", "0 differ"
        same = found.get(model)
        if not same:
            yield Verdict(what, "failed" if found else "-", bound, False if found else None)
        else:
            asked = f"{same['questions']} of {same['of']} questions, {same['questions_with_ties']} with ties"
            stated = f"{same['differing']} of {same['rankings']} rankings differ ({asked})"
            yield Verdict(what, stated, bound, same["differing"] == 0)


Cells = dict[str, dict[str, dict[str, Any]]]


def median(cells: Cells, cell: str, *engines: str) -> float | None:
    """The quickest P50 of some engines in a cell, first asking."""
    found = [cells[cell][engine]["first"][0] for engine in engines if "first" in cells[cell].get(engine, {})]
    return min(found, default=None)


@dataclass(frozen=True)
class Rule:
    """One engine's median may be so many times another's in some cells."""

    engine: str
    others: tuple[str, ...]
    most: float
    applies: Callable[[str], bool]
    where: str

    def what(self, entities: int) -> str:
        """In words."""
        other = self.others[0].split()[0] if len(self.others) > 1 else self.others[0]
        return f"{self.engine} / {other}, {self.where}, {entities:,} entities"


def of_the_issue(cell: str) -> bool:
    """Whether a cell is of the bands that the issue names; `mixed` and `entity` are ours."""
    return cell.split()[1] in ("rare", "middle", "common")


RULES = (
    Rule("bm25f", TANTIVY, 1.0, lambda cell: cell.endswith(" 10"), "every cell of k = 10"),
    Rule("bm25f", TANTIVY, 0.5, lambda cell: cell.endswith(" common 10"), "common, k = 10"),
    Rule("flat bm25f", ("bm25s",), 2.0, lambda cell: True, "every cell"),
    *(
        Rule(model, ("bm25f",), most, applies, where)
        for model, most in (("lm", 2.0), ("mlm", 2.0), ("fsdm", 10.0))
        for applies, where in ((of_the_issue, "rare, middle, common"), (lambda cell: True, "every cell"))
    ),
)


def of_latency(session: Session, entities: int) -> Iterator[tuple[Verdict, list[Verdict]]]:
    """Each rule over all its cells, and the rule in each cell."""
    cells: Cells = (session.part(f"latency-{entities}") or {}).get("cells", {})
    for rule in RULES:
        single, bound = [], f"<= {rule.most:g}"
        for cell in filter(rule.applies, cells):
            ours_ms, theirs_ms = median(cells, cell, rule.engine), median(cells, cell, *rule.others)
            if ours_ms is None or theirs_ms is None:
                single.append(Verdict(cell, "-", bound, None))
            else:
                ratio = ours_ms / theirs_ms
                stated = f"{ratio:.2f} ({ours_ms:.3f} / {theirs_ms:.3f} ms)"
                single.append(Verdict(cell, stated, bound, round(ratio, 4) <= rule.most))
        measured = [one for one in single if one.met is not None]
        what = rule.what(entities)
        if not measured:
            yield Verdict(what, "-", bound, None), single
            continue
        worst = max(measured, key=lambda one: float(one.figure.split()[0]))
        met = sum(one.met is True for one in measured)
        stated = f"{met} of {len(single)} cells; largest {worst.figure} at {worst.what}"
        yield Verdict(what, stated, bound, met == len(single)), single
