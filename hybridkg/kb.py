"""The knowledge base: the one class that knows both the graph and the text.

`KnowledgeBase.query` is the way from query text to result: each of its lines
is one arrow of the design and one folder of the package.
"""

from __future__ import annotations

import copy
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.rules import rewrite
from hybridkg.errors import (
    HybridkgError,
    IndexCorruptError,
    LoadError,
    Source,
    StorageError,
    UnknownNameError,
    UserError,
)
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.operators.context import ExecutionContext
from hybridkg.planner.choose import PhysicalPlan, choose, with_limit
from hybridkg.planner.explain import Explanation
from hybridkg.query import ast
from hybridkg.query.advice import advise
from hybridkg.query.check import check
from hybridkg.query.parameter_files import with_parameter_files
from hybridkg.query.parameters import ParameterValue, bind
from hybridkg.query.parser import parse
from hybridkg.query.services import blamed, refuse_services
from hybridkg.rdf.batch import Solutions
from hybridkg.results.build import build_result, explained
from hybridkg.results.result_set import ResultSet
from hybridkg.schema import Schema, read_schema
from hybridkg.snapshot import Snapshot
from hybridkg.store.generations import Folder

if TYPE_CHECKING:
    import rdflib

    from hybridkg.entities.fields import Profile
    from hybridkg.parity import ParityReport

Parameters = Mapping[str, ParameterValue]

MOST_ROWS = 2**63 - 1
"""A greater limit means no more than this one: no store has as many rows."""


