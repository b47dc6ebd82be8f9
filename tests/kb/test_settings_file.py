"""Settings one by one: a value that is set is in force, the rest of kb.toml stays, and a wrong file can be mended."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hybridkg import ConfigError, KnowledgeBase, NotAKnowledgeBaseError, ProfileError, UnknownNameError
from hybridkg.config.setting_list import SettingDescription, all_settings
from hybridkg.config.settings import CHOICES, RANGES, Config
from hybridkg.config.settings_reader import parse_config
from hybridkg.config.settings_writer import with_setting
from hybridkg.kb.settings_file import SettingsFile

COMMENTED = """\
# mine
profile = "default"  # see there

[vectors]
encoder = "none"  # for NEAR

[limits]  # all
timeout = 5  # seconds
"""
OTHER = {
    "profile": "acl",
    "synonyms": "s.txt",
    "vectors.encoder": "lsa",
    "vectors.index": "flat",
    "text.engine": "elasticsearch",
    "vectors.chunk": "100",
    "vectors.overlap": "1",
    "graph.location": "http://e/query",
}


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base that nobody changes."""
    path = tmp_path_factory.mktemp("settings") / "f.kb"
    KnowledgeBase.create(path).close()
    return path


@pytest.fixture
def settings(empty: Path, tmp_path: Path) -> SettingsFile:
    shutil.copytree(empty, tmp_path / "f.kb", symlinks=True)
    (tmp_path / "f.kb" / "kb.toml").write_text(COMMENTED)
    return SettingsFile(tmp_path / "f.kb")


def other_value(setting: SettingDescription) -> str:
    """A valid value, as it is typed, that is not the default."""
    name = setting.key.rpartition(".")[2]
    if setting.key in OTHER:
        return OTHER[setting.key]
    if name in CHOICES and isinstance(setting.default, str):
        return next(choice for choice in CHOICES[name] if choice != setting.default)
    if setting.key in RANGES:
        low, high = RANGES[setting.key]
        return f"{min(low + 1, high) if isinstance(setting.default, int) else low + 0.5:g}"
    return "http://e/x"


def test_every_setting_has_a_meaning_a_default_and_its_valid_values():
    settings = all_settings()
    assert len({one.key for one in settings}) == len(settings) > 35
    for one in settings:
        assert one.meaning, one.key
        assert one.allowed, one.key
        assert with_setting(Config(), one.key, one.default) == Config()


@pytest.mark.parametrize("setting", all_settings(), ids=lambda setting: setting.key)
def test_a_value_that_is_set_is_in_force_and_every_other_line_stays(settings, setting):
    value = other_value(setting)
    before = parse_config(settings.path.read_text(), "")
    assert settings.set(setting.key, value) is None
    state = settings.get(setting.key)
    assert state.is_set
    assert f"{state.value:g}" == value if isinstance(state.value, int | float) else state.value == value
    assert parse_config(settings.path.read_text(), "") == with_setting(before, setting.key, state.value)
    kept = [line for line in COMMENTED.splitlines() if not line.startswith(f"{setting.key.rpartition('.')[2]} =")]
    assert [line for line in settings.path.read_text().splitlines() if line in kept][: len(kept)] == kept
    assert settings.unset(setting.key) is None
    state = settings.get(setting.key)
    assert (state.value, state.is_set) == (setting.default, False)


def test_a_comment_stays_behind_its_value(settings):
    settings.set("vectors.encoder", "lsa")
    settings.set("limits.timeout", 7)
    assert settings.path.read_text() == COMMENTED.replace('"none"', '"lsa"').replace("timeout = 5", "timeout = 7")


@pytest.mark.parametrize(
    ("key", "value", "error", "said"),
    [
        ("limits.timeout", "soon", ConfigError, "must be a number from 0 to 86,400, not 'soon'"),
        ("limits.timeout", "-1", ConfigError, "must be a number from 0 to 86,400, not -1.0"),
        ("vectors.batch", "1.5", ConfigError, "must be a whole number from 1 to 65,536, not '1.5'"),
        ("service", "alow", ConfigError, 'must be "refuse" or "allow"'),
        ("vectors.encoder", "lsaa", UnknownNameError, "no encoder 'lsaa'; known: none, lsa"),
        ("vectors.index", "flatt", UnknownNameError, "no vector index 'flatt'"),
        ("profile", "defalt", UnknownNameError, "no profile 'defalt'"),
        ("profile", "./nowhere.ttl", ProfileError, "cannot read"),
        ("limits.password", "x", ConfigError, "must not be in a file that is copied and shared"),
        ("vectors.overlap", "300", ConfigError, "must be below 'vectors.chunk'"),
        ("text.engine", "", ConfigError, 'must be "elasticsearch" or "embedded"'),
    ],
)
def test_a_wrong_value_is_an_error_and_changes_nothing(settings, key, value, error, said):
    with pytest.raises(error) as e:
        settings.set(key, value)
    assert said in str(e.value)
    assert settings.path.read_text() == COMMENTED


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("encoder", "vectors.encoder"),
        ("limits.timout", "limits.timeout"),
        ("limit.timeout", "limits.timeout"),
        ("vector.encoder", "vectors.encoder"),
        ("text.encoder", "vectors.encoder"),
    ],
)
def test_an_unknown_key_is_told_its_nearest(settings, key, near):
    for ask in (settings.get, settings.unset, lambda key: settings.set(key, "x")):
        with pytest.raises(ConfigError) as e:
            ask(key)
        assert e.value.message == f"no setting {key!r}"
        assert e.value.hint == f"did you mean {near!r}?"


