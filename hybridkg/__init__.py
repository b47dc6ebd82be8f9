"""hybridkg: one declarative query over a knowledge graph and its text.

    from hybridkg import KnowledgeBase

    kb = KnowledgeBase.open("papers.kb")
    for row in kb.query('SELECT ?p { ?p MATCH "machine translation" AS ?s } RANK BY ?s LIMIT 3'):
        print(row["p"], row.scores["s"])

The engine is imported when it is first used, so that `import hybridkg` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybridkg.errors import HybridkgError
    from hybridkg.kb import KnowledgeBase
    from hybridkg.results.result_set import ResultSet, Row

__all__ = ["HybridkgError", "KnowledgeBase", "ResultSet", "Row", "__version__"]
__version__ = "0.1.0"

_HOMES = {
    "HybridkgError": "hybridkg.errors",
    "KnowledgeBase": "hybridkg.kb",
    "ResultSet": "hybridkg.results.result_set",
    "Row": "hybridkg.results.result_set",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hybridkg' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
