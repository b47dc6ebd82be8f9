"""What RERANK asks of a reranker and gives it, and the rerankers by name. A new one is one file and one line here."""

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

    from hybridkg.interfaces.graph_store import GraphStore
    from hybridkg.interfaces.ranked_index import RankedIndex
    from hybridkg.interfaces.text_index import Scores
    from hybridkg.rdf.terms import Node

QUERY, ON_ERROR = "query", "on_error"
STOP, KEEP = "stop", "keep"


@dataclass(frozen=True)
class Setting:
    """An argument of `USING reranker(name=value)`.

    Args:
        default: what it is unless the query says otherwise; its type is that of the value.
        least, most: of a number.
        whole: whether a number must be whole.
        words: what a text may be; empty for any.
        note: what it is, in a few words.
    """

    default: str | float
    least: float = 0.0
    most: float = float("inf")
    whole: bool = False
    words: tuple[str, ...] = ()
    note: str = ""


COMMON: Mapping[str, Setting] = {
    QUERY: Setting("", note="what is looked for; default: the text of the MATCH or NEAR"),
    ON_ERROR: Setting(STOP, words=(STOP, KEEP), note="keep: the earlier order, and a warning"),
}
"""Arguments that every reranker takes; RERANK itself sees to them."""


@dataclass(frozen=True, slots=True)
class RerankingSettings:
    """The table `[reranking]`: the server that the reranker `llm` asks. Its key is in the environment
    (hybridkg.remote.model_server), never here.

    Args:
        url: of an OpenAI-compatible interface, up to and with its version: `http://127.0.0.1:8080/v1`.
        timeout: seconds that one request may take.
        per_minute: requests at most; 0 for no limit.
    """

    url: str = OPENAI_URL
    timeout: float = 60.0
    per_minute: int = 0


@dataclass(frozen=True)
class RerankPlace:
    """What a knowledge base gives a reranker to work with.

    Args:
        folders: where the files that a query names are looked for.
        server: what `llm` asks.
    """

    folders: tuple[Path, ...] = (Path(),)
    server: RerankingSettings = field(default_factory=RerankingSettings)


@dataclass(frozen=True, eq=False)
class RerankCandidates:
    """The first n rows: n distinct pairs of entity and query, in their earlier order.

    Args:
        nodes: the entities; one that is asked about with two queries is there twice.
        queries: what each is looked for; empty where the query has no text.
        scores: float64[n] by name, as `Row.scores` has them; NaN where a row has none.
        ids: int64[n] of the NodeTable; -1 for an entity that the indexes do not know.
    """

    nodes: tuple[Node, ...]
    queries: tuple[str, ...]
    scores: Mapping[str, Scores]
    ids: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What a reranker may ask about the candidates.

    Args:
        store: the graph.
        text: the indexes; None before the first.
        texts: (field, text, language) of each of some distinct entities, in the order of the profile.
        check: raises when the query is over its time; to be called between two pieces of work.
    """

    store: GraphStore
    text: RankedIndex | None
    texts: Callable[[Sequence[Node], Sequence[str]], list[list[tuple[str, str, str]]]]
    check: Callable[[], None]

    def running_texts(self, nodes: Sequence[Node], fields: Sequence[str], most: int) -> list[str]:
        """Each entity as running text, one line for each value.

        Args:
            nodes: may repeat.
            fields: names of the profile; empty for all.
            most: characters, at which a text ends.

        Raises:
            UnknownNameError: no field of that name.
        """
        distinct = list(dict.fromkeys(nodes))
        found = self.texts(distinct, fields)
        lines = ["\n".join(text for _, text, _ in own)[:most] for own in found]
        by_node = dict(zip(distinct, lines, strict=True))
        return [by_node[node] for node in nodes]


@dataclass(frozen=True, eq=False)
class Reranked:
    """What a reranker says.

    Args:
        scores: float64[n], finite, the better the higher; equal ones keep their earlier order.
        parts: name -> float64[n], for rerankers that can say what their scores are made of: they add up to them.
        note: what it took, in words; empty where there is nothing to tell.
    """

    scores: Scores
    parts: Mapping[str, Scores] = field(default_factory=dict)
    note: str = ""


class Reranker(Protocol):
    """Scores candidates. Made once for each run; keeps no state between runs."""

    settings: ClassVar[Mapping[str, Setting]]
    """Arguments beside COMMON."""

    takes_file: ClassVar[bool]
    """Whether `USING name(@file)` must name one."""

    needs_query: ClassVar[bool]
    """Whether it can say nothing without a text."""

    repeatable: ClassVar[bool]
    """Whether it gives the same scores to the same candidates, so that an answer stays exact."""

    most: ClassVar[int]
    """Candidates that it takes."""

    def __init__(self, values: Mapping[str, str | float], file: str, place: RerankPlace):
        """Checks all that can be checked before anything runs.

        Args:
            values: of `settings`, each there and in its range.
            file: named in the query, without `@`; empty for none.
            place: of the knowledge base.

        Raises:
            HybridkgError: the file, the model or the server cannot be used; says why.
        """

    @property
    def name(self) -> str:
        """Kind and model, for people: `features (weights.json)`."""

    def rerank(self, candidates: RerankCandidates, around: Surroundings) -> Reranked:
        """Scores for all candidates, of which there is at least one.

        Raises:
            RerankerError, ModelServerError: it cannot; nothing has been reordered.
        """


RERANKERS = Registry(
    "reranker",
    "hybridkg.rerankers",
    {
        "cross_encoder": "hybridkg.ranking.rerankers.cross_encoder:CrossEncoderReranker",
        "features": "hybridkg.ranking.rerankers.features:FeatureReranker",
        "llm": "hybridkg.ranking.rerankers.llm:LanguageModelReranker",
    },
    extra="models",
)
"""Classes of Reranker."""
