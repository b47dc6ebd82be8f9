"""The judged collections and the systems that benchmarks/models.py compares, each with the question it asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.linking import DATA, GEEER, OTHERS, TRUTHS, mapper
from hybridkg import KnowledgeBase
from hybridkg.datasets.building import make_dataset
from hybridkg.evaluation.categories import read_categories
from hybridkg.evaluation.qrels import Qrels, read_qrels
from hybridkg.evaluation.ranking import rank
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.topics import Topics, read_topics
from hybridkg.interfaces.text_index import Argument, FieldChoice, TextIndex, TextQuery

COLLECTIONS = ("cranfield", "cacm", "fb15k-dbpedia-entity")
BASELINE = "bm25"
LINKED = "fb15k-dbpedia-entity"
"""The collection whose topics mention entities, and for which others have published links."""


@dataclass(frozen=True)
class System:
    """A ranking as a user asks for it.

    Args:
        model: a name of RANKING_MODELS.
        arguments: of `USING model(...)`.
        links: whose links `elr` gets: empty for those of our own linker.
        base: the system that it extends, empty for none; it is compared with that as well.
    """

    model: str
    arguments: tuple[Argument, ...] = ()
    links: str = ""
    base: str = ""


SYSTEMS: Mapping[str, System] = {
    BASELINE: System("bm25"),
    "combined_fields": System("combined_fields"),
    "bm25f": System("bm25f"),
    "bm25f(form=galago)": System("bm25f", (("form", "galago"),)),
    "lm": System("lm"),
    "lm(smoothing=jm)": System("lm", (("smoothing", "jm"),)),
    "sdm": System("sdm", base="lm"),
    "mlm": System("mlm"),
    "mlm(smoothing=jm)": System("mlm", (("smoothing", "jm"),)),
    "prms": System("prms"),
    "fsdm": System("fsdm", base="mlm"),
}
"""On every collection, with the default parameters."""

NO_LINKS = "no links"

LINKED_SYSTEMS: Mapping[str, System] = {
    "elr, no links": System("elr", links=NO_LINKS, base="fsdm"),
    "elr, own links": System("elr", base="elr, no links"),
    "elr, TAGME's links": System("elr", links="TAGME (ELR)", base="elr, no links"),
    "elr, annotators' links": System("elr", links="entities", base="elr, no links"),
    "elr(base=lm), own links": System("elr", (("base", "lm"),), base="lm"),
    "elr(base=lm), annotators' links": System("elr", (("base", "lm"),), links="entities", base="lm"),
}
"""Where topics mention entities; without links elr is its base with other factors."""


@dataclass(frozen=True)
class Collection:
    """A judged collection, opened."""

    name: str
    folder: Path

    @cached_property
    def kb(self) -> KnowledgeBase:
        """The knowledge base."""
        return KnowledgeBase.open(self.folder / "kb")

    @cached_property
    def topics(self) -> Topics:
        """The texts."""
        return read_topics(self.folder / "topics.tsv")

    @cached_property
    def qrels(self) -> Qrels:
        """The judgements."""
        return read_qrels(self.folder / "qrels.txt")

    @cached_property
    def categories(self) -> dict[str, str] | None:
        """Of each topic, where there are any."""
        path = self.folder / "categories.tsv"
        return read_categories(path) if path.exists() else None

    @property
    def text(self) -> TextIndex:
        """Its text index."""
        index = self.kb._snapshot.text
        assert index is not None
        return index

    def entity_texts(self) -> Iterator[tuple[str, list[str]]]:
        """Each entity of the profile's fields that has any text: its IRI, and its texts, field by field."""
        snapshot = self.kb._snapshot
        assert snapshot.nodes is not None
        assert snapshot.profile is not None
        names = tuple(field.name for field in snapshot.profile.indexed_fields())
        for number in range(len(snapshot.nodes)):
            node = snapshot.nodes.node(number)
            if texts := [text for _, text, _ in snapshot.texts([node], names)[0]]:
                yield node.value, texts

    @cached_property
    def published(self) -> dict[str, dict[str, dict[str, float]]]:
        """Links of others: by their name, topic and entity of this knowledge base, with confidences."""
        mapped = mapper(self.kb)
        return {name: mapped(path) for name, path in OTHERS.items()} | {
            name: mapped(GEEER / file) for name, file in TRUTHS.items()
        }

    def systems(self) -> Mapping[str, System]:
        """Those to be compared on it."""
        return {**SYSTEMS, **LINKED_SYSTEMS} if self.name == LINKED else SYSTEMS

    def questions(self, system: System) -> dict[str, TextQuery]:
        """The question of each topic."""
        query = TextQuery("", syntax=False, fields=self._fields(system), model=system.model, arguments=system.arguments)
        if not system.links:
            return dict.fromkeys(self.topics.texts, query)
        links = {} if system.links == NO_LINKS else self.published[system.links]
        found = {}
        for topic in self.topics.texts:
            written = " ".join(f"<{node}> {confidence!r}" for node, confidence in links.get(topic, {}).items())
            arguments = (*query.arguments, ("links", written))
            found[topic] = TextQuery("", syntax=False, fields=query.fields, model=query.model, arguments=arguments)
        return found

    def _fields(self, system: System) -> tuple[FieldChoice, ...]:
        """Those of the profile with its weights, but for combined_fields, whose weights are at least 1."""
        if system.model != "combined_fields":
            return ()
        profile = self.kb._snapshot.profile
        assert profile is not None
        return tuple(FieldChoice(field.name, max(1.0, field.weight)) for field in profile.indexed_fields())

    def run(self, system: System, name: str) -> Run:
        """The best 1,000 of each topic."""
        return rank(self.kb, self.topics, self.questions(system), name=name)


def collections(work: Path, wanted: tuple[str, ...] = COLLECTIONS) -> Iterator[Collection]:
    """The collections, made where they are not there yet."""
    for name in wanted:
        if not (work / name).exists():
            make_dataset(name, DATA, work / name)
        yield Collection(name, work / name)
