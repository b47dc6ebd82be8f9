"""hybridkg's embedded text index on the corpus: with the five fields, and with all text as one field."""

from __future__ import annotations

import hashlib
import shutil
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.text.corpus import NAMES, Corpus
from benchmarks.text.peers import Ask
from hybridkg.interfaces.text_index import IndexedField, TextQuery
from hybridkg.text.index import EmbeddedTextIndex
from hybridkg.text.index.codec import packing
from hybridkg.text.index.positions import phrases
from hybridkg.text.index.topk import topk
from hybridkg.text.models import additive

FIVE, FLAT = "five", "flat"
MODELS = ("bm25f", "bm25", "lm", "mlm", "fsdm")
ANALYZER = "standard"


def fields(kind: str) -> list[IndexedField]:
    """The fields of one of the two indexes, all of weight 1 and b 0.75."""
    return [IndexedField(name, 1.0, 0.75, ANALYZER) for name in (NAMES if kind == FIVE else ("all",))]


def build(corpus: Corpus, entities: int, kind: str, folder: Path) -> dict[str, Any]:
    """Builds one index, reading each field's text from the file, as `hybridkg index` does field by field."""
    from hybridkg.text.index import EmbeddedTextBuilder

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    started = time.perf_counter()
    builder = EmbeddedTextBuilder(folder, fields(kind), entities)
    added = []
    for field in range(len(fields(kind))):
        records = corpus.records(entities, field) if kind == FIVE else corpus.flat_records(entities)
        builder.add_all(field, records)
        builder.complete(field)
        added.append(round(time.perf_counter() - started, 2))
        print(f"{kind} {entities}: field {field} added after {added[-1]} s", file=sys.stderr, flush=True)
    counts = builder.finish()
    return {
        "build_s": round(time.perf_counter() - started, 2),
        "fields_added_after_s": added,
        "counts": dict(counts),
        **sizes(folder, counts["postings"], counts["tokens"]),
    }


def reading(corpus: Corpus, entities: int) -> float:
    """Seconds that only reading and cutting the lines takes, which a build time includes."""
    started = time.perf_counter()
    for field in range(len(NAMES)):
        for _ in corpus.records(entities, field):
            pass
    return round(time.perf_counter() - started, 2)


def sizes(folder: Path, postings: int, tokens: int) -> dict[str, Any]:
    """Bytes by file and per posting; positions, whose files are named so, apart."""
    files = {str(p.relative_to(folder)): p.stat().st_size for p in sorted(folder.rglob("*")) if p.is_file()}
    positions = sum(size for name, size in files.items() if "positions" in name)
    rest = sum(files.values()) - positions
    return {
        "bytes": sum(files.values()),
        "bytes_without_positions": rest,
        "bytes_per_posting_without_positions": round(rest / max(postings, 1), 3),
        "bytes_per_token_of_positions": round(positions / max(tokens, 1), 3),
        "files": files,
    }


def digest(folder: Path) -> str:
    """SHA-256 of the names and bytes of all files."""
    found = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        found.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while part := file.read(1 << 20):
                found.update(part)
    return found.hexdigest()


def open_index(folder: Path) -> EmbeddedTextIndex:
    """The index in a folder, in a process that keeps asking: its kernels are loaded. Ties fall to the smaller id."""
    for kernel in (additive.KERNEL, topk.BOUNDS, packing.KERNEL, phrases.KERNEL):
        kernel.load()
    return EmbeddedTextIndex.open(folder)


def question(text: str, model: str) -> TextQuery:
    """Plain words under a model with its own default arguments."""
    return TextQuery(text, syntax=False, model=model)


def open_models(folder: Path, models: tuple[str, ...]) -> dict[str, Ask]:
    """How each model is asked."""
    index = open_index(folder)

    def ask(model: str, text: str, k: int) -> tuple[Any, Any]:
        return index.topk(question(text, model), k)

    return {model: partial(ask, model) for model in models}
