"""A knowledge base to which the steps of generated_changes.py are applied."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
import toy_encoder
from generated_changes import PREFIXES, STATEMENTS, Step, UpdateMaker
from generated_profiles import HEADER, profile_text
from rebuilt import PROLOGUE, E, answer, documents_of, entity, quads_of

from hybridkg import KnowledgeBase

PROFILES = {
    "default": "",
    "paths": """hk:fields (
        [ hk:name "title" ; hk:path rdfs:label ; hk:weight 3 ; hk:b 0.4 ]
        [ hk:name "names" ; hk:path ( [ sh:zeroOrMorePath :next ] [ sh:zeroOrOnePath :by ] ) ; hk:text hk:Labels ]
        [ hk:name "plots" ; hk:path ( [ sh:oneOrMorePath [ sh:inversePath :next ] ] :plot ) ] ) .""",
    "rest": """hk:ignore :when ; hk:labels ( :note rdfs:label ) ; hk:fields (
        [ hk:name "title" ; hk:path [ sh:alternativePath ( rdfs:label :plot ) ] ; hk:localName true ]
        [ hk:name "others" ; hk:rest hk:Literals ; hk:analyzer "all_words" ]
        [ hk:name "around" ; hk:rest hk:Labels ; hk:weight 0.3 ] ) .""",
    "classes": """hk:entities :Film , :Person ; hk:fields (
        [ hk:name "title" ; hk:path rdfs:label ; hk:languages ( "en" "de" ) ]
        [ hk:name "by" ; hk:path ( [ sh:inversePath :by ] :next ) ; hk:text hk:Labels ; hk:analyzer "identifier" ]
        [ hk:name "review" ] [ hk:name "plot" ; hk:path :plot ; hk:text hk:Strings ] ) .""",
}
"""Of these four, the first is the built-in one; others are drawn."""

GENERATED = "generated"


def made(folder: Path, profile: str, settings: str, vectors: bool, data: str) -> KnowledgeBase:
    """A knowledge base of some Turtle; `profile` is the text of one, or empty for the built-in one."""
    kb = KnowledgeBase.create(folder / "kb")
    toml = folder / "kb" / "kb.toml"
    toml.write_text(toml.read_text().replace('default_graph = "default"', f'default_graph = "{settings}"'))
    chosen = None
    if profile:
        chosen = folder / "profile.ttl"
        chosen.write_text(profile)
    (folder / "data.ttl").write_text(PREFIXES + data)
    kb.load(folder / "data.ttl", profile=chosen, encoder=toy_encoder.NAME if vectors else None, index=True)
    return kb


class StoppedError(Exception):
    """Ends a transaction."""


class Changing:
    """A knowledge base to which steps are applied.

    Args:
        folder: for its files.
        kb: the knowledge base.
        index: the argument of commits: False leaves the indexes behind.

    Attributes:
        commits: how the indexes came along: `followed`, `behind`, `unchanged`, or why they were built anew.
    """

    def __init__(self, folder: Path, kb: KnowledgeBase, index: bool | None):
        self.folder, self.kb, self.index = folder, kb, index
        self.commits = Counter[str]()

    def run(self, step: Step) -> None:
        kb = self.kb
        match step.kind:
            case "reopen":
                kb.close()
                self.kb = KnowledgeBase.open(kb._location.path)
            case "index":
                kb.index()
            case "profile":
                other = self.folder / "other.ttl"
                if not other.exists():
                    other.write_text(HEADER + PROFILES["rest"])
                kb.index(profile=other)
            case "file":
                before = quads_of(kb)
                report = kb.load(self.file(step.what), index=self.index)
                assert report.triples == len(quads_of(kb) - before)
                self.commits["followed" if report.has_followed else report.not_followed or "loaded with index"] += 1
            case "documents":
                documents = {f"{E}{name}": {"id": f"{E}{name}", **fields} for name, fields in step.what}
                path = self.folder / "documents.jsonl"
                path.write_text("".join(f"{json.dumps(line)}\n" for line in documents.values()))
                report = kb.load(text=path, index=self.index)
                self.commits["followed" if report.has_followed else report.not_followed or "loaded with index"] += 1
            case "failing":
                before = quads_of(kb), documents_of(kb), kb._snapshot.generation.name
                with suppress(StoppedError), kb.transaction(index=self.index) as t:
                    self.change(t, step.what)
                    raise StoppedError
                kb.refresh()
                assert (quads_of(kb), documents_of(kb), kb._snapshot.generation.name) == before
            case _:
                steps = step.what if step.kind == "transaction" else [step]
                before = quads_of(kb)
                with kb.transaction(index=self.index) as t:
                    self.change(t, steps)
                    inside = None
                    if step.kind == "transaction" and not kb._snapshot.generation.behind() and self.index is None:
                        inside = [answer(t, query) for query in INSIDE]
                after = quads_of(kb)
                assert (t.report.added, t.report.removed) == (len(after - before), len(before - after))
                self._count(t.report)
                if inside is not None:
                    assert [answer(kb, query) for query in INSIDE] == inside

    def _count(self, report: Any) -> None:
        if report.index is None:
            self.commits["behind" if report.is_behind else "unchanged"] += 1
        else:
            self.commits[report.rebuilt or "followed"] += 1

    def change(self, t: Any, steps: list[Step]) -> None:
        for step in steps:
            if step.ranked and (self.index is False or self.kb._snapshot.generation.behind()):
                continue
            match step.kind:
                case "update":
                    t.update(PROLOGUE + step.what)
                case "load":
                    t.load(self.file(step.what))
                case "replace":
                    t.load(self.file(step.what[1]), replace=step.what[0])
                case "delete":
                    t.delete(self.file(step.what))
                case "text":
                    t.text(entity(step.what[0]), **step.what[1])
                case "delete_text":
                    t.delete_text(entity(step.what[0]), *step.what[1])

    def file(self, data: str) -> Path:
        path = self.folder / "some.ttl"
        path.write_text(PREFIXES + data)
        return path


INSIDE = (
    "SELECT * { ?s ?p ?o } ORDER BY ?s ?p ?o",
    'SELECT ?x ?s { ?x MATCH "red fish" AS ?s } RANK BY ?s',
    'SELECT ?x ?s ?y { ?x MATCH "boat" USING mlm AS ?s . ?x :next ?y } RANK BY ?s',
)


def drawn(seed: int, folder: Path, low: int = 1, high: int = 6) -> tuple[Changing, list[Step]]:
    """A new knowledge base of a seed, and from `low` to `high` steps for it; the toy encoder must be registered."""
    choose = Random(seed).choice
    profile = choose([*PROFILES, GENERATED, GENERATED])
    settings, index = choose(["default", "union"]), choose([None, None, False])
    maker = UpdateMaker(choose, vectors=choose([True, False]))
    text = profile_text(choose) if profile == GENERATED else PROFILES[profile] and HEADER + PROFILES[profile]
    data = f"{maker.data(4, 12)} {maker.more_than_a_block()}"
    if choose([True, False]):
        data += " " + " ".join(choose(STATEMENTS) for _ in range(3))
    changing = Changing(folder, made(folder, text, settings, maker.vectors, data), index)
    return changing, maker.some(maker.step, low, high)


@contextmanager
def changed(seed: int, folder: Path) -> Iterator[KnowledgeBase]:
    """A knowledge base after the changes of a seed, whose index is up to date."""
    with pytest.MonkeyPatch.context() as patch:
        toy_encoder.register(patch)
        changing, steps = drawn(seed, folder)
        for step in steps:
            changing.run(step)
        if changing.kb._snapshot.generation.behind():
            changing.kb.index()
        with changing.kb as kb:
            yield kb
