"""Components that kb.toml names: text engine, analyzers, encoder, vector index, synonyms.

Each is checked before any work is done, so that a mistake costs no time.
"""

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
"""The state of synonyms that are those of the file."""


def with_chosen_settings(
    folder: Folder, profile: str | Path | None, encoder: str | None, text_engine: str | None
) -> Folder:
    """The folder with the settings that a call names; kb.toml gets them with the generation that the call makes.

    Args:
        folder: the knowledge base.
        profile: name of a shipped profile, or path of a Turtle file; None for the one in kb.toml.
        encoder: name of an encoder, with `:MODEL` where it takes one, or `none`; None for the one in kb.toml.
        text_engine: name of a text engine; None for the one in kb.toml.

    Raises:
        UnknownNameError: there is no such encoder or text engine; names those that there are.
        ParameterError: a model is missing behind the name of the encoder, or the encoder takes none.
        MissingExtraError: its package is not installed.
    """
    config, changes = folder.config, dict[str, str]()
    if profile is not None and (chosen := _absolute(profile)) != config.profile:
        changes["profile"] = chosen
    if encoder is not None and (chosen := _chosen_encoder(encoder)) != config.encoder:
        changes["encoder"] = chosen
    if text_engine is not None:
        TEXT_ENGINES.get(text_engine)
        if text_engine != config.text:
            changes["text"] = text_engine
    return folder.with_settings(**changes) if changes else folder


def _absolute(path: str | Path) -> str:
    """A path from the current folder as one that holds from every folder; the name of something else as it is."""
    return str(Path(path).resolve()) if Path(path).exists() else str(path)


def _chosen_encoder(text: str) -> str:
    """The encoder as kb.toml names it, where a model in a folder has an absolute path."""
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


def configured_profile(folder: Folder) -> Profile:
    """The profile that kb.toml names.

    Raises:
        ProfileError: it cannot be read, or is wrong.
    """
    from hybridkg.entities.profile.profile_reader import load_profile

    return load_profile(folder.config.profile)


def text_engine(folder: Folder) -> tuple[str, TextEngine]:
    """The text engine that kb.toml names."""
    config = folder.config
    return config.text, TEXT_ENGINES.get(config.text)(folder.path, config)


def check_analyzers(profile: Profile, folder: Folder) -> None:
    """Whether every analyzer that a profile names is there, before any work is done; a server knows its own.

    Raises:
        UnknownNameError: one is not; names the field, and the analyzers that there are.
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


def vectorising(folder: Folder, agree: ConfirmUpload | None = None) -> Vectorising | None:
    """How kb.toml wants vectors made, once it is sure that they can be, before any work is done; None for none.

    Args:
        folder: the knowledge base.
        agree: whether many texts may be sent to a server; None for no.

    Raises:
        ConfigError: there is no such encoder, model or index; names those that there are.
        MissingExtraError: a package is not installed.
        EncoderError: the model cannot be fetched.
        HybridkgError: the index cannot be built now.
    """
    config, place = folder.config, str(folder.path / "kb.toml")
    name, _, model = config.encoder.partition(":")
    if config.encoder == NO_ENCODER:
        return None
    made = _registered(ENCODERS, name, place, NO_ENCODER)
    if made.takes_model != bool(model):
        raise ConfigError(
            f"the encoder {name!r} takes {'a' if made.takes_model else 'no'} model",
            hint=f'encoder = "{name}:MODEL", the name of a model or the path of its folder'
            if made.takes_model
            else f'encoder = "{name}"',
            place=place,
        )
    own = config.encoding
    if own.what == "chunks" and own.unit == "tokens" and not made.has_tokens:
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
    kind: EncoderKind = made(choice)
    index: VectorIndexKind = _registered(VECTOR_INDEXES, config.vectors, place)(folder.path, config)
    try:
        kind.fingerprint()
        index.ready()
    except ConfigError as e:
        e.place = e.place or place
        raise
    return Vectorising(name, kind, config.vectors, index, folder.path / VECTOR_WORK, own, agree)


def _registered(registry: Registry, name: str, place: str, *others: str) -> Any:
    """What kb.toml names."""
    try:
        return registry.get(name)
    except UnknownNameError as e:
        known = ", ".join([*others, *registry.names()])
        raise ConfigError(f"no {registry.kind} {name!r}; known: {known}", hint=e.hint, place=place) from None


def configured_synonyms(folder: Folder) -> Synonyms:
    """The synonyms that kb.toml names, which the next index will keep.

    Raises:
        ConfigError: the file cannot be read, or is no file of synonyms; or the text engine cannot use any.
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
    """What `stats` says of the synonyms of an index, and whether the file that kb.toml names says the same by now.

    Args:
        folder: the knowledge base.
        text_folder: of the index.
    """
    if not text_folder.is_dir():
        return {}
    kept = stored_synonyms(text_folder)
    try:
        given = configured_synonyms(folder)
    except ConfigError as e:
        return {"synonyms": {"rules": len(kept.rules), "state": f"{e.message} ({e.place})"}}
    if not kept.rules and not given.rules:
        return {}
    state = AS_INDEXED if kept == given else "the file has changed since the index was built"
    return {"synonyms": {"rules": len(kept.rules), "state": state}}
