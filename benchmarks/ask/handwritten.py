"""Questions as people write them, read as queries (docs/asking.md#questions-as-people-write-them).

    python -m benchmarks.ask.handwritten --out /tmp/stark-data [--only acl] [--weights learned|none] [--run NAME]

OUT is the folder that `python -m benchmarks.stark_data` made. The questions and the queries of their strict parts are
in examples/ask/. The weights are learned from `--n` questions that `synthesise` makes from the same data, of the split
train; no handwritten one is read in training. `--run` is the name under which the figures are stored, so that figures
before and after a change stay beside each other.

Parts: `type`, `anchors` (those of the reading are those of the query), `path` (all paths equal those of the query), and
`exec` (the nodes that satisfy all constraints equal the answers of the query).
"""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks.ask.grading import Grader, learned
from benchmarks.record import RESULTS, record
from hybridkg import KnowledgeBase
from hybridkg.asking.interpretation import Interpretation
from hybridkg.asking.weights import DEFAULT_WEIGHTS, QuestionWeights
from hybridkg.datasets.stark.layout import find_files, read_layout
from hybridkg.evaluation.gold_queries import path_of, paths_of
from hybridkg.evaluation.synthesis.synthesise import synthesise
from hybridkg.evaluation.synthesis.template_reader import load_templates
from hybridkg.kb.asking import answered, interpreted
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.query.write import write
from hybridkg.rdf.terms import RDF_TYPE

FOLDER = Path(__file__).parents[2] / "examples" / "ask"
FILES = ("acl", "hetionet")
PARTS = ("type", "anchors", "path", "exec")
NAMES = ("name", "title")
"""Ends of the predicates that name an anchor in a query."""

Anchors = Mapping[str, frozenset[str]]
"""IRIs of the nodes that each anchor of a query may be, by its variable."""


@dataclass(frozen=True)
class Handwritten:
    """A question, and the query of its strict part."""

    ask: str
    query: str


@dataclass(frozen=True)
class Failure:
    """A question that was not read as its query: the wrong parts, and the reading in short."""

    question: str
    wrong: tuple[str, ...]
    reading: str


def read_handwritten(name: str) -> list[Handwritten]:
    """The questions of a file of FOLDER."""
    with (FOLDER / f"{name}.toml").open("rb") as file:
        data = tomllib.load(file)
    return [Handwritten(one["ask"], f"{data['prefix']}\n{one['query']}") for one in data["question"]]


def target_of(query: str) -> str:
    """The IRI of the class of ?x in a query."""
    return next(
        triple.object.value
        for triple in _triples(query)
        if (triple.subject, triple.predicate) == (ast.Var("x"), ast.Iri(RDF_TYPE))
        and isinstance(triple.object, ast.Iri)
    )


def names_of(query: str) -> dict[str, tuple[str, str]]:
    """(predicate, name) of each anchor of a query by its variable; those in NOT EXISTS are no anchors."""
    return {
        triple.subject.name: (triple.predicate.value, triple.object.lexical)
        for triple in _triples(query)
        if isinstance(triple.subject, ast.Var)
        and isinstance(triple.predicate, ast.Iri)
        and triple.predicate.value.endswith(NAMES)
        and isinstance(triple.object, ast.Lit)
    }


def with_anchors(query: str, anchors: Mapping[str, str]) -> str:
    """The query with IRIs instead of the variables of its anchors, and without their names."""
    tree = parse(query)
    assert isinstance(tree.form, ast.SelectQuery)
    elements: list[ast.Element] = []
    for element in tree.form.where.elements:
        if isinstance(element, ast.Triples):
            items = [
                replace(one, subject=_placed(one.subject, anchors), object=_placed(one.object, anchors))
                for one in element.items
                if isinstance(one, ast.TriplePattern) and not isinstance(one.object, ast.Lit)
            ]
            elements.append(ast.Triples(tuple(items)))
    return write(replace(tree, form=replace(tree.form, where=ast.Group(tuple(elements)))))


def _placed(term: Any, anchors: Mapping[str, str]) -> Any:
    return ast.Iri(anchors[term.name]) if isinstance(term, ast.Var) and term.name in anchors else term


def _triples(query: str) -> Iterator[ast.TriplePattern]:
    """The triples of a query outside of other groups."""
    form = parse(query).form
    assert isinstance(form, ast.SelectQuery)
    for element in form.where.elements:
        if isinstance(element, ast.Triples):
            yield from (one for one in element.items if isinstance(one, ast.TriplePattern))


def nodes_of(kb: KnowledgeBase, query: str) -> Anchors:
    """The nodes of the anchors of a query."""
    found = {}
    for variable, (predicate, name) in names_of(query).items():
        classes = [
            triple.object.value
            for triple in _triples(query)
            if (triple.subject, triple.predicate) == (ast.Var(variable), ast.Iri(RDF_TYPE))
            and isinstance(triple.object, ast.Iri)
        ]
        typed = f" ; a <{classes[0]}>" if classes else ""
        rows = kb.query(f"SELECT ?n {{ ?n <{predicate}> $name{typed} }}", {"name": name})
        found[variable] = frozenset(str(row["n"]) for row in rows)
    return found


