"""`ask` and the questions of benchmarks/acl_sentences.py, in plain words, against its systems of text.

    python -m benchmarks.ask.sentences [--triples FILE.nt.gz] [--work FOLDER] [--no-record]

Each of the 600 questions becomes one of WORDINGS, drawn by the seed: the names of its constraint, and the sentence
without names. `text`, `text + words` and `constraint + text` are those of benchmarks/acl_sentences.py, over papers
alone; `ask` and `strict` need the names of people and venues, so their knowledge base has all entities of the profile.
All of them know that the answer is a paper but `ask`, which reads it in the question.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.acl_anthology import ROOT, SOURCE
from benchmarks.acl_sentences import DEPTH, PROFILE, TESTED, Asked, built, systems
from benchmarks.models_figures import SEED, compared, means
from benchmarks.record import record
from benchmarks.sentence_questions import ACL, KINDS, Maker, Question, read_papers, write_without
from hybridkg import KnowledgeBase
from hybridkg.asking.interpretation import Interpretation
from hybridkg.kb.asking import answered
from hybridkg.rdf.terms import NamedNode

WORDINGS: Mapping[str, Sequence[str]] = {
    "author": (
        "papers by {author} about: {text}",
        "Which paper of {author} says the following? {text}",
        "I remember a sentence of an article that {author} wrote: {text}",
    ),
    "venue and year": (
        "papers at {venue} in {year} about: {text}",
        "Which paper of the {venue}, {year}, says the following? {text}",
        "I remember a sentence of an article presented in {year} at the {venue}: {text}",
    ),
    "year": (
        "papers published in {year} about: {text}",
        "Which paper of {year} says the following? {text}",
        "I remember a sentence of an article that appeared in {year}: {text}",
    ),
}
"""Of each kind, three ways to ask. The phrases of the profile were written with the first of them in view."""


def worded(questions: Sequence[Question], kb: KnowledgeBase, seed: int) -> dict[str, tuple[int, str]]:
    """The number of its wording and the text of each question, by topic."""
    draw = random.Random(seed)
    found = {}
    for question in questions:
        names = {name: value if name == "year" else _name(kb, value) for name, value in question.constraint.items()}
        number = draw.randrange(len(WORDINGS[question.kind]))
        found[question.topic] = number, WORDINGS[question.kind][number].format(text=question.text, **names)
    return found


def _name(kb: KnowledgeBase, iri: str) -> str:
    rows = list(kb.query(f"SELECT ?l {{ $node <{ACL}name> ?l }}", {"node": NamedNode(iri)}))
    return str(rows[0]["l"]) if rows else iri


def reads_right(question: Question, reading: Interpretation) -> bool:
    """Whether the nodes and the year of the constraint, and nothing else, are the constraints of a reading."""
    nodes = {value for name, value in question.constraint.items() if name != "year"}
    tests = [value.tests for value in reading.values]
    years = [(("=", int(question.constraint["year"])),)] if "year" in question.constraint else []
    is_paper = reading.target is not None and reading.target.iri == f"{ACL}Paper"
    return is_paper and {path.anchor.iri for path in reading.paths} == nodes and tests == years


def measured(work: Path, triples: Path) -> dict[str, Any]:
    """Makes the questions and both knowledge bases, and asks."""
    every = read_papers(triples)
    questions = Maker(every).make(200, SEED)
    del every
    papers, whole, cut = work / "kb-200-all", work / "ask.kb", work / "cut.nt.gz"
    if not cut.exists():
        write_without(triples, cut, questions)
    asked = Asked(built(papers, cut), questions)
    for label, system in systems("").items():
        asked.run(label, *system)
    asked.kb.close()
    if not whole.exists():
        KnowledgeBase.create(whole).load(cut, index=True, profile=PROFILE)
    with KnowledgeBase.open(whole) as kb:
        texts = worded(questions, kb, SEED)
        kb.interpret("papers")  # reads the schema, which is not part of a question's time
        rankings: dict[str, dict[str, tuple[tuple[str, float], ...]]] = {"ask": {}, "strict": {}}
        right, times = {}, []
        for question in questions:
            started = time.thread_time()
            reading = kb.interpret(texts[question.topic][1], limit=DEPTH)
            read = time.thread_time()
            for label, query in (("ask", reading.query), ("strict", reading.strict or reading.query)):
                rows = [str(row["x"]) for row in answered(kb, query)]
                rankings[label][question.topic] = tuple((node, -float(at)) for at, node in enumerate(rows))
                if label == "ask":
                    times.append((read - started, time.thread_time() - read))
            right[question.topic] = float(reads_right(question, reading))
    for label, some in rankings.items():
        asked.values[label] = asked._evaluated(some)
    values = asked.values
    topics_of = {kind: [one.topic for one in questions if one.kind == kind] for kind in KINDS}
    by_wording: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        for number, wording in enumerate(WORDINGS[kind]):
            topics = [one.topic for one in questions if one.kind == kind and texts[one.topic][0] == number]
            own = {
                label: means(values[label], topics)["hit@1"] for label in ("text + words", "constraint + text", "ask")
            }
            shares = {"questions": len(topics), "read_right": round(statistics.fmean(right[one] for one in topics), 3)}
            by_wording[wording] = {**shares, "hit@1": own}
    return {
        "questions": len(questions),
        "read_right": round(statistics.fmean(right.values()), 4),
        "means": {label: means(own) for label, own in values.items()},
        "by_kind": {
            kind: {label: means(own, topics) for label, own in values.items()} for kind, topics in topics_of.items()
        },
        "by_wording": by_wording,
        "against": {
            other: compared({other: values[other], "ask": values["ask"]}, tested=TESTED)
            for other in ("text", "text + words", "constraint + text", "strict")
        },
        "cpu_ms_median": {
            "interpret": round(1e3 * statistics.median(one for one, _ in times), 1),
            "answer": round(1e3 * statistics.median(other for _, other in times), 1),
        },
    }  # fmt: skip


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ask.sentences", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--triples", type=Path, help="N-Triples of the Anthology, gzipped; default: made")
    parser.add_argument("--work", type=Path, help="keeps the knowledge bases here (default: nowhere)")
    parser.add_argument("--no-record", action="store_true", help="prints only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work: Path = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        triples: Path = options.triples or work / "acl.nt.gz"
        if not triples.exists():
            converter = ROOT / "examples" / "acl_anthology.py"
            subprocess.run([sys.executable, str(converter), str(SOURCE), str(triples)], check=True)
        found = measured(work, triples)
    if options.no_record:
        print(found)
    else:
        record("ask_sentences", found, seed=SEED)


if __name__ == "__main__":
    main()
