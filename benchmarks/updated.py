"""An index that has followed commits, beside one built from scratch: times, bits of scores, disk, opening.

    python -m benchmarks.updated                                          # 100,000 papers
    python -m benchmarks.updated --papers 500000 --scratch DIR
    python -m benchmarks.updated --papers 2000 --commits 20 --no-record   # rough figures, on a busy machine

The graph and the questions are those of benchmarks/hybrid. "New" is a knowledge base that is loaded from the dump of
the changed one. The parts:
    shares    0.1, 1 and 5 % of the papers get other keywords, in commits of 1,000 papers. Hybrid questions, the ten
              best papers for a word of the changed texts, and COUNT over the changed predicate, in turns with the new
              one
    scores    scores of the complete relations of words that differ after 1 % of the papers has got other keywords: in
              hybridkg; in tantivy and Elasticsearch with the keywords alone, where these can be had
    many      commits of one triple: bytes on disk, and milliseconds of opening
    label     the name of a venue is text of its papers: a commit that changes it, beside `index`
Exit code 1 when an answer of hybridkg differs from that of the new one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.elastic import running
from benchmarks.hybrid import workload
from benchmarks.hybrid.graph import SEED
from benchmarks.hybrid.ours import PLANNED, Ours
from benchmarks.hybrid.texts import vocabulary
from benchmarks.hybrid.writing import BASE, PROFILE, Data, write
from benchmarks.record import record
from hybridkg import KnowledgeBase

PARTS = ("shares", "scores", "many", "label")

SHARES = (0.001, 0.01, 0.05)
"""Shares of the papers that get other keywords."""

PAPERS_OF_A_COMMIT = 1_000

WORDS = 60
"""Words that are asked for, of the changed texts."""

ROUNDS = 5
"""Each question is asked so often of each state, in turns; the fastest counts."""

OPENINGS = 15

LABELLED = 10_000
"""Papers of the venue whose name changes, or as near as there is."""

PREFIX = f"PREFIX : <{BASE}> "
BEST_TEN = f"{PREFIX}SELECT ?p ?s {{ ?p MATCH $word AS ?s }} RANK BY ?s LIMIT 10"
COUNTED = f"{PREFIX}SELECT (COUNT(*) AS ?n) {{ ?p :keywords ?k }}"
VENUE_FIELD = '[ hk:name "venue" ; hk:path ( mag:venue mag:name ) ]\n    ) .'

Texts = dict[int, str]
"""Keywords of papers."""

Scores = dict[str, dict[int, float]]
"""By word, the score of each paper that has it."""


class Scratch:
    """The data of one size, and the knowledge bases made of them.

    Args:
        data: the written graph.
        folder: for knowledge bases and dumps.
    """

    def __init__(self, data: Data, folder: Path):
        self.data, self.folder = data, folder
        folder.mkdir(parents=True, exist_ok=True)
        self._df = data.df()
        self._words = vocabulary()

    def load(self, name: str, file: Path, profile: Path | None = None) -> Path:
        """A new knowledge base of a file, or the one that is there."""
        path = self.folder / name
        if not path.exists():
            with KnowledgeBase.create(path) as kb:
                kb.load(file, profile=profile or self.data.profile, index=True)
        return path

    def base(self) -> Path:
        """The graph as it is written."""
        return self.load("base.kb", self.data.triples)

    def copy(self, name: str, of: Path) -> Path:
        """A copy that commits may change."""
        path = self.folder / name
        if path.exists():
            KnowledgeBase.remove(path)
        with KnowledgeBase.open(of) as kb:
            kb.backup(path)
        return path

    def new(self, changed: Path) -> Path:
        """A knowledge base of the dump of a changed one."""
        dump, path = self.folder / "dump.nt", self.folder / f"new-{changed.name}"
        if path.exists():
            KnowledgeBase.remove(path)
        with KnowledgeBase.open(changed) as kb:
            kb.dump(dump)
        self.load(path.name, dump, self.folder / "venue.ttl" if "label" in changed.name else None)
        dump.unlink()
        return path

    def other_keywords(self, share: float) -> Texts:
        """New keywords of a share of the papers, five words each, drawn as often as the texts have them."""
        rng = np.random.default_rng([SEED, 31, int(share * 1e6)])
        papers = rng.choice(self.data.papers, max(1, round(share * self.data.papers)), replace=False)
        words = rng.choice(len(self._df), (len(papers), 5), p=self._df / self._df.sum())
        return {
            int(paper): " ".join(map(self._words.__getitem__, own))
            for paper, own in zip(papers, words.tolist(), strict=True)
        }


def commits(kb: KnowledgeBase, texts: Texts) -> Iterator[float]:
    """Gives the papers their new keywords; the seconds of each commit.

    Raises:
        RuntimeError: an index has not followed, or was built anew.
    """
    papers = sorted(texts)
    for first in range(0, len(papers), PAPERS_OF_A_COMMIT):
        own = papers[first : first + PAPERS_OF_A_COMMIT]
        old = " ".join(f":p{paper}" for paper in own)
        data = " ".join(f':p{paper} :keywords "{texts[paper]}" .' for paper in own)
        begin = time.perf_counter()
        report = kb.update(
            f"{PREFIX}DELETE {{ ?p :keywords ?k }} WHERE {{ VALUES ?p {{ {old} }} ?p :keywords ?k }} ;"
            f"{PREFIX}INSERT DATA {{ {data} }}",
            wait=600,
        )
        yield time.perf_counter() - begin
        if report.is_behind or report.rebuilt:
            raise RuntimeError(f"the indexes have not followed: {report.rebuilt}")


# --- the parts --------------------------------------------------------------------------------


def shares(scratch: Scratch) -> dict[str, Any]:
    """Times of a state that has followed, as multiples of the new one."""
    questions = workload.make(scratch.data.graph(), scratch.data.df())
    found = {}
    for share in SHARES:
        texts = scratch.other_keywords(share)
        changed = scratch.copy(f"share-{share}.kb", scratch.base())
        with KnowledgeBase.open(changed) as kb:
            seconds = list(commits(kb, texts))
        new = scratch.new(changed)
        words = sorted({word for text in texts.values() for word in text.split()})
        words = np.random.default_rng([SEED, 32]).choice(words, min(WORDS, len(words)), replace=False).tolist()
        with (
            KnowledgeBase.open(changed, warm_up=True) as followed,
            KnowledgeBase.open(new, warm_up=True) as built,
        ):
            both = Ours(followed, (PLANNED,)), Ours(built, (PLANNED,))
            hybrid = in_turns([[one.asker(question, PLANNED) for question in questions] for one in both])
            ten = in_turns([[_asker(kb, BEST_TEN, {"word": word}) for word in words] for kb in (followed, built)])
            count = in_turns([[_asker(kb, COUNTED, None)] * 9 for kb in (followed, built)])
        found[f"{share:.1%}"] = {
            "commits": len(seconds),
            "differing_answers": hybrid["differing"] + ten["differing"] + count["differing"],
            "hybrid": hybrid,
            "best_ten": ten,
            "count": count,
        }
        print(f"  {share:.1%}: {found[f'{share:.1%}']}", flush=True)
        for path in (changed, new):
            KnowledgeBase.remove(path)
    return found


def _asker(kb: KnowledgeBase, text: str, params: dict[str, Any] | None) -> Callable[[], object]:
    return lambda: list(kb.query(text, params).rows())


def in_turns(askers: Sequence[Sequence[Callable[[], object]]]) -> dict[str, Any]:
    """Milliseconds of the same questions of two states, the fastest of ROUNDS: median and P99 of each, their ratios,
    and the number of answers that differ.
    """
    best = np.full((2, len(askers[0])), np.inf)
    answers: list[list[object]] = [[None] * len(askers[0]) for _ in askers]
    for turn in range(ROUNDS + 1):
        for at, pair in enumerate(zip(*askers, strict=True)):
            for state in (0, 1) if turn % 2 else (1, 0):
                begin = time.perf_counter()
                answers[state][at] = pair[state]()
                if turn:  # the first asks for what no process has read yet
                    best[state, at] = min(best[state, at], (time.perf_counter() - begin) * 1e3)
    middle, slowest = np.median(best, axis=1), np.percentile(best, 99, axis=1)
    return {
        "questions": len(askers[0]),
        "median_ms": middle.round(4).tolist(),
        "p99_ms": slowest.round(4).tolist(),
        "median_ratio": round(float(middle[0] / middle[1]), 3),
        "p99_ratio": round(float(slowest[0] / slowest[1]), 3),
        "differing": sum(a != b for a, b in zip(*answers, strict=True)),
    }


def scores(scratch: Scratch) -> dict[str, Any]:
    """Scores that differ from a new index after 1 % of the papers has got other keywords."""
    texts, found = scratch.other_keywords(0.01), dict[str, Any]()
    changed = scratch.copy("scores.kb", scratch.base())
    with KnowledgeBase.open(changed) as kb:
        rows = kb.query(f"{PREFIX}SELECT ?p ?k {{ ?p :keywords ?k }}").to_python()
        before = {int(row["p"][len(BASE) + 1 :]): row["k"] for row in rows}
        list(commits(kb, texts))
    words = sorted({word for text in texts.values() for word in text.split()})
    words = np.random.default_rng([SEED, 33]).choice(words, min(WORDS, len(words)), replace=False).tolist()
    new = scratch.new(changed)
    pair = []
    for path in (changed, new):
        with KnowledgeBase.open(path) as kb:
            ours = Ours(kb, (PLANNED,))
            pair.append({word: ours.scores(word) for word in words})
    found["hybridkg"] = compared(*pair)
    for name, peer in PEERS.items():
        result = peer(before, texts, words)
        found[name] = result if isinstance(result, str) else compared(*result)
        print(f"  {name}: {found[name]}", flush=True)
    for path in (changed, new):
        KnowledgeBase.remove(path)
    return found


def compared(followed: Scores, new: Scores) -> dict[str, int]:
    """Scores of the new index, and those that the other one has not to the bit."""
    differing = sum(own.get(paper) != score for word, own in followed.items() for paper, score in new[word].items())
    extra = sum(len(own.keys() - new[word].keys()) for word, own in followed.items())
    return {"scores": sum(map(len, new.values())), "differing": differing + extra}


def tantivy(before: Texts, texts: Texts, words: Sequence[str]) -> tuple[Scores, Scores] | str:
    """Documents deleted and added, committed."""
    if find_spec("tantivy") is None:
        return "not installed: pip install tantivy==0.27.0"
    package: Any = import_module("tantivy")

    def filled(documents: Texts) -> tuple[Any, Any]:
        schema = package.SchemaBuilder()
        schema.add_integer_field("paper", stored=True, indexed=True)
        schema.add_text_field("keywords")
        index = package.Index(schema.build())
        writer = index.writer(200_000_000, 1)
        for paper, text in documents.items():
            writer.add_document(package.Document(paper=paper, keywords=text))
        writer.commit()
        return index, writer

    def scored(index: Any) -> Scores:
        index.reload()
        searcher = index.searcher()
        found: Scores = {}
        for word in words:
            hits = searcher.search(index.parse_query(word, ["keywords"]), len(before)).hits
            found[word] = {searcher.doc(address)["paper"][0]: score for score, address in hits}
        return found

    index, writer = filled(before)
    for paper, text in texts.items():
        writer.delete_documents_by_term("paper", paper)
        writer.add_document(package.Document(paper=paper, keywords=text))
    writer.commit()
    return scored(index), scored(filled(before | texts)[0])


def elasticsearch(before: Texts, texts: Texts, words: Sequence[str]) -> tuple[Scores, Scores] | str:
    """Documents indexed again under their ids, and refreshed."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "servers"))
    if why := str(import_module("elastic_server").unavailable()):
        return why
    client_of, bulk = import_module("elasticsearch"), import_module("elasticsearch.helpers").bulk

    def send(client: Any, index: str, documents: Texts) -> None:
        bulk(client, ({"_index": index, "_id": str(p), "keywords": text} for p, text in documents.items()))
        client.indices.refresh(index=index)

    def scored(client: Any, index: str) -> Scores:
        found: Scores = {}
        for word in words:
            hits = client.search(index=index, query={"match": {"keywords": word}}, size=10_000)["hits"]["hits"]
            found[word] = {int(hit["_id"]): hit["_score"] for hit in hits}
        return found

    with running(None) as url, client_of.Elasticsearch(url, request_timeout=120) as client:
        for index in ("followed", "new"):
            shards = {"number_of_shards": 1, "number_of_replicas": 0}
            client.indices.create(index=index, settings=shards, mappings={"properties": {"keywords": {"type": "text"}}})
        send(client, "followed", before)
        send(client, "followed", texts)
        send(client, "new", before | texts)
        return scored(client, "followed"), scored(client, "new")


