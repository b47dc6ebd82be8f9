"""Encoding of the texts of a generation, and the build of its vector index."""

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
from hybridkg.errors import ConfigError, ParameterError
from hybridkg.interfaces.encoder import ConfirmUpload, Encoder, EncoderKind, Tokenising, UploadEstimate
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.interfaces.vector_index import ENCODER, Encoded, KnownVectors, VectorIndexKind, write_kind
from hybridkg.kb.write.reports import VectorReport
from hybridkg.registry import did_you_mean
from hybridkg.storage.durable import link_tree

if TYPE_CHECKING:
    from hybridkg.vector.encoders.embedding_cache import EmbeddingLog

ENCODED_AT_ONCE = 64
"""Texts between two reports of progress; an interrupted run loses at most as many."""


@dataclass(frozen=True)
class Vectorising:
    """Encoder and vector index of a knowledge base.

    Args:
        encoder: a name of ENCODERS.
        kind: the encoder of that name.
        name: a name of VECTOR_INDEXES.
        index: the vector index of that name.
        work: folder for the vectors of an interrupted run.
        encoding: settings: whether entities, chunks or fields have vectors.
        confirm: confirms an upload of many texts; None refuses it.
        previous: folder of the live vectors, if they are undamaged.
        before: the vector index that built `previous`.
    """

    encoder: str
    kind: EncoderKind
    name: str
    index: VectorIndexKind
    work: Path
    encoding: EncodingSettings
    confirm: ConfirmUpload | None = None
    previous: Path | None = None
    before: VectorIndexKind | None = None

    def cut(self, encoder: Callable[[], Encoder]) -> Cut:
        """The function that cuts texts into pieces; only pieces measured in tokens need the encoder."""
        in_tokens = self.encoding.what == "chunks" and self.encoding.unit == "tokens"
        return cutting(self.encoding, cast(Tokenising, encoder()).token_starts if in_tokens else None)

    def positions(self, fields: Sequence[IndexedField]) -> list[int]:
        """The positions of the encoded fields. Raises ConfigError: kb.toml names a field that is none of these."""
        names = [field.name for field in fields]
        chosen = {name.strip() for name in self.encoding.fields.split(",")} - {""}
        if unknown := min(chosen.difference(names), default=""):
            raise ConfigError(
                f"no text field {unknown!r} to encode; known: {', '.join(names) or 'none'}",
                hint=did_you_mean(unknown, names) or "'fields' in the table [vectors] names the encoded fields",
                place=str(self.work.parent / "kb.toml"),
            )
        return [place for place, name in enumerate(names) if not chosen or name in chosen]

    def write_kind(self, folder: Path, fields: Sequence[IndexedField]) -> None:
        """Writes the kind of index and the encoded fields beside the vectors."""
        chosen = [fields[place].name for place in self.positions(fields)]
        write_kind(folder, self.name, chosen if len(chosen) < len(fields) else ())


def build_vectors(folder: Path, wanted: Vectorising, extraction: Extraction, progress: Progress) -> VectorReport:
    """Writes a vector of every entity that has text, or of each of its pieces, into a new folder.

    A text that had a vector before, by its hash, is not encoded again if the encoder has a fingerprint.
    """
    from hybridkg.vector.encoders.embedding_cache import EmbeddingLog, hashes

    fields = wanted.positions(extraction.fields)
    own = folder / ENCODER
    fingerprint = wanted.kind.fingerprint()
    known = None
    if fingerprint and wanted.previous and wanted.before:
        known = wanted.before.known(wanted.previous, fingerprint)
    count = len(extraction.nodes)
    if known is not None and wanted.previous is not None:
        folder.mkdir()
        link_tree(wanted.previous / ENCODER, own)
        cut = wanted.cut(lambda: wanted.kind.open(own))
        count = sum(int((known.places(hashes(some.texts)) < 0).sum()) for some in verbalised(extraction, fields, cut))
    else:
        own.mkdir(parents=True)
    encoder = wanted.kind.train(own, lambda: (some.texts for some in verbalised(extraction, fields)), count, progress)
    cut = wanted.cut(lambda: encoder)
    if known is None and wanted.encoding.what != "entity":
        count = sum(len(some.ids) for some in verbalised(extraction, fields, cut))
    encoded = 0
    with ExitStack() as stack:
        sources: list[KnownVectors] = [] if known is None else [known]
        log = stack.enter_context(EmbeddingLog(wanted.work, fingerprint, encoder.dimensions)) if fingerprint else None
        if wanted.kind.is_billed and log is not None:
            confirm_upload(wanted, [*sources, log.known], verbalised(extraction, fields, cut))

        def batches() -> Iterator[Encoded]:
            nonlocal encoded
            progress.start("encoding entities", count)
            for batch in verbalised(extraction, fields, cut):
                n, made = _encode(encoder, batch, sources, log, progress)
                encoded += n
                yield made
            progress.done(encoded)

        counts = wanted.index.build(folder, encoder, wanted.encoder, batches(), progress, hashed=bool(fingerprint))
    wanted.write_kind(folder, extraction.fields)
    return VectorReport.of({**counts, "encoded": encoded} if fingerprint else counts)


def confirm_upload(wanted: Vectorising, known: Sequence[KnownVectors], batches: Iterator[PieceBatch]) -> None:
    """Raises ParameterError for a large upload that the caller does not confirm."""
    from hybridkg.vector.encoders.embedding_cache import hashes

    count = characters = 0
    for batch in batches:
        keys = hashes(batch.texts)
        has_vector = [source.places(keys) >= 0 for source in known]
        for i, text in enumerate(batch.texts):
            if not any(places[i] for places in has_vector):
                count, characters = count + 1, characters + len(text)
    upload = UploadEstimate(count, characters, wanted.encoding.batch, wanted.encoding.url)
    if upload.is_large and not (wanted.confirm is not None and wanted.confirm(upload)):
        raise ParameterError(
            f"encoding sends {upload}, which nothing has confirmed",
            hint="--yes confirms it; in Python, confirm=lambda upload: True; --no-index (index=False) sends nothing",
        )


def _encode(
    encoder: Encoder, batch: PieceBatch, sources: Sequence[KnownVectors], log: EmbeddingLog | None, progress: Progress
) -> tuple[int, Encoded]:
    """The number of texts of a batch that were encoded, and the vectors of all."""
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
    # Texts of similar length are encoded together, so that little is padded.
    order = sorted(np.flatnonzero(missing).tolist(), key=lambda i: len(texts[i]))
    for first in range(0, len(order), ENCODED_AT_ONCE):
        some = order[first : first + ENCODED_AT_ONCE]
        vectors[some] = encoder.passages([texts[i] for i in some])
        check_vectors(vectors[some], encoder)
        if log is not None and keys is not None:
            log.append(keys[some], vectors[some])
        progress.advance(len(some), len(some))
    return len(order), Encoded(np.array(batch.ids, np.uint32), vectors, keys, np.array(batch.spans, np.uint32))
