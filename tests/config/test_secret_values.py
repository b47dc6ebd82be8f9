"""Secrets in a kb.toml are never printed, however malformed the file is; long values are cut."""

from __future__ import annotations

import json
import traceback

import pytest
from click.testing import CliRunner, Result

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.config.key_lines import line_of_key
from hybridkg.config.settings_reader import read_config
from hybridkg.errors import ConfigError
from hybridkg.kb.settings_file import SettingsFile

CANARY = "hunter2Zx9"
LONG = '"""'
ADDRESS = f"https://me:{CANARY}@host:9200/"

WRONG = {
    "a known key of a secret": f'[vectors]\napi_key = "{CANARY}"',
    "above all tables": f'api_key = "{CANARY}"',
    "without quotes": f"[vectors]\napi_key = {CANARY}",
    "without quotes, and more": f"[elasticsearch]\npassword = {CANARY} x",
    "a quote is missing": f'[elasticsearch]\npassword = "{CANARY}',
    "a string in three quotes that is not closed": f"[elasticsearch]\npassword = {LONG}\n{CANARY}\n",
    "a string in three quotes": f"[elasticsearch]\npassword = {LONG}\n{CANARY}\n{LONG}\n",
    "a mistake inside a string in three quotes": f"[elasticsearch]\npassword = {LONG}\nx\n{CANARY} \\q\n{LONG}\n",
    "a value on the next line": f"[elasticsearch]\npassword =\n{CANARY}\n",
    "an array over several lines": f'[elasticsearch]\npassword = [\n"a"\n"{CANARY}"\n]',
    "set twice": f'[elasticsearch]\npassword = "{CANARY}"\npassword = "{CANARY}"',
    "set twice, with a line end": f'[elasticsearch]\npassword = "{CANARY}"\npassword = "{CANARY}"\n',
    "set twice over several lines": "[elasticsearch]\n" + f"password = {LONG}\n{CANARY} = {LONG}\n" * 2,
    "an unknown key": f'[elasticsearch]\nauthorization = "{CANARY}"',
    "an inline table": f'elasticsearch = {{ password = "{CANARY}", nope = 1 }}',
    "a mistyped key in an inline table": f'elasticsearch = {{ url = "http://x", passwordd = "{CANARY}" }}',
    "a broken inline table": f'elasticsearch = {{ password = "{CANARY}", }} x',
    "an inline table as a value": f'[limits]\ntimeout = {{ password = "{CANARY}" }}',
    "an array in place of a table": f'elasticsearch = ["{CANARY}"]',
    "a dotted key": f'elasticsearch.password = "{CANARY}"',
    "capital letters": f'[vectors]\n"API-KEY" = "{CANARY}"',
    "escapes in the key": f'[vectors]\n"p\\u0061ssword" = {CANARY}',
    "an array of tables": f'[[elasticsearch]]\npassword = "{CANARY}"',
    "an unknown table": f'[secrets]\nopen = "{CANARY}"',
    "a mistake in a table of secrets": f"[secrets]\nopen = {CANARY}",
    "an address without quotes": f"[elasticsearch]\nurl = {ADDRESS}",
    "an address under a wrong key": f'[elasticsearch]\nurll = "{ADDRESS}"',
    "a password with a slash": f'[elasticsearch]\nurll = "https://me:a/{CANARY}@host"',
    "an address with a token alone": f'[elasticsearch]\nurll = "https://{CANARY}@host"',
    "an address as a wrong value": f'[limits]\ntimeout = "https://{CANARY}@host"',
    "no UTF-8": f'[elasticsearch]\npassword = "{CANARY}'.encode() + b'\xe9"',
    "no UTF-8 in a string over several lines": f"[elasticsearch]\npassword = {LONG}\n{CANARY}".encode() + b"\xe9",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("settings") / "k.kb"
    KnowledgeBase.create(folder).close()
    return folder


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_no_form_of_a_wrong_secret_is_printed(folder, content):
    path = folder / "kb.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    error = caught.value
    said = "".join(traceback.format_exception(error))
    shown = [str(error), repr(error), str(error.args), error.message, error.hint, error.place, said]
    done = [
        run("config", str(folder)),
        run("config", str(folder), "--format", "json"),
        run("config", str(folder), "limits.timeout", "7"),
    ]
    shown += [one.output + one.stderr + repr(one.exception) for one in done]
    assert not [text for text in shown if CANARY in text]
    assert "kb.toml" in str(error)


@pytest.mark.parametrize("address", [ADDRESS, f"https://{CANARY}@host/", f"https://me:a/{CANARY}@host/"])
def test_the_user_of_an_address_is_masked_wherever_settings_are_printed(folder, address):
    (folder / "kb.toml").write_text(f'[elasticsearch]\nurl = "{address}"\n')
    for words in ((), ("--all",), ("--format", "json"), ("elasticsearch",), ("elasticsearch.url",)):
        done = run("config", str(folder), *words)
        assert done.exit_code == 0
        assert CANARY not in done.output + done.stderr
        assert "https://***@host" in done.output.replace("\n", "").replace(" ", "")
    done = run("stats", str(folder))
    assert CANARY not in done.output + done.stderr + repr(done.exception)
    assert SettingsFile(folder).get("elasticsearch.url").value == address


def test_a_line_that_is_hidden_says_so_and_keeps_its_number(folder):
    (folder / "kb.toml").write_text(f"[elasticsearch]\nshards = 1\npassword = {CANARY}\n")
    with pytest.raises(ConfigError) as caught:
        read_config(folder / "kb.toml")
    assert str(caught.value).splitlines() == [
        "error[C601]: not TOML: invalid value",
        f" --> {folder / 'kb.toml'}:3",
        "  hint: the line is not shown, because it may hold a secret; docs/security.md says where secrets belong",
    ]


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_setting_that_is_set_twice_is_named_with_both_lines_also_at_the_end_of_the_file(folder, end):
    (folder / "kb.toml").write_text(f"[limits]\ntimeout = 1\ntimeout = 2{end}")
    with pytest.raises(ConfigError) as caught:
        read_config(folder / "kb.toml")
    assert caught.value.message == "not TOML: 'timeout' is set twice, on lines 2 and 3"
    assert "3 | timeout = 2" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ('[limits]\n"ti\\u006deout" = "a"', "limits.timeout", 2),
        ('[limits]\nx = 1\n"timeout" = 5', "limits.timeout", 3),
        ("[endpoint]\ntimeout = 5\n[limits]\ntimeout = 6", "limits.timeout", 4),
        ("limits.max_rows = 1\nlimits.timeout = 2", "limits.timeout", 2),
        ("x = 1\nlimits = { timeout = 2 }", "limits.timeout", 2),
        ('a = """\n[limits]\ntimeout = 1\n"""\n[limits]\ntimeout = 2', "limits.timeout", 6),
        ("[ limits ]  # all\ntimeout_x = 1", "limits.timeout", None),
        ("[limits]\n[endpoint]\ntimeout = 1", "limits.timeout", None),
    ],
)
def test_the_line_of_a_key_is_right_or_unknown(text, path, line):
    assert line_of_key(path.split("."), text) == line


