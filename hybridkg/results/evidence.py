"""Evidence of a row: the triples of the graph that its query matched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.query import ast
from hybridkg.query.constants import constant, term_of_constant
from hybridkg.query.walk import has, rebuild, walk
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Row
from hybridkg.rdf.stored import as_stored
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Term, Triple, triple_of
from hybridkg.results.witness import PathStep, witness

VALUES_AT_ONCE = 500
"""Nodes in one request to the store (operators/probing.py)."""

BLANK = "_blank"
"""Prefix of the variable that stands for a blank node of the query."""

ANY_TRIPLE = ast.Group((ast.Triples((ast.TriplePattern(ast.Var("s"), ast.Var("p"), ast.Var("o")),)),))

Bound = Mapping[str, Term | None]
"""The values of a row by variable, and of blank nodes of the query by `_:label`."""


@dataclass(frozen=True)
class Evidence:
    """The triple patterns of a query, filled with the values of a row and checked in the graph.

    A path contributes one shortest chain of triples, a blank node of the query the first node that fits. MINUS, EXISTS,
    SERVICE and sub-selects contribute none. An OPTIONAL part or a branch of UNION contributes its triples if the graph
    has all of them. `dataset` is FROM and FROM NAMED of the query; `collect` reads rows under the limits of a run.
    """

    where: ast.Group
    store: GraphStore
    dataset: tuple[ast.DatasetClause, ...] = ()
    collect: Callable[[Iterable[Row]], list[Row]] = list

    def triples(self, bound: Bound) -> list[Triple]:
        """The distinct triples of one row, in the order of the query text."""
        return list(dict.fromkeys(self._group(self.where, bound, None, required=True) or ()))

    def _group(self, group: ast.Group, bound: Bound, graph: NamedNode | None, *, required: bool) -> list[Triple] | None:
        """The triples of a group; None where it is not `required` and the graph lacks one of them."""
        triples: list[Triple] = []
        bound = self._with_blanks(group, bound, graph)
        for element in group.elements:
            own: list[Triple] | None = []
            match element:
                case ast.Triples(items):
                    own = self._patterns(items, bound, graph, required)
                case ast.Group():
                    own = self._group(element, bound, graph, required=required)
                case ast.OptionalPattern(pattern):
                    own = self._group(pattern, bound, graph, required=False) or []
                case ast.UnionPattern(branches):
                    parts = [self._group(branch, bound, graph, required=False) for branch in branches]
                    own = [triple for part in parts if part for triple in part]
                case ast.GraphPattern(name, pattern):
                    named = _filled(name, bound)
                    if isinstance(named, NamedNode):
                        own = self._group(pattern, bound, named, required=required)
            if own is None:
                return None
            triples += own
        return triples

    def _patterns(
        self, items: tuple[ast.Syntax, ...], bound: Bound, graph: NamedNode | None, required: bool
    ) -> list[Triple] | None:
        triples: list[Triple] = []
        for item in items:
            if isinstance(item, ast.TriplePattern):
                own = self._pattern(item, bound, graph)
                if own is None and not required:
                    return None
                triples += own or []
        return triples

    def _pattern(self, pattern: ast.TriplePattern, bound: Bound, graph: NamedNode | None) -> list[Triple] | None:
        """The triple of a pattern, or the chain of a path; None where the graph does not have it."""
        subject, target = _filled(pattern.subject, bound), _filled(pattern.object, bound)
        if subject is None or target is None:
            return None
        if not isinstance(pattern.predicate, ast.Var | ast.Iri):
            return witness(pattern.predicate, subject, target, _Steps(self, graph).along)
        predicate = _filled(pattern.predicate, bound)
        if not isinstance(subject, NamedNode | BlankNode) or not isinstance(predicate, NamedNode):
            return None
        triple = Triple(subject, predicate, target)
        rows = self._rows({"s": subject, "p": predicate, "o": target}, graph)
        return [triple] if next(rows, None) is not None else None

    def _with_blanks(self, group: ast.Group, bound: Bound, graph: NamedNode | None) -> Bound:
        items = [item for element in group.elements if isinstance(element, ast.Triples) for item in element.items]
        triples = [item for item in items if isinstance(item, ast.TriplePattern)]
        with_blank = [item for item in triples if has(item, ast.Blank)]
        if not with_blank:
            return bound
        names: dict[str, str] = {}

        def variable(part: ast.Syntax) -> ast.Syntax:
            if isinstance(part, ast.Blank):
                return ast.Var(names.setdefault(f"_:{part.label}", f"{BLANK}{len(names)}"))
            return rebuild(part, variable)

        patterns = tuple(rebuild(item, variable) for item in with_blank)
        used = [part.name for item in patterns for part in walk(item) if isinstance(part, ast.Var)]
        constants = {name: value for name in used if (value := bound.get(name)) is not None}
        columns = dict.fromkeys((*names.values(), *constants))
        row = next(self._select(ast.Group((ast.Triples(patterns),)), tuple(columns), constants, graph, limit=1), None)
        if row is None:
            return bound
        values = dict(zip(columns, row, strict=True))
        return {**bound, **{label: values[name] for label, name in names.items()}}

    def _rows(self, constants: Mapping[str, Term], graph: NamedNode | None) -> Iterator[tuple[Term | None, ...]]:
        """Triples `?s ?p ?o`, with constants for some of the variables."""
        return self._select(ANY_TRIPLE, ("s", "p", "o"), constants, graph)

    def _select(
        self,
        pattern: ast.Group,
        columns: tuple[str, ...],
        constants: Mapping[str, Term],
        graph: NamedNode | None,
        *,
        limit: int | None = None,
    ) -> Iterator[tuple[Term | None, ...]]:
        if graph is not None:
            pattern = ast.Group((ast.GraphPattern(ast.Iri(graph.value), pattern),))
        projection = tuple(ast.SelectItem(ast.Var(name)) for name in columns)
        modifiers = ast.Modifiers(limit=limit)
        text = write(ast.SelectQuery(projection, pattern, dataset=self.dataset, modifiers=modifiers))
        yield from self.collect(self.store.select(text, constants).rows)


@dataclass(frozen=True)
class _Steps:
    """Steps of a path in one graph."""

    evidence: Evidence
    graph: NamedNode | None

    def along(self, link: PathStep, nodes: Sequence[Term], backward: bool) -> Iterator[tuple[Term, Triple]]:
        """(node, triple) of the triples along a link that begin, or with `backward` end, at one of the nodes."""
        near = "o" if link.inverse != backward else "s"
        for subject, predicate, target in self._rows(link, nodes, near):
            if not isinstance(subject, NamedNode | BlankNode) or not isinstance(predicate, NamedNode):
                continue
            if target is not None and predicate.value not in link.excluded:
                yield subject if near == "s" else target, Triple(subject, predicate, target)

    def _rows(self, link: PathStep, nodes: Sequence[Term], near: str) -> Iterator[tuple[Term | None, ...]]:
        constants: dict[str, Term] = {"p": NamedNode(link.predicate)} if link.predicate else {}
        cells = [constant(node) for node in nodes if not isinstance(node, BlankNode | Triple)]
        for node in nodes:
            if isinstance(node, BlankNode | Triple):
                yield from self.evidence._rows({**constants, near: node}, self.graph)
        for start in range(0, len(cells), VALUES_AT_ONCE):
            rows = tuple((cell,) for cell in cells[start : start + VALUES_AT_ONCE])
            pattern = ast.Group((ast.InlineData((ast.Var(near),), rows), *ANY_TRIPLE.elements))
            yield from self.evidence._select(pattern, ("s", "p", "o"), constants, self.graph)


def _filled(part: ast.Syntax, bound: Bound) -> Term | None:
    match part:
        case ast.Var(name):
            return bound.get(name)
        case ast.Blank(label):
            return bound.get(f"_:{label}")
        case ast.TripleTerm(subject, predicate, target):
            triple = triple_of(_filled(subject, bound), _filled(predicate, bound), _filled(target, bound))
            return None if triple is None else as_stored(triple)
        case ast.Iri() | ast.Lit():
            term = term_of_constant(part)
            return as_stored(term) if isinstance(term, Literal) else term
    return None
