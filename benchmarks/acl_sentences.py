"""Finding a paper of the ACL Anthology by what one knows of it and a sentence that one remembers, system by system.

    python -m benchmarks.acl_sentences [--triples FILE.nt.gz] [--work FOLDER] [--encoders NAME,...] [--papers N]
                                       [--of-each N] [--no-record]

The questions are those of benchmarks/sentence_questions.py: 200 each with an author, with a venue and a year, and with
a year; the sentence is in nothing that is indexed, and the names in it are removed. Each has one answer. Systems:
    text, dense           the sentence alone, by MATCH (bm25f) or by NEAR, over all papers
    text + words, ...     the same with the names of the constraint's nodes and the year behind the sentence
    graph                 the constraint alone, in the order of the IRIs, and what an order by chance would give
    constraint + ...      the constraint, and its papers ranked by text, by NEAR, or by both (FUSIONS)
--triples is what examples/acl_anthology.py writes (made from ../shared/data without it). --papers N takes the answers
and others drawn by chance, N in all, for encoders that would take hours over all of them; their constraints are true of
fewer papers. Rankings end at 100.
"""

from __future__ import annotations

import argparse
import json
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
from benchmarks.fusion_points import DEFAULT
from benchmarks.models_figures import SEED, compared, means
from benchmarks.record import RESULTS, record
from benchmarks.sentence_questions import KINDS, Maker, Question, read_papers, write_without
from benchmarks.vectors import encoders, set_config
from hybridkg import KnowledgeBase
from hybridkg.evaluation.measures import evaluate, parse_measure
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run
from hybridkg.rdf.terms import NamedNode

PREFIX = "PREFIX acl: <https://w3id.org/hybridkg/acl#> SELECT ?p"
MATCH, NEAR = "?p MATCH $text AS ?t", "?p NEAR $text AS ?v"
BOTH = f"{NEAR} OPTIONAL {{ {MATCH} }}"
FUSIONS = ("rrf(?t, ?v)", "minmax(?t) + minmax(?v)", "tmm(?t) + tmm(?v)", DEFAULT.rank_by)

DEPTH = 100
MEASURES = ("hit@1", "hit@5", "recall@20", "mrr")
TESTED = ("hit@1", "mrr")
HITS = {"hit@1": 1, "hit@5": 5, "recall@20": 20}

PROFILE = ROOT / "ontologies" / "profiles" / "acl.ttl"
ALL_ENTITIES = "acl:Paper , acl:Volume , acl:Person , acl:Organisation , acl:Dataset , acl:Venue"


def systems(name: str) -> dict[str, tuple[str, bool, bool]]:
    """By label: the pattern that ranks, behind which is RANK BY; whether the constraint is there; and whether its words
    are in the text. Those of text alone for an encoder without a name.
    """
    if not name:
        return {
            "text": (f"{MATCH} }} RANK BY ?t", False, False),
            "text + words": (f"{MATCH} }} RANK BY ?t", False, True),
            "constraint + text": (f"{MATCH} }} RANK BY ?t", True, False),
        }
    fused = {
        f"{label}text and {name}, {fusion}": (f"{BOTH} }} RANK BY {fusion}", constrained, False)
        for label, constrained in (("", False), ("constraint + ", True))
        for fusion in FUSIONS
    }
    return {
        name: (f"{NEAR} }} RANK BY ?v", False, False),
        f"{name} + words": (f"{NEAR} }} RANK BY ?v", False, True),
        f"constraint + {name}": (f"{NEAR} }} RANK BY ?v", True, False),
        **fused,
    }


