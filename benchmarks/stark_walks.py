"""The templates of STaRK as walks over the edge arrays, stated a second time and without a query language.

`ANSWERS` and `WALKS` restate ontologies/templates/stark-*.toml: a template is the type of its answers, and paths from
anchors to them. `Arrays.answers` walks them node by node, and is the oracle of the tests. `Arrays.count` multiplies
sparse matrices instead, and says how many answers a knowledge base has in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from hybridkg.datasets.stark.layout import StarkLayout

_ALSO = "also_buy>|<also_buy|also_view>|<also_view"
_WRITES, _AT = "author___writes___paper", "author___affiliated_with___institution"
_TOPIC = "paper___has_topic___field_of_study"

WALKS: dict[str, str] = {
    "mag-1": f"paper: a author {_WRITES}>",
    "mag-2": "paper: a paper paper___cites___paper>",
    "mag-3": f"paper: a field_of_study <{_TOPIC}",
    "mag-4": f"paper: a institution <{_AT} {_WRITES}>",
    "mag-5": f"paper: a paper <{_WRITES} {_WRITES}>",
    "mag-6": f"paper: a paper <{_WRITES} {_WRITES}> & a paper {_TOPIC}> <{_TOPIC}",
    "mag-7": f"paper: a institution <{_AT} {_WRITES}> & b field_of_study <{_TOPIC}",
    "brand": "product: a brand <has_brand",
    "color": "product: a color <has_color",
    "category": "product: a category <has_category",
    "product": f"product: a product {_ALSO}",
    "brand-color": "product: a brand <has_brand & b color <has_color",
    "brand-category": "product: a brand <has_brand & b category <has_category",
    "color-category": "product: a color <has_color & b category <has_category",
    "product-brand": f"product: a product {_ALSO} & b brand <has_brand",
    "product-color": f"product: a product {_ALSO} & b color <has_color",
    "product-category": f"product: a product {_ALSO} & b category <has_category",
    "brand-color-category": "product: a brand <has_brand & b color <has_color & c category <has_category",
    "product-brand-color": f"product: a product {_ALSO} & b brand <has_brand & c color <has_color",
    "product-brand-category": f"product: a product {_ALSO} & b brand <has_brand & c category <has_category",
    "product-color-category": f"product: a product {_ALSO} & b color <has_color & c category <has_category",
    "prime-1": "disease: a effect/phenotype phenotype_absent> !indication",
    "prime-1-present": "disease: a effect/phenotype phenotype_present> !indication",
    "prime-2": "disease: a gene/protein associated_with> & b drug contraindication>",
    "prime-3": "gene/protein: a anatomy expression_present> & b anatomy expression_absent>",
    "prime-4": "gene/protein: a anatomy expression_absent> & b anatomy expression_absent>",
    "prime-5": "gene/protein: a drug carrier> & b drug carrier>",
    "prime-6": "drug: a anatomy expression_present> @gene/protein target>",
    "prime-7": "drug: a drug side_effect> @effect/phenotype side_effect>",
    "prime-8": "drug: a drug carrier> @gene/protein carrier>",
    "prime-9": "drug: a anatomy expression_present> @gene/protein enzyme>",
    "prime-10": "drug: a cellular_component interacts_with> @gene/protein carrier>",
    "prime-11": "drug: a molecular_function interacts_with> @gene/protein target>",
    "prime-12": "drug: a effect/phenotype side_effect> @drug synergistic_interaction>",
    "prime-13": "disease: a disease indication> @drug contraindication>",
    "prime-14": "effect/phenotype: a disease parent-child> @disease phenotype_present>",
    "prime-15": "effect/phenotype: a gene/protein transporter> @drug side_effect>",
    "prime-16": "exposure: a drug transporter> @gene/protein interacts_with>",
    "prime-17": "gene/protein: a pathway interacts_with> @gene/protein ppi>",
    "prime-18": "gene/protein: a drug synergistic_interaction> @drug transporter>",
    "prime-19": "biological_process: a biological_process interacts_with> @gene/protein interacts_with>",
    "prime-20": "biological_process: a effect/phenotype associated_with> @gene/protein interacts_with>",
    "prime-21": "anatomy: a drug transporter> @gene/protein expression_present>",
    "prime-22": "cellular_component: a drug target> @gene/protein interacts_with>",
    "prime-23": "anatomy: a biological_process interacts_with> @gene/protein expression_absent>",
    "prime-24": "anatomy: a effect/phenotype associated_with> @gene/protein expression_absent>",
    "prime-25": "drug: a drug indication> @disease indication> & a drug synergistic_interaction>",
    "prime-26": "pathway: a pathway interacts_with> @gene/protein interacts_with> & a pathway parent-child>",
    "prime-27": "gene/protein: a gene/protein associated_with> @disease associated_with> & a gene/protein ppi>",
    "prime-28": "gene/protein: a gene/protein associated_with> @effect/phenotype associated_with>"
    " & a gene/protein ppi>",
}
"""By template: type of the answers, then paths `anchor type step ...` joined by `&`. A step is `relation>` along edges,
`<relation` against them, several of these joined by `|`, `@type` for the nodes so far, or `!relation` for nodes that
have no such edge. An answer is never the anchor a. Blanks in relations are written `_`."""


PAIRS_AT_ONCE = 1 << 18
"""Pairs that are looked up at once."""


@dataclass(frozen=True)
class Walk:
    """One entry of WALKS: type of the answers, and paths as (anchor, type of the anchor, steps)."""

    answers: str
    paths: tuple[tuple[str, str, tuple[str, ...]], ...]

    @property
    def anchors(self) -> dict[str, str]:
        """Type of each anchor."""
        return {anchor: kind for anchor, kind, _ in self.paths}


def walk_of(name: str) -> Walk:
    """The walk of a template."""
    answers, _, rest = WALKS[name].partition(": ")
    parts = [path.split() for path in rest.split(" & ")]
    return Walk(answers, tuple((anchor, kind, tuple(steps)) for anchor, kind, *steps in parts))


def _reversed(step: str) -> str:
    if step.startswith(("@", "!")):
        return step
    return "<" + step[:-1] if step.endswith(">") else step[1:] + ">"


class Arrays:
    """The edges of a knowledge base by relation."""

    def __init__(self, layout: StarkLayout):
        self.kb, self.size = layout.kb, len(layout.node_types)
        self.types = [layout.node_names[number] for number in layout.node_types.tolist()]
        self.node_types = np.array(self.types)
        self._ends: dict[str, tuple[Any, Any]] = {}
        self.edges = {
            name.replace(" ", "_"): layout.edges[:, np.flatnonzero(layout.edge_types == number)]
            for number, name in layout.edge_names.items()
        }

    @cached_property
    def _sorted(self) -> dict[tuple[str, bool], tuple[Any, Any]]:
        """Sources, ascending, and their targets, by relation and direction."""
        found = {}
        for name, ends in self.edges.items():
            for forward in (True, False):
                heads, tails = ends if forward else ends[::-1]
                order = np.argsort(heads, kind="stable")
                found[name, forward] = heads[order], tails[order]
        return found

    def neighbors(self, node: int, step: str) -> set[int]:
        """Where the edges of a step `relation>` or `<relation` lead from a node."""
        key = (step[:-1], True) if step.endswith(">") else (step[1:], False)
        if key not in self._sorted:
            return set()
        heads, tails = self._sorted[key]
        first, last = np.searchsorted(heads, (node, node + 1))
        return set(tails[first:last].tolist())

    def answers(self, name: str, anchors: Mapping[str, int]) -> set[int]:
        """The answers of a template for some anchors, node by node."""
        found = set.intersection(*(self.answers_of_path(name, anchor, node) for anchor, node in anchors.items()))
        return found - {anchors["a"]}

    def answers_of_path(self, name: str, anchor: str, node: int) -> set[int]:
        """What all paths of one anchor reach; for a, without the anchor."""
        walk, found = walk_of(name), None
        for of, _, steps in walk.paths:
            if of != anchor:
                continue
            at = {node}
            for step in steps:
                at = self._step(at, step)
            found = at if found is None else found & at
        assert found is not None
        return {x for x in found if self.types[x] == walk.answers and (anchor != "a" or x != node)}

    def _step(self, nodes: Iterable[int], step: str) -> set[int]:
        if step.startswith("@"):
            return {node for node in nodes if self.types[node] == step[1:]}
        if step.startswith("!"):
            return {node for node in nodes if not self.neighbors(node, step[1:] + ">")}
        return {other for one in step.split("|") for node in nodes for other in self.neighbors(node, one)}

    def anchors(self, name: str, anchor: str, answer: int) -> set[int]:
        """The values of an anchor that have this answer, as far as its own paths say."""
        found: set[int] | None = None
        for of, kind, steps in walk_of(name).paths:
            if of != anchor:
                continue
            at = {answer}
            for step in reversed(steps):
                at = self._step(at, "|".join(map(_reversed, step.split("|"))))
            at = self._step(at, "@" + kind)
            found = at if found is None else found & at
        assert found is not None
        return found - ({answer} if anchor == "a" else set())

    # --- all answers at once --------------------------------------------------

    def count(self, name: str) -> dict[str, int]:
        """Answers that have some anchors, and anchors a that have some answer."""
        return {"answers": len(self.possible(name)), "anchors": len(self._ends[name][1])}

    def possible(self, name: str) -> list[int]:
        """The nodes that are answers of a template for some anchors, ascending."""
        if name not in self._ends:
            self._ends[name] = self._all_ends(name)
        return self._ends[name][0].tolist()

    def _all_ends(self, name: str) -> tuple[Any, Any]:
        """Answers that have some anchors, and anchors a that have some answer."""
        walk = walk_of(name)
        pairs: dict[str, Any] = {}
        for anchor, kind, steps in walk.paths:
            pairs[anchor] = self._pairs(kind, steps, walk.answers, pairs.get(anchor))
        allowed = np.ones(self.size, bool)
        for anchor, matrix in pairs.items():
            if anchor != "a":
                allowed[np.setdiff1d(np.arange(self.size), matrix.tocoo().col)] = False
        first = pairs["a"].tocoo()
        kept = (first.row != first.col) & allowed[first.col]
        return np.unique(first.col[kept]), np.unique(first.row[kept])

    def _pairs(self, kind: str, steps: tuple[str, ...], answers: str, among: Any) -> Any:
        """Matrix of (anchor, answer) of a path; with `among`, of those pairs only."""
        left = self._matrix("@" + kind)
        for step in steps[:-1]:
            left = left @ self._matrix(step)
        right = self._matrix(steps[-1]) @ self._matrix("@" + answers)
        if among is None:
            return left @ right
        # Papers that share a topic are too many pairs, so each pair of the other path is looked up.
        rows, columns = among.nonzero()
        across = right.T.tocsr()
        kept = np.concatenate([
            left[rows[at : at + PAIRS_AT_ONCE]].multiply(across[columns[at : at + PAIRS_AT_ONCE]]).getnnz(axis=1) > 0
            for at in range(0, len(rows), PAIRS_AT_ONCE)
        ] or [np.zeros(0, bool)])  # fmt: skip
        return sp.csr_matrix((np.ones(int(kept.sum()), np.int32), (rows[kept], columns[kept])), among.shape)

    def _matrix(self, step: str) -> Any:
        if step.startswith(("@", "!")):
            if step.startswith("@"):
                nodes = np.flatnonzero(self.node_types == step[1:])
            else:
                nodes = np.setdiff1d(np.arange(self.size), self._both(step[1:] + ">")[0])
            return self._filled(nodes, nodes)
        both = np.concatenate([self._both(one) for one in step.split("|")], axis=1)
        return self._filled(*both)

    def _both(self, step: str) -> Any:
        """int64[2, edges], sources and targets of a step along or against a relation."""
        relation, forward = (step[:-1], True) if step.endswith(">") else (step[1:], False)
        both = self.edges.get(relation, np.zeros((2, 0), np.int64))
        return both if forward else both[::-1]

    def _filled(self, rows: Any, columns: Any) -> Any:
        matrix = sp.csr_matrix((np.ones(len(rows), np.int32), (rows, columns)), (self.size, self.size))
        matrix.data[:] = 1
        return matrix
