"""The reranker protocol of RERANK and the registry of rerankers. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from hybridkg.interfaces.encoder import OPENAI_URL
from hybridkg.registry import Registry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hybridkg.interfaces.graph_index import GraphIndex
    from hybridkg.interfaces.graph_store import GraphStore
    from hybridkg.interfaces.ranked_index import RankedIndex
    from hybridkg.interfaces.text_index import Scores
    from hybridkg.rdf.terms import NamedNode, Node

Parts = Callable[[int], Mapping[str, float]]

QUERY, ON_ERROR = "query", "on_error"
STOP, KEEP = "stop", "keep"

QUESTION_FEATURES = ("constraints", "paths 1", "paths 2", "paths 3")
"""Columns of `Surroundings.question` (hybridkg/asking/satisfied.py)."""


@dataclass(frozen=True)
class Setting:
    """An argument of `USING reranker(name=value)`.

    Args:
        default: the default; its type is that of the value.
        least, most: range of a number.
        whole: whether a number must be whole.
        words: the allowed texts; empty for any.
        note: its meaning, in a few words.
    """

    default: str | float
    least: float = 0.0
    most: float = float("inf")
    whole: bool = False
    words: tuple[str, ...] = ()
    note: str = ""


COMMON: Mapping[str, Setting] = {
    QUERY: Setting("", note="the query text; default: that of the MATCH or NEAR"),
    ON_ERROR: Setting(STOP, words=(STOP, KEEP), note="keep: the earlier order, and a warning"),
}
"""Arguments of every reranker, which RERANK itself handles."""


@dataclass(frozen=True, slots=True)
class RerankingSettings:
    """The table `[reranking]`: the server of the reranker `llm`, of `ask --parser llm` and of `synthesise --llm`. The
    API key is in the environment (hybridkg.remote.model_server), never here.

    Args:
        url: address of an OpenAI-compatible interface, up to and with its version: `http://127.0.0.1:8080/v1`.
        timeout: seconds per request.
        per_minute: maximum requests; 0 for no limit.
    """

    url: str = OPENAI_URL
    timeout: float = 60.0
    per_minute: int = 0


@dataclass(frozen=True)
class RerankPlace:
    """The environment of a reranker in a knowledge base.

    Args:
        folders: search path of the files that a query names.
        server: the server of `llm`.
    """

    folders: tuple[Path, ...] = (Path(),)
    server: RerankingSettings = field(default_factory=RerankingSettings)


@dataclass(frozen=True, eq=False)
class RerankCandidates:
    """The first n rows: n distinct pairs of entity and query, in their earlier order.

    Args:
        nodes: the entities; one with two queries occurs twice.
        queries: the query text of each; empty where the query has none.
        scores: float64[n] by name, as in `Row.scores`; NaN where a row has none.
        ids: int64[n] of the NodeTable; -1 for an entity that is not in the indexes.
    """

    nodes: tuple[Node, ...]
    queries: tuple[str, ...]
    scores: Mapping[str, Scores]
    ids: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The data sources of a reranker.

    Args:
        store: the graph.
        text: the indexes; None before the first.
        texts: (field, text, language) of each of some distinct entities, in the order of the profile.
        check: raises when the query is over its time; called between two pieces of work.
        graph: the projection; None without one.
        anchors: the nodes that a question names, most certain first; None where questions are not read.
        question: float64[ids, QUESTION_FEATURES] of a question and some ids, -1 for nodes without one; None where
            questions are not read.
    """

    store: GraphStore
    text: RankedIndex | None
    texts: Callable[[Sequence[Node], Sequence[str]], list[list[tuple[str, str, str]]]]
    check: Callable[[], None]
    graph: GraphIndex | None = None
    anchors: Callable[[str], Sequence[NamedNode]] | None = None
    question: Callable[[str, NDArray[np.int64]], NDArray[np.float64]] | None = None

    def running_texts(self, nodes: Sequence[Node], fields: Sequence[str], most: int) -> list[str]:
        """Each entity as running text, one line per value.

        Args:
            nodes: may repeat.
            fields: names of the profile; empty for all.
            most: maximum number of characters.

        Raises:
            UnknownNameError: no field of that name.
        """
        distinct = list(dict.fromkeys(nodes))
        texts = self.texts(distinct, fields)
        lines = ["\n".join(text for _, text, _ in own)[:most] for own in texts]
        by_node = dict(zip(distinct, lines, strict=True))
        return [by_node[node] for node in nodes]


@dataclass(frozen=True, eq=False)
class Reranked:
    """The result of a reranker.

    Args:
        scores: float64[n], finite, higher is better; ties keep their earlier order.
        parts: the summands of the score of a candidate, given its number, for rerankers that can explain them; called
            for the rows that are explained, so that candidates with different summands take no memory for each other's.
        note: its effort, in words; empty for none.
    """

    scores: Scores
    parts: Parts | None = None
    note: str = ""


def parts_of_columns(columns: Mapping[str, Scores]) -> Parts:
    """The parts of candidates that all have the same summands, given as name -> float64[n].

    >>> import numpy as np
    >>> parts_of_columns({"own": np.array([0.5, 0.25])})(1)
    {'own': 0.25}
    """
    return lambda number: {name: float(own[number]) for name, own in columns.items()}


class Reranker(Protocol):
    """Scores candidates. Constructed for each run; stateless between runs."""

    settings: ClassVar[Mapping[str, Setting]]
    """Arguments in addition to COMMON."""

    takes_file: ClassVar[bool]
    """Whether `USING name(@file)` must name a file."""

    needs_query: ClassVar[bool]
    """Whether it needs a query text."""

    repeatable: ClassVar[bool]
    """Whether it is deterministic, so that an answer stays exact."""

    most: ClassVar[int]
    """Maximum number of candidates."""

    def __init__(self, values: Mapping[str, str | float], file: str, place: RerankPlace):
        """Checks all that can be checked before a run.

        Args:
            values: of `settings`, complete and in range.
            file: named in the query, without `@`; empty for none.
            place: of the knowledge base.

        Raises:
            HybridkgError: the file, the model or the server cannot be used; says why.
        """

    @property
    def name(self) -> str:
        """Kind and model, for people: `features (weights.json)`."""

    def rerank(self, candidates: RerankCandidates, around: Surroundings) -> Reranked:
        """Scores all candidates, at least one.

        Raises:
            RerankerError, ModelServerError: it failed; nothing has been reordered.
        """


RERANKERS = Registry(
    "reranker",
    "hybridkg.rerankers",
    {
        "cross_encoder": "hybridkg.ranking.rerankers.cross_encoder:CrossEncoderReranker",
        "features": "hybridkg.ranking.rerankers.features:FeatureReranker",
        "graph": "hybridkg.ranking.rerankers.graph:GraphReranker",
        "late": "hybridkg.vector.late.reranker:LateReranker",
        "llm": "hybridkg.ranking.rerankers.llm:LanguageModelReranker",
        "pagerank": "hybridkg.ranking.rerankers.pagerank:PageRankReranker",
    },
    extra="models",
)
"""Classes of Reranker."""