def test_a_wrong_value_under_an_escaped_key_has_the_caret_below_it(folder):
    (folder / "kb.toml").write_text('[limits]\n"ti\\u006deout" = "a"\n')
    with pytest.raises(ConfigError) as caught:
        read_config(folder / "kb.toml")
    assert '2 | "ti\\u006deout" = "a"' in str(caught.value)


def test_a_long_value_is_cut_except_where_it_alone_is_asked_for(folder):
    value = "x" * 1_000_000
    (folder / "kb.toml").write_text(f'profile = "{value}"\n')
    for words in ((), ("--all",)):
        shown = run("config", str(folder), *words)
        assert shown.exit_code == 0
        assert len(shown.output) < 20_000
        assert "1,000,000 characters" in " ".join(shown.output.split())
    assert run("config", str(folder), "profile").output == value + "\n"
    states = {one["key"]: one["value"] for one in json.loads(run("config", str(folder), "--format", "json").output)}
    assert states["profile"] == value


def test_a_long_wrong_value_is_cut(folder):
    (folder / "kb.toml").write_text(f'service = "{"x" * 1000}"\n')
    with pytest.raises(ConfigError) as caught:
        read_config(folder / "kb.toml")
    assert len(caught.value.message) < 400
    assert "(1,002 characters)" in caught.value.message
