"""The text index that lives in the knowledge base folder: memory-mapped postings, no server."""

from hybridkg.text.embedded.builder import EmbeddedTextBuilder
from hybridkg.text.embedded.index import EmbeddedTextIndex

__all__ = ["EmbeddedTextBuilder", "EmbeddedTextIndex"]