class KnowledgeBase:
    """A folder with a graph, its text index, and the text that is not in the graph.

    Safe to use from many threads. An open knowledge base answers from the state it opened, also while
    somebody else loads or indexes; `refresh` moves on to the newest.

    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "f.ttl").write_text('<http://e/f> <http://www.w3.org/2000/01/rdf-schema#label> "a red fish" .')
    >>> kb = KnowledgeBase.create(folder / "f.kb")
    >>> kb.load(folder / "f.ttl", index=True)["triples"]
    1
    >>> [str(row["f"]) for row in kb.query('SELECT ?f { ?f MATCH "fishes" AS ?s } RANK BY ?s')]
    ['http://e/f']
    """

    def __init__(self, folder: Folder):
        self._folder = folder
        self._snapshot, self._broken = _opened(folder)

    # --- opening -----------------------------------------------------------------

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """Makes an empty knowledge base in a folder that does not exist yet, or is empty.

        Raises:
            NotAKnowledgeBaseError: the folder holds something already.
        """
        return cls(Folder.create(Path(path)))

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Opens a knowledge base: its newest complete state, whatever happened to its writers.

        Raises:
            NotAKnowledgeBaseError: there is none at this path.
        """
        return cls(Folder.open(Path(path)))

    @staticmethod
    def remove(path: str | Path) -> list[str]:
        """Deletes a knowledge base with everything in it, and its indexes on a server.

        Returns:
            Indexes it used that stay there, because another folder has made them: this one was copied or moved.

        Raises:
            NotAKnowledgeBaseError: the path holds something else, which is left alone.
            TextServerError: the server of its text index does not answer; nothing has been deleted.
            LockedError: somebody is writing.
        """
        from hybridkg.pruning import remove

        return remove(Folder.open(Path(path)))

    @classmethod
    def temporary(cls, *inputs: Any, profile: str | Path | None = None, progress: Progress = SILENT) -> Temporary:
        """A knowledge base over RDF files or rdflib graphs, indexed, and deleted when its `with` block ends."""
        return Temporary(inputs, profile, progress)

    @property
    def snapshot(self) -> Snapshot:
        """The state that queries read.

        Raises:
            UserError: the knowledge base has been closed.
            IndexCorruptError: its text index cannot be read; `index` builds it again.
        """
        if self._broken is not None:
            raise self._broken
        if self._snapshot is None:
            raise UserError("this knowledge base has been closed", hint="open it again: KnowledgeBase.open(path)")
        return self._snapshot

    def close(self) -> None:
        """Lets go of the files, so that a writer can remove an old state; `with KnowledgeBase.open(path) as kb:`."""
        self._snapshot = self._broken = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def refresh(self) -> None:
        """Answers from the newest state from now on; queries that are running finish on the old one."""
        self._snapshot, self._broken = _opened(self._folder)

    # --- reading -----------------------------------------------------------------

    def query(
        self,
        text: str,
        params: Parameters | None = None,
        *,
        limit: int | None = None,
        strategy: str | None = None,
        name: str = "query",
    ) -> ResultSet:
        """Answers a HybridQL query.

        Args:
            text: the query.
            params: values of its variables: rdflib terms, strings, numbers ...; a list binds like VALUES.
            limit: rows wanted at most, beside the query's own LIMIT.
            strategy: a name of STRATEGIES; default: the best that applies.
            name: what to call the text in errors.

        Raises:
            HybridkgError: with the place in the query, what is wrong and what to do.
        """
        try:
            snapshot = self.snapshot
            limit = _checked(limit, strategy)
            written, query, plan = planned(
                text, params, limit, strategy, name, folder=self._folder.path, services=self._services
            )
            if query.explain:
                return explained(self._explanation(snapshot, query, plan, analyze=query.explain == "analyze"))
            context = snapshot.context()
            solutions = _run(context, query, plan)
            given = {name.lstrip("?$") for name in params or ()}
            found = [*advise(written, given), *snapshot.advisor.advise(query, context.query_strings)]
            warnings = sorted(found, key=lambda warning: warning.span.start if warning.span else 0)
            return build_result(
                query,
                plan.logical,
                solutions,
                context=context,
                strategy=plan.strategy,
                limit=limit,
                generation=snapshot.generation.name,
                behind=snapshot.generation.behind(),
                warnings=tuple(warning.at(Source(name, text)) for warning in warnings),
            )
        except HybridkgError as e:
            raise e.at(Source(name, text)) from e.__cause__

    def explain(
        self,
        text: str,
        params: Parameters | None = None,
        *,
        limit: int | None = None,
        strategy: str | None = None,
        analyze: bool = False,
        name: str = "query",
    ) -> Explanation:
        """How a query would be run; with `analyze`, runs it and adds actual rows and times. Print it to read it."""
        try:
            limit = _checked(limit, strategy)
            _, query, plan = planned(
                text, params, limit, strategy, name, folder=self._folder.path, services=self._services
            )
            return self._explanation(self.snapshot, query, plan, analyze=analyze or query.explain == "analyze")
        except HybridkgError as e:
            raise e.at(Source(name, text)) from e.__cause__

    def parity(
        self,
        queries: Mapping[str, str],
        *,
        model: str | None = None,
        against: str | None = None,
        progress: Progress = SILENT,
    ) -> ParityReport:
        """Runs queries on this index and on one of another text engine that is built for the purpose, then removed.

        Args:
            queries: query texts by name.
            model: ranking model that every MATCH gets in place of its own.
            against: name of the other engine; default: `elasticsearch`, or `embedded` where this one is not.
            progress: told how far the work is.

        Raises:
            IndexMissingError: there is no index, or it is older than the graph.
            HybridkgError: a text is no query, or the other index cannot be built.
        """
        from hybridkg.parity import compare_engines

        def ask(state: Snapshot, text: str, name: str) -> ResultSet:
            other = copy.copy(self)
            other._snapshot = state
            return other.query(text, name=name)

        return compare_engines(self._folder, self.snapshot, queries, ask, progress, model=model, against=against)

    @property
    def _services(self) -> bool:
        return self._folder.config.service == "allow"

    @staticmethod
    def _explanation(snapshot: Snapshot, query: ast.Query, plan: PhysicalPlan, *, analyze: bool) -> Explanation:
        actuals = None
        if analyze:
            context = snapshot.context()
            _run(context, query, plan)
            actuals = context.actuals
        return Explanation(plan, snapshot.text, actuals, query.prefixes)

    def stats(self) -> dict[str, Any]:
        """What the knowledge base holds: counts, fields, sizes in bytes."""
        from hybridkg.writing import synonyms_state

        return self.snapshot.stats() | synonyms_state(self._folder, self.snapshot.generation.path / "text")

    def schema(self) -> Schema:
        """The classes and predicates of what a query sees outside GRAPH, with counts by IRI, most frequent first."""
        return read_schema(self.snapshot.store)

    def graph(self) -> rdflib.Graph:
        """The graph of the open state as an rdflib Graph that can only be read; it asks the store as it is asked."""
        from hybridkg.store.rdflib_view import read_only_graph

        return read_only_graph(self.snapshot.store, hold=self.snapshot.generation)

    def verify(self) -> int:
        """Reads every file of the open state and compares its checksum; returns how many there are.

        Raises:
            CorruptError: one differs.
        """
        return self.snapshot.generation.verify()

    def _chosen_profile(self, name_or_path: str | Path | None) -> Profile:
        from hybridkg.entities.profile_reader import load_profile

        return load_profile(str(name_or_path or self._folder.config.profile))

    def profile(self, name_or_path: str | Path | None = None) -> Profile:
        """The profile that `index` would use: the one given, else the one in kb.toml; documents' fields included."""
        profile = self._chosen_profile(name_or_path)
        documents = self.snapshot.documents
        return profile.with_documents(documents.fields()) if documents else profile

    # --- writing -----------------------------------------------------------------

    def load(
        self,
        *inputs: str | Path | rdflib.Graph,
        text: str | Path | Sequence[str | Path] = (),
        index: bool = False,
        profile: str | Path | None = None,
        progress: Progress = SILENT,
    ) -> dict[str, Any]:
        """Adds RDF files, rdflib graphs and text documents: all of them, or nothing.

        Args:
            inputs: files of any supported format, or rdflib graphs.
            text: files of text documents that are not in the graph.
            index: build the text index in the same step; otherwise it is behind until the next `index`.
            profile: a name or a Turtle file, for the index.
            progress: told how far the work is.

        Returns:
            Counts: statements read, triples new, documents, and `index` with those of `index()`.

        Raises:
            LoadError: nothing is given, or an input is malformed; names the file and the line.
            LockedError: somebody else is writing.
        """
        from hybridkg.writing import load, publish

        texts = [text] if isinstance(text, str | Path) else text
        if not inputs and not texts:
            raise LoadError("nothing to load", hint="give RDF files, rdflib graphs, or text=; index() builds the index")
        chosen = self._chosen_profile(profile) if index else None
        counts = load(self._folder, inputs, [Path(path) for path in texts], chosen, progress)
        self._move_on(profile)
        if index:
            publish(self._folder)
        return counts

    def index(self, profile: str | Path | None = None, *, progress: Progress = SILENT) -> dict[str, Any]:
        """Builds the text index anew from the graph and the documents.

        Args:
            profile: a name or a Turtle file; it becomes the profile of the knowledge base.
            progress: told how far the work is.

        Returns:
            Counts: entities, fields, terms, postings, tokens, text_bytes; and `notes`, sentences about what of
            the profile found nothing.

        Raises:
            ProfileError: the profile is wrong; names the file and what to mend.
            LockedError: somebody else is writing.
        """
        from hybridkg.writing import index, publish

        counts = index(self._folder, self._chosen_profile(profile), progress)
        self._move_on(profile)
        publish(self._folder)
        return counts

    def prune(self, remove: bool = False, *, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """What the text engine keeps outside the folder and no state on disk needs: leftovers of broken builds.

        Args:
            remove: whether to remove it, or only to tell.
            names: only those of these names.

        Returns:
            For each index `engine`, `name`, and what else is known of it.

        Raises:
            LockedError: somebody is writing.
            TextServerError: the server does not answer.
        """
        from hybridkg.pruning import prune

        return prune(self._folder, remove=remove, names=names)

    def _move_on(self, profile: str | Path | None) -> None:
        """Keeps the profile of what has been written, and opens it."""
        self._keep_profile(profile)
        self.refresh()

    def _keep_profile(self, name_or_path: str | Path | None) -> None:
        """Writes a profile that was asked for into kb.toml, so that the next index uses it as well."""
        if name_or_path is None:
            return
        path = Path(name_or_path)
        chosen = str(path.resolve()) if path.is_file() else str(name_or_path)
        self._folder.configure(replace(self._folder.config, profile=chosen))


def _opened(folder: Folder) -> tuple[Snapshot | None, IndexCorruptError | None]:
    """The state to read, or why its text index cannot be read, which must not keep a writer from building it again."""
    try:
        return Snapshot.open(folder), None
    except IndexCorruptError as e:
        return None, e


def planned(
    text: str,
    params: Parameters | None,
    limit: int | None,
    strategy: str | None,
    name: str,
    *,
    folder: Path | None = None,
    services: bool = False,
) -> tuple[ast.Query, ast.Query, PhysicalPlan]:
    """From query text to the query as written, the same with its parameters in place, and the plan that will run.

    `folder` is that of the knowledge base, with files of model parameters; `services` allows it to ask other endpoints.
    """
    if not isinstance(text, str):
        raise UserError(f"a query is a text, not {type(text).__name__!r}")
    written = parse(text, name=name)
    check(written)
    if not services:
        refuse_services(written)
    query = with_parameter_files(bind(written, {} if params is None else params), folder)
    logical = with_limit(rewrite(from_ast(query)), limit)
    return written, query, choose(logical, strategy)


def _run(context: ExecutionContext, query: ast.Query, plan: PhysicalPlan) -> Solutions:
    try:
        return context.run_plan(plan.root)
    except StorageError as e:
        raise blamed(e, query) from e.__cause__


def _checked(limit: object, strategy: object) -> int | None:
    """The limit that a query can have; the strategy only has to be a name, which its registry looks up."""
    if strategy is not None and not isinstance(strategy, str):
        raise UnknownNameError(f"no strategy {strategy!r}; known: {', '.join(STRATEGIES.names())}")
    if limit is None:
        return None
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise UserError(
            f"the limit is a whole number of rows, 0 or more, not {limit!r}", hint="None, the default, gives all rows"
        )
    return min(limit, MOST_ROWS)


class Temporary:
    """`with KnowledgeBase.temporary("films.ttl") as kb: ...`; the folder is deleted at the end."""

    def __init__(self, inputs: Sequence[Any], profile: str | Path | None, progress: Progress):
        self._inputs, self._profile, self._progress = inputs, profile, progress
        self._folder = ""

    def __enter__(self) -> KnowledgeBase:
        self._folder = tempfile.mkdtemp(prefix="hybridkg-")
        try:
            kb = KnowledgeBase.create(Path(self._folder) / "kb")
            kb.load(*self._inputs, index=True, profile=self._profile, progress=self._progress)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        return kb

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
