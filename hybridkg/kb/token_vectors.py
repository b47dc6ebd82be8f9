"""Token vectors of the texts of a knowledge base, for the reranker `late`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybridkg.entities.compact_text import FORMS
from hybridkg.errors import IndexMissingError, UnknownNameError
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.reranker import Surroundings
from hybridkg.registry import did_you_mean

if TYPE_CHECKING:
    from hybridkg.kb.snapshot import Snapshot

AT_ONCE = 512
"""Entities whose texts are read at once."""


def store_token_vectors(
    snapshot: Snapshot, out: Path, model: str, fields: str, form: str, max_length: int, progress: Progress
) -> int:
    """Adds the vectors of all texts that a folder lacks; see `KnowledgeBase.token_vectors`."""
    from hybridkg.config.model_parameters import folders_of
    from hybridkg.vector.late.reranker import CHARACTERS, token_model
    from hybridkg.vector.late.token_store import store

    nodes, text = snapshot.nodes, snapshot.text
    if nodes is None or text is None:
        raise IndexMissingError("there is no text index", hint="build it: hybridkg index KB")
    if form not in FORMS:
        raise UnknownNameError(f"no form {form!r}; known: {', '.join(FORMS)}", hint=did_you_mean(form, list(FORMS)))
    names = [name.strip() for name in fields.split(",") if name.strip()]
    around = Surroundings(snapshot.store, snapshot.ranked, snapshot.texts, lambda: None)
    count = text.counts["entities"]

    def texts() -> Iterator[str]:
        for first in range(0, count, AT_ONCE):
            some = nodes.nodes(np.arange(first, min(first + AT_ONCE, count), dtype=np.uint32))
            for own in around.running_texts(some, names, CHARACTERS):
                if own:
                    yield FORMS[form](own)

    folders = folders_of(snapshot.generation.path.parent)
    chosen = token_model(model, folders, max_length, around)
    written = str(Path(model).expanduser().resolve()) if model.startswith((".", "~")) else model
    settings = {"fields": ", ".join(names), "form": form, "max_length": max_length, "model": written}
    return store(out, chosen, texts(), count, settings, progress)
