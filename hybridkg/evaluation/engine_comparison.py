"""Comparison of two text engines by the results of the same queries over the same state."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from hybridkg.entities.node_table import NodeTable
from hybridkg.errors import IndexMissingError, UnknownNameError, UserError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.interfaces.ranking_model import RANKING_MODELS
from hybridkg.interfaces.text_engine import TEXT_ENGINES, engine_name, is_remote_engine
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.snapshot import Snapshot, read_profile, snapshot_of
from hybridkg.kb.write.build_indexes import build_indexes
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.query.walk import rebuild
from hybridkg.query.write import write
from hybridkg.rdf.known_prefixes import KnownPrefixes
from hybridkg.rdf.terms import Literal, Term
from hybridkg.results.numbers import FLOATING, as_float
from hybridkg.results.result import Row as ResultRow
from hybridkg.results.result_set import ResultSet
from hybridkg.store.generations.folder import Folder
from hybridkg.text.match_query.synonyms import stored_synonyms

Identity: TypeAlias = tuple[Term | bool | None, ...]
"""The identity of a row on both engines: all its values except floating-point numbers."""

Numbers: TypeAlias = tuple[tuple[str, float], ...]
"""(name, value) of the floating-point numbers and scores of a row."""

SameRow: TypeAlias = tuple[Identity, Numbers]


@dataclass(frozen=True)
class QueryParity:
    """One query on both engines.

    Args:
        rows: number of rows of each engine; None if it refuses the query.
        overlap: number of common rows over the larger number of rows; None if one refuses.
        same_order: whether the rows have the same order; None for an unordered query, or if one refuses.
        difference: maximum relative difference of a number in common rows; infinite if only one engine has the number;
            None if one refuses.
        refusals: `code: message` of each engine that refuses the query, else empty.
    """

    name: str
    rows: tuple[int | None, int | None]
    overlap: float | None = None
    same_order: bool | None = None
    difference: float | None = None
    refusals: tuple[str, str] = ("", "")

    @property
    def verdict(self) -> str:
        """`same` rows in the same order, `different`, or `refused` by both engines.

        >>> QueryParity("q", (3, 3), 1.0, False, 0.0).verdict, QueryParity("q", (None, 3)).verdict
        ('different', 'different')
        """
        if self.rows == (None, None):
            return "refused"
        return "same" if self.overlap == 1 and self.same_order is not False else "different"

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON values; an infinite difference becomes a text."""
        difference = str(self.difference) if self.difference == math.inf else self.difference
        return asdict(self) | {"difference": difference, "verdict": self.verdict}


@dataclass(frozen=True)
class ParityReport:
    """The result of the comparison; the first engine has built the live index."""

    engines: tuple[str, str]
    queries: tuple[QueryParity, ...]

    def count(self, verdict: str) -> int:
        """Number of queries with the verdict `same`, `different` or `refused`."""
        return sum(query.verdict == verdict for query in self.queries)

    @property
    def largest_difference(self) -> float:
        """The maximum relative difference of a number over all queries; 0 without one."""
        return max((query.difference for query in self.queries if query.difference is not None), default=0.0)

    def summary(self) -> str:
        """The report in one line.

        >>> ParityReport(("a", "b"), (QueryParity("q", (3, 3), 1.0, True, 2e-16),)).summary()
        '1 query: 1 has the same rows in the same order; largest relative difference of a number 2e-16'
        """
        n, same, different, refused = len(self.queries), *map(self.count, ("same", "different", "refused"))
        parts = [f"{same:,} {'has' if same == 1 else 'have'} the same rows in the same order"]
        parts += [f"{different:,} {'differs' if different == 1 else 'differ'}"] if different else []
        parts += [f"{refused:,} refused by both"] if refused else []
        largest = self.largest_difference
        numbers = f"largest relative difference of a number {largest:.2g}" if largest else "no number differs"
        noun = "query" if n == 1 else "queries"
        return f"{n:,} {noun}: {', '.join(parts)}; {numbers}"

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        counts = {verdict: self.count(verdict) for verdict in ("same", "different", "refused")}
        return {"engines": list(self.engines), "queries": [query.to_json() for query in self.queries], **counts}


