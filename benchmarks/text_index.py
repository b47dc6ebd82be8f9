"""The embedded text index on the ACL Anthology's titles and abstracts: build rate, size, latencies.

    python -m benchmarks.text_index [SOURCE.tar.xz]

The build runs in a process of its own, one core, and counts from the first
`add` to the end of `finish`; reading the XML is not counted. Latencies are of
`topk(query, 10)` on all documents, warm, over random queries whose words are
drawn from the texts by document frequency; every query runs three times and
its fastest run counts, because the machine has other work.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import record
from hybridkg.interfaces.text_index import IndexedField, TextQuery
from hybridkg.text.analysis.words import split_words
from hybridkg.text.embedded import EmbeddedTextBuilder, EmbeddedTextIndex
from hybridkg.text.models import bm25f

SOURCE = Path(__file__).resolve().parents[2] / "shared/data/acl-anthology/acl-anthology-2024-08-15.tar.xz"
SEED = 20261121
FIELDS = (IndexedField("title", 2.0), IndexedField("abstract"))
BANDS = {"rare": (2, 20), "middle": (200, 2_000), "common": (10_000, 10**9)}
QUERIES = 150


def papers(source: Path) -> Iterator[tuple[str, str]]:
    """(title, abstract) of every paper, in the archive's order."""
    with tarfile.open(source) as archive:
        for member in archive:
            if member.name.endswith(".xml") and "/xml/" in f"/{member.name}":
                file = archive.extractfile(member)
                for paper in ET.parse(file).getroot().iter("paper") if file else ():
                    yield tuple("".join(part.itertext()) if part is not None else ""  # type: ignore[misc]
                                for part in (paper.find("title"), paper.find("abstract")))  # fmt: skip


def build(source: Path, folder: Path) -> dict[str, Any]:
    """Builds the index and measures it."""
    texts = list(papers(source))
    (folder / "texts.json").write_text(json.dumps(texts))
    before = peak_mib()
    (folder / "index").mkdir()
    started = time.perf_counter()
    builder = EmbeddedTextBuilder(folder / "index", FIELDS, len(texts))
    for entity, values in enumerate(texts):
        for field, text in enumerate(values):
            if text:
                builder.add(entity, field, [(text, "en")])
    added = time.perf_counter()
    counts = builder.finish()
    ended = time.perf_counter()
    size = sum(path.stat().st_size for path in (folder / "index").iterdir())
    return {
        "counts": counts,
        "add_s": round(added - started, 2),
        "finish_s": round(ended - added, 2),
        "text_mb_per_s": round(counts["text_bytes"] / 1e6 / (ended - started), 2),
        "peak_mib_with_texts_in_memory": peak_mib(),
        "peak_mib_before": before,
        "index_bytes": size,
        "bytes_per_posting": round(size / counts["postings"], 2),
        "bytes_per_text_byte": round(size / counts["text_bytes"], 3),
    }


def peak_mib() -> int:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def fastest(action: Callable[[], object], runs: int = 3) -> float:
    """The fastest of some runs, in ms."""
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return min(times) * 1e3


def summary(times: list[float]) -> dict[str, float]:
    """Median, 99th percentile and largest, in ms."""
    p50, p99 = np.percentile(times, [50, 99])
    return {"p50_ms": round(float(p50), 3), "p99_ms": round(float(p99), 3), "max_ms": round(max(times), 3)}


def words_by_band(index: EmbeddedTextIndex, texts: list[list[str]], draw: random.Random) -> dict[str, list[str]]:
    """Words of the texts, drawn as they occur, by the document frequency of their term."""
    bands: dict[str, list[str]] = {band: [] for band in BANDS}
    seen: set[str] = set()
    for _, abstract in draw.sample(texts, len(texts)):
        for word in split_words(abstract):
            if word not in seen:
                seen.add(word)
                (statistics, *_) = index.terms(TextQuery(word, syntax=False)) or [None]
                for band, (low, high) in BANDS.items():
                    if statistics and low <= statistics.df <= high:
                        bands[band].append(word)
        if all(len(words) >= 60 for words in bands.values()):
            break
    return bands


