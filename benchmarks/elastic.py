"""Elasticsearch beside the embedded index, on the whole ACL Anthology: the same answers, at what price.

    python -m benchmarks.elastic [--kb FOLDER] [--url URL] [--seed N] [--queries N] [--parts NAME,...]

Starts the server of ../shared/servers unless --url names one; makes the
knowledge base of the Anthology unless --kb names one with an embedded index,
of which it works on a copy. The parts:
    parity     rankings and scores of both engines, on queries drawn from the data and on generated documents
    examples   the rows of examples/acl on both
    bulk       documents per second, beside bare loops of the official helpers over ready-made documents
    latency    top 10, complete relations, candidate sets of several sizes
    joins      the examples with conditions pushed or not, text first or pattern first
Exit code 1 when a ranking or a row differs.
"""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.acl_anthology import ROOT, SOURCE, WORDS, median_ms
from benchmarks.record import RESULTS, record
from hybridkg import KnowledgeBase
from hybridkg.config.settings import ElasticSettings, write_config
from hybridkg.config.settings_reader import read_config
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, TextIndex, TextQuery

PARTS = ("parity", "parity_generated", "examples", "bulk", "latency", "joins")
REPEATS = 5
DEPTH = 1_000

QUESTIONS: dict[str, TextQuery] = {
    "bm25, title": TextQuery("", model="bm25", fields=(FieldChoice("title"),)),
    "bm25, abstract": TextQuery("", model="bm25", fields=(FieldChoice("abstract"),)),
    "bm25, all fields": TextQuery("", model="bm25"),
    "combined_fields, title^3 abstract": TextQuery(
        "", model="combined_fields", fields=(FieldChoice("title", 3.0), FieldChoice("abstract", 1.0))
    ),
    "combined_fields, title^1.3 abstract^1.7 name^2.1": TextQuery(
        "",
        model="combined_fields",
        fields=(FieldChoice("title", 1.3), FieldChoice("abstract", 1.7), FieldChoice("name", 2.1)),
    ),
    "bm25f, all fields": TextQuery("", model="bm25f"),
}


@contextmanager
def running(url: str | None) -> Iterator[str]:
    """The address of a server, started for the purpose where none is given."""
    if url:
        yield url
        return
    sys.path.insert(0, str(ROOT / "tests" / "servers"))
    import elastic_server

    elastic_server.JAVA_OPTIONS = []  # tests compile less, to start sooner
    server = elastic_server.ElasticServer(heap="2g").start()
    try:
        yield server.url
    finally:
        server.stop()


def anthology(given: Path | None, work: Path) -> Path:
    """A knowledge base of the Anthology with an embedded index."""
    target = work / "embedded.kb"
    if given is not None:
        shutil.copytree(given, target)
        return target
    run = [sys.executable, "-m"]
    subprocess.run([sys.executable, ROOT / "examples/acl_anthology.py", SOURCE, work / "acl.nt.gz"], check=True)
    load = [*run, "hybridkg", "load", target, work / "acl.nt.gz", "--index", "--profile", "acl"]
    subprocess.run(load, check=True)
    return target


def on_server(embedded: Path, work: Path, url: str) -> Path:
    """A copy with an index in Elasticsearch."""
    target = work / "elastic.kb"
    shutil.copytree(embedded, target)
    config = read_config(target / "kb.toml")
    settings = ElasticSettings(url=url, alias="benchmark")
    (target / "kb.toml").write_text(write_config(replace(config, text="elasticsearch", elasticsearch=settings)))
    with KnowledgeBase.open(target) as kb:
        kb.index()
    return target


