"""Block maxima that many merges have patched bound every score, and are as tight as their levels allow."""

from __future__ import annotations

import itertools
from contextlib import closing

import numpy as np
import pytest
from block_max_law import assert_law

from hybridkg.compute.kernels import LazyKernel
from hybridkg.errors import CorruptError
from hybridkg.interfaces.entity_values import EntityValues
from hybridkg.interfaces.staying import Staying
from hybridkg.interfaces.text_index import IndexedField, TextQuery
from hybridkg.text.index import EmbeddedTextIndex
from hybridkg.text.index.build.builder import EmbeddedTextBuilder
from hybridkg.text.index.build.incremental import merge_text
from hybridkg.text.index.comparison import StoredText, compare_builds
from hybridkg.text.index.layout import ArrayReader
from hybridkg.text.index.stored_fields import best
from hybridkg.text.index.topk import (
    block_max_writer,
    changed_blocks,
    earlier_block_max,
    patched_block_max,
    stored_levels,
    topk,
)

FIELDS = (
    IndexedField("title", 2.0, 0.5, "standard"),
    IndexedField("body", 1.0, 1.0, "standard"),
    IndexedField("tags", 0.0, 0.0, "standard"),
)
WORDS = ["sea", "fish", "boat", "net", "rare", "tide", "salt", "wind"]
N = 1_300