PEERS = {"tantivy": tantivy, "elasticsearch": elasticsearch}


def many(scratch: Scratch, number: int) -> dict[str, Any]:
    """Disk and opening after commits of one triple."""
    changed = scratch.copy("many.kb", scratch.base())
    seconds = []
    with KnowledgeBase.open(changed) as kb:
        for at in range(number):
            begin = time.perf_counter()
            kb.update(f'{PREFIX}INSERT DATA {{ :p{at * 7919 % scratch.data.papers} :keywords "late{at}" }}', wait=600)
            seconds.append(time.perf_counter() - begin)
    new = scratch.new(changed)
    opened: list[list[float]] = [[], []]
    for _ in range(OPENINGS):
        for path, own in zip((changed, new), opened, strict=True):
            begin = time.perf_counter()
            with KnowledgeBase.open(path) as kb:
                kb.query(f"{PREFIX}ASK {{ :p1 a :Paper }}")
            own.append((time.perf_counter() - begin) * 1e3)
    size = [_bytes(path) for path in (changed, new)]
    KnowledgeBase.remove(changed)
    KnowledgeBase.remove(new)
    tenth = max(1, number // 10)
    return {
        "commits": number,
        "first_tenth_s": round(median(seconds[:tenth]), 4),
        "last_tenth_s": round(median(seconds[-tenth:]), 4),
        "bytes": size,
        "bytes_ratio": round(size[0] / size[1], 3),
        "open_ms": [round(median(own), 2) for own in opened],
    }


def _bytes(path: Path) -> int:
    """Bytes of the files of a folder; a file with several names counts once."""
    return sum({(own := file.stat()).st_ino: own.st_size for file in path.rglob("*") if file.is_file()}.values())


def label(scratch: Scratch) -> dict[str, Any]:
    """The name of a venue with about LABELLED papers changes; and an index of everything."""
    profile = scratch.folder / "venue.ttl"
    profile.write_text(PROFILE.replace(") .", VENUE_FIELD))
    changed = scratch.load("label.kb", scratch.data.triples, profile)
    papers = np.bincount(scratch.data.graph().venue)
    venue = int(np.abs(papers - LABELLED).argmin())
    text = f"{PREFIX}DELETE {{ :v{venue} :name ?n }} INSERT {{ :v{venue} :name $name }} WHERE {{ :v{venue} :name ?n }}"
    seconds = []
    with KnowledgeBase.open(changed) as kb:
        for at in range(4):
            begin = time.perf_counter()
            report = kb.update(text, {"name": f"annals of qualified x{at}"}, wait=600)
            seconds.append(time.perf_counter() - begin)
            if report.is_behind or report.rebuilt:
                raise RuntimeError(f"the index has not followed: {report}")
        found = kb.query("SELECT (COUNT(*) AS ?n) { ?p MATCH 'qualified' }").to_python()[0]["n"]
        begin = time.perf_counter()
        kb.index()
        index = time.perf_counter() - begin
    KnowledgeBase.remove(changed)
    if found != papers[venue]:
        raise RuntimeError(f"{found} papers have the new name, not {papers[venue]}")
    commit = median(seconds[1:])
    return {
        "papers": int(papers[venue]),
        "commit_s": round(commit, 3),
        "index_s": round(index, 2),
        "index_by_commit": round(index / commit, 1),
    }


def main() -> None:
    """Runs the parts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.updated", description=__doc__.splitlines()[0])
    parser.add_argument("--papers", type=int, default=100_000, help="of the graph (default: %(default)s)")
    parser.add_argument("--commits", type=int, default=1_000, help="of the part `many` (default: %(default)s)")
    parser.add_argument("--parts", default=",".join(PARTS), help="names (default: %(default)s)")
    parser.add_argument("--scratch", type=Path, help="folder for data and engines, on a disk; default: a temporary one")
    parser.add_argument("--no-record", action="store_true", help="prints only: for rough figures on a busy machine")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {"papers": arguments.papers}
    with tempfile.TemporaryDirectory() as temporary:
        root = arguments.scratch or Path(temporary)
        data = write(root / f"papers-{arguments.papers}", arguments.papers, tables=False)
        scratch = Scratch(data, data.engines / "updated")
        run: dict[str, Callable[[], dict[str, Any]]] = {
            "shares": lambda: shares(scratch),
            "scores": lambda: scores(scratch),
            "many": lambda: many(scratch, arguments.commits),
            "label": lambda: label(scratch),
        }
        for part in arguments.parts.split(","):
            print(f"{part}, {arguments.papers:,} papers", flush=True)
            figures[part] = run[part]()
            print(f"  {figures[part]}", flush=True)
    if arguments.no_record:
        print(figures)
    else:
        record("updated", figures, seed=SEED)
    wrong = sum(own["differing_answers"] for own in figures.get("shares", {}).values())
    wrong += figures["scores"]["hybridkg"]["differing"] if "scores" in figures else 0
    if wrong:
        sys.exit(f"{wrong} answers or scores differ from those of a new index")


if __name__ == "__main__":
    main()