def median(run: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Median time in ms, after one run that is not counted."""
    run()
    return median_ms(run, repeats)


# --- parity ---------------------------------------------------------------------


def drawn_queries(kb: KnowledgeBase, rng: np.random.Generator, count: int) -> list[str]:
    """Texts of 1 to 6 words that stand near each other in some title or abstract, so that they match."""
    snapshot = kb._snapshot
    assert snapshot.nodes is not None
    found: list[str] = []
    while len(found) < count:
        node = snapshot.nodes.node(int(rng.integers(len(snapshot.nodes))))
        texts = [text for name, text, _ in snapshot.texts([node], ("title", "abstract", "name"))[0]]
        if texts:
            words = "".join(c if c.isalnum() else " " for c in texts[int(rng.integers(len(texts)))]).split()
            size = int(rng.integers(1, 7))
            start = int(rng.integers(max(1, len(words) - size + 1)))
            if words:
                found.append(" ".join(words[start : start + size]))
    return found


def compared(ours: TextIndex, theirs: TextIndex, queries: list[str]) -> dict[str, Any]:
    """How the best 1,000 of two indexes differ, for each question."""
    figures: dict[str, Any] = {}
    for name, question in QUESTIONS.items():
        if not {f.name for f in question.fields} <= set(ours.fields):
            continue
        same, bits, worst, rows = 0, 0, 0.0, 0
        for text in queries:
            query = question._replace(text=text, syntax=False)
            (a, x), (b, y) = ours.topk(query, DEPTH), theirs.topk(query, DEPTH)
            same += a.tolist() == b.tolist()
            bits += a.tolist() == b.tolist() and x.tolist() == y.tolist()
            rows += len(a)
            scores = dict(zip(a.tolist(), x.tolist(), strict=True))
            for entity, score in zip(b.tolist(), y.tolist(), strict=True):
                if entity in scores:
                    worst = max(worst, abs(score - scores[entity]) / abs(scores[entity]))
        figures[name] = {
            "queries": len(queries),
            "rows": rows,
            "same_ranking": same,
            "same_bits": bits,
            "max_relative_difference": worst,
        }
        print(name, figures[name], flush=True)
    return figures


def generated(url: str, rng: np.random.Generator, work: Path) -> dict[str, Any]:
    """The same on 20,000 generated documents: Zipf words, lengths up to thousands, fields that are often absent."""
    from elastic_index import build_elastic

    from hybridkg.text.index import EmbeddedTextBuilder, EmbeddedTextIndex

    fields = (IndexedField("title", 3.0, 0.5), IndexedField("abstract"), IndexedField("name", 2.0, 0.3))
    documents: dict[int, dict[str, list[str]]] = {}
    for entity in range(20_000):
        sizes = {"title": int(rng.integers(1, 12)), "abstract": int(rng.lognormal(4, 1)), "name": 2}
        present = [name for name in sizes if rng.random() < 0.7] or ["title"]
        documents[entity] = {
            name: [" ".join(f"w{w}" for w in np.minimum(rng.zipf(1.2, sizes[name]), 50_000))] for name in present
        }
    folders = [work / "generated.embedded", work / "generated.elastic"]
    for folder in folders:
        folder.mkdir()
    builder = EmbeddedTextBuilder(folders[0], fields, len(documents))
    for entity, texts in documents.items():
        for number, field in enumerate(fields):
            builder.add(entity, number, [(text, "") for text in texts.get(field.name, [])])
    builder.finish()
    theirs = build_elastic(url, "generated", folders[1], documents, fields, len(documents))
    queries = [" ".join(f"w{w}" for w in np.minimum(rng.zipf(1.2, 3), 50_000)) for _ in range(100)]
    return compared(EmbeddedTextIndex.open(folders[0]), theirs, queries)


# --- rows of the examples -----------------------------------------------------------


def rows_of(kb: KnowledgeBase, text: str) -> list[list[str]]:
    return [[str(row[column]) for column in kb_result.columns] for kb_result in [kb.query(text)] for row in kb_result]


def examples(ours: KnowledgeBase, theirs: KnowledgeBase) -> dict[str, Any]:
    """Whether each example has the same rows, and how long it takes on each."""
    figures = {}
    for path in sorted((ROOT / "examples" / "acl").glob("*.hq")):
        text = path.read_text(encoding="utf-8")
        figures[path.stem] = {
            "same_rows": rows_of(ours, text) == rows_of(theirs, text),
            "rows": len(ours.query(text)),
            "embedded_ms": median(lambda text=text: ours.query(text)),
            "elasticsearch_ms": median(lambda text=text: theirs.query(text)),
        }
        print(path.stem, figures[path.stem], flush=True)
    return figures


# --- bulk ---------------------------------------------------------------------------


class Collector:
    """Takes documents in place of the senders."""

    def __init__(self) -> None:
        self.documents: list[Any] = []
        self.put = self.documents.append


def bulk(kb: KnowledgeBase, url: str, work: Path, repeats: int = 3) -> dict[str, Any]:
    """Documents per second from texts in memory to a refreshed index, ours and bare loops over ready documents."""
    from elasticsearch import Elasticsearch
    from elasticsearch.helpers import parallel_bulk, streaming_bulk

    from hybridkg.entities.extraction import extract
    from hybridkg.interfaces.progress import SILENT
    from hybridkg.remote.elasticsearch.server import Server
    from hybridkg.text.elasticsearch.builder import ElasticTextBuilder, add_all

    snapshot = kb._snapshot
    assert snapshot.profile is not None
    extracted = extract(snapshot.profile, snapshot.store, snapshot.documents)
    fields, filters = snapshot.profile.indexed_fields(), snapshot.profile.filters
    server, client = Server(ElasticSettings(url=url)), Elasticsearch(url, request_timeout=300)
    count = len(extracted.nodes)
    made = iter(range(1_000))

    def builder() -> ElasticTextBuilder:
        folder = work / f"bulk{next(made)}"
        folder.mkdir()
        return ElasticTextBuilder(server, folder, fields, count, alias="bulk", owner="benchmark", filters=filters)

    def ours() -> None:
        one = builder()
        add_all(one, extracted, len(fields), filters, SILENT)
        one.finish(count)
        client.indices.delete(index=one.index)

    collecting = builder()
    senders, collector = collecting._sender, Collector()
    collecting._sender = collector  # type: ignore[assignment]
    add_all(collecting, extracted, len(fields), filters, SILENT)
    collecting._sender = senders
    collecting.abandon()
    ready = collector.documents

    def bare(send: Callable[..., Any], shape: Callable[[Any], Any], **options: Any) -> None:
        one = builder()  # an index with the same mapping; its senders have nothing to do
        actions = ({"_op_type": "create", "_index": one.index, "_id": d["node"], "_source": shape(d)} for d in ready)
        for good, answer in send(client, actions, **options):
            assert good, answer
        client.indices.refresh(index=one.index)
        assert client.count(index=one.index)["count"] == count
        one.abandon()

    def whole(document: Any) -> Any:
        return document

    def texts_only(document: Any) -> Any:
        return {"node": document["node"], "terms": document["text"]}

    loops: dict[str, Callable[[], None]] = {
        "hybridkg": ours,
        "streaming_bulk, as it comes": lambda: bare(streaming_bulk, whole),
        "streaming_bulk, 8 MB": lambda: bare(streaming_bulk, whole, chunk_size=10**6, max_chunk_bytes=8 << 20),
        "parallel_bulk, 2 threads": lambda: bare(parallel_bulk, whole, thread_count=2, queue_size=2),
        "streaming_bulk, the original texts only": lambda: bare(streaming_bulk, texts_only),
    }
    times: dict[str, list[float]] = {name: [] for name in loops}
    gc.disable()
    for _ in range(repeats):
        for name, run in loops.items():
            started = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - started)
            print(name, round(times[name][-1], 2), flush=True)
    gc.enable()
    rates = {name: round(count / statistics.median(own)) for name, own in times.items()}
    return {
        "documents": count,
        "per_second": rates,
        "share_of_bare_loop": {
            name: round(rates["hybridkg"] / rate, 2) for name, rate in rates.items() if name != "hybridkg"
        },
    }


# --- latency and joins ----------------------------------------------------------------


def latency(ours: TextIndex, theirs: TextIndex, rng: np.random.Generator) -> dict[str, Any]:
    figures: dict[str, Any] = {"top10_ms": {}, "matching_ms": {}, "candidates_ms": {}}
    for name, question in QUESTIONS.items():
        for words in WORDS:
            query = question._replace(text=WORDS[words])
            figures["top10_ms"][f"{name}: {words}"] = {
                "embedded": median(lambda q=query: ours.topk(q, 10)),
                "elasticsearch": median(lambda q=query: theirs.topk(q, 10)),
            }
    for words in WORDS:
        query = TextQuery(WORDS[words])
        figures["matching_ms"][words] = {
            "entities": len(ours.score_all(query)[0]),
            "embedded": median(lambda q=query: ours.score_all(q), 3),
            "elasticsearch": median(lambda q=query: theirs.score_all(q), 3),
        }
    n = 195_000
    for size in (100, 1_000, 10_000, 65_536, n):
        ids = np.sort(rng.choice(n, size, replace=False)).astype(np.uint32)
        figures["candidates_ms"][size] = {
            "embedded": median(lambda i=ids: ours.score(TextQuery(WORDS["common"]), i), 3),
            "elasticsearch": median(lambda i=ids: theirs.score(TextQuery(WORDS["common"]), i), 3),
        }
    print(figures, flush=True)
    return figures


def joins(kb: KnowledgeBase) -> dict[str, Any]:
    """The examples with the index's choices switched off one after the other."""
    index = kb._snapshot.text
    assert index is not None
    kind = type(index)
    chosen_limit, holds = kind.max_remote_scan, kind.supports_pushdown
    settings: dict[str, tuple[bool, int, Any]] = {
        "as chosen": (True, chosen_limit, holds),
        "conditions not pushed": (True, chosen_limit, lambda self, condition: False),
        "text first": (False, chosen_limit, holds),
        "pattern first": (True, 0, holds),
    }
    figures: dict[str, dict[str, float]] = {}
    try:
        for path in sorted((ROOT / "examples" / "acl").glob("*.hq")):
            text = path.read_text(encoding="utf-8")
            for name, (is_remote, limit, held) in settings.items():
                kind.is_remote, kind.max_remote_scan, kind.supports_pushdown = is_remote, limit, held  # type: ignore[method-assign]
                figures.setdefault(path.stem, {})[name] = median(lambda text=text: kb.query(text), 3)
            print(path.stem, figures[path.stem], flush=True)
    finally:
        kind.is_remote, kind.max_remote_scan, kind.supports_pushdown = True, chosen_limit, holds  # type: ignore[method-assign]
    return figures


def measured_before() -> dict[str, Any]:
    """The parts of the stored result, so that one part can be measured again alone."""
    path = RESULTS / "elastic.json"
    stored = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {name: stored[name] for name in PARTS if name in stored}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kb", type=Path, help="a knowledge base of the Anthology with an embedded index")
    parser.add_argument("--url", help="of a running server without security")
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--parts", default="parity,examples,bulk,latency,joins")
    options = parser.parse_args()
    parts, rng = options.parts.split(","), np.random.default_rng(options.seed)
    found: dict[str, Any] = {}
    with ExitStack() as stack:
        url = stack.enter_context(running(options.url))
        sys.path.insert(0, str(ROOT / "tests" / "servers"))
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hybridkg-")))
        ours_path = anthology(options.kb, work)
        theirs_path = on_server(ours_path, work, url)
        stack.callback(KnowledgeBase.remove, theirs_path)
        ours, theirs = KnowledgeBase.open(ours_path), KnowledgeBase.open(theirs_path)
        a, b = ours._snapshot.text, theirs._snapshot.text
        assert a is not None
        assert b is not None
        found["elasticsearch"] = b.about()["version"]
        if "parity" in parts:
            found["parity"] = compared(a, b, drawn_queries(ours, rng, options.queries))
            found["parity_generated"] = generated(url, rng, work)
        if "examples" in parts:
            found["examples"] = examples(ours, theirs)
        if "bulk" in parts:
            found["bulk"] = bulk(ours, url, work)
        if "latency" in parts:
            found["latency"] = latency(a, b, rng)
        if "joins" in parts:
            found["joins"] = joins(theirs)
    record("elastic", {**measured_before(), **found}, seed=options.seed)
    differing = [
        *(name for part in ("parity", "parity_generated") for name, own in found.get(part, {}).items()
          if own["same_ranking"] < own["queries"]),
        *(name for name, own in found.get("examples", {}).items() if not own["same_rows"]),
    ]  # fmt: skip
    print("differing:", differing or "nothing")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
