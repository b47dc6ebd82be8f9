"""kb.toml is changed where it must be, and nowhere else."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.config.settings import Config, write_config
from hybridkg.config.settings_reader import parse_config
from hybridkg.config.settings_writer import PLACES, change_settings
from hybridkg.errors import ConfigError

OWN = """\
# mine
profile = 'default'   # see there

[vectors]
encoder="none"#no space

[limits]  # all
timeout = 5
max_rows = 7
"""

OLDER = """\
# mine
profile = 'default'   # see there
encoder="none"#no space

[limits]  # all
timeout = 5
"""


def test_a_value_changes_and_its_comment_stays():
    changed = change_settings(OWN, {"profile": "acl", "encoder": "lsa"})
    assert changed == OWN.replace("'default'", '"acl"').replace('"none"', '"lsa"')


def test_a_key_above_all_tables_that_is_not_there_is_added_before_the_first_table():
    text = "\n".join(line for line in OWN.splitlines() if not line.startswith("profile"))
    lines = change_settings(text, {"profile": "acl"}).splitlines()
    assert lines == [text.splitlines()[0], 'profile = "acl"', *text.splitlines()[1:]]


def test_a_key_of_a_table_that_is_not_there_is_added_with_it():
    assert change_settings(OWN, {"text": "elasticsearch"}) == f'{OWN}\n[text]\nengine = "elasticsearch"\n'


def test_a_key_of_a_table_that_is_there_is_added_at_its_end():
    lines = change_settings(OWN, {"vectors": "flat"}).splitlines()
    assert lines == [*OWN.splitlines()[:5], 'index = "flat"', *OWN.splitlines()[5:]]


def test_a_setting_of_an_older_file_moves_into_its_table_with_its_comment():
    first, rest = OLDER.split('encoder="none"#no space\n')
    moved = '\n[vectors]\nencoder = "lsa"#no space\n'
    assert change_settings(OLDER, {"encoder": "lsa"}) == first + rest + moved


def test_every_setting_of_an_older_file_moves_into_its_table():
    older = "text = 'embedded'  # here\nvectors = 'flat'\nencoder = \"none\"\n\n[encoding]\nbatch = 8  # few\n"
    changed = change_settings(older, {"encoder": "lsa"})
    assert changed == (
        "\n[vectors]\nbatch = 8  # few\nencoder = \"lsa\"\nindex = 'flat'\n\n[text]\nengine = 'embedded'  # here\n"
    )
    assert parse_config(change_settings(older, {}), "new") == parse_config(older, "old")


@pytest.mark.parametrize("text", ["", "# nothing", "\n\n", "[limits]\ntimeout = 5"])
def test_an_empty_file_and_one_without_a_last_line_end_get_a_line(text):
    assert parse_config(change_settings(text, {"text": "elasticsearch"}), "kb.toml").text == "elasticsearch"


@pytest.mark.parametrize("value", ['"""none"""', "'''none'''"])
def test_a_string_in_three_quotes_on_one_line_is_replaced(value):
    assert change_settings(f"[vectors]\nencoder = {value} # x\n", {"encoder": "lsa"}) == (
        '[vectors]\nencoder = "lsa" # x\n'
    )


def test_a_value_that_cannot_be_replaced_is_an_error_with_its_line():
    with pytest.raises(ConfigError, match="cannot be replaced") as e:
        change_settings('# mine\nencoder = """\nnone"""\n', {"encoder": "lsa"}, "kb.toml")
    assert (e.value.place, e.value.hint) == ("kb.toml:2", 'write it on a line of its own: encoder = "lsa"')


LONG = '''query_prompt = """
[encoding]
[text]
encoder = "not a setting"
"""
'''


@pytest.mark.parametrize(
    "text", [f"[vectors]\n{LONG}", f'encoder = "none"\n[encoding]\n{LONG}', f"[limits]\n[encoding]\n{LONG}"]
)
@pytest.mark.parametrize("change", [{"profile": "acl"}, {"encoder": "lsa"}, {"text": "elasticsearch"}])
def test_what_a_long_string_says_is_never_changed(text, change):
    changed = None
    with suppress(ConfigError):  # "cannot be replaced where it is"
        changed = change_settings(text, change)
    assert changed is None or parse_config(changed, "new") == replace(parse_config(text, "old"), **change)


def test_a_table_in_quotes_of_an_older_file_stays_readable():
    older = 'text = "embedded"\n[ "encoding" ]\nquery_prompt = """\n[text]\n"""\n'
    changed = change_settings(older, {"profile": "acl"})
    assert parse_config(changed, "new") == replace(parse_config(older, "old"), profile="acl")


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(first=words, second=words)
def test_what_is_written_is_read_and_the_rest_stays(first, second):
    text = write_config(Config(profile=first))
    changed = change_settings(text, {"profile": second, "encoder": first})
    found = parse_config(changed, "kb.toml")
    assert (found.profile, found.encoder) == (second, first)
    assert change_settings(changed, {"profile": first, "encoder": "none"}) == text


def test_every_setting_that_can_be_changed_is_one_of_kb_toml():
    config = parse_config(change_settings("", dict.fromkeys(PLACES, "embedded")), "kb.toml")
    assert {getattr(config, name) for name in PLACES} == {"embedded"}
