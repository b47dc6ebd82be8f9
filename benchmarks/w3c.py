"""The W3C SPARQL suites: suite x kind x pass/skip/fail, for us and for Oxigraph alone.

    python -m benchmarks.w3c

Syntax: parse and check accept what they must and reject what they must.
Evaluation: `KnowledgeBase.query` on the test's data is compared with the
expected answer, and with Oxigraph's answer to the original text. The knowledge
base reads its graph from memory here, everything else is as it always is.
Updates (w3c_updates.py): the graph after the request, in the same way.
What does not pass is in tests/query/w3c-skips.toml with its reason, or it fails.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from benchmarks.w3c_answers import Answer, of_file, of_oxigraph, of_result_set, same
from benchmarks.w3c_cases import ARCHIVE, OTHER, UPDATE, Case, Skip, cases, skips, unpack
from benchmarks.w3c_updates import Requests, evaluated, requests
from hybridkg import KnowledgeBase
from hybridkg.errors import HybridkgError
from hybridkg.query.checks.check import check
from hybridkg.query.checks.check_update import check_update
from hybridkg.query.parser import parse, parse_update
from hybridkg.store.oxigraph import OxigraphStore

SUITES = {"sparql10": "SPARQL 1.0", "sparql11": "SPARQL 1.1", "sparql12": "SPARQL 1.2"}
LOAD = re.compile(r"\bLOAD\b", re.IGNORECASE)
SERVICE = re.compile(r"\bSERVICE\b", re.IGNORECASE)


@dataclass(frozen=True)
class Outcome:
    """What came of a test.

    Args:
        case: the test.
        status: `pass`, `skip` or `fail`.
        why: the reason of a skip, or what went wrong.
        oxigraph: whether Oxigraph alone passes; None where it was not asked.
        confirm: whether both gave the same answer, right or wrong; None where one was not asked.
        skip: the line of the list that excuses it.
    """

    case: Case
    status: str
    why: str = ""
    oxigraph: bool | None = None
    confirm: bool | None = None
    skip: Skip | None = None


def outcomes(suite: Path, kb: KnowledgeBase, chosen: Iterable[Skip] | None = None) -> list[Outcome]:
    """Runs every test."""
    listed = list(skips() if chosen is None else chosen)
    with requests(kb) as updates:
        return [_excused(_run(case, kb, updates), listed) for case in cases(suite)]


def stale(found: list[Outcome]) -> list[str]:
    """Kinds and patterns of the list that excuse nothing."""
    used = {(o.skip, o.skip.part(o.case)) for o in found if o.skip is not None}
    return [part for skip in skips() for part in (*skip.kinds, *skip.tests) if (skip, part) not in used]


def _excused(outcome: Outcome, listed: list[Skip]) -> Outcome:
    if outcome.status == "pass":
        return outcome
    for skip in listed:
        if skip.matches(outcome.case) and not (skip.oxigraph and outcome.oxigraph):
            return replace(outcome, status="skip", why=skip.why, skip=skip)
    return outcome


def _run(case: Case, kb: KnowledgeBase, updates: Requests) -> Outcome:
    if case.kind == OTHER:
        return Outcome(case, "fail", "neither a query nor an update")
    if case.kind == UPDATE:
        passes, why, oxigraph, confirm = evaluated(case, updates)
        return Outcome(case, "pass" if passes else "fail", why, oxigraph, confirm)
    if case.kind == "result format":
        return Outcome(case, "fail", "CSV does not say what is an IRI")
    return _evaluation(case, kb) if case.kind == "evaluation" else _syntax(case)


def _syntax(case: Case) -> Outcome:
    try:
        _accept(case)
        ours, why = True, "accepted"
    except HybridkgError as e:
        ours, why = False, e.message
    except UnicodeDecodeError:
        ours, why = False, "not UTF-8"
    theirs = _oxigraph_accepts(case)
    wanted = case.kind.startswith("positive")
    status = "pass" if ours == wanted else "fail"
    confirm = None if theirs is None else ours == theirs
    return Outcome(case, status, why, None if theirs is None else theirs == wanted, confirm)


def _accept(case: Case) -> None:
    """Raises a HybridkgError unless the text of a syntax test is a good query, or a good update."""
    if "update" in case.kind:
        check_update(parse_update(case.text, base=case.base))
    else:
        check(parse(case.text, base=case.base))


def _oxigraph_accepts(case: Case) -> bool | None:
    """None for a query or an update that would reach for the network."""
    try:
        text = case.text
        if SERVICE.search(text):
            return None
        if "update" in case.kind:
            if LOAD.search(text):
                return None
            ox.Store().update(text, base_iri=case.base)
        else:
            ox.Store().query(text, base_iri=case.base)
    except (SyntaxError, UnicodeDecodeError):
        return False
    except (RuntimeError, OSError, ValueError):
        pass
    return True


def _evaluation(case: Case, kb: KnowledgeBase) -> Outcome:
    assert case.result is not None
    if SERVICE.search(case.text):
        return Outcome(case, "fail", "asks another server")
    expected, why = of_file(case.result), "another answer"
    quads = list(_quads(case))
    store = ox.Store()
    store.extend(quads)
    # BASE as the first line is what a base beside the text means.
    text = f"BASE <{case.base}>\n{case.text}"
    ours = theirs = None
    try:
        kb._state = replace(kb._snapshot, store=OxigraphStore.memory(quads))
        ours = of_result_set(kb.query(text))
    except HybridkgError as e:
        why = e.message
    try:
        theirs = of_oxigraph(store.query(case.text, base_iri=case.base))
    except (SyntaxError, RuntimeError, OSError, ValueError):
        theirs = None
    right = ours is not None and same(expected, ours, lax=case.lax)
    confirm = same(theirs, ours) if ours is not None and theirs is not None else ours is theirs
    return Outcome(case, "pass" if right else "fail", "" if right else why, _right(expected, theirs, case), confirm)


def _right(expected: Answer, got: Answer | None, case: Case) -> bool:
    return got is not None and same(expected, got, lax=case.lax)


def _quads(case: Case) -> Iterable[ox.Quad]:
    """The test's data; the graphs of a FROM clause are files as well."""
    named = dict.fromkeys(case.graphs)
    try:
        clauses = parse(case.text, base=case.base).form.dataset
    except HybridkgError:
        clauses = ()
    for clause in clauses:
        path = Path(clause.graph.value.removeprefix("file://"))
        if path.is_file():
            named[path] = None
    for number, path in enumerate([*case.data, *named]):
        graph = ox.NamedNode(path.as_uri()) if number >= len(case.data) else ox.DefaultGraph()
        for quad in ox.parse(path=str(path), base_iri=path.as_uri(), rename_blank_nodes=True):
            own = quad.graph_name if quad.graph_name != ox.DefaultGraph() else graph
            yield ox.Quad(quad.subject, quad.predicate, quad.object, own)


