from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.config import Config, parse_config, read_config, write_config
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
            "no setting 'profil'; known: profile, text, encoder, vectors, default_graph, service, synonyms, "
            "graph, endpoint, elasticsearch, limits, encoding, reranking",
            "did you mean 'profile'?",
            "k:2",
        ),
        (
            "[cluster]\nx = 1",
            "no setting 'cluster'; known: profile, text, encoder, vectors, default_graph, service, synonyms, "
            "graph, endpoint, elasticsearch, limits, encoding, reranking",
            "",
            "k:1",
        ),
        (
            "text = 'elastic'",
            "setting 'text' must be \"embedded\" or \"elasticsearch\", not 'elastic'",
            "did you mean 'elasticsearch'?",
            "k:1",
        ),
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


def test_what_is_no_toml_or_no_file_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="not TOML"):
        parse_config("profile = ", "kb.toml")
    with pytest.raises(ConfigError, match="cannot read"):
        read_config(tmp_path / "kb.toml")
    (tmp_path / "kb.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_config(tmp_path / "kb.toml")
