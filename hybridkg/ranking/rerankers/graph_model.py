"""The model of the reranker `graph`: settings and weights of a graph network in one safetensors file.

    __metadata__: {"hybridkg": {"format": "hybridkg graph network", "version": 1, "learner": "gcn", ...}}

Names and shapes of the tensors follow from the settings, so a file with others is refused before its numbers are read.
`hybridkg tune --model graph` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import ConfigError
from hybridkg.ranking.rerankers.document_graph import RARE, WEIGHTS
from hybridkg.ranking.rerankers.edges import EDGE_SOURCES
from hybridkg.storage.tensor_file import TensorFile, write_tensors

FORMAT, VERSION = "hybridkg graph network", 1

MAX_FILE_BYTES = 64 << 20

MAX_WIDTH = 4_096
"""Maximum numbers of a vector of a node."""

MAX_COLUMNS = 1_000
"""Maximum features of a node."""

HINT = "hybridkg tune --model graph writes one"

GCN, MLP = "gcn", "mlp"
NETWORKS = (GCN, MLP)
"""Networks: with the messages of neighbours, and without."""

FEATURES, VECTOR = "features", "vector"
INPUTS = (FEATURES, VECTOR)
"""Inputs of a document: its row features, or its vector."""

DOCUMENTS, QUESTION = "documents", "question"
NODES = (DOCUMENTS, QUESTION)
"""Nodes of the graph: the documents, or these with the question and the nodes that it names (anchors)."""

KINDS = ("candidate", "anchor", "question")
"""With NODES `question`, numbers behind the input that say what a node is: 1 or 0 each."""

LAYERS = 2


@dataclass(frozen=True)
class GraphSettings:
    """Settings of a network.

    Args:
        learner: one of NETWORKS.
        inputs: one of INPUTS.
        nodes: one of NODES.
        edges: names of EDGE_SOURCES; none for no edges.
        weight: of an item that two documents have in common, one of WEIGHTS.
        mean: whether messages are divided by the number of neighbours.
        hidden: width of the inner layer.
        columns: the row features, for inputs `features`.
        encoder: name of the encoder, for inputs `vector`.
        dimensions: of its vectors; 0 for `features`.
        base: score of the rows that is added, scaled to 0..1; empty for none.
    """

    learner: str = GCN
    inputs: str = FEATURES
    nodes: str = DOCUMENTS
    edges: tuple[str, ...] = ("graph",)
    weight: str = RARE
    mean: bool = False
    hidden: int = 8
    columns: tuple[str, ...] = ()
    encoder: str = ""
    dimensions: int = 0
    base: str = ""

    @property
    def width(self) -> int:
        """Numbers of the input of a node."""
        own = len(self.columns) if self.inputs == FEATURES else self.dimensions
        return own + (len(KINDS) if self.nodes == QUESTION else 0)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The tensors by name.

        >>> GraphSettings(columns=("earlier", "linked"), hidden=3).shapes["0.message"]
        (3, 2)
        """
        widths = (self.width, self.hidden, 1 if self.inputs == FEATURES else self.dimensions)
        shapes: dict[str, tuple[int, ...]] = {}
        for layer in range(LAYERS):
            shapes[f"{layer}.bias"] = (widths[layer + 1],)
            shapes[f"{layer}.weight"] = (widths[layer + 1], widths[layer])
            if self.learner == GCN:
                shapes[f"{layer}.message"] = (widths[layer + 1], widths[layer])
        return shapes


@dataclass(frozen=True, eq=False)
class GraphModel:
    """A network: its settings, and float32 tensors of the shapes that these imply."""

    settings: GraphSettings
    tensors: Mapping[str, NDArray[np.float32]]

    def write(self, path: Path) -> None:
        """Writes the file; equal models are equal bytes."""
        about = {"format": FORMAT, "version": VERSION, **asdict(self.settings)}
        text = json.dumps(about, ensure_ascii=False, sort_keys=True)
        write_tensors(path, self.tensors, {"hybridkg": text})


def read_graph_model(path: Path) -> GraphModel:
    """The model in a file.

    Raises:
        ConfigError: it cannot be read, or is no such model.
    """
    file = TensorFile.open(path, max_bytes=MAX_FILE_BYTES)
    settings = _settings(file.metadata.get("hybridkg", ""), str(path))
    file.expect(settings.shapes)
    return GraphModel(settings, {name: file.read(name) for name in settings.shapes})


def _settings(text: str, place: str) -> GraphSettings:
    try:
        values: Any = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ConfigError("no graph network: its metadata have no settings", hint=HINT, place=place) from e
    if not isinstance(values, dict) or values.pop("format", None) != FORMAT:
        raise ConfigError("no graph network: its metadata have another format", hint=HINT, place=place)
    if (version := values.pop("version", None)) != VERSION or isinstance(version, bool):
        raise ConfigError(
            f"a graph network of version {version!s:.40}; this hybridkg reads version {VERSION}",
            hint=HINT,
            place=place,
        )
    names = [field.name for field in fields(GraphSettings)]
    if set(values) != set(names):
        wrong = min(set(values) ^ set(names))
        raise ConfigError(f"the settings of a graph network are {', '.join(names)}; see {wrong[:60]!r}", place=place)
    problem = next((name for name in names if not _is_valid(name, values[name])), "")
    if problem:
        raise ConfigError(f"a graph network with {problem} = {str(values[problem])[:60]!r}", hint=HINT, place=place)
    own_values: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in values.items()}
    settings = GraphSettings(**own_values)
    own = settings.columns if settings.inputs == FEATURES else settings.dimensions
    other = settings.dimensions if settings.inputs == FEATURES else settings.columns
    if not own or other or (settings.encoder != "") != (settings.inputs == VECTOR):
        raise ConfigError(f"a graph network whose settings do not fit its inputs {settings.inputs!r}", place=place)
    return settings


def _is_valid(name: str, value: Any) -> bool:
    words = {"learner": NETWORKS, "inputs": INPUTS, "nodes": NODES, "weight": WEIGHTS}
    match name:
        case "learner" | "inputs" | "nodes" | "weight":
            return value in words[name] if isinstance(value, str) else False
        case "edges":
            return _are_texts(value, 16) and len(set(value)) == len(value) and all(one in EDGE_SOURCES for one in value)
        case "columns":
            return _are_texts(value, MAX_COLUMNS) and len(set(value)) == len(value)
        case "mean":
            return isinstance(value, bool)
        case "hidden":
            return type(value) is int and 1 <= value <= MAX_WIDTH
        case "dimensions":
            return type(value) is int and 0 <= value <= MAX_WIDTH
        case _:
            return isinstance(value, str)


def _are_texts(value: Any, most: int) -> bool:
    return isinstance(value, list) and len(value) <= most and all(isinstance(one, str) for one in value)
