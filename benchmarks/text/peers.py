"""The two engines that hybridkg's is measured beside, on the same words.

    pip install tantivy==0.27.0 bm25s==0.3.16

tantivy (Rust, what quickwit uses): one segment, five text fields cut at
blanks, index option `freq` (no positions, nothing stored: the quickest it has
that scores), the sum of BM25 over the fields. The same question is put to it
in two ways, through its query parser and as one flat disjunction of all
(word, field) terms; the quicker one counts.

bm25s (Python, scores computed beforehand): its numba mode, one flat field. Its
own indexer makes lists of Python integers of the corpus, which does not fit in
memory at 4.6 M entities, so the score matrix it would make is made here with
numpy, in the same float32 (`check_matrix` compares the two); asking is its own.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.text.corpus import BLOCK, NAMES, VOCABULARY, Corpus, block, pairs, words, zipf

HEAP = 4_000_000_000
K1, B = 1.2, 0.75

Ask = Callable[[str, int], tuple[Any, Any]]
"""Text and k to ids and scores."""


def _started(folder: Path) -> bool:
    """Whether the peer's index has to be built; then its folder is empty."""
    if (folder / "done.json").exists():
        return False
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return True


def _done(folder: Path, started: float, **figures: Any) -> None:
    size = sum(path.stat().st_size for path in folder.iterdir())
    figures = {"build_s": round(time.perf_counter() - started, 1), "bytes": size, **figures}
    (folder / "done.json").write_text(json.dumps(figures))


def build_tantivy(corpus: Corpus, entities: int, folder: Path) -> None:
    """Its index, unless it is there."""
    tantivy = import_module("tantivy")
    if not _started(folder):
        return
    started = time.perf_counter()
    schema = tantivy.SchemaBuilder()
    for name in NAMES:
        schema.add_text_field(name, stored=False, tokenizer_name="blanks", index_option="freq")
    index = _with_words(tantivy, tantivy.Index(schema.build(), path=str(folder)))
    writer = index.writer(HEAP, 1)
    for number, fields in enumerate(corpus.lines(entities)):
        writer.add_document(tantivy.Document(**{n: text for n, text in zip(NAMES, fields, strict=True) if text}))
        if number % 500_000 == 499_999:
            print(f"tantivy: {number + 1} entities, {time.perf_counter() - started:.0f} s", flush=True)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    _done(folder, started, segments=index.searcher().num_segments, options="freq, single thread, 4 GB heap")


def _with_words(tantivy: Any, index: Any) -> Any:
    index.register_tokenizer("blanks", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    return index


def open_tantivy(folder: Path) -> dict[str, Ask]:
    """Both ways to ask it."""
    tantivy = import_module("tantivy")
    index = _with_words(tantivy, tantivy.Index.open(str(folder)))
    searcher, schema, names = index.searcher(), index.schema, list(NAMES)
    query, should = tantivy.Query, tantivy.Occur.Should

    def answer(asked: Any, k: int) -> tuple[Any, Any]:
        hits = searcher.search(asked, k, False).hits
        return [address.doc for _, address in hits], [score for score, _ in hits]

    def parsed(text: str, k: int) -> tuple[Any, Any]:
        return answer(index.parse_query(text, names), k)

    def flat(text: str, k: int) -> tuple[Any, Any]:
        terms = [(should, query.term_query(schema, name, word, "freq")) for word in text.split() for name in names]
        return answer(query.boolean_query(terms), k)

    return {"tantivy parsed": parsed, "tantivy flat": flat}


def build_bm25s(corpus: Corpus, entities: int, folder: Path) -> None:
    """Its score matrix, unless it is there: by word, the entities and what the word adds to their scores."""
    import_module("bm25s")
    if not _started(folder):
        return
    started = time.perf_counter()
    df = corpus.df(entities)
    ends = np.cumsum(df)
    starts = ends - df
    np.save(folder / "indptr.npy", np.concatenate([[0], ends]))
    indices = np.lib.format.open_memmap(folder / "indices.npy", "w+", np.int32, (int(ends[-1]),))
    data = np.lib.format.open_memmap(folder / "data.npy", "w+", np.float32, (int(ends[-1]),))
    idf = np.log(1 + (entities - df + 0.5) / (df + 0.5)).astype(np.float32)
    cumulative, lengths = zipf(), np.zeros(entities, np.int64)
    for first in range(0, entities, BLOCK):
        of_block, tokens = block(first // BLOCK, cumulative)
        of_block = of_block[: entities - first]
        term, entity, tf = pairs(of_block, tokens[: int(of_block.sum())])
        lengths[first : first + BLOCK] = of_block.sum(axis=1)
        begins = np.flatnonzero(np.diff(term, prepend=-1))
        runs = np.diff(begins, append=len(term))
        place = starts[term] + np.arange(len(term)) - np.repeat(begins, runs)
        starts[term[begins]] += runs
        indices[place] = entity + first
        data[place] = tf
        if first // BLOCK % 25 == 24:
            print(f"bm25s: {first + BLOCK} entities, {time.perf_counter() - started:.0f} s", flush=True)
    norms = K1 * (1 - B + B * lengths / lengths.mean())
    step = 20_000_000
    of_posting = np.searchsorted(ends, np.arange(0, len(data), step), side="right")
    for first, low in zip(range(0, len(data), step), of_posting, strict=True):
        part = slice(first, min(first + step, len(data)))
        high = int(np.searchsorted(ends, part.stop - 1, side="right")) + 1
        own = np.minimum(ends[low:high], part.stop) - np.maximum(ends[low:high] - df[low:high], first)
        tf = data[part].astype(np.float64)
        data[part] = np.repeat(idf[low:high], own) * (tf / (norms[indices[part]] + tf))
    del data, indices
    _done(folder, started, nonzero=int(ends[-1]))


def open_bm25s(folder: Path) -> dict[str, Ask]:
    """Its numba mode, one thread; the matrix is read into memory, as its own `load` does."""
    bm25s = import_module("bm25s")
    model = _model(bm25s)
    arrays = {name: np.load(folder / f"{name}.npy") for name in ("data", "indices", "indptr")}
    entities = int(arrays["indices"].max()) + 1
    model.scores = {**arrays, "num_docs": entities}
    model.vocab_dict = {word: number for number, word in enumerate(words())}
    model.unique_token_ids_set = set(range(VOCABULARY))

    def asked(text: str, k: int) -> tuple[Any, Any]:
        documents, scores = model.retrieve([text.split()], k=k, show_progress=False, n_threads=1)
        return documents[0], scores[0]

    return {"bm25s": asked}


def _model(bm25s: Any) -> Any:
    model = bm25s.BM25(k1=K1, b=B, method="lucene", backend="numba")
    model.nonoccurrence_array = None
    return model


def check_matrix(corpus: Corpus, entities: int, folder: Path) -> float:
    """The largest difference of a score between this matrix and the one that bm25s makes itself; small sizes."""
    bm25s = import_module("bm25s")
    build_bm25s(corpus, entities, folder)
    (ours,) = open_bm25s(folder).values()
    theirs = _model(bm25s)
    texts = [row.replace("\t", " ").split() for row in corpus.rows(entities)]
    theirs.index(texts, show_progress=False)
    rng = np.random.default_rng(0)
    largest = 0.0
    for number in rng.integers(0, entities, 50).tolist():
        text = " ".join(texts[number][:4])
        scores: NDArray[np.float32] = theirs.retrieve([text.split()], k=100, show_progress=False).scores[0]
        largest = max(largest, float(np.abs(scores - ours(text, 100)[1]).max()))
    return largest