@pytest.mark.parametrize(
    "line",
    [
        "encoder = minilm",
        "encoder = sentence-transformers:a/b",
        'encoder = "lsa',
        "encoder =",
        "encoder = a b # c",
        "encoder = 5",
    ],
)
def test_a_wrong_line_is_mended_by_setting_its_value(settings, line):
    settings.path.write_text(COMMENTED.replace('encoder = "none"  # for NEAR', line))
    with pytest.raises(ConfigError):
        settings.all()
    assert settings.set("vectors.encoder", "lsa") is None
    assert settings.get("vectors.encoder").value == "lsa"
    assert settings.get("limits.timeout").value == 5


def test_several_wrong_lines_are_mended_one_after_another(settings):
    settings.path.write_text(COMMENTED.replace('"none"', "lsa").replace("timeout = 5", "timeout = soon"))
    remaining = settings.set("vectors.encoder", "lsa")
    assert "not TOML" in str(remaining)
    assert "timeout = soon" in str(remaining)
    assert settings.unset("limits.timeout") is None
    assert settings.get("limits.timeout").value == 0


def test_an_unknown_setting_in_the_file_can_be_removed(settings):
    settings.path.write_text(COMMENTED.replace("[limits]", 'encodr = "lsa"\n[limits]'))
    with pytest.raises(ConfigError, match=r"no setting 'vectors\.encodr'"):
        settings.all()
    assert settings.unset("vectors.encodr") is None
    assert settings.path.read_text() == COMMENTED


def test_a_mistake_elsewhere_that_a_change_does_not_touch_stays_an_error(settings):
    wrong = COMMENTED + "}\n"
    settings.path.write_text(wrong)
    with pytest.raises(ConfigError, match="not TOML"):
        settings.unset("service")
    assert settings.path.read_text() == wrong


def test_a_text_without_quotes_is_shown_with_a_caret_and_a_hint(tmp_path):
    text = COMMENTED.replace('"none"', "minilm")
    with pytest.raises(ConfigError) as e:
        parse_config(text, "kb.toml")
    assert str(e.value) == (
        "error[C601]: not TOML: invalid value\n"
        " --> kb.toml:5:11\n"
        "  |\n"
        "5 | encoder = minilm  # for NEAR\n"
        "  |           ^\n"
        '  hint: a text is in quotes: encoder = "minilm"\n'
        "        or: hybridkg config KB vectors.encoder VALUE"
    )


def test_a_setting_is_not_added_to_a_malformed_file(settings):
    wrong = COMMENTED.replace("[limits]  # all", "[limits")
    settings.path.write_text(wrong)
    for key in ("limits.max_rows", "limits.timeout", "service"):
        with pytest.raises(ConfigError, match="not TOML") as e:
            settings.set(key, OTHER.get(key, "allow" if key == "service" else 7))
        assert e.value.hint == "the line should be: [limits]"
        assert settings.path.read_text() == wrong


def test_the_settings_of_an_open_knowledge_base_hold_from_the_next_query_on(
    copy_films: Callable[[Path], Path], tmp_path
):
    with KnowledgeBase.open(copy_films(tmp_path / "films.kb")) as kb:
        kb.settings.set("limits.max_rows", 3)
        assert kb.settings.get("limits.max_rows").value == 3
        with pytest.raises(NotAKnowledgeBaseError):
            SettingsFile(tmp_path / "other.kb")


def test_an_older_file_gets_its_tables(tmp_path):
    KnowledgeBase.create(tmp_path / "f.kb").close()
    settings = SettingsFile(tmp_path / "f.kb")
    settings.path.write_text('# old\nencoder = "none"  # for NEAR\n')
    settings.set("vectors.encoder", "lsa")
    assert settings.path.read_text() == '# old\n\n[vectors]\nencoder = "lsa"  # for NEAR\n'
    settings.path.write_text('encoder = "lsa"\n')
    settings.unset("vectors.encoder")
    assert settings.get("vectors.encoder").value == "none"


def test_settings_that_change_at_once_are_all_in_force(settings):
    changes = {"limits.max_rows": 7, "service": "allow", "synonyms": "s.txt", "vectors.encoder": "lsa"}
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            list(pool.map(lambda item: settings.set(*item), changes.items()))
            for key, value in changes.items():
                assert settings.get(key).value == value
            assert "# seconds" in settings.path.read_text()
            list(pool.map(settings.unset, changes))


@pytest.mark.parametrize("key", [one.key for one in all_settings() if one.key.endswith(".url")])
def test_no_password_in_an_address_gets_into_the_file(settings, key):
    with pytest.raises(ConfigError, match="carries a user name or a password"):
        settings.set(key, "http://user:secret@localhost:9200/")
    assert "secret" not in settings.path.read_text()
    settings.set(key, "http://localhost:9200/a@b")


@pytest.mark.parametrize("value", [6, None])
def test_a_value_of_several_lines_that_is_wrong_stays_as_it_is(settings, value):
    text = COMMENTED.replace("timeout = 5", "timeout = [\n  5,\n  6,\n]")
    settings.path.write_text(text)
    with pytest.raises(ConfigError, match="spans several lines"):
        settings.unset("limits.timeout") if value is None else settings.set("limits.timeout", value)
    assert settings.path.read_text() == text


def test_a_byte_order_mark_is_no_mistake(settings):
    settings.path.write_text("\ufeff[limits]\ntimeout = 5\n", encoding="utf-8")
    settings.set("limits.timeout", 6)
    assert settings.path.read_text() == "[limits]\ntimeout = 6\n"