def table(found: list[Outcome]) -> str:
    """The report in Markdown."""
    lines = [
        "| suite | kind | tests | pass | skip | fail | Oxigraph alone passes | same as Oxigraph |",
        "|---|---|" + "--:|" * 6,
    ]
    rows = dict.fromkeys((outcome.case.suite, outcome.case.kind) for outcome in found)
    for suite, kind in sorted(rows):
        here = [outcome for outcome in found if (outcome.case.suite, outcome.case.kind) == (suite, kind)]
        status = Counter(outcome.status for outcome in here)
        cells: list[Any] = [SUITES[suite], kind, len(here), status["pass"], status["skip"], status["fail"]]
        for name in ("oxigraph", "confirm"):
            asked = [value for outcome in here if (value := getattr(outcome, name)) is not None]
            cells.append(f"{sum(asked)} of {len(asked)}" if asked else "")
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> None:
    """Runs, prints the table and stores everything that did not pass."""
    from benchmarks.record import record

    if not ARCHIVE.is_file():
        sys.exit(
            f"the W3C suites are not at {ARCHIVE}\n"
            "clone https://github.com/w3c/rdf-tests, pack its folder 'sparql' as w3c-rdf-tests/sparql-tests.tar.xz, "
            "and name the folder above in $HYBRIDKG_DATA"
        )
    with tempfile.TemporaryDirectory() as scratch:
        kb = KnowledgeBase.create(Path(scratch, "kb"))
        found = outcomes(unpack(Path(scratch)), kb)
    reasons: dict[str, list[str]] = {}
    for outcome in found:
        if outcome.status == "skip":
            mark = "Oxigraph: " if outcome.skip is not None and outcome.skip.oxigraph else ""
            reasons.setdefault(mark + outcome.why, []).append(outcome.case.name)
    figures = {
        "table": table(found).splitlines(),
        "skips": {why: {"tests": len(names), "names": names[:200]} for why, names in reasons.items()},
        "fails": {o.case.name: o.why for o in found if o.status == "fail"},
        "other_answer_than_oxigraph": [o.case.name for o in found if o.confirm is False and o.status != "skip"],
        "stale_skips": stale(found),
    }
    record("w3c", figures)
    print(table(found))


if __name__ == "__main__":
    main()
