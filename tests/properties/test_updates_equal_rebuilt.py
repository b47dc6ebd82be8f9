"""After any changes, every answer, every score and every file of an index is that of a build from scratch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from changed_knowledge_base import changed
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from rebuilt import assert_equals_rebuilt, index_files, quads_of
from sampling import examples, sampled
from tails import WITH_TAILS, tails

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


@contextmanager
def followed_in_tails() -> Iterator[None]:
    """Every index follows a commit, and what differs from the base goes to tails."""
    with followed(), tails():
        yield


WAYS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "followed": followed,
    "anew": anew,
    "tails": followed_in_tails,
}
"""How indexes are made in a commit: makes a context that forces it."""


def check(seed: int, folder: Path, way: str = "followed") -> None:
    """Applies the changes of a seed, and compares with a build from scratch."""
    with WAYS[way](), changed(seed, folder) as kb:
        assert_equals_rebuilt(kb, folder / "fresh", leave_out=WITH_TAILS if way == "tails" else ())
        kb.verify()


@pytest.mark.parametrize("way", sampled(WAYS, "followed", "tails"))
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
