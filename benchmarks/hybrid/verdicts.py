"""The bounds of the issue, each beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.hybrid.engines import CONTENDERS, GLUE, OURS
from benchmarks.hybrid.summary import Times, percentiles
from benchmarks.hybrid.workload import Question

TWO_HOP_MEDIAN_MS, TWO_HOP_P99_MS, TWO_HOP_SIZE = 5.0, 50.0, 500_000
FASTER = 10.0


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


@dataclass(frozen=True)
class Cell:
    """One question of hybridkg beside the fastest exact peer."""

    name: str
    ours_ms: float
    peer: str
    peer_ms: float

    @property
    def ratio(self) -> float:
        """Times as long as the peer."""
        return self.ours_ms / self.peer_ms

    def text(self) -> str:
        """In words."""
        return f"{self.name}: {self.ours_ms:.2f} ms, {self.peer} {self.peer_ms:.2f} ms"


def two_hops(questions: list[Question], ours: Times, papers: int) -> Iterator[Verdict]:
    """The two-hop filter at k = 10."""
    found = [ours[one.number] for one in questions if one.shape == "two_hop" and one.k == 10 and one.number in ours]
    median, most = percentiles(found)
    for name, value, bound in (("median", median, TWO_HOP_MEDIAN_MS), ("P99", most, TWO_HOP_P99_MS)):
        what = f"two hops, k = 10, {name}, {papers:,} papers"
        met = None if not found or papers < TWO_HOP_SIZE else value < bound
        yield Verdict(what, f"{value} ms" if found else "-", f"< {bound:g} ms at {TWO_HOP_SIZE:,}", met)


def medians(times: Mapping[str, Times], papers: int) -> Iterator[Verdict]:
    """Medians over the questions that both answer."""
    ours = times.get(OURS, {})
    for name, contender in CONTENDERS.items():
        if name == OURS or not contender.exact:
            continue
        what = f"median of {name} / median of hybridkg, {papers:,} papers"
        common = sorted(ours.keys() & times.get(name, {}).keys())
        if not common:
            yield Verdict(what, "-", f">= {FASTER:g}", None)
            continue
        theirs = percentiles([times[name][number] for number in common])[0]
        own = percentiles([ours[number] for number in common])[0]
        yield Verdict(what, f"{theirs / own:.1f} ({theirs} / {own} ms)", f">= {FASTER:g}", theirs / own >= FASTER)


def cells(questions: list[Question], times: Mapping[str, Times]) -> list[Cell]:
    """Every question with the fastest exact peer; the largest ratio first."""
    found = []
    peers = {name: own for name, own in times.items() if CONTENDERS[name].exact and name != OURS}
    for one in questions:
        theirs = {name: own[one.number] for name, own in peers.items() if one.number in own}
        if theirs and one.number in times.get(OURS, {}):
            fastest = min(theirs, key=theirs.__getitem__)
            found.append(Cell(one.cell + f" #{one.number}", times[OURS][one.number], fastest, theirs[fastest]))
    return sorted(found, key=lambda cell: -cell.ratio)


def of_cells(found: list[Cell], papers: int) -> Verdict:
    """Whether any loses."""
    what = f"cells slower than the fastest exact peer, {papers:,} papers"
    if not found:
        return Verdict(what, "-", "0", None)
    losing = sum(cell.ratio > 1 for cell in found)
    worst = f"; largest ratio {found[0].ratio:.2f}, {found[0].text()}"
    return Verdict(what, f"{losing} of {len(found)}{worst}", "0", losing == 0)


def of_answers(name: str, found: Mapping[str, int], papers: int) -> Verdict:
    """Whether all answers of hybridkg, and of the glue over its index, are right."""
    what = f"right answers of {name}, {papers:,} papers"
    met = found["right"] == found["questions"] if name in (OURS, GLUE) else None
    return Verdict(what, f"{found['right']} of {found['questions']}", "all", met)