class Asked:
    """The questions, asked of a knowledge base.

    Args:
        kb: indexed.
        questions: all of them.
    """

    def __init__(self, kb: KnowledgeBase, questions: Sequence[Question]):
        self.kb, self.questions = kb, questions
        self.qrels = Qrels({question.topic: {question.paper: 1} for question in questions})
        self.values: dict[str, dict[str, dict[str, float]]] = {}
        self.ms: dict[str, float] = {}

    def run(self, label: str, ranking: str, constrained: bool, worded: bool) -> None:
        """Asks them in one way."""
        rankings, times = {}, []
        for question in self.questions:
            pattern = KINDS[question.kind] if constrained else ""
            text = f"{question.text} {self.words(question)}" if worded else question.text
            given = {name: _value(name, value) for name, value in question.constraint.items()} if constrained else {}
            started = time.thread_time()
            result = self.kb.query(f"{PREFIX} {{ {pattern} {ranking}", params={"text": text, **given}, limit=DEPTH)
            times.append((time.thread_time() - started) * 1e3)
            rankings[question.topic] = tuple((str(row["p"]), -float(at)) for at, row in enumerate(result))
        self.values[label] = self._evaluated(rankings)
        self.ms[label] = round(statistics.median(times), 1)
        print(label, means(self.values[label]), self.ms[label], "ms", flush=True)

    def graph(self) -> dict[str, float]:
        """The constraint alone; returns what papers in an order drawn by chance would have, on average."""
        rankings, sizes = {}, []
        for question in self.questions:
            given = {name: _value(name, value) for name, value in question.constraint.items()}
            rows = list(self.kb.query(f"{PREFIX} {{ {KINDS[question.kind]} }} ORDER BY ?p", params=given))
            rankings[question.topic] = tuple((str(row["p"]), -float(at)) for at, row in enumerate(rows))
            assert question.paper in {document for document, _ in rankings[question.topic]}, question
            sizes.append(len(rows))
        self.values["graph"] = self._evaluated(rankings)
        found = {name: statistics.fmean(min(1.0, k / n) for n in sizes) for name, k in HITS.items()}
        found["mrr"] = statistics.fmean(sum(1 / rank for rank in range(1, n + 1)) / n for n in sizes)
        return {name: round(value, 4) for name, value in found.items()}

    def words(self, question: Question) -> str:
        """The labels of the nodes of the constraint, and its year."""
        label = "SELECT ?l { $node <http://www.w3.org/2000/01/rdf-schema#label> ?l }"
        found = []
        for name, value in question.constraint.items():
            rows = [] if name == "year" else list(self.kb.query(label, params={"node": NamedNode(value)}))
            found.append(str(rows[0]["l"]) if rows else value)
        return " ".join(found)

    def found(self) -> dict[str, Any]:
        """Means over all and by kind, and paired tests."""
        topics = {kind: [q.topic for q in self.questions if q.kind == kind] for kind in KINDS}
        tests = {}
        for label in self.values:
            if "text and" in label:
                before, _, name = label.split(",")[0].partition("text and ")
                for other in dict.fromkeys((f"{before}text", f"{before}{name}", label.removeprefix("constraint + "))):
                    if other != label:
                        both = {other: self.values[other], label: self.values[label]}
                        tests[f"{label} - {other}"] = compared(both, tested=TESTED)
        return {
            "means": {label: means(own) for label, own in self.values.items()},
            "by_kind": {
                kind: {label: means(own, some) for label, own in self.values.items()} for kind, some in topics.items()
            },
            "against": tests,
            "cpu_ms_median": self.ms,
        }

    def _evaluated(self, rankings: Mapping[str, tuple[tuple[str, float], ...]]) -> dict[str, dict[str, float]]:
        return evaluate(self.qrels, Run("run", dict(rankings)), [parse_measure(name) for name in MEASURES])


def _value(name: str, value: str) -> Any:
    return int(value) if name == "year" else NamedNode(value)


