"""The settings of a knowledge base, one by one: what they are, and changes of kb.toml that keep its comments.

It needs no open knowledge base, so that it can mend a kb.toml with which none can be opened.
"""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybridkg.config.secret_values import without_user_info
from hybridkg.config.setting_list import SettingDescription, all_settings
from hybridkg.config.settings import SECRETS, TABLES, Config
from hybridkg.config.settings_reader import WrittenSetting, check_setting, parse_config, read_settings
from hybridkg.config.settings_writer import edit_settings, mended
from hybridkg.config.toml import Value, parse_toml
from hybridkg.errors import ConfigError, HybridkgError
from hybridkg.interfaces.vector_index import VECTOR_INDEXES
from hybridkg.storage.durable import storage_error, write_durably
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.pending_settings import pending_settings
from hybridkg.store.generations.place import checked_path
from hybridkg.store.generations.settings_lock import settings_lock

NEXT_INDEX = ("profile", "synonyms", "default_graph", "text.", "vectors.", "graph.", "elasticsearch.", "endpoint.")
"""Beginnings of settings that the next index step reads."""


@dataclass(frozen=True)
class SettingState:
    """A setting and its value.

    Args:
        setting: name, default, meaning and valid values.
        value: the value in force.
        is_set: whether kb.toml has it.
    """

    setting: SettingDescription
    value: Value
    is_set: bool

    def to_json(self) -> dict[str, Any]:
        """JSON form, without the user name and the password of an address."""
        one, value = self.setting, self.value
        value = without_user_info(value) if isinstance(value, str) else value
        about = {"key": one.key, "value": value, "default": one.default, "is_set": self.is_set}
        return {**about, "meaning": one.meaning, "allowed": one.allowed}


class SettingsFile:
    """The kb.toml of the knowledge base in a folder.

    >>> import tempfile
    >>> from hybridkg import KnowledgeBase
    >>> kb = KnowledgeBase.create(Path(tempfile.mkdtemp()) / "f.kb")
    >>> kb.settings.set("limits.timeout", "30")
    >>> kb.settings.get("limits.timeout").value, kb.settings.get("service").value
    (30.0, 'refuse')
    """

    def __init__(self, folder: str | Path):
        """Raises NotAKnowledgeBaseError: there is no knowledge base in the folder."""
        self._folder = checked_path(folder)
        self.path = self._folder / "kb.toml"
        if not self.path.is_file():
            Folder.open(self._folder)

    def all(self) -> list[SettingState]:
        """Every setting, in the order of a kb.toml.

        Raises:
            ConfigError: the file is missing or wrong.
        """
        text = self._text()
        config = parse_config(text, str(self.path))
        return [_state(one, config, text) for one in all_settings()]

    def get(self, key: str) -> SettingState:
        """One setting. Raises ConfigError: there is none of this name, or the file is missing or wrong."""
        known(key)
        return next(state for state in self.all() if state.setting.key == key)

    def section(self, name: str) -> list[SettingState]:
        """The settings of a section such as `limits`, a table of kb.toml; empty if there is no such section.

        Raises:
            ConfigError: the file is missing or wrong.
        """
        return [state for state in self.all() if state.setting.section == name] if name in TABLES else []

    def set(self, key: str, value: Value) -> HybridkgError | None:
        """Sets a value, which may be the text of a number; the other lines of the file stay.

        Returns:
            What else is wrong in a file that was wrong before; None where it is right now.

        Raises:
            ConfigError: there is no such setting, the value is not valid, or it cannot be replaced.
            UnknownNameError, ProfileError, MissingExtraError: there is no such encoder, vector index or profile.
            StorageError: the file cannot be written; it is as it was before.
        """
        setting = known(key)
        read = _as_type_of(setting.default, value)
        table, _, name = key.rpartition(".")
        check_setting(WrittenSetting(table, name, key, read), "")
        checked = _checked_name(key, read)
        with settings_lock(self._folder):
            return self._change(key, checked)

    def unset(self, key: str) -> HybridkgError | None:
        """Removes a setting, so that its default holds; also one that is unknown and in the file by mistake.

        Returns and raises as `set` does.
        """
        with settings_lock(self._folder):
            if key not in {one.key for one in all_settings()} and mended(self._text(), key, None) == self._text():
                known(key)
            return self._change(key, None)

    def _change(self, key: str, value: Value | None) -> HybridkgError | None:
        text = self._text()
        try:
            parse_config(text, str(self.path))
        except ConfigError as was_wrong:
            return self._mend(text, key, value, was_wrong)
        self._write(edit_settings(text, {key: value}, str(self.path)))
        return None

    def _mend(self, text: str, key: str, value: Value | None, was_wrong: ConfigError) -> HybridkgError | None:
        """Changes one line of a wrong file; what is wrong in other lines stays so."""
        changed = mended(text, key, value)
        if not _is_toml(text) and changed.count("\n") > text.count("\n"):
            raise was_wrong  # a line is added to a table that may be the malformed one
        if _is_toml(text) and not _is_toml(changed):
            raise ConfigError(
                f"the value of {key!r} spans several lines, and cannot be replaced",
                hint=f"edit the file: {self.path}",
                place=str(self.path),
            ) from was_wrong
        remaining: HybridkgError | None = None
        try:
            parse_config(changed, str(self.path))
        except ConfigError as e:
            if changed == text:
                raise was_wrong from None
            remaining = e
        self._write(changed)
        return remaining

    def _text(self) -> str:
        pending = pending_settings(self._folder)
        return read_settings(self.path) if pending is None else pending

    def _write(self, text: str) -> None:
        try:
            write_durably(self.path, text)
        except OSError as e:
            raise storage_error(e, f"writing {str(self.path)!r}") from e


