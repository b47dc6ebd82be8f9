"""A system defined by a query: the topic's text is `$text`, and the first entity of each row is ranked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from hybridkg.config.model_parameters import find_file, folders_of
from hybridkg.errors import ParameterError
from hybridkg.evaluation.experiment.answers import Answers, TopicRanking
from hybridkg.evaluation.experiment.asked import AskedSystem
from hybridkg.evaluation.experiment.collection import Collection, content_of, file_hash
from hybridkg.evaluation.experiment.kinds import Refuse
from hybridkg.evaluation.experiment.spec import TEXT, SystemSpec
from hybridkg.evaluation.experiment.workers import answers_at_once
from hybridkg.interfaces.progress import Progress

FILE = re.compile(r"@([^\s,;()\"'<>]+)")
"""A query's reference to a file of parameters or links."""


class QuerySystem:
    """A SystemKind that answers in this process, or in several that each open the knowledge base."""

    def __init__(self, spec: SystemSpec, collection: Collection):
        path = collection.path_of(spec.kb, spec.name)
        kb = collection.knowledge_base(path)
        self._query = AskedSystem(
            system=spec.name,
            kb=path,
            content=content_of(kb),
            text=spec.value,
            name=spec.source or spec.name,
            strategy=spec.strategy,
            depth=collection.depth,
            params=spec.params,
        )
        self._prepared = kb.prepare(spec.value, name=self._query.name)
        wanted = [name for name in self._prepared.parameters if name not in spec.params]
        if unknown := next((name for name in wanted if name != TEXT and name not in collection.values), ""):
            raise ParameterError(
                f"the query of {spec.name!r} needs a value for ${unknown}",
                hint=f"the same for all topics: params = {{ {unknown} = ... }}; for each topic: a table [values] with "
                f'{unknown} = "FILE"',
            )
        if not wanted:
            raise ParameterError(
                f"the query of {spec.name!r} has no ${TEXT}, so it answers every topic alike",
                hint=f"SELECT ?e {{ ?e MATCH ${TEXT} AS ?s }} RANK BY ?s",
            )
        self._values = {
            topic: {name: text if name == TEXT else collection.values[name].get(topic, "") for name in wanted}
            for topic, text in collection.topics.texts.items()
        }
        for values in islice(self._values.values(), 1):
            self._query.check(self._prepared, values)

    @staticmethod
    def read(value: Any, refuse: Refuse) -> str:
        if not isinstance(value, str):
            raise refuse(f"'query' must be a text, not {value!r}", "query")
        return value

    def depends_on(self) -> Any:
        query = self._query
        folders = folders_of(query.kb)
        named = {name: find_file(name, folders) for name in FILE.findall(query.text)}
        files = {name: file_hash(path) for name, path in named.items() if path is not None}
        params = {name: repr(value) for name, value in query.params.items()}
        return [query.content, query.text, params, query.strategy, files, self._values]

    def answer(self, jobs: int, answers: Answers, progress: Progress) -> None:
        todo = {topic: own for topic, own in self._values.items() if topic not in answers.found}
        progress.start(f"{len(self._values)} topics", len(self._values))
        progress.advance(len(self._values) - len(todo), 0)
        jobs = min(jobs, len(todo))
        for answer in self._in_process(todo) if jobs < 2 else answers_at_once(replace(self._query, jobs=jobs), todo):
            answers.add(answer)
            progress.advance(1, 1)
        progress.done(len(self._values))

    def _in_process(self, todo: Mapping[str, Mapping[str, str]]) -> Iterator[TopicRanking]:
        # The first query reads tables and kernels from the disk, which is not part of a topic's time.
        for topic, values in islice(todo.items(), 1):
            self._query.answer(self._prepared, topic, values)
        for topic, values in todo.items():
            yield self._query.answer(self._prepared, topic, values)
