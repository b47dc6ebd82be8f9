"""hybridkg: one declarative query over a knowledge graph and its text.

    from hybridkg import KnowledgeBase

    kb = KnowledgeBase.open("papers.kb")
    for row in kb.query('SELECT ?p { ?p MATCH "machine translation" AS ?s } RANK BY ?s LIMIT 3'):
        print(row["p"], row.scores["s"])

Public names: KnowledgeBase, Transaction and PreparedQuery; their results Result, ResultSet, ResultStream, Row, Why,
SearchResult, Hit, Explanation, UpdateReport and UpdateExplanation; Profile, SuggestedProfile and Schema;
guess_mapping and its TableMapping; every error
(hybridkg.errors). They are imported at their first use, so that `import hybridkg` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybridkg.entities.profile.profile import Profile
    from hybridkg.errors import (
        ConfigError,
        CorruptError,
        DriftWarning,
        ElsewhereWarning,
        EncoderError,
        EndpointError,
        EvaluationWarning,
        HybridkgError,
        IndexCorruptError,
        IndexMissingError,
        LoadError,
        LoadWarning,
        LockedError,
        MissingExtraError,
        ModelServerError,
        NewRowsWarning,
        NotAKnowledgeBaseError,
        NotAnIriError,
        OverloadedError,
        ParameterError,
        PrefixWarning,
        ProfileError,
        QueryCheckError,
        QueryLimitError,
        QueryStoppedError,
        QuerySyntaxError,
        QueryWarning,
        RerankerError,
        ServiceError,
        StorageError,
        TextQueryError,
        TextServerError,
        TrainingError,
        UndeclaredPrefixError,
        UnknownFieldError,
        UnknownNameError,
        UnsupportedQueryError,
        UserError,
        VectorQueryError,
    )
    from hybridkg.graph.schema import Schema
    from hybridkg.interfaces.progress import Progress
    from hybridkg.kb.knowledge_base import KnowledgeBase
    from hybridkg.kb.prepared import PreparedQuery
    from hybridkg.kb.profile_suggestion.suggest import SuggestedProfile
    from hybridkg.kb.search.result import Hit, SearchResult
    from hybridkg.kb.write.explaining import UpdateExplanation
    from hybridkg.kb.write.open_transaction import Transaction
    from hybridkg.kb.write.reports import (
        IndexReport,
        LoadReport,
        MigrateReport,
        MovedIndex,
        UnusedIndex,
        UpdateReport,
        VectorReport,
    )
    from hybridkg.planner.explain import Explanation
    from hybridkg.results.result import Result, Row
    from hybridkg.results.result_set import ResultSet
    from hybridkg.results.result_stream import ResultStream
    from hybridkg.results.why import MatchExplanation, Why
    from hybridkg.tables.inputs import guess_mapping
    from hybridkg.tables.mapping import TableMapping

__all__ = [
    "ConfigError",
    "CorruptError",
    "DescribedWarning",
    "DriftWarning",
    "ElsewhereWarning",
    "EncoderError",
    "EndpointError",
    "EvaluationWarning",
    "Explanation",
    "Hit",
    "HybridkgError",
    "IndexCorruptError",
    "IndexMissingError",
    "IndexReport",
    "KnowledgeBase",
    "LoadError",
    "LoadReport",
    "LoadWarning",
    "LockedError",
    "MatchExplanation",
    "MigrateReport",
    "MissingExtraError",
    "ModelServerError",
    "MovedIndex",
    "NewRowsWarning",
    "NotAKnowledgeBaseError",
    "NotAnIriError",
    "OverloadedError",
    "ParameterError",
    "PrefixWarning",
    "PreparedQuery",
    "Profile",
    "ProfileError",
    "Progress",
    "QueryCheckError",
    "QueryLimitError",
    "QueryStoppedError",
    "QuerySyntaxError",
    "QueryWarning",
    "RerankerError",
    "Result",
    "ResultSet",
    "ResultStream",
    "Row",
    "Schema",
    "SearchResult",
    "ServiceError",
    "StorageError",
    "SuggestedProfile",
    "TableMapping",
    "TextQueryError",
    "TextServerError",
    "TrainingError",
    "Transaction",
    "UndeclaredPrefixError",
    "UnknownFieldError",
    "UnknownNameError",
    "UnsupportedQueryError",
    "UnusedIndex",
    "UpdateExplanation",
    "UpdateReport",
    "UserError",
    "VectorQueryError",
    "VectorReport",
    "Why",
    "__version__",
    "guess_mapping",
]
__version__ = "0.1.0"

_HOMES = {
    "Profile": "hybridkg.entities.profile.profile",
    "Progress": "hybridkg.interfaces.progress",
    "KnowledgeBase": "hybridkg.kb.knowledge_base",
    "PreparedQuery": "hybridkg.kb.prepared",
    "Hit": "hybridkg.kb.search.result",
    "SearchResult": "hybridkg.kb.search.result",
    "SuggestedProfile": "hybridkg.kb.profile_suggestion.suggest",
    "Explanation": "hybridkg.planner.explain",
    "Transaction": "hybridkg.kb.write.open_transaction",
    "UpdateExplanation": "hybridkg.kb.write.explaining",
    "UpdateReport": "hybridkg.kb.write.reports",
    "IndexReport": "hybridkg.kb.write.reports",
    "LoadReport": "hybridkg.kb.write.reports",
    "MigrateReport": "hybridkg.kb.write.reports",
    "MovedIndex": "hybridkg.kb.write.reports",
    "UnusedIndex": "hybridkg.kb.write.reports",
    "VectorReport": "hybridkg.kb.write.reports",
    "ResultSet": "hybridkg.results.result_set",
    "Result": "hybridkg.results.result",
    "ResultStream": "hybridkg.results.result_stream",
    "Row": "hybridkg.results.result",
    "MatchExplanation": "hybridkg.results.why",
    "Why": "hybridkg.results.why",
    "Schema": "hybridkg.graph.schema",
    "TableMapping": "hybridkg.tables.mapping",
    "guess_mapping": "hybridkg.tables.inputs",
}
"""Modules of the exported names that are not errors."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'hybridkg' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "hybridkg.errors")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
