"""Optional packages: the extras of this distribution, and the guard around their imports.

A package of an extra is imported inside `with needs_extra(...)` only, so that a missing one is always error R202 with
its pip command; tests/architecture/test_optional_packages.py finds other imports.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec

from hybridkg.errors import MissingExtraError

EXTRAS: Mapping[str, Mapping[str, str]] = {
    "arrow": {"pyarrow": ">=18"},
    "elasticsearch": {"elasticsearch": ">=8.19,<9", "orjson": ">=3.10"},
    "eval": {"matplotlib": ">=3.8", "pandas": ">=2.2"},
    "hnsw": {"faiss-cpu": ">=1.15"},
    "models": {
        "huggingface-hub": ">=0.30",
        "onnx": ">=1.17",
        "onnxruntime": ">=1.20",
        "sentence-transformers": ">=5.2",
        "tokenizers": ">=0.21",
        "torch": ">=2.9",
    },
    "pyterrier": {"python-terrier": ">=1.0"},
    "tables": {"openpyxl": ">=3.1", "pyarrow": ">=18", "pyyaml": ">=6"},
}
"""Extra -> distribution -> supported versions, as in pyproject.toml."""

PURPOSES: Mapping[str, str] = {
    "arrow": "result.to_arrow()",
    "elasticsearch": "text and vectors in Elasticsearch",
    "eval": "DataFrames and plots",
    "hnsw": "the vector index hnsw",
    "models": "encoders and rerankers that are neural models",
    "pyterrier": "queries as transformers of PyTerrier",
    "tables": "Parquet, Excel, DataFrames and mappings in YARRRML",
}
"""Purpose of each extra, in a few words."""

MODULES: Mapping[str, str] = {
    "faiss": "hnsw",
    "huggingface_hub": "models",
    "matplotlib": "eval",
    "openpyxl": "tables",
    "pandas": "eval",
    "pyterrier": "pyterrier",
    "sentence_transformers": "models",
    "transformers": "models",
    "yaml": "tables",
    **{name: extra for extra in ("arrow", "elasticsearch") for name in EXTRAS[extra]},
    **dict.fromkeys(("onnx", "onnxruntime", "tokenizers", "torch"), "models"),
}
"""Top-level module -> the extra that installs it."""


def missing_extra(extra: str, feature: str, package: str | None) -> MissingExtraError:
    """The error R202 of a missing package.

    >>> print(missing_extra("hnsw", "vector index 'hnsw'", "faiss"))
    error[R202]: vector index 'hnsw' needs the package 'faiss'
      hint: pip install "hybridkg[hnsw]"
    """
    return MissingExtraError(f"{feature} needs the package {package!r}", hint=f'pip install "hybridkg[{extra}]"')


@contextmanager
def needs_extra(extra: str, feature: str) -> Iterator[None]:
    """A `with` block for imports of optional packages.

    Args:
        extra: a name of EXTRAS, with the packages that the block imports.
        feature: the beginning of the message: `plots`, `vector index 'hnsw'`.

    Raises:
        MissingExtraError: one of them, or a package that it needs itself, is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as e:
        if e.name is None or e.name.partition(".")[0] == __name__.partition(".")[0]:
            raise  # a module of hybridkg: a bug, not a missing package
        raise missing_extra(extra, feature, e.name.partition(".")[0]) from e


def check_extra(extra: str, feature: str, *modules: str) -> None:
    """Checks that optional packages are installed, without importing them. Raises MissingExtraError: one is missing."""
    for module in modules:
        if not is_installed(module):
            raise missing_extra(extra, feature, module)


def is_installed(module: str) -> bool:
    """Whether a top-level module exists; it is not imported."""
    if module in sys.modules:
        return sys.modules[module] is not None
    return find_spec(module) is not None
