"""The query of a system with its settings; picklable, so that worker processes can run it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from hybridkg.errors import HybridkgError, StorageError, UnsupportedQueryError
from hybridkg.evaluation.experiment.answers import Told, TopicRanking
from hybridkg.evaluation.experiment.collection import content_of
from hybridkg.evaluation.experiment.spec import TEXT
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.prepared import PreparedQuery
from hybridkg.query.parameters.bind import read_term
from hybridkg.results.formats.trec import ranking

CHANGED = "changed during the experiment"
AGAIN = "run the experiment again while nothing writes"


@dataclass(frozen=True)
class AskedSystem:
    """The query of a system.

    Args:
        content: hash of the knowledge base when the experiment began.
        name: name of the query in errors.
        strategy: None for the planner's choice.
        depth: maximum rows.
        params: values for every topic.
        jobs: topics that run in parallel.
    """

    system: str
    kb: Path
    content: str
    text: str
    name: str
    strategy: str | None
    depth: int
    params: Mapping[str, Any] = field(default_factory=dict)
    jobs: int = 1

    def open(self) -> PreparedQuery:
        """The query over the knowledge base, which this process opens for itself.

        Raises:
            StorageError: its content has changed.
            HybridkgError: it cannot be opened.
        """
        kb = KnowledgeBase.open(self.kb)
        if content_of(kb) != self.content:
            raise StorageError(f"the knowledge base {str(self.kb)!r} {CHANGED}", hint=AGAIN)
        return kb.prepare(self.text, name=self.name)

    def check(self, prepared: PreparedQuery, values: Mapping[str, str]) -> None:
        """Plans the query for one topic; HybridkgError if it is no ranking, or an argument of it is invalid."""
        try:
            if not prepared.ranks:
                raise UnsupportedQueryError(
                    "the query makes no ranking",
                    hint="SELECT ?e { ?e MATCH $text AS ?s } RANK BY ?s",
                )
            prepared.explain(self._params(values), limit=self.depth, strategy=self.strategy)
        except HybridkgError as e:
            e.message += f" (system {self.system})"
            raise

    def answer(self, prepared: PreparedQuery, topic: str, values: Mapping[str, str]) -> TopicRanking:
        """The answer of the query to a topic; HybridkgError, with the names of system and topic, if it fails."""
        started = time.perf_counter()
        try:
            params = self._params(values)
            # An event, even if never set, makes Ctrl-C stop a query at any point.
            result = prepared.query(params, limit=self.depth, strategy=self.strategy, cancel=Event())
            ranked = tuple(ranking(result))
            ms = round((time.perf_counter() - started) * 1e3, 3)
            plan = prepared.explain(params, limit=self.depth, strategy=self.strategy).to_json()
        except HybridkgError as e:
            e.message += f" (system {self.system}, topic {topic})"
            raise
        return TopicRanking(topic, ranked, Told(ms, result.strategy, shape(plan["operator"]), result.exact, self.jobs))

    def _params(self, values: Mapping[str, str]) -> dict[str, Any]:
        own = {name: value if name == TEXT else read_term(value) for name, value in values.items()}
        return {**own, **self.params}


def shape(operator: Mapping[str, Any]) -> str:
    """The operator tree as nested names.

    >>> shape({"name": "Slice", "children": [{"name": "Join", "children": [{"name": "A"}, {"name": "B"}]}]})
    'Slice(Join(A, B))'
    """
    below = ", ".join(shape(child) for child in operator.get("children", ()))
    return f"{operator['name']}({below})" if below else str(operator["name"])
