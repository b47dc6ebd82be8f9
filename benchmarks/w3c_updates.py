"""The W3C's evaluation tests of SPARQL Update: the graph after each request, for us and for Oxigraph alone.

All requests run in one transaction of a knowledge base, which ends without a commit: what decides is the graph that
the transaction sees. Graphs are the same up to the names of blank nodes, with literals in the form of the store. A
named graph without a triple does not exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyoxigraph as ox

from benchmarks.w3c_cases import Case
from hybridkg import KnowledgeBase
from hybridkg.errors import HybridkgError
from hybridkg.kb.write.open_transaction import Transaction

LOAD_ALLOWED = '\n[updates]\nload = "files"\n'


class Requests:
    """Update requests, each on data of its own.

    Args:
        transaction: open, of a knowledge base that is empty.
    """

    def __init__(self, transaction: Transaction):
        self.transaction, self.state = transaction, transaction._open

    def after(self, data: Iterable[ox.Quad], text: str) -> list[ox.Quad]:
        """The quads after a request on some data. Raises HybridkgError: the request fails."""
        self.replace(data)
        self.transaction.update(text)
        return self.quads()

    def replace(self, data: Iterable[ox.Quad]) -> None:
        """Makes the graph the given one."""
        self.state.graph.begin_request()
        self.state.graph.apply(self.quads(), data)
        self.state.changed()

    def quads(self) -> list[ox.Quad]:
        """The graph of this moment."""
        return list(self.state.graph.store)


@contextmanager
def requests(kb: KnowledgeBase) -> Iterator[Requests]:
    """Requests in an empty knowledge base, which stays as it is."""
    toml = Path(kb._folder.path, "kb.toml")
    if LOAD_ALLOWED not in toml.read_text("utf-8"):
        toml.write_text(toml.read_text("utf-8") + LOAD_ALLOWED, "utf-8")
    with kb.transaction(index=False, dry_run=True) as transaction:
        yield Requests(transaction)


def same_graph(left: Iterable[ox.Quad], right: Iterable[ox.Quad]) -> bool:
    """Whether two sets of quads differ in the names of blank nodes only."""
    return _canonical(left) == _canonical(right)


def _canonical(quads: Iterable[ox.Quad]) -> ox.Dataset:
    store = ox.Store()
    store.extend(quads)
    dataset = ox.Dataset(store)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return dataset


def evaluated(case: Case, requests: Requests) -> tuple[bool, str, bool, bool]:
    """(whether we pass an evaluation test, why not, whether Oxigraph does, whether both leave the same graph)."""
    before, after = list(_quads(case.before)), list(_quads(case.after))
    ours, why = None, "another graph"
    try:
        # BASE as the first line is what a base beside the text means.
        ours = requests.after(before, f"BASE <{case.base}>\n{case.text}")
    except HybridkgError as e:
        why = e.message
    theirs = of_oxigraph(before, case.text, case.base)
    right = ours is not None and same_graph(after, ours)
    both = ours is not None and theirs is not None
    confirm = same_graph(ours or (), theirs or ()) if both else ours is theirs
    return right, "" if right else why, theirs is not None and same_graph(after, theirs), confirm


def of_oxigraph(before: Iterable[ox.Quad], text: str, base: str | None = None) -> list[ox.Quad] | None:
    """The quads after Oxigraph's own update; None where it fails."""
    store = ox.Store()
    store.extend(before)
    try:
        store.update(text, base_iri=base)
    except (SyntaxError, RuntimeError, OSError, ValueError):
        return None
    return list(store)


def _quads(graphs: Iterable[tuple[str, Path]]) -> Iterator[ox.Quad]:
    """The quads of files; one of TriG names its graphs itself."""
    for name, path in graphs:
        for quad in ox.parse(path=str(path), base_iri=path.as_uri(), rename_blank_nodes=True):
            graph = ox.NamedNode(name) if name else quad.graph_name
            yield ox.Quad(quad.subject, quad.predicate, quad.object, graph)
