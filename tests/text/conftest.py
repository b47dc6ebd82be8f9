from __future__ import annotations

import itertools

import pytest

from hybridkg.interfaces.text_index import IndexedField
from hybridkg.text.embedded import EmbeddedTextBuilder, EmbeddedTextIndex


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
def kernel(tmp_path_factory):
    """The compiled BM25F kernel, its cache in a folder of this session unless the user's is already in use."""
    from numba.core import config

    from hybridkg.text.models.bm25f import KERNEL

    before, config.CACHE_DIR = config.CACHE_DIR, config.CACHE_DIR or str(tmp_path_factory.mktemp("numba"))
    try:
        module = KERNEL.load()
    finally:
        config.CACHE_DIR = before
    assert module is not None
    return module
