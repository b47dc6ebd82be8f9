"""After any changes, every answer, every score and every file of an index is that of a build from scratch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
import toy_encoder
from generated_changes import PREFIXES, Step, UpdateMaker
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from rebuilt import PROLOGUE, E, answer, assert_equals_rebuilt, documents_of, entity, index_files, quads_of
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.kb.write import follow_change
from hybridkg.kb.write.follow_change import IndexFollower, RebuildNeededError


@contextmanager
def followed() -> Iterator[None]:
    """Every index follows a commit, however large the change."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(follow_change, "REBUILD_SHARE", 1_000)
        yield


@contextmanager
def anew() -> Iterator[None]:
    """Every index is built anew with each commit."""

    def refuse(self: IndexFollower) -> None:
        raise RebuildNeededError("the test wants it")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IndexFollower, "run", refuse)
        yield


WAYS: dict[str, Callable[[], AbstractContextManager[None]]] = {"followed": followed, "anew": anew}
"""How indexes are made in a commit: makes a context that forces it."""

PROFILE = """@prefix hk: <https://w3id.org/hybridkg/ns#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix : <http://e/> .
<> a hk:Profile ; """
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


def made(folder: Path, profile: str, settings: str, vectors: bool, data: str) -> KnowledgeBase:
    kb = KnowledgeBase.create(folder / "kb")
    toml = folder / "kb" / "kb.toml"
    toml.write_text(toml.read_text().replace('default_graph = "default"', f'default_graph = "{settings}"'))
    chosen = None
    if PROFILES[profile]:
        chosen = folder / "profile.ttl"
        chosen.write_text(PROFILE + PROFILES[profile])
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
    """

    def __init__(self, folder: Path, kb: KnowledgeBase, index: bool | None):
        self.folder, self.kb, self.index = folder, kb, index

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
                other.write_text(PROFILE + PROFILES["rest"])
                kb.index(profile=other)
            case "file":
                before = quads_of(kb)
                report = kb.load(self.file(step.what), index=self.index)
                assert report.triples == len(quads_of(kb) - before)
            case "documents":
                documents = {f"{E}{name}": {"id": f"{E}{name}", **fields} for name, fields in step.what}
                path = self.folder / "documents.jsonl"
                path.write_text("".join(f"{json.dumps(line)}\n" for line in documents.values()))
                kb.load(text=path, index=self.index)
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
                if inside is not None:
                    assert [answer(kb, query) for query in INSIDE] == inside

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


STATEMENTS = (
    ':a :next :b {| rdfs:label "red" ; :next :c |} .',
    "_:r :next <<( :b :next :a )>> , :a . :c :next _:r .",
    ':x rdfs:label <<( :a rdfs:label "fish" )>> .',
    ':b rdfs:label "boat"@en--ltr ; :plot "red boat"@en--rtl .',
    ":c :by << :d :next :e ~ :b >> .",
    ":d a <<( :d a :Film )>> .",
)
"""Triples that the projection omits, and others of their subjects."""

INSIDE = (
    "SELECT * { ?s ?p ?o } ORDER BY ?s ?p ?o",
    'SELECT ?x ?s { ?x MATCH "red fish" AS ?s } RANK BY ?s',
    'SELECT ?x ?s ?y { ?x MATCH "boat" USING mlm AS ?s . ?x :next ?y } RANK BY ?s',
)


@contextmanager
def changed(seed: int, folder: Path) -> Iterator[KnowledgeBase]:
    """A knowledge base after the changes of a seed, whose index is up to date."""
    choose = Random(seed).choice
    profile, settings, index = choose(list(PROFILES)), choose(["default", "union"]), choose([None, None, False])
    maker = UpdateMaker(choose, vectors=choose([True, False]))
    with pytest.MonkeyPatch.context() as patch:
        toy_encoder.register(patch)
        data = f"{maker.data(4, 12)} {maker.more_than_a_block()}"
        if choose([True, False]):
            data += " " + " ".join(choose(STATEMENTS) for _ in range(3))
        changing = Changing(folder, made(folder, profile, settings, maker.vectors, data), index)
        for step in maker.some(maker.step, 1, 6):
            changing.run(step)
        if changing.kb._snapshot.generation.behind():
            changing.kb.index()
        with changing.kb as kb:
            yield kb


def check(seed: int, folder: Path, way: str = "followed") -> None:
    """Applies the changes of a seed, and compares with a build from scratch."""
    with WAYS[way](), changed(seed, folder) as kb:
        assert_equals_rebuilt(kb, folder / "fresh")
        kb.verify()


@pytest.mark.parametrize("way", ["followed", pytest.param("anew", marks=pytest.mark.exhaustive)])
@settings(max_examples=examples(2, 250), deadline=None, phases=[Phase.generate])  # to shrink them takes minutes
@given(seed=st.integers(0, 2**32))
def test_after_any_changes_a_knowledge_base_is_the_one_built_from_scratch(tmp_path_factory, way, seed):
    check(seed, tmp_path_factory.mktemp("updates"), way)


@settings(max_examples=examples(1, 50), deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_the_same_changes_give_the_same_bytes(tmp_path_factory, seed):
    found = []
    for _ in range(2):
        with changed(seed, tmp_path_factory.mktemp("bytes")) as kb:
            root = kb._snapshot.generation.path
            documents = {p.relative_to(root): p.read_bytes() for p in root.glob("documents/**/*") if p.is_file()}
            found.append((index_files(kb), documents, quads_of(kb), kb._snapshot.generation.name))
    assert found[0] == found[1]