def compare_engines(
    kb: KnowledgeBase,
    queries: Mapping[str, str],
    *,
    model: str | None = None,
    against: str | None = None,
    progress: Progress = SILENT,
) -> ParityReport:
    """Runs queries on the live index and on a temporary index of another engine.

    Args:
        kb: the knowledge base in the compared state.
        queries: query texts by name.
        model: ranking model that replaces that of every MATCH.
        against: name of the other engine; default: `elasticsearch`, or `embedded` if the live engine is another.
        progress: receives the progress of the other index and of the queries.

    Raises:
        QuerySyntaxError: a text is no query; nothing has been built.
        IndexMissingError: there is no index, or it is older than the graph.
        UnknownNameError: no such model or engine.
        HybridkgError: the other index cannot be built, or a server does not answer.
    """
    snapshot = snapshot_of(kb)
    texts = {name: _prepared(text, name, model, snapshot.prefixes) for name, text in queries.items()}
    folder = Folder.open(snapshot.generation.path.parent)
    if snapshot.text is None or snapshot.profile is None:
        raise IndexMissingError("there is no text index to compare", hint=f"hybridkg index {folder.path}")
    if "text" in snapshot.generation.behind():
        raise IndexMissingError(
            "the text index is older than the graph or the documents, so the engines would not read the same",
            hint=f"hybridkg index {folder.path}",
        )
    live = engine_name(snapshot.generation.path / "text")
    other = against or TEXT_ENGINES.other_than(live)
    if other == live:
        raise UserError(
            f"the live index is one of {live!r} itself",
            hint=f"compare it with one of: {', '.join(name for name in TEXT_ENGINES.names() if name != live)}",
        )
    # The lock prevents pruning, which would remove the other index: no state on disk names it.
    with folder.locked(), _built_by(other, folder, snapshot, progress) as second:
        progress.start("comparing", len(texts))
        compared = []
        for name, text in texts.items():
            compared.append(_compared(name, text, (kb, kb.at(second))))
            progress.advance(1, 1)
        progress.done(len(texts))
    return ParityReport((live, other), tuple(compared))


def _prepared(text: str, name: str, model: str | None, prefixes: KnownPrefixes) -> str:
    """The query without EXPLAIN and with the model."""
    query = parse(text, name=name, prefixes=prefixes)
    if model is not None:
        RANKING_MODELS.get(model)
    changed = with_model(replace(query, explain=""), model)
    return text if changed == query else write(changed)


def with_model(query: ast.Query, model: str | None) -> ast.Query:
    """The query with a ranking model, without arguments, in every MATCH that uses another one.

    >>> write(with_model(parse('SELECT ?x { ?x MATCH "a" USING bm25f(k1=1) TOP 3 }'), "bm25"))
    'SELECT ?x\\nWHERE {\\n  ?x MATCH "a" USING bm25 TOP 3 .\\n}'
    """

    def change(node: ast.Syntax) -> ast.Syntax:
        if isinstance(node, ast.Match) and (node.model is None or node.model.name != model):
            return replace(node, model=ast.Model(str(model)))
        return rebuild(node, change)

    return query if model is None else rebuild(query, change)


