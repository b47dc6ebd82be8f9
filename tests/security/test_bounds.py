"""What a file can make this program use is known before it is read."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from functools import partial

import pytest
from sampling import sampled

from hybridkg import KnowledgeBase
from hybridkg.config.model_parameters import parse_model_parameters
from hybridkg.config.settings_reader import LARGEST, parse_config, read_config
from hybridkg.config.toml import MAX_PARTS, parse_toml
from hybridkg.errors import ConfigError

COMPRESSED = {
    "gz": partial(gzip.compress, compresslevel=1),
    "bz2": bz2.compress,
    "xz": partial(lzma.compress, preset=0),
}
MIB = b"a" * (1 << 20)
ENDLESS = 160
"""MiB that a bomb holds; twice what a process may add to what it has."""


def bomb(ending, first, last=b""):
    """An archive of one line; a part of it is compressed once and repeated, as archives may be."""
    compress = COMPRESSED[ending]
    return compress(first) + compress(MIB) * ENDLESS + compress(last)


def largest_of(code, *arguments):
    """(exit code, stderr, peak memory in MiB) of a process of its own."""
    # Not ru_maxrss, which begins with the size of the process that started this one.
    status = "open('/proc/self/status').read()"
    meter = f"import sys; sys.stderr.write('\\n' + {status}.split('VmHWM:')[1].split()[0])"
    body = f"import sys, atexit\natexit.register(lambda: exec({meter!r}))\n{code}"
    done = subprocess.run([sys.executable, "-c", body, *arguments], capture_output=True, text=True, check=False)
    *lines, peak = done.stderr.splitlines()
    return done.returncode, "\n".join(lines), int(peak) / 1024


COMMAND = "from hybridkg.cli import main; main(sys.argv[1:])"


@pytest.mark.parametrize("ending", sampled(COMPRESSED, "gz"))
def test_an_archive_of_one_endless_literal_is_refused_in_little_memory(tmp_path, ending):
    path = tmp_path / f"bomb.nt.{ending}"
    path.write_bytes(bomb(ending, b'<http://e/a> <http://e/p> "', b'" .\n'))
    code, said, peak = largest_of(COMMAND, "load", str(tmp_path / "kb"), str(path))
    assert code in (1, 2)
    assert "error[L301]" in said
    assert "Traceback" not in said
    assert peak < ENDLESS + 60, "it was read whole"


def test_an_archive_of_one_endless_document_is_refused_in_little_memory(tmp_path):
    KnowledgeBase.create(tmp_path / "kb").close()
    with gzip.open(tmp_path / "t.jsonl.gz", "wb", 1) as file:
        file.write(b'{"id": "http://e/a", "review": "')
        for _ in range(2 * ENDLESS):
            file.write(MIB)
    code, said, peak = largest_of(COMMAND, "load", str(tmp_path / "kb"), "--text", str(tmp_path / "t.jsonl.gz"))
    assert (code, "a line of more than 64 MB" in said) == (2, True)
    assert peak < 2 * ENDLESS


@pytest.mark.parametrize(
    "text",
    [
        "a." * 30_000 + "b = 1",
        "a . " * 30_000 + "b = 1",
        "['a'." + '"b".' * 30_000 + "c]",
        "[[" + "a." * 30_000 + "b]]",
        "x = {" + "a." * 30_000 + "b = 1}",
        "a = " + "[" * 100_000,
        "a = " + "{a=" * 100_000,
        "a = " + "1" * 5_000,
    ],
)
def test_settings_that_nest_are_refused_at_once(text, within):
    with within(5, time.process_time):  # without the bound on nesting: minutes
        with pytest.raises(tomllib.TOMLDecodeError):
            parse_toml(text)
        with pytest.raises(ConfigError, match="not TOML"):
            parse_config(text, "kb.toml")
        with pytest.raises(ConfigError, match="not TOML"):
            parse_model_parameters(text, "model.toml")


@pytest.mark.parametrize("text", ["a" * 1_000_000 + " = 1", "x = '" + "a b." * 200_000 + "'", '"' * 300_001])
def test_to_look_for_long_keys_takes_no_longer_than_to_read(text, within):
    with within(5, time.process_time), suppress(tomllib.TOMLDecodeError):
        parse_toml(text)


def test_what_nests_as_deep_as_it_may_is_read():
    assert parse_toml(".".join(["a"] * MAX_PARTS) + " = 1")
    assert parse_toml("version = '" + ".".join("1" * (MAX_PARTS - 1)) + "'")


def test_a_file_of_settings_is_read_to_a_bound(tmp_path):
    path = tmp_path / "kb.toml"
    path.write_bytes(b"#" * LARGEST + "é".encode())
    with pytest.raises(ConfigError, match="is larger than 1,048,576 bytes"):
        read_config(path)
    path.write_bytes(b"#" * (LARGEST - 20) + b"\r\ntext = 'embedded'")
    assert read_config(path).text == "embedded"
