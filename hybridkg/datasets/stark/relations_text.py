"""The relations of a node in its document, byte for byte as STaRK's `get_rel_info` writes them.

Source: snap-stanford/stark, `stark_qa/skb/{amazon,mag,prime}.py`. Categories and colors of a product are in no document
of STaRK; authors, institutions and fields of study have no relations in theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hybridkg.datasets.stark.layout import StarkLayout
from hybridkg.datasets.stark.neighbours import Neighbours
from hybridkg.datasets.stark.node_names import StarkNames
from hybridkg.datasets.stark.size_limits import MAX_TEXT
from hybridkg.errors import LoadError

UNNAMED = "-1"
"""The name of a node of MAG whose name is unknown."""

AFFILIATION = "author___affiliated_with___institution"


@dataclass(frozen=True)
class RelationsText:
    """Writes the relations of nodes.

    Args:
        layout: types of nodes, names of types and relations.
        neighbours: the edges of STaRK's code.
        names: of all nodes.
    """

    layout: StarkLayout
    neighbours: Neighbours
    names: StarkNames

    def of(self, node: int) -> str:
        """The relations of a node; empty without any.

        Raises:
            LoadError: the text has more than MAX_TEXT characters.
        """
        text = _WRITERS[self.layout.kb](self, node)
        return f"- relations:\n{text}" if text else ""

    def by(self, node: int, relation: str) -> list[int]:
        """N(node, relation): the distinct neighbours, ascending; none by a relation that the files lack."""
        numbers = [number for number, name in self.layout.edge_names.items() if name == relation]
        return self.neighbours.of(node, numbers[0]).tolist() if numbers else []

    def names_of(self, nodes: list[int]) -> list[str]:
        """The name of each node. Raises LoadError: together they have more than MAX_TEXT characters."""
        found, left = [], MAX_TEXT
        for node in nodes:
            found.append(self.names[node])
            left -= len(found[-1])
            if left < 0:
                raise LoadError(f"the names of the neighbours of a node have more than {MAX_TEXT:,} characters")
        return found

    def type_of(self, node: int) -> str:
        """The name of the type of a node."""
        return self.layout.node_names[int(self.layout.node_types[node])]


def _amazon(text: RelationsText, node: int) -> str:
    if text.type_of(node) != "product":
        return ""
    parts = []
    for title, relation in (("purchased", "also_buy"), ("viewed", "also_view")):
        names = text.names_of(text.by(node, relation))
        if names:
            parts.append(f"  products also {title}: \n")
            parts += [f"#{number}: {name}\n" for number, name in enumerate(names, 1)]
    parts += [f"  brand: {brand}\n" for brand in text.names_of(text.by(node, "has_brand")[:1])]
    return "".join(parts)


def _mag(text: RelationsText, node: int) -> str:
    if text.type_of(node) != "paper":
        return ""
    parts = []
    for number in sorted(text.layout.edge_names):
        neighbours = text.neighbours.of(node, number).tolist()
        if neighbours:
            names = zip(neighbours, text.names_of(neighbours), strict=True)
            shown = ", ".join(one for one in (_in_mag(text, *pair) for pair in names) if one is not None)
            words = text.layout.edge_names[number].replace("___", " ")
            parts.append(f"\n{words}: ({shown}),")
    return "".join(parts)


def _in_mag(text: RelationsText, node: int, name: str) -> str | None:
    """A neighbour of a paper; None for one that is left out."""
    kind = text.type_of(node)
    if kind == "paper":
        return f'"{name}"'
    if name == UNNAMED:
        return None
    if kind == "author":
        institutions = [one for one in text.names_of(text.by(node, AFFILIATION)) if one != UNNAMED]
        return f"{name} ({', '.join(institutions)})" if institutions else name
    return name


def _prime(text: RelationsText, node: int) -> str:
    parts = []
    for number in sorted(text.layout.edge_names):
        neighbours = text.neighbours.of(node, number)
        if not len(neighbours):
            continue
        types = text.layout.node_types[neighbours].tolist()
        parts.append(f"\n  {text.layout.edge_names[number].replace(' ', '_')}: {{")
        # STaRK iterates over a set of numbers: not ascending where 8 or 9 are among few.
        for kind in set(types):
            own = [one for one, other in zip(neighbours.tolist(), types, strict=True) if other == kind]
            parts.append(f"{text.layout.node_names[kind]}: ({', '.join(text.names_of(own))}),")
        parts.append("}")
    return "".join(parts)


_WRITERS: Mapping[str, Callable[[RelationsText, int], str]] = {"amazon": _amazon, "mag": _mag, "prime": _prime}