def known(key: str) -> SettingDescription:
    """The setting of a full name. Raises ConfigError with the nearest names."""
    settings = {one.key: one for one in all_settings()}
    if key in settings:
        return settings[key]
    table, _, name = key.rpartition(".")
    if table in TABLES and name in SECRETS:
        check_setting(WrittenSetting(table, name, key, ""), "")
    same = [one for one in settings if one.rpartition(".")[2] == name]
    near = (same if not table else []) or difflib.get_close_matches(key, (*settings, *TABLES), 1) or same
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "hybridkg config KB --all lists all of them"
    if key in TABLES:
        own = ", ".join(one for one in settings if settings[one].section == key)
        raise ConfigError(f"{key!r} is a section, not a setting", hint=f"its settings: {own}")
    raise ConfigError(f"no setting {key!r}", hint=hint)


def follows_next_index(key: str) -> bool:
    """Whether a setting has an effect with the next index step only."""
    return key.startswith(NEXT_INDEX)


def _state(setting: SettingDescription, config: Config, text: str) -> SettingState:
    table, _, name = setting.key.rpartition(".")
    outer, inner = TABLES[table][name] if table else (name, "")
    value: Any = getattr(config, outer)
    is_set = mended(text, setting.key, None) != text
    return SettingState(setting, getattr(value, inner) if inner else value, is_set)


def _is_toml(text: str) -> bool:
    try:
        parse_toml(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _as_type_of(default: Value, value: Value) -> Value:
    """A text as a number, where the setting is one; any other value unchanged."""
    if not isinstance(value, str) or isinstance(default, str):
        return value
    for kind in (int, float) if isinstance(default, float) else (int,):
        try:
            return float(kind(value)) if isinstance(default, float) else kind(value)
        except ValueError:
            continue
    return value


def _checked_name(key: str, value: Value) -> Value:
    """The value, after a check that there is such a profile or encoder, and no secret; paths become absolute."""
    from hybridkg.entities.profile.profile_reader import load_profile
    from hybridkg.kb.write.configured import chosen_encoder, chosen_profile

    if key.endswith(".url") and "@" in str(value).partition("//")[2].partition("/")[0]:
        raise ConfigError(
            f"the address in {key!r} carries a user name or a password, and this file is copied and shared",
            hint="leave them out; docs/security.md has the variables of the environment that take them",
        )
    if key == "profile":
        load_profile(chosen := chosen_profile(str(value)))
        return chosen
    if key == "vectors.index":
        VECTOR_INDEXES.get(str(value))
    return chosen_encoder(str(value)) if key == "vectors.encoder" else value
