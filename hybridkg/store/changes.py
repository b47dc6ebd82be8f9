"""The effective change of a graph: the quads that an update really adds and removes, and its inverse.

Oxigraph's own `update` does not tell what it has changed. Here every quad is looked up first, in the store (4 us) or
many at once in the projection. So an update knows how much it has done, a failed request is undone without touching the
others of its commit, and a dry run prints what would happen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import cast

from pyoxigraph import BlankNode, NamedNode, Quad, Store

from hybridkg.errors import QueryLimitError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.rdf.stored import all_as_stored
from hybridkg.rdf.terms import RDF_LANG_STRING, XSD_STRING, GraphName, Literal, Term, Triple
from hybridkg.store.graph_files import damage_is_told
from hybridkg.store.quad_patterns import quads_of_pattern

BULK = 5_000
"""Quads from which Oxigraph's bulk loader adds them faster than a transaction does."""

BULK_BESIDE = 50_000
"""As BULK, in a thread beside the caller: the bulk loader holds the interpreter's lock, 50 ms for 10,000 quads, while a
transaction of twice the time lets the caller go on.
"""

MAX_CHANGED = 5_000_000
"""Quads that an operation compares, and that a commit changes, in memory; about 0.5 KB each."""

_AS_WRITTEN = (XSD_STRING, RDF_LANG_STRING)
"""Datatypes whose literals the store keeps as they are."""