@pytest.fixture(autouse=True)
def low_limits(monkeypatch):
    """Small indexes have block maxima, and prune; most words are patched."""
    for module, name, value in (
        (block_max_writer, "MIN_NODES", 1),
        (block_max_writer, "COMMON", 20),
        (patched_block_max, "MAX_PATCHED", 0.1),
        (patched_block_max, "CELLS", 200),
        (topk, "MIN_POSTINGS", 1),
        (topk, "FIRST_BLOCKS", 1),
        (topk, "MAX_BLOCKS", 8),
        (topk, "MIN_BLOCKS", 8),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.fixture
def new_folder(tmp_path):
    numbers = itertools.count()

    def make():
        path = tmp_path / str(next(numbers))
        path.mkdir()
        return path

    return make


def text(rng, most):
    often = rng.poisson(rng.choice([0, 0.2, 1, most], len(WORDS)))
    return " ".join(rng.permutation(np.repeat(WORDS, often)).tolist() + ["x"] * int(rng.integers(0, 9)))


def entity(rng, most=3):
    return tuple([(text(rng, most), "")] if rng.random() < 0.7 else [] for _ in FIELDS)


def built(folder, texts):
    with closing(EmbeddedTextBuilder(folder, FIELDS, len(texts))) as builder:
        for i in range(len(FIELDS)):
            builder.add_all(i, ((number, own[i]) for number, own in enumerate(texts)))
        builder.finish()
    return folder


def merged(folder, previous, old, new):
    pairs = list(zip(old, new, strict=True))
    staying, before, changed = [], [], []
    for i in range(len(FIELDS)):
        own = [number for number, (a, b) in enumerate(pairs) if a[i] != b[i]]
        ids = np.arange(len(old))
        ids[own] = -1
        staying.append(Staying.of(ids))
        before.append(EntityValues.of((number, old[number][i]) for number in own if old[number][i]))
        changed.append(EntityValues.of((number, new[number][i]) for number in own))
    text_bytes = sum(len(value.encode()) for own in new for values in own for value, _ in values)
    merge_text(previous, folder, FIELDS, staying, len(new), before, changed, text_bytes)
    return folder


def next_texts(rng, texts, step):
    """Some entities get other fields, one of them longer ones than any before every third time."""
    new = list(texts)
    for number in rng.choice(N, int(rng.integers(1, 9)), replace=False).tolist():
        other = entity(rng, 90 if step % 3 == 2 else 3)
        chosen = rng.random(len(FIELDS)) < 0.6
        new[number] = tuple(b if c else a for a, b, c in zip(texts[number], other, chosen, strict=True))
    return new


def assert_topk_is_exhaustive(folder):
    index = EmbeddedTextIndex.open(folder, None)
    for words, model in itertools.product(
        ("sea", "sea fish boat", "rare net", "tide salt x wind"), ("bm25f", "lm", "mlm")
    ):
        query = TextQuery(words, model=model)
        ids, scores = index.score_all(query)
        for k in (1, 10):
            wanted, found = best(ids, scores, k, None), index.topk(query, k)
            assert [column.tobytes() for column in found] == [column.tobytes() for column in wanted]


@pytest.fixture(params=["written whole", "with a tail"])
def tails(request, monkeypatch):
    """Whether levels that change are written behind the others."""
    monkeypatch.setattr(stored_levels, "MIN_BASE", 1 if request.param == "with a tail" else 1 << 20)
    monkeypatch.setattr(stored_levels, "MAX_TAIL", 0.9)  # commits change more words than those of long lists
    return request.param == "with a tail"


@pytest.fixture
def computed_anew(monkeypatch):
    """The words whose maxima are computed from all their postings."""
    terms, blocks = [], block_max_writer.BlockReader.blocks
    monkeypatch.setattr(
        block_max_writer.BlockReader, "blocks", lambda self, term: (terms.append(term), blocks(self, term))[1]
    )
    return terms


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_law_holds_after_each_of_many_merges(kernel, monkeypatch, new_folder, computed_anew, compiled, seed, tails):
    if compiled:
        assert changed_blocks.KERNEL.load() is not None
    else:
        monkeypatch.setattr(LazyKernel, "for_work", lambda self, work: None)
    rng = np.random.default_rng(seed)
    texts = [entity(rng) for _ in range(N)]
    path, patched, with_tail = built(new_folder(), texts), 0, 0
    for step in range(12):
        computed_anew.clear()
        new = next_texts(rng, texts, step)
        path, texts = merged(new_folder(), path, texts, new), new
        n_terms = len(ArrayReader(path, "1").array("peaks.terms"))
        patched += n_terms - len(computed_anew)
        with_tail += (path / "1.peaks.levels.tail").exists()
        assert_law(path, FIELDS)
        scratch = built(new_folder(), texts)
        assert compare_builds(StoredText(scratch), StoredText(path)) is None
        from_scratch = ArrayReader(scratch, "1")
        for name in ("peaks.terms", "peaks.members", "peaks.longest"):
            assert ArrayReader(path, "1").array(name).tobytes() == from_scratch.array(name).tobytes()
        if compiled:
            assert_topk_is_exhaustive(path)
    assert patched > 12 * n_terms / 3
    assert bool(with_tail) == tails


def test_the_same_merges_give_the_same_bytes_with_and_without_kernels(kernel, monkeypatch, new_folder, tails):
    assert changed_blocks.KERNEL.load() is not None
    written = []
    for compiled in (True, True, False):
        if not compiled:
            monkeypatch.setattr(LazyKernel, "for_work", lambda self, work: None)
        rng = np.random.default_rng(11)
        texts = [entity(rng) for _ in range(N)]
        path = built(new_folder(), texts)
        for step in range(6):
            new = next_texts(rng, texts, step)
            path, texts = merged(new_folder(), path, texts, new), new
        written.append({file.name: file.read_bytes() for file in path.iterdir()})
    assert written[0] == written[1]
    assert written[0] == written[2]


def test_a_word_that_nothing_has_changed_is_copied(new_folder, computed_anew, tails):
    rng = np.random.default_rng(5)
    texts = [entity(rng) for _ in range(N)]
    previous = built(new_folder(), texts)
    computed_anew.clear()
    new = [*texts[:-1], (*texts[-1][:2], [("unknown", "")])]
    path = merged(new_folder(), previous, texts, new)
    assert computed_anew == []
    assert (path / "1.peaks.levels").samefile(previous / "1.peaks.levels") == tails
    assert_law(path, FIELDS)


def longer(rng, texts, share):
    """A share of the entities get more words in a field, and one a shorter text."""
    new = list(texts)
    for number in rng.choice(N, int(share * N), replace=False).tolist():
        title, body, tags = texts[number]
        new[number] = (title, [(f"{body[0][0] if body else ''} sea x{number}".strip(), "")], tags)
    new[int(rng.integers(N))] = ([("fish", "")], [], [])
    return new


def test_maxima_of_longer_texts_stay_as_bounds(monkeypatch, new_folder, computed_anew):
    monkeypatch.setattr(patched_block_max, "MAX_PATCHED", 0.02)
    monkeypatch.setattr(earlier_block_max, "MAX_DRIFT", 0.5)
    rng = np.random.default_rng(12)
    texts = [entity(rng) for _ in range(N)]
    path, loose, anew = built(new_folder(), texts), [], []
    for _ in range(6):
        computed_anew.clear()
        new = longer(rng, texts, 0.02)
        path, texts = merged(new_folder(), path, texts, new), new
        anew.append(len(computed_anew))
        assert_law(path, FIELDS)
        assert_topk_is_exhaustive(path)
        scratch = built(new_folder(), texts)
        assert compare_builds(StoredText(scratch), StoredText(path)) is None
        loose.append(ArrayReader(path, "1").header[earlier_block_max.LOOSE])
        if loose[-1]:
            levels = path / "1.peaks.levels"
            content = levels.read_bytes()
            levels.write_bytes(bytes(len(content)))
            assert compare_builds(StoredText(scratch), StoredText(path)) is not None
            levels.write_bytes(content)
    n_terms = len(ArrayReader(path, "1").array("peaks.terms"))
    # The words that come or go with the texts are computed anew, and all of them once too many blocks are loose.
    assert {count == n_terms for count in anew} == {True, False}
    assert [count == n_terms for count in anew] == [not blocks for blocks in loose]
    assert loose[1] > loose[0] > 0


def test_forms_stay_until_bounds_in_them_are_loose(monkeypatch, new_folder, computed_anew):
    monkeypatch.setattr(earlier_block_max, "MAX_DRIFT", 0.005)
    rng = np.random.default_rng(6)
    texts = [entity(rng) for _ in range(N)]
    path = built(new_folder(), texts)
    forms, changes = ArrayReader(path, "1").about("peaks"), 0
    for step in range(24):
        new = list(texts)
        new[step] = (*texts[step][:1], [("wind " * 25, "")], *texts[step][2:])
        computed_anew.clear()
        path, texts = merged(new_folder(), path, texts, new), new
        assert_law(path, FIELDS)
        found = ArrayReader(path, "1").about("peaks")
        n_terms = len(ArrayReader(path, "1").array("peaks.terms"))
        assert (found == forms) == (len(computed_anew) < n_terms)
        changes += found != forms
        forms = found
    assert 1 < changes < 12


@pytest.mark.parametrize("share", [0, 0.002, 0.1])
def test_a_word_with_too_many_changed_blocks_is_computed_anew(monkeypatch, new_folder, computed_anew, share):
    monkeypatch.setattr(patched_block_max, "MAX_PATCHED", share)
    monkeypatch.setattr(earlier_block_max, "MAX_DRIFT", 1)
    rng = np.random.default_rng(7)
    texts = [entity(rng) for _ in range(N)]
    previous = built(new_folder(), texts)
    computed_anew.clear()
    new = [([("sea", "")], *own[1:]) if number in (3, 900) else own for number, own in enumerate(texts)]
    path = merged(new_folder(), previous, texts, new)
    n_terms = len(ArrayReader(path, "1").array("peaks.terms"))
    assert len(computed_anew) == n_terms if share < 0.1 else not computed_anew


def test_words_that_become_common_are_computed_and_others_leave(monkeypatch, new_folder, computed_anew):
    monkeypatch.setattr(patched_block_max, "MAX_PATCHED", 1)
    monkeypatch.setattr(earlier_block_max, "MAX_DRIFT", 1)
    common, rare = ([("common", "")], [], []), [([(f"w{number}", "")], [], []) for number in range(N)]
    states = [rare, [common] * (N // 20) + rare[N // 20 :], [common] * (N // 10) + rare[N // 10 :], rare]
    path, sizes = built(new_folder(), rare), []
    for before, after in itertools.pairwise(states):
        computed_anew.clear()
        path = merged(new_folder(), path, before, after)
        assert_law(path, FIELDS)
        sizes.append((len(ArrayReader(path, "1").array("peaks.terms")), len(computed_anew)))
    assert sizes == [(1, 1), (1, 0), (0, 0)]


@pytest.mark.parametrize("name", ["peaks.codes", "peaks.levels", "peaks.levels.tail", "peaks.starts"])
def test_damage_of_patched_maxima_is_found_by_their_postings(monkeypatch, new_folder, name):
    monkeypatch.setattr(stored_levels, "MIN_BASE", 1)
    monkeypatch.setattr(stored_levels, "MAX_TAIL", 2)
    monkeypatch.setattr(earlier_block_max, "MAX_DRIFT", 1)
    rng = np.random.default_rng(8)
    texts = [entity(rng) for _ in range(N)]
    new = [([("sea", "")], *texts[0][1:]), *texts[1:]]
    path, scratch = merged(new_folder(), built(new_folder(), texts), texts, new), built(new_folder(), new)
    assert compare_builds(StoredText(scratch), StoredText(path)) is None
    file = path / f"1.{name}"
    content, found = file.read_bytes(), set()
    step = {"peaks.starts": 8}.get(name, len(content) // 50)
    for place in range(len(content) % step, len(content), step):
        damaged = bytearray(content)
        damaged[place] ^= 255
        file.unlink()
        file.write_bytes(damaged)
        try:
            found.add(compare_builds(StoredText(scratch), StoredText(path)) is not None)
        except CorruptError:
            found.add(True)
    # Some levels have no block, and the base has words that are in the tail.
    assert found == {True} or (found == {True, False} and name in ("peaks.codes", "peaks.levels"))
