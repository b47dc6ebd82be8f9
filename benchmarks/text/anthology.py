"""The same index on real text, the ACL Anthology's titles and abstracts: size, phrases, passages."""

from __future__ import annotations

import shutil
import tarfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.text.ours import sizes
from hybridkg.interfaces.text_index import IndexedField, TextQuery
from hybridkg.text.index import EmbeddedTextIndex

SOURCE = Path(__file__).resolve().parents[3] / "shared/data/acl-anthology/acl-anthology-2024-08-15.tar.xz"
FIELDS = (IndexedField("title", 2.0), IndexedField("abstract"))
PHRASES = ("machine translation", "state of the art", "of the", "in this paper we")


def papers(source: Path) -> Iterator[tuple[str, str]]:
    """(title, abstract) of every paper, in the archive's order."""
    with tarfile.open(source) as archive:
        for member in archive:
            if member.name.endswith(".xml") and "/xml/" in f"/{member.name}":
                file = archive.extractfile(member)
                for paper in ET.parse(file).getroot().iter("paper") if file else ():
                    title, abstract = (
                        "".join(part.itertext()) if part is not None else ""
                        for part in (paper.find("title"), paper.find("abstract"))
                    )
                    yield title, abstract


def fastest_ms(action: Callable[[], object], runs: int = 3) -> float:
    """The fastest of some runs."""
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return round(min(times) * 1e3, 3)


def measure(folder: Path) -> dict[str, Any]:
    """Builds, then asks phrases for the first time and for passages."""
    from hybridkg.text.index import EmbeddedTextBuilder

    if not SOURCE.exists():
        return {"failed": f"no {SOURCE.name}"}
    texts = list(papers(SOURCE))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    started = time.perf_counter()
    builder = EmbeddedTextBuilder(folder, FIELDS, len(texts))
    for field in range(len(FIELDS)):
        builder.add_all(field, ((paper, [(text[field], "en")]) for paper, text in enumerate(texts) if text[field]))
        builder.complete(field)
    counts = builder.finish()
    seconds = time.perf_counter() - started
    index = EmbeddedTextIndex.open(folder)
    query = TextQuery('neural "machine translation" of low-resource languages')
    abstract = max((text for _, text in texts), key=len)
    megabyte = (abstract * (1_000_000 // len(abstract) + 1))[:1_000_000]
    return {
        "papers": len(texts),
        "build_s": round(seconds, 2),
        "text_mb_per_s": round(counts["text_bytes"] / 1e6 / seconds, 2),
        "counts": dict(counts),
        **sizes(folder, counts["postings"], counts["tokens"]),
        "first_asking_of_a_phrase_ms": {
            phrase: fastest_ms(lambda phrase=phrase: index.topk(TextQuery(f'"{phrase}"'), 10), 1)  # type: ignore[misc]
            for phrase in PHRASES
        },
        "passage_ms": {
            "abstract": fastest_ms(lambda: index.passage(query, [("abstract", texts[-1][1], "en")]), 20),
            "1 MB": fastest_ms(lambda: index.passage(query, [("abstract", megabyte, "en")])),
        },
    }