@dataclass(frozen=True)
class GraphChange:
    """Quads that a graph has more, and quads that it has no more; no quad is in both."""

    added: tuple[Quad, ...]
    removed: tuple[Quad, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    def lines(self) -> Iterator[str]:
        """N-Quads behind `D` for what is removed, then behind `A` for what is added, each sorted."""
        for mark, quads in (("D", self.removed), ("A", self.added)):
            yield from sorted(f"{mark} {quad} ." for quad in quads)


@dataclass
class _Net:
    """The difference between now and an earlier state; the values of the mappings are not used."""

    added: dict[Quad, None] = field(default_factory=dict)
    removed: dict[Quad, None] = field(default_factory=dict)

    def add(self, quads: Iterable[Quad]) -> None:
        _move(quads, self.removed, self.added)

    def remove(self, quads: Iterable[Quad]) -> None:
        _move(quads, self.added, self.removed)

    def change(self) -> GraphChange:
        return GraphChange(tuple(self.added), tuple(self.removed))


def _move(quads: Iterable[Quad], opposite: dict[Quad, None], own: dict[Quad, None]) -> None:
    if not opposite and isinstance(quads, dict):
        own.update(quads)  # with the hashes that it has, which are half of the time
        return
    for quad in quads:
        if quad in opposite:
            del opposite[quad]
        else:
            own[quad] = None


class ChangingGraph:
    """A writable store that records its effective change, of the whole life of this object and of one request.

    A named graph exists while it has a triple, so one that becomes empty is gone. The first change is looked up in the
    `earlier` state and written in a thread, because the store takes 50 ms to open, most of it waiting for the disk, and
    the indexes follow without it.

    Args:
        open_store: opens the store for writing, at the first use and again after `close`.
        earlier: the quads of the store before any change; None where they can only be looked up in the store itself.
        may_have: those of some quads that `earlier` may have; sorts out many faster than one by one.
        progress: receives the progress of changes of at least BULK quads, without those that a thread writes.

    >>> p, one, two = NamedNode("a:p"), NamedNode("a:1"), NamedNode("a:2")
    >>> graph = ChangingGraph(Store)
    >>> graph.apply([], [Quad(one, p, two), Quad(one, p, two)])
    >>> graph.apply([Quad(one, p, two), Quad(two, p, two)], [Quad(one, p, one)])
    >>> list(graph.change().lines())
    ['A <a:1> <a:p> <a:1> .']
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        earlier: Container[Quad] | None = None,
        progress: Progress = SILENT,
        may_have: Callable[[Sequence[Quad]], Sequence[Quad]] | None = None,
    ):
        self._open_store, self._earlier, self._progress, self._may_have = open_store, earlier, progress, may_have
        self._store: Store | None = None
        self._first_write: Future[None] | None = None
        self._whole, self._request = _Net(), _Net()
        self.failure: BaseException | None = None
        """What ended a write in its middle, so that the change is not known any more."""

    @property
    def store(self) -> Store:
        """The store; whoever keeps a reference to it beyond `close` keeps it open.

        Raises what has ended the first write.
        """
        self._await_first_write()
        self._earlier = None
        return self._opened()

    def _opened(self) -> Store:
        """The store, also while it is written for the first time."""
        if self._store is None:
            self._store = self._open_store()
        return self._store

    def flush(self) -> None:
        """Writes everything to the files; others may read the store meanwhile. Raises what ended the first write."""
        self._await_first_write()
        if self._store is not None:
            with damage_is_told("writing the graph failed"):
                self._store.flush()

    def close(self) -> None:
        """Writes everything to the files, and closes the store."""
        self.flush()
        self._store = self._earlier = self._may_have = None

    def _await_first_write(self) -> None:
        """Waits for the thread of the first write."""
        writing = self._first_write
        if writing is not None:
            try:
                writing.result()
            except BaseException as e:
                self.failure = e
                raise
            finally:
                if writing.done():
                    self._first_write = None

    def begin_request(self) -> None:
        """Starts a request, which `undo_request` undoes."""
        self._request = _Net()

    def request_change(self) -> GraphChange:
        """The change since `begin_request`."""
        return self._request.change()

    def change(self) -> GraphChange:
        """The change since this object was made."""
        return self._whole.change()

    def size(self) -> tuple[int, int]:
        """Numbers of quads added and removed since this object was made."""
        return len(self._whole.added), len(self._whole.removed)

    def apply(self, removed: Iterable[Quad], added: Iterable[Quad]) -> None:
        """Removes quads, then adds others; what is so already does not count, nor what is removed and added again.

        Raises:
            QueryLimitError: more than MAX_CHANGED quads; nothing has changed.
        """
        adding = dict.fromkeys(quads_as_stored(_limited(added)))
        removing = dict.fromkeys(quads_as_stored(_limited(removed)))
        gone = self._known([quad for quad in removing if quad not in adding])
        known = frozenset(self._known(adding))
        new = [quad for quad in adding if quad not in known] if known else list(adding)
        if sum(self.size()) + len(gone) + len(new) > MAX_CHANGED:
            raise _too_many("this commit")
        self._change(gone, new)

    def _known(self, quads: Collection[Quad]) -> list[Quad]:
        """Those of some quads that the graph has; an exception keeps no reference to the store."""
        earlier = self._earlier
        if earlier is not None and self._may_have is not None:
            quads = self._may_have([*quads])
        told = _told("comparing with the graph", quads, self._progress)
        if earlier is not None:
            return [quad for quad in told if quad in earlier]
        return [quad for quad in told if quad in self.store]

    def clear(self, graph: GraphName) -> None:
        """Removes every quad of a graph, in one step of the store.

        Raises:
            QueryLimitError: more than MAX_CHANGED quads; nothing has changed.
        """
        gone = self.quads_of(graph)
        if sum(self.size()) + len(gone) > MAX_CHANGED:
            raise _too_many("this commit")
        self._change(gone, [], whole=graph)

    def undo_request(self) -> None:
        """Restores the state of `begin_request`."""
        change = self._request.change()
        self._change(change.added, change.removed)
        self.begin_request()

    def quads_of(self, graph: GraphName, limit: int | None = None) -> list[Quad]:
        """The quads of one graph, at most `limit` of them; without it, as many as `apply` refuses."""
        limit = MAX_CHANGED + 1 if limit is None else limit
        return list(islice(quads_of_pattern(self.store, None, None, None, graph), limit))

    def has_graph(self, graph: NamedNode | BlankNode) -> bool:
        """Whether a named graph has a triple."""
        return _has_graph(self.store, graph)

    def named_graphs(self) -> list[NamedNode | BlankNode]:
        """Names of the graphs that have a triple, sorted."""
        return sorted(self.store.named_graphs(), key=str)

    def _change(self, removed: Sequence[Quad], added: Sequence[Quad], whole: GraphName | None = None) -> None:
        """Writes a change and records it; after a failure neither is known, so nothing can be committed."""
        if not removed and not added and whole is None:
            return
        try:
            if self._earlier is not None and whole is None:
                self._earlier = None
                thread = ThreadPoolExecutor(1, "hybridkg-graph")
                self._first_write = thread.submit(self._write, removed, added, None, BULK_BESIDE, SILENT)
                thread.shutdown(wait=False)
            else:
                self._await_first_write()
                self._write(removed, added, whole, BULK, self._progress)
            gone, new = dict.fromkeys(removed), dict.fromkeys(added)
            for net in (self._request, self._whole):
                net.remove(gone)
                net.add(new)
        except BaseException as e:
            self.failure = e
            raise

    def _write(
        self,
        removed: Sequence[Quad],
        added: Sequence[Quad],
        whole: GraphName | None,
        bulk: int = BULK,
        progress: Progress = SILENT,
    ) -> None:
        """Writes a change; `bulk` is the number of quads from which the store's bulk loader adds them."""
        with damage_is_told("writing the graph failed"):
            self._written(removed, added, whole, bulk, progress)

    def _written(
        self,
        removed: Sequence[Quad],
        added: Sequence[Quad],
        whole: GraphName | None,
        bulk: int,
        progress: Progress,
    ) -> None:
        if whole is not None:
            self._opened().clear_graph(whole)
        for quad in _told("removing triples", removed, progress) if whole is None else ():
            self._opened().remove(quad)
        if len(added) >= bulk:
            self._opened().bulk_extend(_told("adding triples", added, progress))
        elif added:
            self._opened().extend(added)
        for graph in dict.fromkeys(quad.graph_name for quad in removed):
            if isinstance(graph, NamedNode | BlankNode) and not _has_graph(self._opened(), graph):
                self._opened().remove_graph(graph)


def _has_graph(store: Store, graph: NamedNode | BlankNode) -> bool:
    return next(quads_of_pattern(store, None, None, None, graph), None) is not None


def _told(label: str, quads: Collection[Quad], progress: Progress) -> Iterator[Quad]:
    """The quads, with the progress of what is done with them where they are many; the share is of their number."""
    if len(quads) < BULK:
        yield from quads
        return
    progress.start(label, len(quads))
    for number, quad in enumerate(quads, 1):
        yield quad
        if number % TOLD_EVERY == 0:
            progress.advance(TOLD_EVERY, TOLD_EVERY)
    progress.done(len(quads))


TOLD_EVERY = 1_000
"""Quads between reports of progress; about 10 ms."""


def _limited(quads: Iterable[Quad]) -> Iterator[Quad]:
    for number, quad in enumerate(quads, 1):
        if number > MAX_CHANGED:
            raise _too_many("one operation")
        yield quad


def _too_many(what: str) -> QueryLimitError:
    return QueryLimitError(
        f"more than {MAX_CHANGED:,} triples in {what}, too many to be compared in memory",
        hint="divide it, as by ORDER BY and LIMIT; a file is loaded in one piece by: hybridkg load KB FILE",
    )


def quads_as_stored(quads: Iterable[Quad]) -> list[Quad]:
    """The quads with their literals in the store's form, also those inside triple terms, so that equal quads are equal
    objects.
    """
    quads = list(quads)
    changing = {term for term in {quad.object for quad in quads} if _may_change(term)}
    if not changing:
        return quads
    typed = [at for at, quad in enumerate(quads) if quad.object in changing]
    terms = cast(list[Literal | Triple], [quads[at].object for at in typed])
    for at, term in zip(typed, all_as_stored(terms), strict=True):
        quad = quads[at]
        quads[at] = Quad(quad.subject, quad.predicate, term, quad.graph_name)
    return quads


def _may_change(term: Term) -> bool:
    while isinstance(term, Triple):
        term = term.object
    return isinstance(term, Literal) and term.datatype not in _AS_WRITTEN
