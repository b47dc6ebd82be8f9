"""Topics and their categories, as files hold them."""

from __future__ import annotations

import gzip
import lzma
import os
import threading
from pathlib import Path

import pytest

from hybridkg.errors import LoadError
from hybridkg.evaluation import text_lines
from hybridkg.evaluation.categories import categories_by_prefix, read_categories
from hybridkg.evaluation.topics import read_topics


def written(folder: Path, text: str | bytes, name: str = "topics.tsv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_topics_keep_the_order_of_the_file_and_every_character_of_the_text(tmp_path):
    path = written(tmp_path, "\ufeffq2\t Zürich  \u00a0 \u96ea \n\nq1\ta\tb\r\n")
    topics = read_topics(path)
    assert list(topics.texts.items()) == [("q2", "Zürich  \u00a0 \u96ea"), ("q1", "a\tb")]
    assert len(topics) == 2


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_packed_file_is_unpacked_by_its_ending(tmp_path, ending, pack):
    path = written(tmp_path, pack(b"q1\tred fish\n"), f"topics.tsv{ending}")
    assert read_topics(path).texts == {"q1": "red fish"}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("q1\tred\nq2 blue\n", 2, "no tab in 'q2 blue'"),
        ("q1\tred\n\nq1\tblue\n", 3, "the topic 'q1' is repeated"),
        ("q1\t  \n", 1, "no tab in 'q1'"),
        ("a b\tred\n", 1, "the topic id 'a b' contains blanks"),
        (b"q1\tred\nq2\tZ\xfcrich\n", 2, "not UTF-8"),
        (b"q1\tred\nq2\t\0\n", 2, "not a file of topics: the file is not text"),
        ("q1\t" + "x" * 70_000, 1, "a line of more than 65,536 bytes"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path, text, line, message):
    path = written(tmp_path, text)
    with pytest.raises(LoadError) as caught:
        read_topics(path)
    assert message in caught.value.message
    assert caught.value.place == f"{path}:{line}"


def test_a_file_without_lines_is_told(tmp_path):
    for text in ("", "\n  \n"):
        with pytest.raises(LoadError, match="the file is empty"):
            read_topics(written(tmp_path, text))
    with pytest.raises(LoadError, match="no file"):
        read_topics(tmp_path / "none.tsv")


def test_what_is_unpacked_is_bounded(tmp_path, monkeypatch):
    one_line = written(tmp_path, gzip.compress(b"a" * 5_000_000, 1), "bomb.gz")
    with pytest.raises(LoadError, match="a line of more than"):
        read_topics(one_line)
    monkeypatch.setattr(text_lines, "MAX_TEXT", 1 << 20)
    many_lines = written(tmp_path, lzma.compress(b"\n" * 3_000_000, preset=0), "bomb.xz")
    with pytest.raises(LoadError, match="more than 1 MiB of text"):
        read_topics(many_lines)
    monkeypatch.setattr(text_lines, "MAX_LINES", 1000)
    with pytest.raises(LoadError, match="more than 1,000 lines"):
        read_topics(written(tmp_path, gzip.compress(b"\n" * 2000), "blank.gz"))


def test_a_pipe_is_read_as_a_file_is(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=["q1\tred\n"])
    writer.start()
    assert read_topics(pipe).texts == {"q1": "red"}
    writer.join()


def test_a_packed_file_without_its_ending_is_told_so(tmp_path):
    with pytest.raises(LoadError) as caught:
        read_topics(written(tmp_path, gzip.compress(b"q1\tred\n")))
    assert "does not end in '.gz'" in caught.value.message
    assert caught.value.hint == "rename it to 'topics.tsv.gz'"


def test_a_damaged_archive_is_told(tmp_path):
    with pytest.raises(LoadError, match="ends too early"):
        read_topics(written(tmp_path, gzip.compress(b"q1\tred\n" * 99)[:-9], "cut.gz"))


def test_categories_come_from_a_file_or_from_the_ids(tmp_path):
    path = written(tmp_path, "q1\tlong questions\nq2 short\n")
    assert read_categories(path) == {"q1": "long questions", "q2": "short"}
    with pytest.raises(LoadError, match="the topic 'q1' is repeated"):
        read_categories(written(tmp_path, "q1 a\nq1 b\n"))
    with pytest.raises(LoadError, match="1 column instead of 2"):
        read_categories(written(tmp_path, "q1\n"))
    assert categories_by_prefix(["a_b-7", "a_b-8", "-1", "7"]) == {"a_b-7": "a_b", "a_b-8": "a_b", "-1": "-1", "7": "7"}