def graded(kb: KnowledgeBase, grader: Grader, one: Handwritten, reading: Interpretation) -> dict[str, float]:
    """PARTS of a reading."""
    nodes = nodes_of(kb, one.query)
    found = [anchor.iri for anchor in reading.anchors]
    chosen = {variable: next((iri for iri in found if iri in some), min(some)) for variable, some in nodes.items()}
    wanted = paths_of(with_anchors(one.query, chosen), grader.reading_grader.symmetric)
    paths = [path_of(path, grader.reading_grader.symmetric) for path in reading.paths]
    answers = {str(row["x"]) for row in kb.query(one.query)}
    given = {str(row["x"]) for row in kb.query(reading.pattern)} if reading.pattern else set()
    return {
        "type": float(reading.target is not None and reading.target.iri == target_of(one.query)),
        "anchors": float(sorted(set(found)) == sorted(set(chosen.values()))),
        "path": float(Counter(paths) == Counter(wanted)),
        "exec": float(given == answers),
    }


def short(reading: Interpretation) -> str:
    """The class and the constraints of a reading in one line."""
    parts = [reading.target.name if reading.target else "no constraint"]
    for path in reading.paths:
        steps = "/".join(step.predicate.rpartition("#")[2] for step in path.steps)
        parts.append(f"{path.anchor.name} ({steps})")
    parts += [f"{value.predicate.rpartition('#')[2]} {value.tests}" for value in reading.values]
    return "; ".join(parts)


def graded_file(name: str, out: Path, n: int, seed: int, *, learning: bool) -> dict[str, Any]:
    """The figures of one file, and its failures."""
    form = read_layout(find_files(out / name / "skb", out / name)).kb
    templates = load_templates(f"stark-{form}")
    with KnowledgeBase.open(out / name / "made" / "kb") as kb:
        weights: QuestionWeights = DEFAULT_WEIGHTS
        if learning:
            made = synthesise(kb, templates, n, seed=seed)
            weights = learned(kb, [one for one in made.questions if one.split == "train"])
        grader = Grader(kb, templates, weights)
        grades, failures, times, answers = [], [], [], []
        for one in read_handwritten(name):
            start = time.process_time()
            reading = interpreted(kb, one.ask, limit=100, weights=weights)
            times.append(time.process_time() - start)
            start = time.process_time()
            answered(kb, reading.query)
            answers.append(time.process_time() - start)
            grade = graded(kb, grader, one, reading)
            grades.append(grade)
            if grade["exec"] < 1:
                wrong = tuple(part for part in PARTS if grade[part] < 1)
                failures.append(Failure(one.ask, wrong, short(reading)))
    return {
        "questions": len(grades),
        **{part: round(mean(one[part] for one in grades), 3) for part in PARTS},
        "interpret_cpu_ms_median": round(1000 * median(times), 1),
        "answer_cpu_ms_median": round(1000 * median(answers), 1),
        "failures": [vars(one) for one in failures],
    }


TITLES = {"acl": "ACL Anthology", "hetionet": "Hetionet's sources"}


def table(runs: dict[str, Any]) -> str:
    """The table of docs/asking.md: PARTS of each run."""
    lines = [
        "| data | run | weights | questions | " + " | ".join(PARTS) + " |",
        "|---|---|---|--:|" + "--:|" * len(PARTS),
    ]
    for name in FILES:
        for run, by_weights in runs.items():
            for weights, found in by_weights.items():
                if name in found:
                    cells = " | ".join(f"{found[name][part]:.2f}" for part in PARTS)
                    lines.append(f"| {TITLES[name]} | {run} | {weights} | {found[name]['questions']} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Grades, lists the failures, and records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", action="append", choices=FILES)
    parser.add_argument("--weights", choices=["learned", "none"], default="learned")
    parser.add_argument("--n", type=int, default=800, help="questions that are made to learn from, of all splits")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--run", default="latest", help="name of the figures in the stored result")
    parser.add_argument("--no-record", action="store_true")
    given = parser.parse_args()
    stored = RESULTS / "ask_handwritten.json"
    runs: dict[str, Any] = json.loads(stored.read_text())["runs"] if stored.exists() else {}
    for name in given.only or FILES:
        found = graded_file(name, given.out, given.n, given.seed, learning=given.weights == "learned")
        print(name, {part: found[part] for part in ("questions", *PARTS)})
        for one in found["failures"]:
            print(f"  {', '.join(one['wrong'])}: {one['question']}\n      {one['reading']}")
        runs.setdefault(given.run, {}).setdefault(given.weights, {})[name] = found
    if not given.no_record:
        record("ask_handwritten", {"runs": runs}, seed=given.seed)


if __name__ == "__main__":
    main()
