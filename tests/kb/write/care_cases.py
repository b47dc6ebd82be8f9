"""A small knowledge base with everything that has to be cared for, and ways to damage it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from hybridkg import KnowledgeBase
from hybridkg.storage.durable import checksum
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.generation import Generation
from hybridkg.store.generations.manifest import FileEntry, read_manifest

FILMS = Path(__file__).resolve().parents[3] / "examples" / "films.ttl"
REVIEWS = [
    {"id": f"http://example.org/films/f{i}", "review": ["slow and grey", f"a masterpiece of fog {i}"], "note": f"n{i}"}
    for i in range(40)
]
QUERIES = (
    'SELECT * { ?f MATCH "space crew" AS ?s } RANK BY ?s',
    'SELECT * { ?f MATCH "masterpiece" ON (review) USING lm AS ?s } RANK BY ?s',
    'SELECT * { ?f NEAR "spaceship crew" WITHIN 0.01 AS ?v } RANK BY ?v',
    'SELECT * { ?f a <http://example.org/films/Film> . ?f MATCH "mars" AS ?s } RANK BY ?s',
    "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g ORDER BY ?g",
    "SELECT * { ?s <http://e/near> ?o } ORDER BY ?s ?o",
)
QUADS = """
<http://e/a> <http://e/near> _:b1 .
_:b1 <http://e/near> _:b2 <http://e/g> .
_:b2 <http://www.w3.org/2000/01/rdf-schema#label> "ein \\"rotes\\" Haus\\n"@de <http://e/g> .
"""


def make(path: Path) -> Path:
    """A knowledge base with documents, named graphs, blank nodes and vectors."""
    quads, reviews = path.with_suffix(".nq"), path.with_suffix(".jsonl")
    quads.write_text(QUADS)
    reviews.write_text("".join(json.dumps(one) + "\n" for one in REVIEWS))
    with KnowledgeBase.create(path) as kb:
        kb.load(FILMS, quads, text=reviews, index=True, encoder="lsa")
    return path


def answers(kb: KnowledgeBase) -> list[list[tuple[str, ...]]]:
    """Rows of all queries; a score with all its bits."""
    bits = [kb.query(query) for query in QUERIES]
    return [[tuple(v.hex() if isinstance(v, float) else str(v) for v in row.values()) for row in one] for one in bits]


def live(path: Path) -> Generation:
    return Folder.open(path).current()


def replaced(generation: Generation, name: str, data: bytes) -> None:
    """Writes other bytes into a file, whose hard links keep theirs."""
    file = generation.path / name
    file.unlink()
    file.write_bytes(data)


def rot(generation: Generation, name: str) -> None:
    """Flips a bit in the middle of a file."""
    data = bytearray((generation.path / name).read_bytes())
    data[len(data) // 2] ^= 1
    replaced(generation, name, bytes(data))


def seal(generation: Generation) -> None:
    """Gives the manifest the checksums of the files as they are: damage that no checksum finds."""
    root = generation.path
    manifest = read_manifest(root)
    names = [f.relative_to(root).as_posix() for f in sorted(root.rglob("*")) if f.is_file()]
    files = {n: FileEntry((root / n).stat().st_size, checksum(root / n)) for n in names}
    files = {n: entry for n, entry in files.items() if n not in ("manifest.json", "READERS")}
    (root / "manifest.json").write_text(replace(manifest, files=files).to_json(), encoding="utf-8")


class BreakAt:
    """A progress that interrupts in a step whose label contains a text."""

    def __init__(self, label: str):
        self.label, self.seen = label, ""

    def start(self, label: str, total_bytes: int | None) -> None:
        self.seen = label

    def advance(self, bytes_read: int, items: int) -> None:
        if self.label in self.seen:
            raise KeyboardInterrupt

    def done(self, items: int) -> None:
        self.seen = ""


class Letters:
    """An encoder that knows nothing of the texts, so that vectors have the hashes of theirs: counts of letters."""

    takes_model, has_tokens, is_billed = False, False, False
    name, dimensions = "letters/1", 26

    def __init__(self, choice: object = None):
        del choice

    def fingerprint(self) -> str:
        return self.name

    def train(self, folder: Path, texts: object, count: int, progress: object) -> Letters:
        (folder / "letters").write_text("a-z")
        return self

    def open(self, folder: Path) -> Letters:
        return self

    def passages(self, texts: list[str]) -> np.ndarray:
        counts = np.array([[text.lower().count(chr(97 + i)) + 0.1 for i in range(26)] for text in texts], np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)

    queries = passages
