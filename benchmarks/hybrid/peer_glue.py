"""What people write themselves: Oxigraph for the pattern and a text index for the words, glued in Python.

`pattern_first` evaluates the pattern in pyoxigraph and lets hybridkg's own text
index score the candidates, in two spellings: score all and sort, or the index's
best k among them. `text_first` takes tantivy's best 1,000 and asks Oxigraph
which of them satisfy the pattern, 500 at a time (from 1,100 on, VALUES take
seconds there): the glue seen most, and it may come back short.
"""

from __future__ import annotations

import os
import shutil
import time
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.hybrid.contract import Ask, Found
from benchmarks.hybrid.fresh import FreshText
from benchmarks.hybrid.sparql import DOI, MANY_ROWS, NAMES, PREFIX, has_doi, paper_of, pattern
from benchmarks.hybrid.texts import FIELDS
from benchmarks.hybrid.workload import Question
from benchmarks.hybrid.writing import BASE, Data

DEPTH, BATCH = 1_000, 500
HEAP = 2_000_000_000


def load_graph(data: Data) -> float:
    """Oxigraph's store; seconds."""
    import pyoxigraph

    started = time.perf_counter()
    shutil.rmtree(data.engines / "oxigraph", ignore_errors=True)
    store = pyoxigraph.Store(str(data.engines / "oxigraph"))
    store.bulk_load(path=str(data.triples), format=pyoxigraph.RdfFormat.N_TRIPLES)
    store.flush()
    store.optimize()
    return round(time.perf_counter() - started, 1)


def load_words(data: Data) -> float:
    """tantivy's index, papers in order, one segment; seconds."""
    tantivy = import_module("tantivy")
    started = time.perf_counter()
    shutil.rmtree(data.engines / "tantivy", ignore_errors=True)
    (data.engines / "tantivy").mkdir(parents=True)
    schema = tantivy.SchemaBuilder()
    for name in FIELDS:
        schema.add_text_field(name, stored=False, tokenizer_name="blanks", index_option="freq")
    index = _with_words(tantivy, tantivy.Index(schema.build(), path=str(data.engines / "tantivy")))
    writer = index.writer(HEAP, 1)
    with (data.tables / "papers.csv").open() as lines:
        for line in lines:
            texts = line[:-1].split(",")[3:]
            writer.add_document(tantivy.Document(**dict(zip(FIELDS, texts, strict=True))))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    if index.searcher().num_segments != 1:
        raise RuntimeError("tantivy wrote several segments: the number of a document is not that of the paper")
    return round(time.perf_counter() - started, 1)


