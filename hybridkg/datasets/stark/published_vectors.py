"""Vectors that STaRK publishes of nodes and questions: `emb/KB/MODEL/doc/candidate_emb_dict.pt`,
`emb/KB/MODEL/query/query_emb_dict.pt` and, for the questions that people wrote, `query_human_generated_eval/`.

Each file is a dictionary from an id to a tensor float32[1, d]. The rows go to a file on disk as they are read, so
memory grows with the ids only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridkg.datasets.stark.tensors import read_vectors
from hybridkg.errors import LoadError
from hybridkg.vector.encoders.embedding_cache import hashes
from hybridkg.vector.encoders.published import write_published

DOCUMENTS, QUESTIONS = "doc/candidate_emb_dict.pt", "query/query_emb_dict.pt"
WRITTEN = "query_human_generated_eval/query_emb_dict.pt"
"""The files of a model; the last one may be missing."""

MAX_DIMENSIONS = 65_536


@dataclass(frozen=True)
class VectorRows:
    """Ids int64[n], distinct, and their rows float32[n, d], mapped."""

    ids: NDArray[np.int64]
    rows: NDArray[np.float32]


@dataclass(frozen=True)
class PublishedVectors:
    """The vectors of a model: of nodes, of questions, and of questions that people wrote, if there are any."""

    model: str
    nodes: VectorRows
    questions: VectorRows
    written: VectorRows | None

    def write(
        self, folder: Path, document_hashes: NDArray[np.uint8], texts: Mapping[str, str], written: Mapping[str, str]
    ) -> None:
        """Writes a folder for the encoder `published`.

        Args:
            folder: is made.
            document_hashes: uint8[nodes, 32], the SHA-256 of the document of each node.
            texts: of the questions by id.
            written: of those that people wrote, by id.

        Raises:
            LoadError: there is no such node, or no such question.
        """
        nodes = self.nodes
        if len(nodes.ids) and int(nodes.ids.max()) >= len(document_hashes):
            raise LoadError(
                f"a vector of the node {int(nodes.ids.max()):,}, and the nodes are 0 to {len(document_hashes) - 1:,}",
                hint="--embeddings must be those of the knowledge base of --skb",
            )
        asked = [hashes(list(_texts_of(self.questions, texts)))]
        rows = [self.questions.rows]
        if self.written is not None:
            asked.append(hashes(list(_texts_of(self.written, written))))
            rows.append(self.written.rows)
        queries = np.concatenate(asked), np.concatenate(rows)
        write_published(folder, self.model, (document_hashes[nodes.ids], nodes.rows), queries)


def _texts_of(rows: VectorRows, texts: Mapping[str, str]) -> Iterator[str]:
    for number in rows.ids.tolist():
        if str(number) not in texts:
            raise LoadError(
                f"a vector of the question {number}, which is not among the questions",
                hint="--embeddings must be those of the questions of --qa",
            )
        yield texts[str(number)]


def read_published(given: Path, work: Path) -> PublishedVectors:
    """The vectors in the folder of a model, whose name is that of the folder.

    Args:
        given: such as emb/mag/text-embedding-ada-002.
        work: folder for the rows.

    Raises:
        LoadError: a file is missing or damaged, or has anything else than vectors of one length by whole numbers.
    """
    for name in (DOCUMENTS, QUESTIONS):
        if not (given / name).is_file():
            raise LoadError(
                f"{str(given)!r} has no {name}",
                hint=f"--embeddings is the folder of a model, emb/KB/MODEL, with {DOCUMENTS} and {QUESTIONS}",
            )
    nodes = _rows(given / DOCUMENTS, work / "nodes.rows")
    questions = _rows(given / QUESTIONS, work / "questions.rows")
    path = given / WRITTEN
    written = _rows(path, work / "written.rows") if path.is_file() else None
    for name, own in ((QUESTIONS, questions), (WRITTEN, written)):
        if own is not None and own.rows.shape[1] != nodes.rows.shape[1]:
            raise LoadError(
                f"{name} has vectors of {own.rows.shape[1]:,} numbers, and {DOCUMENTS} of {nodes.rows.shape[1]:,}",
                place=str(given / name),
            )
    return PublishedVectors(given.resolve().name, nodes, questions, written)


def _rows(path: Path, target: Path) -> VectorRows:
    """Copies the rows of a file to `target`."""
    ids: list[int] = []
    length = 0

    def refuse(message: str) -> LoadError:
        return LoadError(f"{path.name!r}: {message}", place=str(path))

    with target.open("wb") as file:
        for key, row in read_vectors(path):
            number = int(key) if isinstance(key, str) and key.isascii() and key.isdigit() else key
            if type(number) is not int or not 0 <= number < 1 << 40:
                raise refuse(f"the id {str(key)[:30]!r} is no whole number")
            if not ids:
                length = len(row)
            if len(row) != length or not 1 <= length <= MAX_DIMENSIONS:
                raise refuse(f"the vector of {number} has {len(row):,} numbers, and the first one {length:,}")
            if not np.isfinite(row).all():
                raise refuse(f"the vector of {number} has a number that is not finite")
            ids.append(number)
            file.write(np.ascontiguousarray(row, "<f4").tobytes())
    if not ids:
        raise refuse("no vectors")
    if len(set(ids)) < len(ids):
        raise refuse("an id occurs twice")
    return VectorRows(np.array(ids, np.int64), np.memmap(target, "<f4", "r", shape=(len(ids), length)))