@contextmanager
def _built_by(name: str, folder: Folder, snapshot: Snapshot, progress: Progress) -> Iterator[Snapshot]:
    """The state with a text index of another engine, which is removed at the end."""
    assert snapshot.profile is not None
    config = folder.config
    engine = TEXT_ENGINES.get(name)(folder.path, config)
    engine.ready()
    if is_remote_engine(name):
        folder.remember_engine(name)
    union = config.default_graph == "union"
    scratch = Path(tempfile.mkdtemp(prefix="hybridkg-parity-"))
    try:
        build_indexes(
            scratch,
            snapshot.profile,
            snapshot.store,
            snapshot.documents,
            (name, engine),
            progress,
            union_default_graph=union,
            synonyms=stored_synonyms(snapshot.generation.path / "text"),
        )
        nodes = NodeTable.open(scratch)
        text = engine.open(scratch / "text", nodes.rank)
        yield replace(snapshot, text=text, nodes=nodes, profile=read_profile(scratch / "text"))
    finally:
        try:
            engine.discard()
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _compared(name: str, text: str, sides: tuple[KnowledgeBase, KnowledgeBase]) -> QueryParity:
    answers: list[ResultSet | None] = []
    refusals = []
    for side in sides:
        try:
            answers.append(side.query(text, name=name))
            refusals.append("")
        except UserError as e:
            answers.append(None)
            refusals.append(f"{e.code}: {e.message}")
    first, second = answers
    rows = tuple(None if answer is None else 1 if answer.boolean is not None else len(answer) for answer in answers)
    if first is None or second is None:
        return QueryParity(name, (rows[0], rows[1]), refusals=(refusals[0], refusals[1]))
    left, right = _rows(first), _rows(second)
    return QueryParity(
        name,
        (rows[0], rows[1]),
        overlap=_overlap(left, right),
        same_order=[key for key, _ in left] == [key for key, _ in right]
        if _has_order(text, snapshot_of(sides[0]).prefixes)
        else None,
        difference=_largest_difference(left, right),
    )


def _has_order(text: str, prefixes: KnownPrefixes) -> bool:
    modifiers = parse(text, prefixes=prefixes).form.modifiers
    return bool(modifiers.order_by or modifiers.rank_by or modifiers.rerank)


def _rows(result: ResultSet) -> list[SameRow]:
    if result.boolean is not None:
        return [((result.boolean,), ())]
    return [_row(result, row) for row in result]


def _row(result: ResultSet, row: ResultRow) -> SameRow:
    terms = {name: row.term(name) for name in result.columns}
    numbers = {name: as_float(term) for name, term in terms.items() if _is_floating(term)}
    numbers |= row.scores
    identity = tuple(term for name, term in terms.items() if name not in numbers)
    return identity, tuple(sorted((name, number) for name, number in numbers.items() if number is not None))


def _is_floating(term: Term | None) -> bool:
    return isinstance(term, Literal) and term.datatype.value in FLOATING and as_float(term) is not None


def _overlap(left: Sequence[SameRow], right: Sequence[SameRow]) -> float:
    """Size of the multiset intersection over the larger number of rows."""
    rows = max(len(left), len(right))
    both = Counter(key for key, _ in left) & Counter(key for key, _ in right)
    return both.total() / rows if rows else 1.0


def _largest_difference(left: Sequence[SameRow], right: Sequence[SameRow]) -> float:
    """The maximum over the numbers of common rows; rows with equal identity are paired in order."""
    waiting: dict[Identity, list[dict[str, float]]] = defaultdict(list)
    for key, numbers in reversed(right):
        waiting[key].append(dict(numbers))
    largest = 0.0
    for key, numbers in left:
        if not waiting[key]:
            continue
        mine, theirs = dict(numbers), waiting[key].pop()
        if mine.keys() != theirs.keys():
            return math.inf
        largest = max([largest, *(relative_difference(mine[name], theirs[name]) for name in mine)])
    return largest


def relative_difference(a: float, b: float) -> float:
    """|a - b| / max(|a|, |b|); infinite if only one of them is finite.

    >>> relative_difference(2.0, 1.0), relative_difference(0.0, 0.0), relative_difference(1.0, math.nan)
    (0.5, 0.0, inf)
    """
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    scale = max(abs(a), abs(b))
    return abs(a / scale - b / scale)


def read_queries(path: Path) -> dict[str, str]:
    """The query texts by file name, from a file or from the `*.hq` files of a folder.

    Raises:
        UnknownNameError: there is no file.
        UserError: a file cannot be read.
    """
    files = sorted(path.glob("*.hq")) if path.is_dir() else [path] if path.is_file() else []
    if not files:
        what = "holds no query file, *.hq" if path.is_dir() else "is not there"
        raise UnknownNameError(f"{str(path)!r} {what}", hint="--queries DIR names a folder of queries in files *.hq")
    texts = {}
    for file in files:
        try:
            texts[file.name] = file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as e:
            reason = e.strerror if isinstance(e, OSError) else "it is not UTF-8"
            raise UserError(f"cannot read the query file {str(file)!r}: {reason}") from None
    return texts
