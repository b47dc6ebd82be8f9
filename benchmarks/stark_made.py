"""A made knowledge base in the layout of STaRK, with questions whose answers follow from its relations and its texts.

The real ones cannot be had here. The files are as the code of STaRK writes them: pickles of protocol 4 with attributes
as pandas leaves them (-1 and NaN for what is missing, numpy.str_ for the names of brands), tensors that are views of a
larger storage, MAG without the names of its types, Amazon below processed/cache/. A question names two neighbours of
its answers and a word of their text. `benchmarks.stark` converts and asks it.
"""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SKB = {"amazon": "processed/cache/brand-category-color", "mag": "processed", "prime": "processed"}
"""Where the files lie below the folder."""


@dataclass(frozen=True)
class Question:
    """What is asked: the names of two neighbours and a word."""

    text: str
    first: str
    second: str
    word: str
    answers: tuple[int, ...]


@dataclass
class Graph:
    """A knowledge base in the making."""

    nodes: dict[int, dict[str, Any]]
    types: list[int]
    edges: list[tuple[int, int, int]]
    node_names: dict[int, str]
    edge_names: dict[int, str]
    questions: list[Question]


class Words:
    """Made words, the frequent ones short, and names of several."""

    def __init__(self, seed: int, count: int = 4000):
        self.draw = np.random.default_rng(seed)
        syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
        parts = self.draw.integers(0, len(syllables), (count, 4))
        self.all = [
            "".join(syllables[j] for j in row[: 2 + (i > 300) + (i > 1500)]) for i, row in enumerate(parts.tolist())
        ]
        share = 1 / (np.arange(count) + 10.0)
        self.share = share / share.sum()

    def some(self, number: int) -> list[str]:
        """Words of a text."""
        return [self.all[i] for i in self.draw.choice(len(self.all), number, p=self.share).tolist()]

    def names(self, number: int, parts: int = 2) -> list[str]:
        """Names, each once."""
        found: dict[str, None] = {}
        while len(found) < number:
            words = self.draw.integers(0, len(self.all), parts).tolist()
            found[" ".join(self.all[i].capitalize() for i in words)] = None
        return list(found)

    def pick(self, low: int, high: int, number: int) -> list[int]:
        """Numbers from low to below high, each once."""
        return self.draw.choice(np.arange(low, high), min(number, high - low), replace=False).tolist()


def made_mag(nodes: int, seed: int) -> Graph:
    """Authors, institutions, fields of study and papers, in this order as in the original."""
    w = Words(seed)
    authors, institutions, fields = nodes * 5 // 10, max(4, nodes // 50), max(4, nodes // 50)
    first = [0, authors, authors + institutions, authors + institutions + fields, nodes]
    info: dict[int, dict[str, Any]] = {}
    names = w.names(first[3], 3)
    for i in range(first[3]):
        kind = ("author", "institution", "field_of_study")[sum(i >= edge for edge in first[1:3])]
        unknown = kind == "author" and i % 97 == 5
        info[i] = {"id": i, "mag_id": 2_000_000_000 + i, "Rank": 10_000 + i % 50, "type": kind, "new_id": i}
        info[i] |= {"DisplayName": -1 if unknown else names[i], "PaperCount": i % 7 - 1, "CitationCount": i % 31 - 1}
    edges = [(a, first[1] + int(w.draw.integers(institutions)), 0) for a in range(authors) if a % 3]
    home = {a: i for a, i, _ in edges}
    asked: list[tuple[int, list[int], list[int]]] = []
    for p in range(first[3], nodes):
        date = f"{1990 + p % 30}-{1 + p % 12:02}-01"
        venue = {"OriginalVenue": names[p % 50] if p % 3 else -1, "JournalDisplayName": names[p % 40]}
        info[p] = {"id": p, "mag_id": 2_000_000_000 + p, "Rank": 20_000, "type": "paper", "new_id": p, "DocType": -1}
        info[p] |= {"title": " ".join(w.some(7)), "abstract": " ".join(w.some(60)) + ".\r\n", "Date": date, **venue}
        info[p] |= {"ConferenceSeriesDisplayName": -1, "ConferenceInstancesDisplayName": -1, "Year": float("nan")}
        writers, topics = w.pick(0, authors, 3), w.pick(first[2], first[3], 3)
        edges += [(a, p, 3) for a in writers] + [(p, t, 2) for t in topics]
        edges += [(p, c, 1) for c in w.pick(first[3], nodes, 4) if c != p]
        asked.append((p, topics, [home[a] for a in writers if a in home]))
    texts = {p: f"{info[p]['title']} {info[p]['abstract']}" for p, _, _ in asked}
    text = "Which papers on {} from {} are about {}?"
    questions = _questions(w, asked, texts, lambda i: info[i]["DisplayName"], text)
    node_names = {0: "author", 1: "institution", 2: "field_of_study", 3: "paper"}
    kinds = [sum(i >= edge for edge in first[1:4]) for i in range(nodes)]
    return Graph(info, kinds, edges, node_names, {}, questions)