def built(folder: Path, triples: Path) -> KnowledgeBase:
    """A knowledge base of papers alone, with the fields of the profile `acl`."""
    profile = folder.parent / "papers.ttl"
    written = PROFILE.read_text(encoding="utf-8")
    assert ALL_ENTITIES in written
    profile.write_text(written.replace(ALL_ENTITIES, "acl:Paper"), encoding="utf-8")
    if folder.exists():
        return KnowledgeBase.open(folder)
    kb = KnowledgeBase.create(folder)
    kb.load(triples, index=True, profile=profile)
    return kb


def measured(work: Path, triples: Path, chosen: Mapping[str, str], of_each: int, papers: int | None) -> dict[str, Any]:
    """Makes the questions, the knowledge base, and asks."""
    every = read_papers(triples)
    questions = Maker(every).make(of_each, SEED)
    left_out = frozenset[str]()
    if papers is not None:
        answers = {question.paper for question in questions}
        others = [iri for iri in every if iri not in answers and every[iri].abstract]
        left_out = frozenset(every) - answers - set(random.Random(SEED).sample(others, papers - len(answers)))
    told = {
        "papers": len(every) - len(left_out),
        "with_abstract": sum(bool(paper.abstract) for iri, paper in every.items() if iri not in left_out),
        "questions": len(questions),
        "of_each_kind": of_each,
    }
    print(told, flush=True)
    del every
    cut_triples, folder = work / "cut.nt.gz", work / f"kb-{of_each}-{papers or 'all'}"
    if not folder.exists():
        write_without(triples, cut_triples, questions, left_out)
    kb = built(folder, cut_triples)
    cut_triples.unlink(missing_ok=True)
    asked = Asked(kb, questions)
    by_chance = asked.graph()
    for label, system in systems("").items():
        asked.run(label, *system)
    kb.close()
    about = {}
    for name, encoder in chosen.items():
        set_config(folder, encoder)
        with KnowledgeBase.open(folder) as asked.kb:
            vectors, started = asked.kb._snapshot.vectors, time.process_time()
            asked.kb.index()
            vectors = asked.kb._snapshot.vectors
            assert vectors is not None
            about[name] = vectors.about() | {"index_cpu_s": round(time.process_time() - started)}
            for label, system in systems(name).items():
                asked.run(label, *system)
    sizes = [question.candidates for question in questions]
    told["candidates_in_the_whole_anthology"] = {
        kind: statistics.median(q.candidates for q in questions if q.kind == kind) for kind in KINDS
    } | {"all": statistics.median(sizes)}
    told["words_of_a_sentence"] = statistics.median(len(question.text.split()) for question in questions)
    return {**told, "vectors": about, "graph_by_chance": by_chance, **asked.found()}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.acl_sentences", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--triples", type=Path, help="N-Triples of the Anthology, gzipped; default: made")
    parser.add_argument("--work", type=Path, help="keeps the knowledge base here (default: nowhere)")
    parser.add_argument("--encoders", default="lsa,model2vec", help="lsa, minilm, model2vec (default: %(default)s)")
    parser.add_argument("--papers", type=int, help="so many alone (default: all)")
    parser.add_argument("--of-each", type=int, default=200, help="questions of each kind (default: %(default)s)")
    parser.add_argument("--no-record", action="store_true", help="prints only")
    options = parser.parse_args()
    chosen = {name: encoders()[name] for name in options.encoders.split(",")}
    with tempfile.TemporaryDirectory() as temporary:
        work: Path = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        triples: Path | None = options.triples
        if triples is None:
            triples = work / "acl.nt.gz"
            converter = ROOT / "examples" / "acl_anthology.py"
            subprocess.run([sys.executable, str(converter), str(SOURCE), str(triples)], check=True)
        found = measured(work, triples, chosen, options.of_each, options.papers)
    label = "all papers" if options.papers is None else f"{options.papers:,} papers"
    if not options.no_record:
        path = RESULTS / "acl_sentences.json"
        stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        before = {key: stored[key] for key in stored if key.endswith(" papers")}
        record("acl_sentences", {**before, label: found}, seed=SEED)


if __name__ == "__main__":
    main()
