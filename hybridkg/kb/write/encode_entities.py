"""Encoding of the texts of a generation, and the vector index over the vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hybridkg.config.settings import EncodingSettings
from hybridkg.entities.entity_text import Cut, PieceBatch, verbalised
from hybridkg.entities.extraction import Extraction
from hybridkg.entities.pieces import cutting
from hybridkg.errors import ParameterError
from hybridkg.interfaces.encoder import ConfirmUpload, Encoder, EncoderKind, Tokenising, UploadEstimate
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.vector_index import ENCODER, INDEX_FILE, Encoded, KnownVectors, VectorIndexKind
from hybridkg.kb.write.reports import VectorReport
from hybridkg.storage.durable import link_tree

if TYPE_CHECKING:
    from hybridkg.vector.encoders.embedding_cache import EmbeddingLog


ENCODED_AT_ONCE = 64
"""Texts between two reports of progress; an interrupted run loses at most so many."""


@dataclass(frozen=True)
class Vectorising:
    """How the vectors of a knowledge base are made.

    Args:
        encoder: a name of ENCODERS.
        kind: of that name.
        name: of the kind of index, in VECTOR_INDEXES.
        index: builds it.
        work: the folder in which an interrupted run has left some vectors, and this one may.
        encoding: what gets a vector.
        agree: whether many texts may be sent to a server; None for no.
        previous: the folder of the live vectors, where they are undamaged.
        before: the kind of these.
    """

    encoder: str
    kind: EncoderKind
    name: str
    index: VectorIndexKind
    work: Path
    encoding: EncodingSettings
    agree: ConfirmUpload | None = None
    previous: Path | None = None
    before: VectorIndexKind | None = None

    def cut(self, encoder: Callable[[], Encoder]) -> Cut:
        """How texts are cut; the encoder is asked for where it has to measure them."""
        in_tokens = self.encoding.what == "chunks" and self.encoding.unit == "tokens"
        return cutting(self.encoding, cast(Tokenising, encoder()).token_starts if in_tokens else None)


def build_vectors(folder: Path, wanted: Vectorising, found: Extraction, progress: Progress) -> VectorReport:
    """Writes a vector of every entity that has text, or of each piece of it, into a new folder; texts that have one
    already are not encoded.

    Args:
        folder: does not exist yet.
        wanted: how they are made.
        found: the text.
        progress: told about texts that are encoded.
    """
    from hybridkg.vector.encoders.embedding_cache import EmbeddingLog, hashes

    fields = len(found.fields)

    own = folder / ENCODER
    settled = wanted.kind.fingerprint()
    known = wanted.before.known(wanted.previous, settled) if settled and wanted.previous and wanted.before else None
    count = len(found.nodes)
    if known is not None and wanted.previous is not None:
        folder.mkdir()
        link_tree(wanted.previous / ENCODER, own)
        cut = wanted.cut(lambda: wanted.kind.open(own))
        count = sum(int((known.places(hashes(some.texts)) < 0).sum()) for some in verbalised(found, fields, cut))
    else:
        own.mkdir(parents=True)
    encoder = wanted.kind.train(own, lambda: (some.texts for some in verbalised(found, fields)), count, progress)
    cut = wanted.cut(lambda: encoder)
    if known is None and wanted.encoding.what != "entity":
        count = sum(len(some.ids) for some in verbalised(found, fields, cut))
    encoded = 0
    with ExitStack() as stack:
        sources: list[KnownVectors] = [] if known is None else [known]
        log = stack.enter_context(EmbeddingLog(wanted.work, settled, encoder.dimensions)) if settled else None
        if wanted.kind.is_billed and log is not None:
            _agreed(wanted, [*sources, log.known], verbalised(found, fields, cut))

        def batches() -> Iterator[Encoded]:
            nonlocal encoded
            progress.start("encoding entities", count)
            for batch in verbalised(found, fields, cut):
                n, made = _encoded(encoder, batch, sources, log, progress)
                encoded += n
                yield made
            progress.done(encoded)

        counts = wanted.index.build(folder, encoder, wanted.encoder, batches(), progress, hashed=bool(settled))
    (folder / INDEX_FILE).write_text(f"{wanted.name}\n", encoding="ascii")
    return VectorReport.of({**counts, "encoded": encoded} if settled else counts)


def _agreed(wanted: Vectorising, known: Sequence[KnownVectors], batches: Iterator[PieceBatch]) -> None:
    """Raises ParameterError: many texts would go to a server, and nobody has said that they may."""
    from hybridkg.vector.encoders.embedding_cache import hashes

    count = characters = 0
    for batch in batches:
        keys = hashes(batch.texts)
        has = [places for source in known for places in (source.places(keys) >= 0,)]
        for i, text in enumerate(batch.texts):
            if not any(places[i] for places in has):
                count, characters = count + 1, characters + len(text)
    sending = UploadEstimate(count, characters, wanted.encoding.batch, wanted.encoding.url)
    if sending.is_large and not (wanted.agree is not None and wanted.agree(sending)):
        raise ParameterError(
            f"to make the vectors sends {sending}, and nothing has agreed to that",
            hint="hybridkg index KB --yes; in Python, index(agree=lambda sending: True)",
        )


def _encoded(
    encoder: Encoder, batch: PieceBatch, sources: Sequence[KnownVectors], log: EmbeddingLog | None, progress: Progress
) -> tuple[int, Encoded]:
    """How many texts of a batch have been encoded, and the vectors of all."""
    import numpy as np

    from hybridkg.vector.encoders.embedding_cache import hashes
    from hybridkg.vector.index.flat_files import check_vectors

    texts = batch.texts
    vectors = np.zeros((len(texts), encoder.dimensions), np.float32)
    missing, keys = np.ones(len(texts), bool), None
    if log is not None:
        keys = hashes(texts)
        for source in (*sources, log.known):
            missing[missing] = ~source.fill(keys, vectors, missing)
    # Texts of about one length are encoded together: where they are padded, little is.
    order = sorted(np.flatnonzero(missing).tolist(), key=lambda i: len(texts[i]))
    for first in range(0, len(order), ENCODED_AT_ONCE):
        some = order[first : first + ENCODED_AT_ONCE]
        vectors[some] = encoder.passages([texts[i] for i in some])
        check_vectors(vectors[some], encoder)
        if log is not None and keys is not None:
            log.append(keys[some], vectors[some])
        progress.advance(len(some), len(some))
    return len(order), Encoded(np.array(batch.ids, np.uint32), vectors, keys, np.array(batch.spans, np.uint32))
