"""A HybridQL query as a PyTerrier transformer from topics to rankings.

It supports `>>`, `%` and `pt.Experiment` if PyTerrier is installed; `transform` works on DataFrames without it. The
columns are those of ir_datasets and PyTerrier: qid, query, docno, score, rank.
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
    """The transformer that ranks the entities of a knowledge base for each topic.

    Args:
        kb: an open knowledge base, or the path of one.
        query: a HybridQL query; `$text` is the text of a topic.
        params: values of its other parameters; a column of the topics with the parameter's name takes precedence.
        depth: maximum entities of a topic.
        strategy: default: the planner's choice.

    Raises:
        HybridkgError: the query is invalid, or there is no knowledge base.
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
        """A row for each ranked entity, best first: `qid`, `query`, `docno`, `score` and `rank` (from 0).

        Args:
            topics: has the columns `qid` and `query`, and may have columns of other parameters.

        Raises:
            ParameterError: a column is missing.
            HybridkgError: the query fails.
        """
        with needs_extra("pyterrier", "a DataFrame"):
            import pandas as pd

        own = [name for name in self._prepared.parameters if name != TEXT and name in topics.columns]
        rows = []
        for topic, text, *values in rows_of(topics, "topics", "qid", "query", *own):
            of_topic = {
                name: read_term(value) if isinstance(value, str) else value
                for name, value in zip(own, values, strict=True)
            }
            params = {**self._params, **of_topic, **({TEXT: text} if TEXT in self._prepared.parameters else {})}
            result = self._prepared.query(params, limit=self._depth, strategy=self._strategy)
            rows += [
                (str(topic), text, document, score, rank) for rank, (document, score) in enumerate(ranking(result))
            ]
        return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"score": float, "rank": int})