def latencies(index: EmbeddedTextIndex, bands: dict[str, list[str]], draw: random.Random) -> dict[str, Any]:
    """Top 10 by number of terms and band; `mixed` takes a word of any band each time."""
    figures = {}
    for n_terms in (1, 3, 6):
        for band in (*BANDS, "mixed"):
            times = []
            for _ in range(QUERIES):
                pools = [bands[band if band != "mixed" else draw.choice([*BANDS])] for _ in range(n_terms)]
                query = TextQuery(" ".join(draw.choice(pool) for pool in pools), syntax=False)
                times.append(fastest(lambda query=query: index.topk(query, 10)))  # type: ignore[misc]
            figures[f"{n_terms} {band}"] = summary(times)
    return figures


def crossover() -> dict[str, Any]:
    """us per call of the kernel and of its numpy twin, by postings."""
    kernel = bm25f.KERNEL.load()
    rng = np.random.default_rng(SEED)
    figures = {}
    for size in (30, 100, 300, 1_000, 2_000, 3_000, 10_000, 30_000):
        lists = [np.sort(rng.choice(90_000, size // 3, replace=False)).astype(np.uint32) for _ in range(3)]
        task = bm25f.Bm25fInput(
            ids=np.concatenate(lists), tf=np.ones(size // 3 * 3, np.uint32),
            starts=np.arange(4, dtype=np.int64) * (size // 3), lengths=np.ones((1, 90_000), np.uint32),
            rows=np.zeros(1, np.int64), weight=np.ones(1), b=np.ones(1), mean=np.ones(1), gain=np.ones(3), k1=1.2,
        )  # fmt: skip
        figures[str(size)] = {
            "kernel_us": round(fastest(lambda task=task: bm25f.score_compiled(kernel, task), 50) * 1e3, 1),  # type: ignore[misc]
            "numpy_us": round(fastest(lambda task=task: bm25f.score_numpy(task), 50) * 1e3, 1),  # type: ignore[misc]
        }
    return figures


def main(source: Path) -> None:
    """Builds in a child process, then measures the queries here."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        child = [sys.executable, "-m", "benchmarks.text_index", "--build", str(source), str(folder)]
        built = json.loads(subprocess.run(child, check=True, capture_output=True, text=True).stdout)
        texts = json.loads((folder / "texts.json").read_text())
        index = EmbeddedTextIndex.open(folder / "index")
        draw = random.Random(SEED)
        bands = words_by_band(index, texts, draw)
        abstract = max((text for _, text in texts), key=len)
        megabyte = (abstract * (1_000_000 // len(abstract) + 1))[:1_000_000]
        query = TextQuery('neural "machine translation" of low-resource languages')

        started = time.perf_counter()
        bm25f.KERNEL.load()
        loading = time.perf_counter() - started
        figures: dict[str, Any] = {"build": built, "kernel_load_s": round(loading, 3)}
        figures["top10_kernel"] = latencies(index, bands, random.Random(SEED))
        figures["crossover"] = crossover()
        phrases = ["machine translation", "state of the art", "of the", "in this paper we"]
        figures["phrases_first_time_ms"] = {
            text: round(fastest(lambda text=text: index.topk(TextQuery(f'"{text}"'), 10), 1), 2)  # type: ignore[misc]
            for text in phrases
        }
        figures["passage_ms"] = {
            "abstract": round(fastest(lambda: index.passage(query, [("abstract", texts[-1][1], "en")]), 20), 3),
            "1 MB": round(fastest(lambda: index.passage(query, [("abstract", megabyte, "en")])), 1),
        }
        bm25f.KERNEL.for_work = lambda postings: None  # type: ignore[method-assign]
        figures["top10_numpy"] = latencies(index, bands, random.Random(SEED))
        record("text_index", figures, seed=SEED)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--build"]:
        print(json.dumps(build(Path(sys.argv[2]), Path(sys.argv[3]))))
    else:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE)
