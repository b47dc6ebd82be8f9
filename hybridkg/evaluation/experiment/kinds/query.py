"""A system that is a query: each topic gives its `$text`, and each row its first entity."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from hybridkg.errors import HybridkgError, ParameterError, StorageError
from hybridkg.evaluation.experiment.answers import Answer, Answers, Told
from hybridkg.evaluation.experiment.collection import Collection, content_of, file_hash
from hybridkg.evaluation.experiment.kinds import Refuse
from hybridkg.evaluation.experiment.spec import TEXT, SystemSpec
from hybridkg.interfaces.progress import Progress
from hybridkg.kb import KnowledgeBase
from hybridkg.model_parameters import find_file, folders_of
from hybridkg.prepared import PreparedQuery
from hybridkg.query.parameters import read_term
from hybridkg.results.trec import ranking

FILE = re.compile(r"@([^\s,;()\"'<>]+)")
"""How a query names a file of parameters or of links."""


@dataclass(frozen=True)
class Asked:
    """A query and how it is asked; travels to other processes.

    Args:
        kb: path of the knowledge base.
        text: the query.
        name: what to call it in errors.
        strategy: how to run it; None for the planner's choice.
        depth: rows at most.
        params: values for every topic.
    """

    kb: Path
    text: str
    name: str
    strategy: str | None
    depth: int
    params: Mapping[str, Any] = field(default_factory=dict)

    def answer(self, prepared: PreparedQuery, topic: str, values: Mapping[str, str]) -> Answer:
        """What the query says to a topic.

        Raises:
            HybridkgError: it fails; the topic is named.
        """
        with _at(topic):
            started = time.perf_counter()
            result = prepared.query(self._given(values), limit=self.depth, strategy=self.strategy)
            found = tuple(ranking(result))
            spent = time.perf_counter() - started
        plan = self.plan(prepared, topic, values)
        return Answer(topic, found, Told(round(spent * 1e3, 3), result.strategy, plan, result.exact))

    def plan(self, prepared: PreparedQuery, topic: str, values: Mapping[str, str]) -> str:
        """The operators that would run it.

        Raises:
            HybridkgError: it cannot be run; the topic is named.
        """
        with _at(topic):
            explained = prepared.explain(self._given(values), limit=self.depth, strategy=self.strategy)
        return shape(explained.to_json()["operator"])

    def _given(self, values: Mapping[str, str]) -> dict[str, Any]:
        own = {name: read_term(value) if name != TEXT else value for name, value in values.items()}
        return {**own, **self.params}


@contextmanager
def _at(topic: str) -> Iterator[None]:
    try:
        yield
    except HybridkgError as e:
        e.message += f" (topic {topic})"
        raise


def shape(operator: Mapping[str, Any]) -> str:
    """The names of an operator and of those below it.

    >>> shape({"name": "Slice", "children": [{"name": "Join", "children": [{"name": "A"}, {"name": "B"}]}]})
    'Slice(Join(A, B))'
    """
    below = ", ".join(shape(child) for child in operator.get("children", ()))
    return f"{operator['name']}({below})" if below else str(operator["name"])


class QuerySystem:
    """A SystemKind. Answers come from one process, or from several that each open the knowledge base."""

    def __init__(self, spec: SystemSpec, collection: Collection):
        self._topics = collection.topics
        path = collection.path_of(spec.kb, spec.name)
        self._kb = collection.knowledge_base(path)
        self._asked = Asked(path, spec.value, spec.source or spec.name, spec.strategy, collection.depth, spec.params)
        self._prepared = self._kb.prepare(self._asked.text, name=self._asked.name)
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
            for topic, text in self._topics.texts.items()
        }

        for topic, own in islice(self._values.items(), 1):
            self._asked.plan(self._prepared, topic, own)  # a field that does not exist shows now, not in an hour

    @staticmethod
    def read(value: Any, refuse: Refuse) -> str:
        """As SystemKind has it."""
        if not isinstance(value, str):
            raise refuse(f"'query' must be a text, not {value!r}", "query")
        return value

    def depends_on(self) -> Any:
        """As SystemKind has it."""
        asked = self._asked
        folders = folders_of(asked.kb)
        named = {name: find_file(name, folders) for name in FILE.findall(asked.text)}
        files = {name: file_hash(path) for name, path in named.items() if path is not None}
        params = {name: repr(value) for name, value in asked.params.items()}
        return [content_of(self._kb), asked.text, params, asked.strategy, files, self._values]

    def answer(self, jobs: int, answers: Answers, progress: Progress) -> None:
        """As SystemKind has it."""
        todo = {topic: own for topic, own in self._values.items() if topic not in answers.found}
        progress.start(f"{len(self._values)} topics", len(self._values))
        progress.advance(len(self._values) - len(todo), 0)
        for answer in self._here(todo) if jobs == 1 or len(todo) < 2 else self._elsewhere(todo, min(jobs, len(todo))):
            answers.add(answer)
            progress.advance(1, 1)
        progress.done(len(self._values))

    def _here(self, todo: Mapping[str, Mapping[str, str]]) -> Iterator[Answer]:
        # The first question reads tables and kernels from the disk, which is no part of what a topic takes.
        for topic, values in islice(todo.items(), 1):
            self._asked.answer(self._prepared, topic, values)
        for topic, values in todo.items():
            yield self._asked.answer(self._prepared, topic, values)

    def _elsewhere(self, todo: Mapping[str, Mapping[str, str]], jobs: int) -> Iterator[Answer]:
        waiting = iter(todo.items())
        pool = ProcessPoolExecutor(jobs, get_context("spawn"), _open, (self._asked, next(iter(todo.items()))))
        try:
            running = {pool.submit(_ask, *item) for item in islice(waiting, 2 * jobs)}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
                running |= {pool.submit(_ask, *item) for item in islice(waiting, len(done))}
        except BrokenProcessPool as e:
            raise StorageError(
                f"a process that answered topics of {self._asked.name!r} has died", hint="out of memory? --jobs 1"
            ) from e
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


_at_work: dict[str, Any] = {}
"""What a process of its own works with."""


def _open(asked: Asked, warm: tuple[str, Mapping[str, str]]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the first process ends the others
    try:
        prepared = KnowledgeBase.open(asked.kb).prepare(asked.text, name=asked.name)
        _at_work.update(asked=asked, prepared=prepared)
        asked.answer(prepared, *warm)
    except HybridkgError:
        pass  # the question itself will tell


def _ask(topic: str, values: Mapping[str, str]) -> Answer:
    answer: Answer = _at_work["asked"].answer(_at_work["prepared"], topic, values)
    return answer