def _with_words(tantivy: Any, index: Any) -> Any:
    index.register_tokenizer("blanks", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    return index


class _Glue:
    """Oxigraph in this process."""

    def __init__(self, data: Data):
        import pyoxigraph

        self._ox: Any = pyoxigraph
        self._store: Any = pyoxigraph.Store.read_only(str(data.engines / "oxigraph"))

    def _doi(self, paper: int) -> str:
        subject, predicate = self._ox.NamedNode(f"{BASE}p{paper}"), self._ox.NamedNode(f"{BASE}doi")
        return next((quad.object.value for quad in self._store.quads_for_pattern(subject, predicate, None)), "")

    def processes(self) -> list[int]:
        """This one."""
        return [os.getpid()]

    def close(self) -> None:
        """Nothing was started."""


class PatternFirst(_Glue):
    """Oxigraph, then scores of the candidates."""

    spellings = ("score all", "best among")

    def __init__(self, data: Data):
        super().__init__(data)
        from hybridkg import KnowledgeBase

        snapshot = KnowledgeBase.open(data.engines / "kb")._snapshot
        self._text: Any = snapshot.text
        nodes: Any = snapshot.nodes
        number = [paper_of(nodes.node(i).value) for i in range(data.papers)]
        self._paper = np.array(number)
        self._entity = np.argsort(self._paper).astype(np.uint32)

    def _candidates(self, query: str) -> NDArray[np.uint32]:
        start = len(BASE) + 1
        papers = [int(solution[0].value[start:]) for solution in self._store.query(query)]
        return np.sort(self._entity[np.array(papers, np.int64)])

    def asker(self, question: Question, spelling: str, fresh: FreshText | None = None) -> Ask:
        """The candidates as a SPARQL query, then their best."""
        from hybridkg.interfaces.text_index import TextQuery

        distinct = "DISTINCT " if question.shape in MANY_ROWS else ""
        query = f"{PREFIX}SELECT {distinct}?p {{ {pattern(question)} }}"
        if fresh is not None:
            query = fresh.worded(query, NAMES, mark=r"\?")
        words, k, with_doi = TextQuery(question.words, syntax=False), question.k, has_doi(question)

        def ask() -> list[Found]:
            ids = self._candidates(query)
            if spelling == "best among":
                ids, scores = self._text.topk(words, k, among=ids)
            else:
                scores = self._text.score(words, ids)
                best = np.lexsort((ids, -scores))[:k]
                ids, scores = ids[best], scores[best]
                ids, scores = ids[scores > 0], scores[scores > 0]
            papers = self._paper[ids].tolist()
            return [(p, s, self._doi(p) if with_doi else "") for p, s in zip(papers, scores.tolist(), strict=True)]

        return ask

    def scores(self, words: str) -> dict[int, float]:
        """The complete relation."""
        from hybridkg.interfaces.text_index import TextQuery

        ids, scores = self._text.score_all(TextQuery(words, syntax=False))
        return dict(zip(self._paper[ids].tolist(), scores.tolist(), strict=True))


class TextFirst(_Glue):
    """tantivy's best 1,000, then Oxigraph."""

    spellings = ("top 1000",)

    def __init__(self, data: Data):
        super().__init__(data)
        self._tantivy = import_module("tantivy")
        index = _with_words(self._tantivy, self._tantivy.Index.open(str(data.engines / "tantivy")))
        self._searcher, self._schema = index.searcher(), index.schema

    def _best(self, words: str, depth: int) -> list[tuple[int, float]]:
        query, should = self._tantivy.Query, self._tantivy.Occur.Should
        terms = [
            (should, query.term_query(self._schema, name, word, "freq")) for word in words.split() for name in FIELDS
        ]
        hits = self._searcher.search(query.boolean_query(terms), depth, False).hits
        return [(address.doc, score) for score, address in hits]

    def asker(self, question: Question, spelling: str, fresh: FreshText | None = None) -> Ask:
        """Batches of the best until k have passed."""
        where, with_doi = pattern(question), has_doi(question)
        columns, optional = ("?p ?doi", DOI) if with_doi else ("?p", "")
        p, doi = (fresh.name("p"), fresh.name("doi")) if fresh is not None else ("p", "doi")

        def ask() -> list[Found]:
            hits, found = self._best(question.words, DEPTH), list[Found]()
            for start in range(0, len(hits), BATCH):
                part = hits[start : start + BATCH]
                values = " ".join(f":p{paper}" for paper, _ in part)
                query = f"{PREFIX}SELECT DISTINCT {columns} {{ VALUES ?p {{ {values} }} {where} {optional} }}"
                if fresh is not None:
                    query = fresh.worded(query, NAMES, mark=r"\?")
                passed: dict[int, str] = {}
                for solution in self._store.query(query):
                    own = solution[doi] if with_doi else None
                    passed[paper_of(solution[p].value)] = own.value if own is not None else ""
                found += [(paper, score, passed[paper]) for paper, score in part if paper in passed]
                if len(found) >= question.k:
                    break
            return found[: question.k]

        return ask

    def scores(self, words: str) -> dict[int, float]:
        """All matches."""
        return dict(self._best(words, self._searcher.num_docs))


def load_pattern_first(data: Data) -> dict[str, Any]:
    """Oxigraph; the text index is that of the knowledge base."""
    return {"oxigraph_s": load_graph(data)}


def load_text_first(data: Data) -> dict[str, Any]:
    """tantivy; the graph is that of the other glue."""
    return {"tantivy_s": load_words(data)}
