"""The embedded text index: memory-mapped postings in the knowledge base folder. The builder is imported lazily."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybridkg.text.index.reader import EmbeddedTextIndex

if TYPE_CHECKING:
    from hybridkg.text.index.build.builder import EmbeddedTextBuilder

__all__ = ["EmbeddedTextBuilder", "EmbeddedTextIndex"]


def __getattr__(name: str) -> Any:
    if name != "EmbeddedTextBuilder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hybridkg.text.index.build.builder import EmbeddedTextBuilder

    return EmbeddedTextBuilder
