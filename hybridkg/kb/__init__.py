"""The knowledge base: the facade `KnowledgeBase`, imported at its first use, and the parts below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybridkg.kb.knowledge_base import KnowledgeBase

__all__ = ["KnowledgeBase"]


def __getattr__(name: str) -> Any:
    if name != "KnowledgeBase":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hybridkg.kb.knowledge_base import KnowledgeBase

    return KnowledgeBase
