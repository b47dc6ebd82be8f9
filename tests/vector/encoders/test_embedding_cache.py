"""Vectors that are kept by the hash of their text."""

import numpy as np
import pytest

from hybridkg.vector.encoders import embedding_cache
from hybridkg.vector.encoders.embedding_cache import CachedEmbeddings, EmbeddingLog, hashes, remove_logs

TEXTS = ["a", "b", "", "é\ud800", "a"]


def vectors(n, dimensions=3):
    return np.arange(n * dimensions, dtype=np.float32).reshape(n, dimensions)


def found(known, texts, dimensions=3):
    target = np.zeros((len(texts), dimensions), np.float32)
    filled = known.fill(hashes(texts), target, np.ones(len(texts), bool))
    return filled.tolist(), target.tolist()


def test_what_is_known_is_found_in_any_order():
    known = CachedEmbeddings(hashes(TEXTS), vectors(5))
    assert found(known, ["b", "x", ""]) == ([True, False, True], [[3, 4, 5], [0, 0, 0], [6, 7, 8]])
    assert known.places(hashes(["a"])).tolist() == [0]
    assert CachedEmbeddings(hashes([]), vectors(0)).places(hashes(["a"])).tolist() == [-1]


def test_only_what_is_wanted_is_written():
    target = np.full((2, 3), 9, np.float32)
    assert CachedEmbeddings(hashes(TEXTS), vectors(5)).fill(
        hashes(["a", "b"]), target, np.array([False, True])
    ).tolist() == [True]
    assert target.tolist() == [[9, 9, 9], [3, 4, 5]]


def test_hashes_that_begin_alike_are_not_mistaken_for_each_other():
    texts = hashes(["a", "b"]).copy()
    texts[1, :8] = texts[0, :8]
    places = CachedEmbeddings(texts, vectors(2)).places(texts)
    assert places.tolist() == [0, -1]


def test_a_log_goes_on(tmp_path):
    with EmbeddingLog(tmp_path / "w", "e", 3) as log:
        log.append(hashes(["a"]), vectors(1))
        log.append(hashes(["b", "c"]), vectors(2) + 10)
    with EmbeddingLog(tmp_path / "w", "e", 3) as log:
        assert found(log.known, ["c", "a", "d"]) == ([True, True, False], [[13, 14, 15], [0, 1, 2], [0, 0, 0]])
        log.append(hashes(["d"]), vectors(1) + 20)
    with EmbeddingLog(tmp_path / "w", "e", 3) as log:
        assert found(log.known, ["d", "a"])[0] == [True, True]
    remove_logs(tmp_path / "w")
    assert not (tmp_path / "w").exists()
    remove_logs(tmp_path / "w")


@pytest.mark.parametrize("damage", range(3))
def test_a_log_is_read_up_to_what_is_damaged(tmp_path, damage):
    with EmbeddingLog(tmp_path, "e", 3) as log:
        log.append(hashes(["a", "b", "c"]), vectors(3))
    (path,) = tmp_path.glob("*.log")
    whole, size = path.read_bytes(), path.stat().st_size // 3
    if damage == 0:
        path.write_bytes(whole[: 2 * size + 5])
    else:
        at = 2 * size + (40 if damage == 1 else 0)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with EmbeddingLog(tmp_path, "e", 3) as log:
        assert found(log.known, ["a", "b", "c"])[0] == [True, True, False]
        log.append(hashes(["c"]), vectors(1))
    assert path.stat().st_size == 3 * size


def test_a_log_of_another_encoder_or_too_long_a_one_is_not_gone_on_with(tmp_path, monkeypatch):
    with EmbeddingLog(tmp_path, "e", 3) as log:
        log.append(hashes(["a"]), vectors(1))
    for name, dimensions in [("e", 4), ("f", 4)]:
        with EmbeddingLog(tmp_path, name, dimensions) as log:
            assert found(log.known, ["a"], dimensions)[0] == [False]
            log.append(hashes(["a"]), vectors(1, dimensions))
        assert len(list(tmp_path.glob("*.log"))) == 1
    monkeypatch.setattr(embedding_cache, "MAX_BYTES", 10)
    with EmbeddingLog(tmp_path, "f", 4) as log:
        assert found(log.known, ["a"], 4)[0] == [False]