def made_amazon(nodes: int, seed: int) -> Graph:
    """Products with reviews and questions, then brands, categories and colors."""
    w = Words(seed)
    brands, categories, colors = max(4, nodes // 30), max(4, nodes // 100), 12
    products = nodes - brands - categories - colors
    first = [products, products + brands, products + brands + categories, nodes]
    names = w.names(nodes - products)
    info: dict[int, dict[str, Any]] = {}
    edges: list[tuple[int, int, int]] = []
    asked: list[tuple[int, list[int], list[int]]] = []
    for p in range(products):
        brand, category = (int(w.draw.integers(first[i], first[i + 1])) for i in (0, 1))
        color = w.pick(first[2], first[3], 2)
        reviews = [
            {"reviewerID": f"R{p}{i}", "summary": " ".join(w.some(3)), "reviewText": " ".join(w.some(20)),
             "vote": f"1,20{i}" if i % 4 == 1 else float("nan"), "overall": 5.0, "verified": np.bool_(True),
             "style": {"Color:": names[color[0] - products]}}
            for i in range(int(w.draw.integers(0, 6)))
        ]  # fmt: skip
        info[p] = {"review": reviews, "asin": f"B{p:08}", "title": " ".join(w.some(6)), "price": "$9.99", "rank": []}
        info[p]["qa"] = [{"questionType": "yes/no", "question": " ".join(w.some(6)) + "?", "answer": "yes"}] * (p % 2)
        info[p] |= {"feature": [" ".join(w.some(5)), "ASIN: B000"], "description": [" ".join(w.some(15))]}
        info[p]["details"] = {"product_dimensions": "2 x 3 inches ; 4 ounces"} if p % 3 else {}
        info[p] |= {"brand": names[brand - products], "color": [names[c - products] for c in color]}
        edges += [(p, q, i % 2) for i, q in enumerate(w.pick(0, products, 5)) if q != p]
        edges += [(p, brand, 2), (p, category, 3), *((p, c, 4) for c in color)]
        asked.append((p, [brand], color))
    for i in range(products, nodes):
        kind = ("brand", "category", "color")[sum(i >= edge for edge in first[1:3])]
        info[i] = {f"{kind}_name": np.str_(names[i - products])}
    texts = {p: _all_text(info[p]) for p in range(products)}
    text = "Can you recommend something by {} in {} that has {}?"
    questions = _questions(w, asked, texts, lambda i: names[i - products], text)
    node_names = {0: "product", 1: "brand", 2: "category", 3: "color"}
    edge_names = dict(enumerate(AMAZON_RELATIONS))
    kinds = [sum(i >= edge for edge in first[:3]) for i in range(nodes)]
    return Graph(info, kinds, edges, node_names, edge_names, questions)


def _all_text(product: dict[str, Any]) -> str:
    reviews = (f"{review['summary']} {review['reviewText']}" for review in product["review"])
    asked = (question["question"] for question in product["qa"])
    return " ".join([product["title"], *product["description"], product["feature"][0], *reviews, *asked])


AMAZON_RELATIONS = ("also_buy", "also_view", "has_brand", "has_category", "has_color")
PRIME_TYPES = (
    "disease", "gene/protein", "molecular_function", "drug", "pathway",
    "anatomy", "effect/phenotype", "biological_process", "cellular_component", "exposure",
)  # fmt: skip
PRIME_RELATIONS = (
    "ppi", "carrier", "enzyme", "target", "transporter", "contraindication", "indication", "off-label use",
    "synergistic interaction", "associated with", "parent-child", "phenotype absent", "phenotype present",
    "side effect", "interacts with", "linked to", "expression present", "expression absent",
)  # fmt: skip


def made_prime(nodes: int, seed: int) -> Graph:
    """Nodes of the ten types in turn; every edge in both directions, as in the original."""
    w = Words(seed)
    names, info = w.names(nodes, 3), {}
    for i in range(nodes):
        kind = PRIME_TYPES[i % 10]
        info[i] = {"id": str(i), "type": kind, "name": names[i], "source": "NCBI"}
        words = " ".join(w.some(40))
        if kind == "gene/protein":
            info[i]["details"] = {
                "_id": "1", "query": names[i], "alias": w.some(3), "summary": words,
                "interpro": [{"id": "IPR1", "desc": "Kinase family"}], "genomic_pos": {"chr": "7", "start": 5},
                "generif": [{"pubmed": 1, "text": " ".join(w.some(8))}, {"pubmed": 2, "text": "Binds zinc."}],
            }  # fmt: skip
        elif kind == "drug":
            info[i]["details"] = {"description": words, "half_life": float("nan"), "state": f"{names[i]} is a solid."}
        elif kind == "disease":
            info[i]["details"] = {"mondo_name": names[i], "mondo_definition": words, "orphanet_definition": "nan"}
    edges: list[tuple[int, int, int]] = []
    asked: list[tuple[int, list[int], list[int]]] = []

    def both(a: int, b: int, relation: str) -> None:
        number = PRIME_RELATIONS.index(relation)
        edges.extend([(a, b, number), (b, a, number)])

    genes, diseases = np.arange(1, nodes, 10), np.arange(0, nodes, 10)
    for drug in range(3, nodes, 10):
        targets = w.draw.choice(genes, 2, replace=False).tolist()
        indications = w.draw.choice(diseases[: max(2, len(diseases) // 10)], 2, replace=False).tolist()
        for gene in targets:
            both(drug, gene, "target")
        for disease in indications:
            both(drug, disease, "indication")
        asked.append((drug, targets, indications))
    for gene in genes.tolist():
        both(gene, int(w.draw.choice(genes)), "ppi")
        both(gene, int(w.draw.choice(diseases)), "associated with")
    texts = {drug: f"{names[drug]} {info[drug]['details']['description']}" for drug, _, _ in asked}
    text = "Which drugs target {}, are indicated for {} and are said to be {}?"
    questions = _questions(w, asked, texts, lambda i: names[i], text)
    kinds = [i % 10 for i in range(nodes)]
    return Graph(info, kinds, edges, dict(enumerate(PRIME_TYPES)), dict(enumerate(PRIME_RELATIONS)), questions)


def _questions(
    w: Words,
    asked: list[tuple[int, list[int], list[int]]],
    texts: dict[int, str],
    name: Callable[[int], str],
    text: str,
    most: int = 60,
) -> list[Question]:
    """Questions about two neighbours and a word of some nodes; the answers are all nodes that fit."""
    fitting: dict[tuple[int, int], list[int]] = {}
    for node, firsts, seconds in asked:
        for pair in {(a, b) for a in firsts for b in seconds}:
            fitting.setdefault(pair, []).append(node)
    words = {node: set(found.split()) for node, found in texts.items()}
    questions = {}
    for i in w.draw.permutation(len(asked)).tolist():
        node, firsts, seconds = asked[i]
        if seconds and len(questions) < most:
            known = sorted(word for word in words[node] if word in w.all[50:])
            first, second, word = firsts[0], seconds[0], known[int(w.draw.integers(len(known)))]
            answers = tuple(sorted(n for n in fitting[first, second] if word in words[n]))
            found = Question(text.format(name(first), name(second), word), name(first), name(second), word, answers)
            questions[found.text] = found
    return list(questions.values())


MADE: dict[str, Callable[[int, int], Graph]] = {"amazon": made_amazon, "mag": made_mag, "prime": made_prime}


# --- the files --------------------------------------------------------------------


def write_skb(kb: str, nodes: int, folder: Path, *, seed: int = 1, with_torch: bool = False) -> list[Question]:
    """Writes FOLDER/skb and FOLDER/qa; the questions by their ids, 0, 1, ..."""
    graph = MADE[kb](nodes, seed)
    write_graph(kb, graph, folder, with_torch=with_torch)
    return graph.questions


def write_graph(kb: str, graph: Graph, folder: Path, *, with_torch: bool = False) -> None:
    """Writes FOLDER/skb and FOLDER/qa of any graph."""
    files = folder / "skb" / SKB[kb]
    files.mkdir(parents=True)
    pickle_to(files / "node_info.pkl", graph.nodes)
    if kb != "mag":
        pickle_to(files / "node_type_dict.pkl", graph.node_names)
        pickle_to(files / "edge_type_dict.pkl", graph.edge_names)
    rows = np.array(graph.edges, np.int64).T.copy()
    save = save_with_torch if with_torch else save_tensor
    save(files / "node_types.pt", np.array(graph.types, np.int64)[np.newaxis], 0)
    save(files / "edge_index.pt", rows, slice(0, 2))
    save(files / "edge_types.pt", rows, 2)
    for part in ("stark_qa", "split"):
        (folder / "qa" / part).mkdir(parents=True)
    lines = [f'{i},"{q.text}","{list(q.answers)}"\n' for i, q in enumerate(graph.questions)]
    (folder / "qa/stark_qa/stark_qa.csv").write_text("id,query,answer_ids\n" + "".join(lines))
    thirds = {"train": 0, "val": 1, "test": 2}
    for split, third in thirds.items():
        ids = [str(i) for i in range(len(graph.questions)) if i % 3 == third]
        (folder / f"qa/split/{split}.index").write_text("\n".join(ids))


def pickle_to(path: Path, value: object) -> None:
    """A pickle of protocol 4."""
    with path.open("wb") as file:
        pickle.dump(value, file, protocol=4)


def save_with_torch(path: Path, storage: np.ndarray, part: int | slice) -> None:
    """Rows of a matrix, as a view of it."""
    import torch

    torch.save(torch.from_numpy(storage)[part], path)


def save_tensor(path: Path, storage: np.ndarray, part: int | slice) -> None:
    """The same without torch: the archive that torch.save writes, by hand."""
    view = storage[part]
    offset = 0 if isinstance(part, slice) else part * storage.shape[1]
    steps = [step // storage.itemsize for step in view.strides]
    described = b"".join([
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((", _text("storage"), b"ctorch\nLongStorage\n", _text("0"),
        _text("cpu"), _whole(storage.size), b"tQ", _whole(offset), _tuple(view.shape), _tuple(steps),
        b"\x89ccollections\nOrderedDict\n)RtR.",
    ])  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (
            ("data.pkl", described),
            ("byteorder", b"little"),
            ("data/0", storage.astype("<i8", copy=False).tobytes()),
            ("version", b"3\n"),
        ):
            archive.writestr(zipfile.ZipInfo(f"{path.stem}/{name}"), content)  # without the time of the day


def _text(text: str) -> bytes:
    return b"X" + len(text).to_bytes(4, "little") + text.encode()


def _whole(number: int) -> bytes:
    return b"\x8a\x08" + number.to_bytes(8, "little", signed=True)


def _tuple(numbers: Iterable[int]) -> bytes:
    return b"(" + b"".join(map(_whole, numbers)) + b"t"
