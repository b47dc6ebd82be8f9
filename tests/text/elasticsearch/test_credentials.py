"""Who asks, and where: from the environment and from files, never shown."""

from __future__ import annotations

import base64
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.config.settings import ElasticSettings
from hybridkg.config.settings_reader import parse_config
from hybridkg.errors import ConfigError
from hybridkg.remote.credentials import (
    API_KEY,
    API_KEY_FILE,
    PASSWORD,
    URL,
    USERNAME,
    Credentials,
    check_destination,
    read_credentials,
    server_url,
)
from hybridkg.remote.elasticsearch.server import Server

KEY = "VnVhQ2ZHY0JDZGJrUW0tZTVhT3g6dWkybHAyYXhUTm1zeWFrdzl0dk5udw=="
WORD = "correct horse: battery"


def test_nothing_is_asked_for_where_nothing_is_set():
    assert read_credentials({}) == Credentials()
    assert server_url("http://127.0.0.1:9200", {}) == "http://127.0.0.1:9200"


def test_a_key_comes_from_the_environment_or_from_a_file(tmp_path):
    file = tmp_path / "key"
    file.write_bytes(b"\xef\xbb\xbf" + KEY.encode() + b"\r\n")
    assert read_credentials({API_KEY: KEY}) == Credentials(api_key=KEY)
    assert read_credentials({API_KEY_FILE: str(file)}) == Credentials(api_key=KEY)


def test_a_user_comes_with_a_password():
    found = read_credentials({USERNAME: "reader", PASSWORD: WORD})
    assert (found.username, found.password) == ("reader", WORD)


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({USERNAME: "reader"}, f"{PASSWORD} is not set"),
        ({PASSWORD: WORD}, f"{USERNAME} is not set"),
        ({API_KEY: KEY, USERNAME: "reader", PASSWORD: WORD}, "more than one of"),
        ({API_KEY: KEY, API_KEY_FILE: "/nowhere"}, "more than one of"),
        ({API_KEY: f"{KEY}\nX-Other: header"}, "blanks or characters"),
        ({API_KEY: f"{KEY} "}, "blanks or characters"),
        ({API_KEY: f"{KEY}é"}, "blanks or characters"),
        ({API_KEY: "\ud800"}, "blanks or characters"),
        ({USERNAME: "a:b", PASSWORD: WORD}, f"{USERNAME} holds characters"),
        ({USERNAME: "reader", PASSWORD: f"{WORD}\n"}, f"{PASSWORD} holds characters"),
        ({USERNAME: "reader", PASSWORD: f"{WORD}\udcff"}, f"{PASSWORD} holds characters"),
        ({API_KEY_FILE: "/no/such/file"}, "cannot read the key file"),
        ({API_KEY_FILE: "/"}, "cannot read the key file"),
    ],
)
def test_wrong_settings_are_told_by_name_and_without_their_values(environment, said):
    with pytest.raises(ConfigError) as e:
        read_credentials(environment)
    assert said in str(e.value)
    assert KEY not in str(e.value)
    assert WORD not in str(e.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"k" * 70_000, "is too large"),
        (b"\xff\xfe\x00k", "is not text"),
        (KEY.encode() + b"\n" + KEY.encode(), "blanks or characters"),
    ],
)
def test_a_key_file_holds_one_key_and_nothing_else(tmp_path, content, said):
    file = tmp_path / "key"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=said) as e:
        read_credentials({API_KEY_FILE: str(file)})
    assert KEY not in str(e.value)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=8, max_size=40))
def test_no_secret_is_in_what_is_shown_of_credentials(secret):
    for own in (Credentials(api_key=secret), Credentials(username="u", password=secret)):
        assert secret not in repr(own)
        assert secret not in str(own)
        assert secret not in f"{own}"
        assert secret not in own.without_secrets(f"before {secret} after {secret}")
        pair = base64.b64encode(f"u:{secret}".encode()).decode()
        assert pair not in Credentials(username="u", password=secret).without_secrets(f"Basic {pair}")


