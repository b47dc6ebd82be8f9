from __future__ import annotations

import itertools

import pytest

from hybridkg.interfaces.text_index import IndexedField
from hybridkg.text.index import EmbeddedTextBuilder, EmbeddedTextIndex
from hybridkg.text.index.codec import packing
from hybridkg.text.index.positions import phrases
from hybridkg.text.index.topk import topk
from hybridkg.text.models import additive


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """build({entity: {field: text or [text or (text, language), ...]}}, fields, ...) -> EmbeddedTextIndex."""
    root = tmp_path_factory.mktemp("indexes")
    numbers = itertools.count()

    def make(documents, fields=("title", "body"), *, n_nodes=None, rank=None, folder=None, **options):
        fields = [f if isinstance(f, IndexedField) else IndexedField(f, analyzer="unstemmed") for f in fields]
        if folder is None:
            folder = root / str(next(numbers))
            folder.mkdir()
        builder = EmbeddedTextBuilder(folder, fields, n_nodes or max(documents, default=0) + 1, **options)
        for entity, texts in documents.items():
            for number, field in enumerate(fields):
                values = texts.get(field.name, [])
                values = [values] if isinstance(values, str) else values
                builder.add(entity, number, [(v, "") if isinstance(v, str) else v for v in values])
        make.counts = builder.finish()
        make.folder = folder
        return EmbeddedTextIndex.open(folder, rank)

    return make


@pytest.fixture(scope="session")
def kernel():
    """The compiled kernel of the additive models; those that read postings are loaded too, from here on for all."""
    for lazy in (additive.KERNEL, packing.KERNEL, topk.BOUNDS, phrases.KERNEL):
        assert lazy.load() is not None
    return additive.KERNEL.load()
