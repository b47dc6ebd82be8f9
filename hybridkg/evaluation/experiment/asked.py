"""A query and how it is asked of each topic; travels to other processes."""

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

CHANGED = "has been changed while it was asked"
AGAIN = "run the experiment again, when nobody writes"


@dataclass(frozen=True)
class AskedSystem:
    """The query of a system.

    Args:
        system: name of the system.
        kb: path of the knowledge base.
        content: hash of what it held when the experiment began.
        text: the query.
        name: what to call it in errors.
        strategy: how to run it; None for the planner's choice.
        depth: rows at most.
        params: values for every topic.
        jobs: topics that are asked at once.
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
        """The query over the knowledge base, opened anew.

        Raises:
            StorageError: it holds something else by now.
            HybridkgError: it cannot be opened.
        """
        kb = KnowledgeBase.open(self.kb)
        if content_of(kb) != self.content:
            raise StorageError(f"the knowledge base {str(self.kb)!r} {CHANGED}", hint=AGAIN)
        return kb.prepare(self.text, name=self.name)

    def check(self, prepared: PreparedQuery, values: Mapping[str, str]) -> None:
        """Plans the query for one topic, without asking it.

        Raises:
            HybridkgError: it is no ranking, or its parameters, files or strategy are none.
        """
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
        """What the query says to a topic.

        Raises:
            HybridkgError: it fails; system and topic are named.
        """
        started = time.perf_counter()
        try:
            params = self._params(values)
            # With an event that nobody sets, Ctrl-C ends a query whatever it is at.
            result = prepared.query(params, limit=self.depth, strategy=self.strategy, cancel=Event())
            found = tuple(ranking(result))
            ms = round((time.perf_counter() - started) * 1e3, 3)
            plan = prepared.explain(params, limit=self.depth, strategy=self.strategy).to_json()
        except HybridkgError as e:
            e.message += f" (system {self.system}, topic {topic})"
            raise
        return TopicRanking(topic, found, Told(ms, result.strategy, shape(plan["operator"]), result.exact, self.jobs))

    def _params(self, values: Mapping[str, str]) -> dict[str, Any]:
        given = {name: value if name == TEXT else read_term(value) for name, value in values.items()}
        return {**given, **self.params}


def shape(operator: Mapping[str, Any]) -> str:
    """The names of an operator and of those below it.

    >>> shape({"name": "Slice", "children": [{"name": "Join", "children": [{"name": "A"}, {"name": "B"}]}]})
    'Slice(Join(A, B))'
    """
    below = ", ".join(shape(child) for child in operator.get("children", ()))
    return f"{operator['name']}({below})" if below else str(operator["name"])
