from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.config.settings import Config, write_config
from hybridkg.config.settings_reader import parse_config, read_config
from hybridkg.errors import ConfigError

texts = st.text(min_size=1, alphabet=st.characters(codec="utf-8"))


@given(texts, st.sampled_from(["default", "union"]), st.just("") | texts)
def test_what_is_written_reads_back(profile, graph, synonyms):
    config = Config(profile=profile, default_graph=graph, synonyms=synonyms)
    assert parse_config(write_config(config), "kb.toml") == config


def test_missing_keys_have_defaults():
    assert parse_config("", "kb.toml") == Config("default", "embedded", "none", "flat", "default", "refuse")


@pytest.mark.parametrize(
    ("text", "message", "hint", "place"),
    [
        (
            "\nprofil = 'x'",
            "no setting 'profil'; known: profile, default_graph, service, synonyms, "
            "text, vectors, graph, endpoint, elasticsearch, limits, updates, reranking",
            "did you mean 'profile'?",
            "k:2",
        ),
        (
            "[cluster]\nx = 1",
            "no setting 'cluster'; known: profile, default_graph, service, synonyms, "
            "text, vectors, graph, endpoint, elasticsearch, limits, updates, reranking",
            "",
            "k:1",
        ),
        (
            "text = 'elastic'",
            "setting 'text' must be \"elasticsearch\" or \"embedded\", not 'elastic'",
            "did you mean 'elasticsearch'?",
            "k:1",
        ),
        (
            "profile = 'p'\n\n[text]\nengine = 'elastic'",
            "setting 'text.engine' must be \"elasticsearch\" or \"embedded\", not 'elastic'",
            "did you mean 'elasticsearch'?",
            "k:4",
        ),
        (
            "[vectors]\nencoder = 'lsa'\nbach = 3",
            "no setting 'vectors.bach'; known: vectors.encoder, vectors.index, vectors.fields, vectors.what, "
            "vectors.chunk, "
            "vectors.overlap, vectors.unit, vectors.aggregate, vectors.device, vectors.batch, vectors.max_length, "
            "vectors.query_prompt, vectors.passage_prompt, vectors.url, vectors.timeout, vectors.per_minute",
            "did you mean 'vectors.batch'?",
            "k:3",
        ),
        (
            "[encoding]\nindex = 'flat'",
            "no setting 'encoding.index'; known: encoding.fields, encoding.what, encoding.chunk, "
            "encoding.overlap, encoding.unit, "
            "encoding.aggregate, encoding.device, encoding.batch, encoding.max_length, encoding.query_prompt, "
            "encoding.passage_prompt, encoding.url, encoding.timeout, encoding.per_minute",
            "",
            "k:2",
        ),
        (
            "[graph]\nlocation = 'here'",
            "setting 'graph.location' must be \"embedded\" or the address of a SPARQL endpoint, not 'here'",
            "",
            "k:2",
        ),
        (
            "encoder = 'lsa'\n[vectors]\nencoder = 'none'",
            "'vectors.encoder' and 'encoder' are the same setting",
            "write 'vectors.encoder', and leave the other out",
            "k:3",
        ),
        (
            '"vectors.batch" = 7',
            "no setting 'vectors.batch'; known: profile, default_graph, service, synonyms, "
            "text, vectors, graph, endpoint, elasticsearch, limits, updates, reranking",
            "did you mean 'vectors'?",
            "k:1",
        ),
        (
            "[limits]\n'a.b' = 7",
            "no setting 'limits.a.b'; known: limits.timeout, limits.max_rows, limits.max_megabytes",
            "",
            "k:2",
        ),
        (
            "[text]\nengine = []",
            'setting \'text.engine\' must be "elasticsearch" or "embedded", not an array',
            "",
            "k:2",
        ),
        (
            "[limits.timeout]\nx = 1",
            "setting 'limits.timeout' must be a number from 0 to 86,400, not a table",
            "",
            "k:1",
        ),
        ("encoding = 3", "setting 'encoding' must be a table: [encoding], not 3", "", "k:1"),
        ("endpoint = 3", "setting 'endpoint' must be a table: [endpoint], not 3", "", "k:1"),
        (
            "profile = 'p'\ndefault_graph = 'unoin'",
            "setting 'default_graph' must be \"default\" or \"union\", not 'unoin'",
            "did you mean 'union'?",
            "k:2",
        ),
        ("profile = 3", "setting 'profile' must be a text in quotes, not 3", "", "k:1"),
        ("profile = ''", "setting 'profile' must be a text in quotes, not ''", "", "k:1"),
    ],
)
def test_a_wrong_setting_is_named_with_its_line(text, message, hint, place):
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "k")
    assert (caught.value.message, caught.value.hint, caught.value.place) == (message, hint, place)


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (
            b"profile = 'x'\n[limits\ntimeout = 5\n",
            "not TOML: expected ']' at the end of a table declaration\n"
            " --> k:2:8\n"
            "  |\n"
            "2 | [limits\n"
            "  |        ^\n"
            "  hint: the line should be: [limits]",
        ),
        (
            b"limits]  # all\ntimeout = 5\n",
            "not TOML: expected '=' after a key in a key/value pair\n"
            " --> k:1:7\n"
            "  |\n"
            "1 | limits]  # all\n"
            "  |       ^\n"
            "  hint: the line should be: [limits]",
        ),
        (
            b"[limits]\ntimeout = 5\ntimeout = 6\n",
            "not TOML: 'timeout' is set twice, on lines 2 and 3\n"
            " --> k:3:1\n"
            "  |\n"
            "3 | timeout = 6\n"
            "  | ^^^^^^^\n"
            "  hint: leave line 2 or line 3 out",
        ),
        (
            b"[limits]\ntimeout = [\n",
            "not TOML: invalid value\n"
            " --> k:2:12\n"
            "  |\n"
            "2 | timeout = [\n"
            "  |            ^\n"
            "  hint: correct this line of the file in an editor\n"
            "        or: hybridkg config KB limits.timeout VALUE",
        ),
        (
            b"[limits]\ntimeout = 'soon'  # s\n",
            "setting 'limits.timeout' must be a number from 0 to 86,400, not 'soon'\n"
            " --> k:2:11\n"
            "  |\n"
            "2 | timeout = 'soon'  # s\n"
            "  |           ^^^^^^",
        ),
        (
            b"[limits]\n  timout = 5\n",
            "no setting 'limits.timout'; known: limits.timeout, limits.max_rows, limits.max_megabytes\n"
            " --> k:2:3\n"
            "  |\n"
            "2 |   timout = 5\n"
            "  |   ^^^^^^\n"
            "  hint: did you mean 'limits.timeout'?",
        ),
        (
            b"[limits]\n# \xe9\n",
            "not UTF-8 text: byte 0xE9\n"
            " --> k:2:3\n"
            "  |\n"
            "2 | # \ufffd\n"
            "  |   ^\n"
            "  hint: save the file as UTF-8, or write this character anew in an editor that does",
        ),
    ],
)
def test_a_mistake_is_shown_with_its_line_a_caret_and_what_to_do(tmp_path, monkeypatch, content, shown):
    monkeypatch.chdir(tmp_path)
    Path("k").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_config(Path("k"))
    assert str(caught.value) == f"error[C601]: {shown}"