def test_a_server_shows_neither_key_nor_password(monkeypatch):
    monkeypatch.setenv(USERNAME, "reader")
    monkeypatch.setenv(PASSWORD, WORD)
    server = Server(ElasticSettings())
    shown = [repr(server), repr(server.client), str(server.client), repr(server.client.transport), server.url]
    shown += [repr(node) for node in server.client.transport.node_pool.all()]
    secrets = (WORD, base64.b64encode(f"reader:{WORD}".encode()).decode())
    assert not [text for text in shown for secret in secrets if secret in text]
    assert repr(server.credentials) == "Credentials()"


def test_the_environment_says_where_the_server_is_before_kb_toml_does(monkeypatch):
    monkeypatch.setenv(URL, "https://search.example.org/es/")
    assert Server(ElasticSettings(url="http://127.0.0.1:9200")).url == "https://search.example.org:443/es"
    monkeypatch.setenv(URL, "")
    assert Server(ElasticSettings(url="http://127.0.0.1:9201")).url == "http://127.0.0.1:9201"


@pytest.mark.parametrize("owner", ["setting 'elasticsearch.url'", URL])
@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"https://elastic:{KEY}@example.org:9200", "carries a user name or a password"),
        (f"https://{KEY}@example.org", "carries a user name or a password"),
        (f"https://:{KEY}@example.org", "carries a user name or a password"),
        (f"https://example.org/?api_key={KEY}", "is not an address"),
        (f"https://example.org/#{KEY}", "is not an address"),
        (f"ftp://example.org/{KEY}", "is not an address"),
        ("localhost:9200", "is not an address"),
        ("http://", "is not an address"),
        ("http://example.org:port", "is not an address"),
        ("http://example.org:99999", "is not an address"),
        ("http://[::1", "is not an address"),
        (f"elastic:{KEY}@example.org", "carries a user name|is not an address"),
    ],
)
def test_an_address_with_credentials_or_without_sense_is_refused_and_not_repeated(owner, url, said):
    with pytest.raises(ConfigError, match=said) as e:
        server_url("http://127.0.0.1:9200" if owner == URL else url, {URL: url} if owner == URL else {})
    assert str(e.value).startswith(f"error[C601]: {owner} ")
    assert KEY not in str(e.value)


@pytest.mark.parametrize("key", ["api_key", "password", "username", "token"])
def test_a_secret_in_kb_toml_is_refused_with_its_line_and_not_repeated(key):
    text = f'text = "elasticsearch"\n\n[elasticsearch]\nurl = "http://127.0.0.1:9200"\n{key} = "{KEY}"\n'
    with pytest.raises(ConfigError) as e:
        parse_config(text, "kb.toml")
    assert e.value.place == "kb.toml:5"
    assert API_KEY in e.value.hint
    assert KEY not in str(e.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"ca_file": "ca.pem"}, "the address is not https://"),
        ({"ca_file": "/no/such/ca.pem", "url": "https://127.0.0.1:1"}, "/ca.pem', cannot be read: No such file"),
        ({"ca_file": __file__, "url": "https://127.0.0.1:1"}, "holds no certificates"),
    ],
)
def test_certificates_that_cannot_be_used_are_told_before_anything_is_sent(settings, said):
    with pytest.raises(ConfigError) as e:
        _ = Server(ElasticSettings(**settings)).client
    assert said in str(e.value)


def test_a_copy_in_a_file_holds_no_key(monkeypatch):
    monkeypatch.setenv(API_KEY, KEY)
    server = Server(ElasticSettings(timeout=7))
    assert server.client
    assert KEY.encode() not in pickle.dumps(server)
    assert pickle.loads(pickle.dumps(server)).settings == server.settings  # noqa: S301 - our own


@pytest.mark.parametrize(
    ("url", "environment", "allowed"),
    [
        ("http://127.0.0.1:9200", {}, True),
        ("https://localhost:9200", {}, True),
        ("http://evil.example:9200", {}, False),
        ("https://evil.example:443", {}, False),
        ("https://ours.example:443", {"HYBRIDKG_ELASTICSEARCH_URL": "https://ours.example"}, True),
    ],
)
def test_credentials_go_where_only_the_environment_sends_them(url, environment, allowed):
    check_destination(url, Credentials(), environment)
    if allowed:
        check_destination(url, Credentials(api_key="secret-key"), environment)
        return
    with pytest.raises(ConfigError) as e:
        check_destination(url, Credentials(api_key="secret-key"), environment)
    assert "HYBRIDKG_ELASTICSEARCH_URL" in e.value.hint
    assert "secret" not in str(e.value)
