"""Components that kb.toml names, checked before any work: text engine, analyzers, encoder, vector index, synonyms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hybridkg.entities.profile.profile import Profile
from hybridkg.errors import ConfigError, ParameterError, UnknownNameError
from hybridkg.interfaces.analyzer import ANALYZERS
from hybridkg.interfaces.encoder import ENCODERS, NO_ENCODER, ConfirmUpload, EncoderKind, ModelChoice
from hybridkg.interfaces.text_engine import TEXT_ENGINES, TextEngine
from hybridkg.interfaces.vector_index import VECTOR_INDEXES, VectorIndexKind
from hybridkg.kb.write.encode_entities import Vectorising
from hybridkg.registry import Registry
from hybridkg.store.generations.folder import Folder
from hybridkg.text.match_query.synonyms import NO_SYNONYMS, Synonyms, read_synonyms, stored_synonyms
from hybridkg.vector.encoders.embedding_cache import NAME as VECTOR_WORK

AS_INDEXED = "as in the file"
"""State of an index whose synonyms are those of the file."""


def with_chosen_settings(
    folder: Folder, profile: str | Path | None, encoder: str | None, text_engine: str | None
) -> Folder:
    """The folder with the settings of a call; kb.toml gets them with the generation that the call makes.

    The profile is a name or the path of a Turtle file, the encoder `NAME`, `NAME:MODEL` or `none`.

    Raises:
        UnknownNameError: there is no such encoder or text engine; names the known ones.
        ParameterError: the name of the encoder lacks a model, or has one that it does not take.
        MissingExtraError: its package is not installed.
    """
    config, changes = folder.config, dict[str, str]()
    if profile is not None and (chosen := chosen_profile(profile)) != config.profile:
        changes["profile"] = chosen
    if encoder is not None and (chosen := chosen_encoder(encoder)) != config.encoder:
        changes["encoder"] = chosen
    if text_engine is not None:
        TEXT_ENGINES.get(text_engine)
        if text_engine != config.text:
            changes["text"] = text_engine
    return folder.with_settings(**changes) if changes else folder


def chosen_profile(profile: str | Path) -> str:
    """The profile as kb.toml names it: absolute, if it is a path; a file with the name of a profile is not meant."""
    from hybridkg.entities.profile.profile_reader import is_path

    return _absolute(profile) if is_path(profile) else str(profile)


def _absolute(path: str | Path) -> str:
    """The absolute path of an existing file; any other name unchanged."""
    return str(Path(path).resolve()) if Path(path).exists() else str(path)


def chosen_encoder(text: str) -> str:
    """The encoder as kb.toml names it, with an absolute path for a model in a folder.

    Raises:
        UnknownNameError, ParameterError, MissingExtraError: as `with_chosen_settings`.
    """
    name, colon, model = text.partition(":")
    if text == NO_ENCODER:
        return text
    try:
        takes_model = ENCODERS.get(name).takes_model
    except UnknownNameError as e:
        known = ", ".join([NO_ENCODER, *ENCODERS.names()])
        raise UnknownNameError(f"no {ENCODERS.kind} {name!r}; known: {known}", hint=e.hint) from None
    if takes_model != bool(model):
        raise ParameterError(
            f"the encoder {name!r} takes {'a' if takes_model else 'no'} model",
            hint=f"{name}:MODEL, the name of a model or the path of its folder" if takes_model else name,
        )
    return f"{name}{colon}{_absolute(model)}" if takes_model else name


def has_text_index(folder: Folder) -> bool:
    """Whether the live generation has a text index, up to date or not."""
    return (folder.path / folder.live_name() / "text").is_dir()


def has_remote_index(folder: Folder) -> bool:
    """Whether the settings put the text or the vectors on a server."""
    config = folder.config
    is_remote = TEXT_ENGINES.get(config.text).is_remote
    if config.encoder != NO_ENCODER:
        is_remote = is_remote or VECTOR_INDEXES.get(config.vectors).is_remote
    return bool(is_remote)


def configured_profile(folder: Folder) -> Profile:
    """The profile that kb.toml names; raises ProfileError."""
    from hybridkg.entities.profile.profile_reader import load_profile

    return load_profile(folder.config.profile)


def text_engine(folder: Folder) -> tuple[str, TextEngine]:
    """The name and the text engine of kb.toml."""
    config = folder.config
    return config.text, TEXT_ENGINES.get(config.text)(folder.path, config)


def check_analyzers(profile: Profile, folder: Folder) -> None:
    """Checks that every analyzer of a profile is installed, unless a server analyzes with its own.

    Raises:
        UnknownNameError: an analyzer is not; names the field and the known ones.
    """
    config = folder.config
    if TEXT_ENGINES.get(config.text).analyzes_natively(config):
        return
    for field in profile.fields:
        try:
            ANALYZERS.get(field.analyzer)
        except UnknownNameError as e:
            raise UnknownNameError(
                f"profile {profile.name!r}, field {field.name!r}: {e.message}", hint=e.hint
            ) from None


def vectorising(folder: Folder, confirm: ConfirmUpload | None = None) -> Vectorising | None:
    """The encoder and vector index of kb.toml, ready for work; None where it names no encoder.

    Raises:
        ConfigError: there is no such encoder, model or index; names the known ones.
        MissingExtraError: a package is not installed.
        EncoderError: the model cannot be fetched.
        HybridkgError: the index cannot be built now.
    """
    config, place = folder.config, str(folder.path / "kb.toml")
    name, _, model = config.encoder.partition(":")
    if config.encoder == NO_ENCODER:
        return None
    encoder = _registered(ENCODERS, name, place, NO_ENCODER)
    if encoder.takes_model != bool(model):
        raise ConfigError(
            f"the encoder {name!r} takes {'a' if encoder.takes_model else 'no'} model",
            hint=f'encoder = "{name}:MODEL", the name of a model or the path of its folder'
            if encoder.takes_model
            else f'encoder = "{name}"',
            place=place,
        )
    own = config.encoding
    if own.what == "chunks" and own.unit == "tokens" and not encoder.has_tokens:
        raise ConfigError(
            f"the encoder {name!r} has no tokens to measure chunks in",
            hint='unit = "characters" in the table [vectors]',
            place=place,
        )
    choice = ModelChoice(
        model,
        folder.path,
        own.device,
        own.batch,
        own.max_length,
        own.query_prompt,
        own.passage_prompt,
        own.url,
        own.timeout,
        own.per_minute,
    )
    kind: EncoderKind = encoder(choice)
    index: VectorIndexKind = _registered(VECTOR_INDEXES, config.vectors, place)(folder.path, config)
    try:
        kind.fingerprint()
        index.ready()
    except ConfigError as e:
        e.place = e.place or place
        raise
    return Vectorising(name, kind, config.vectors, index, folder.path / VECTOR_WORK, own, confirm)


def _registered(registry: Registry, name: str, place: str, *others: str) -> Any:
    try:
        return registry.get(name)
    except UnknownNameError as e:
        known = ", ".join([*others, *registry.names()])
        raise ConfigError(f"no {registry.kind} {name!r}; known: {known}", hint=e.hint, place=place) from None


def configured_synonyms(folder: Folder) -> Synonyms:
    """The synonyms that kb.toml names, for the next index.

    Raises:
        ConfigError: the file cannot be read or is malformed, or the text engine cannot use synonyms.
    """
    config = folder.config
    if not config.synonyms:
        return NO_SYNONYMS
    engine = TEXT_ENGINES.get(config.text)
    if engine.analyzes_natively(config):
        raise ConfigError(
            f"synonyms are for hybridkg's own analyzers, and this knowledge base uses {engine.title}'s",
            hint=f"{engine.native_analysis.remedy}, or no 'synonyms'",
            place=str(folder.path / "kb.toml"),
        )
    return read_synonyms(folder.path / config.synonyms)


def synonyms_state(folder: Folder, text_folder: Path) -> dict[str, Any]:
    """Number and state of the synonyms of an index, for `stats`: whether the file of kb.toml has changed since."""
    if not text_folder.is_dir():
        return {}
    indexed = stored_synonyms(text_folder)
    try:
        current = configured_synonyms(folder)
    except ConfigError as e:
        return {"synonyms": {"rules": len(indexed.rules), "state": f"{e.message} ({e.place})"}}
    if not indexed.rules and not current.rules:
        return {}
    state = AS_INDEXED if indexed == current else "the file has changed since the index was built"
    return {"synonyms": {"rules": len(indexed.rules), "state": state}}