@pytest.mark.parametrize("name", ["api_key", "password", "openai_key", "TOKEN"])
def test_no_line_that_may_hold_a_secret_is_shown(name):
    with pytest.raises(ConfigError) as caught:
        parse_config(f"[vectors]\n{name} = 'sk-hunter2'", "k")
    assert "hunter2" not in str(caught.value)
    assert "k:2" in str(caught.value)


OLDER = """
profile = "films"
text = "elasticsearch"
encoder = "openai:m"
vectors = "hnsw"
graph = "http://127.0.0.1:7878/query"

[encoding]
batch = 7

[endpoint]
page = 9
"""

NEWER = """
profile = "films"

[text]
engine = "elasticsearch"

[vectors]
encoder = "openai:m"
index = "hnsw"
batch = 7

[graph]
location = "http://127.0.0.1:7878/query"

[endpoint]
page = 9
"""


def test_a_file_of_the_older_form_is_read_and_written_in_the_new_one():
    older, newer = (parse_config(text, "kb.toml") for text in (OLDER, NEWER))
    assert older == newer
    assert (older.text, older.encoder, older.vectors) == ("elasticsearch", "openai:m", "hnsw")
    assert (older.graph, older.encoding.batch, older.endpoint.page) == ("http://127.0.0.1:7878/query", 7, 9)
    written = tomllib.loads(write_config(older))
    assert written == {"default_graph": "default", "service": "refuse", **tomllib.loads(NEWER)}
    assert parse_config(write_config(older), "kb.toml") == older


def test_what_is_no_toml_or_no_file_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="not TOML"):
        parse_config("profile = ", "kb.toml")
    with pytest.raises(ConfigError, match="cannot read"):
        read_config(tmp_path / "kb.toml")
    (tmp_path / "kb.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_config(tmp_path / "kb.toml")
