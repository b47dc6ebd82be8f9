"""A query among the best of another system: `within = { of = "ada-002", top = 50, query = "..." }`.

Only the first `top` documents of the other system are ranked, by the scores of the query over the whole knowledge base;
those that the query does not find follow in their earlier order, with scores below. The time of a topic is that of the
whole query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hybridkg.errors import ConfigError
from hybridkg.evaluation.experiment.answers import Answers, TopicRanking
from hybridkg.evaluation.experiment.collection import Collection, run_hash
from hybridkg.evaluation.experiment.kinds import Refuse
from hybridkg.evaluation.experiment.kinds.query import QuerySystem
from hybridkg.evaluation.experiment.spec import SystemSpec
from hybridkg.evaluation.run import Run
from hybridkg.interfaces.progress import Progress
from hybridkg.operators.context import MAX_ROWS
from hybridkg.registry import did_you_mean

KEYS = ("of", "top", "query")


class WithinSystem(QuerySystem):
    """A SystemKind over the run of an earlier system of the experiment."""

    def __init__(self, spec: SystemSpec, collection: Collection):
        value = spec.value
        before = collection.systems[: collection.systems.index(spec.name)]
        self._of, self._top = str(value["of"]), int(value["top"])
        if self._of not in before:
            raise ConfigError(
                f"the system {spec.name!r} ranks within {self._of!r}, which is not a system before it that can be run; "
                f"those: {', '.join(before) or 'none'}",
                hint=did_you_mean(self._of, list(before)),
            )
        super().__init__(replace(spec, value=value["query"]), collection)
        self._query = replace(self._query, depth=MAX_ROWS)
        self._collection, self._name = collection, spec.name

    @staticmethod
    def read(value: Any, refuse: Refuse) -> Any:
        if not isinstance(value, dict) or set(value) != set(KEYS):
            raise refuse(f"'within' must be a table with {', '.join(KEYS)}", "within")
        top = value["top"]
        if isinstance(top, bool) or not isinstance(top, int) or not 1 <= top <= 10_000:
            raise refuse(f"'top' of within must be a whole number from 1 to 10,000, not {top!r}", "within")
        if not isinstance(value["of"], str) or not isinstance(value["query"], str):
            raise refuse("'of' and 'query' of within must be texts", "within")
        return value

    def depends_on(self) -> Any:
        return [super().depends_on(), self._of, self._top, run_hash(self._run())]

    def answer(self, jobs: int, answers: Answers, progress: Progress) -> None:
        super().answer(jobs, _Within(answers, self._run(), self._top), progress)  # type: ignore[arg-type]

    def _run(self) -> Run:
        run = self._collection.runs.get(self._of)
        if run is None:
            raise ConfigError(f"the system {self._name!r} ranks within {self._of!r}, which was not run")
        return run


class _Within:
    """Answers that keep what is within a run."""

    def __init__(self, answers: Answers, run: Run, top: int):
        self._answers, self._run, self._top = answers, run, top
        self.found = answers.found

    def add(self, answer: TopicRanking) -> None:
        first = self._run.documents(answer.topic)[: self._top]
        self._answers.add(replace(answer, ranking=within(answer.ranking, first)))


def within(ranking: Sequence[tuple[str, float]], documents: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Some documents by the scores of a ranking; the others behind them, in their order.

    >>> within([("c", 3.0), ("b", 2.0), ("a", 1.0)], ["a", "d", "c"])
    (('c', 3.0), ('a', 1.0), ('d', 0.0))
    """
    wanted = set(documents)
    found = [one for one in ranking if one[0] in wanted]
    known = {document for document, _ in found}
    last = found[-1][1] if found else 0.0
    rest = [document for document in documents if document not in known]
    return (*found, *((document, last - place) for place, document in enumerate(rest, 1)))
