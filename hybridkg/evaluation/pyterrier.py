"""A hybridkg query as a transformer of PyTerrier: topics in, rankings out.

Where PyTerrier is installed it is one of its own, with `>>`, `%` and `pt.Experiment`; without it, `transform` works on
any DataFrame all the same. ir_datasets and PyTerrier name the columns: qid, query, docno, score, rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridkg.evaluation.experiment.frames import rows_of
from hybridkg.evaluation.experiment.spec import TEXT
from hybridkg.evaluation.ranking import DEPTH
from hybridkg.extras import needs_extra
from hybridkg.kb import KnowledgeBase
from hybridkg.query.parameters.bind import read_term
from hybridkg.results.formats.trec import ranking

if TYPE_CHECKING:
    import pandas as pd

try:
    from pyterrier import Transformer
except ModuleNotFoundError:
    Transformer = object

COLUMNS = ("qid", "query", "docno", "score", "rank")


class HybridQuery(Transformer):  # type: ignore[misc, unused-ignore]
    """Ranks the entities of a knowledge base for each topic.

    Args:
        kb: an open knowledge base, or the path of one.
        query: a HybridQL query in which `$text` stands for the text of a topic.
        params: values of its other variables. A column of the topics with the name of a variable goes before.
        depth: entities of a topic, at most.
        strategy: how to run it; default: the planner's choice.

    Raises:
        HybridkgError: the query is none, or there is no knowledge base.
    """

    def __init__(
        self,
        kb: KnowledgeBase | Path | str,
        query: str,
        params: Mapping[str, Any] | None = None,
        *,
        depth: int = DEPTH,
        strategy: str | None = None,
    ):
        super().__init__()
        self._kb = kb if isinstance(kb, KnowledgeBase) else KnowledgeBase.open(kb)
        self._prepared = self._kb.prepare(query)
        self._params, self._depth, self._strategy = dict(params or {}), depth, strategy

    def __repr__(self) -> str:
        return f"HybridQuery({self._prepared.text!r})"

    def transform(self, topics: pd.DataFrame) -> pd.DataFrame:
        """A row for each entity that is found, best first; a topic that nothing answers has no row.

        Args:
            topics: with the columns `qid` and `query`, and any for further variables.

        Returns:
            `qid`, `query`, `docno`, `score` and `rank`, from 0.

        Raises:
            ParameterError: a column is missing.
            HybridkgError: the query fails.
        """
        with needs_extra("pyterrier", "a DataFrame"):
            import pandas as pd

        own = [name for name in self._prepared.parameters if name != TEXT and name in topics.columns]
        found = []
        for topic, text, *values in rows_of(topics, "topics", "qid", "query", *own):
            given = {
                name: read_term(value) if isinstance(value, str) else value
                for name, value in zip(own, values, strict=True)
            }
            params = {**self._params, **given, **({TEXT: text} if TEXT in self._prepared.parameters else {})}
            result = self._prepared.query(params, limit=self._depth, strategy=self._strategy)
            found += [
                (str(topic), text, document, score, rank) for rank, (document, score) in enumerate(ranking(result))
            ]
        return pd.DataFrame(found, columns=list(COLUMNS)).astype({"score": float, "rank": int})
