"""Diagnosis of an installation and a knowledge base: findings, each with the command that fixes it.

Imports only the errors and the names of the extras until a check needs more, so that it also works in an installation
with broken packages.
"""

from __future__ import annotations

import platform
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from hybridkg.errors import HybridkgError
from hybridkg.extras import EXTRAS, PURPOSES

OK, BROKEN, NOTE, ABSENT = "ok", "broken", "note", "absent"

OPTIONAL = {"IPython": "notebooks"}
"""Packages of no extra that hybridkg uses if they are installed, with their purpose."""

MIN_FREE = 2**30
"""Free bytes below which a larger load is likely to fail."""


@dataclass(frozen=True)
class Check:
    """One finding.

    Args:
        part: `installed`, `optional`, `works` or `knowledge base`.
        name: subject of the check.
        state: `ok`; `broken` (needed, and does not work); `note` (works, but could be better); `absent` (optional).
        detail: the finding, in words.
        fix: the command that fixes it; empty without one.
    """

    part: str
    name: str
    state: str
    detail: str = ""
    fix: str = ""


def healthy(checks: list[Check]) -> bool:
    """Whether no check is broken."""
    return all(check.state != BROKEN for check in checks)


def diagnose(kb: Path | None = None) -> list[Check]:
    """All checks, with those of a knowledge base if there is one, in a fixed order.

    Takes a few seconds, writes only into the cache, and sends requests only to the servers that have the graph or the
    text index of `kb`.
    """
    checks = [_python(), *_needed(), *_optional()]
    for name, check in (
        ("cache folder", _cache),
        ("grammar", _grammar),
        ("text analysis", _analysis),
        ("graph store", _graph),
        ("compiled kernels", _kernels),
    ):
        checks.append(_guarded("works", name, check))
    if kb is None:
        checks.append(_guarded("works", "disk space", lambda: _disk(Path.cwd(), MIN_FREE)))
        return checks
    return [*checks, *_knowledge_base(kb)]


def _guarded(part: str, name: str, check: Callable[[], tuple[str, str, str]]) -> Check:
    """Runs a check; any exception becomes its finding."""
    try:
        return Check(part, name, *check())
    except HybridkgError as e:
        return Check(part, name, BROKEN, f"{e.message}; {e.hint}" if e.hint else e.message)
    except ImportError as e:
        package = (e.name or "hybridkg").partition(".")[0]
        return Check(part, name, BROKEN, str(e), _install("--force-reinstall", package))
    except OSError as e:
        return Check(part, name, BROKEN, str(e))
    except Exception as e:
        return Check(part, name, BROKEN, f"{type(e).__name__}: {e}", _install("--force-reinstall", "hybridkg"))


def _install(*what: str) -> str:
    return shlex.join([sys.executable, "-m", "pip", "install", *what])


# --- what is installed -------------------------------------------------------------


def _python() -> Check:
    version = platform.python_version()
    try:
        wanted = metadata.metadata("hybridkg")["Requires-Python"] or ""
    except metadata.PackageNotFoundError:
        wanted = ""
    if satisfies(version, wanted):
        return Check("installed", "Python", OK, version)
    return Check("installed", "Python", BROKEN, f"{version}; hybridkg needs {wanted}")


def _needed() -> Iterator[Check]:
    try:
        yield Check("installed", "hybridkg", OK, metadata.version("hybridkg"))
        requirements = metadata.requires("hybridkg") or []
    except metadata.PackageNotFoundError:
        yield Check("installed", "hybridkg", BROKEN, "it runs, but pip has not installed it", _install("-e", "."))
        return
    for requirement in sorted(requirements, key=str.lower):
        if ";" not in requirement:  # the marker of an extra
            name, wanted = _parts(requirement)
            yield _package(name, wanted)


def _parts(requirement: str) -> tuple[str, str]:
    """Name and version of a requirement.

    >>> _parts("pyoxigraph<0.6,>=0.5.7")
    ('pyoxigraph', '<0.6,>=0.5.7')
    """
    match = re.match(r"([\w.-]+)(?:\[[^\]]*\])?\s*\(?([^)]*)", requirement.strip())
    return (match[1], match[2].strip()) if match else (requirement, "")


def _package(name: str, wanted: str) -> Check:
    if not (version := _version(name)):
        return Check("installed", name, BROKEN, "missing", _install(name + wanted))
    if satisfies(version, wanted):
        return Check("installed", name, OK, version)
    return Check("installed", name, BROKEN, f"{version}; needed is {wanted}", _install(name + wanted))


def satisfies(version: str, wanted: str) -> bool:
    """Whether a version is within bounds such as `>=0.5.7,<0.6`; only numbers are compared.

    >>> satisfies("0.5.13", ">=0.5.7,<0.6"), satisfies("3.14.0rc1", ">=3.11,<3.14"), satisfies("1", "")
    (True, False, True)
    """
    have = _numbers(version)
    for operator, bound in re.findall(r"(>=|<=|==|!=|~=|<|>)\s*([\w.*+!]+)", wanted):
        want = _numbers(bound)
        n = max(len(have), len(want))
        a, b = (v + (0,) * (n - len(v)) for v in (have, want))
        if not {
            ">=": a >= b,
            "<=": a <= b,
            "==": have[: len(want)] == want,
            "!=": have[: len(want)] != want,
            "~=": a >= b and have[: len(want) - 1] == want[:-1],
            "<": a < b,
            ">": a > b,
        }[operator]:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match else ()


def _optional() -> Iterator[Check]:
    for extra, packages in EXTRAS.items():
        yield _extra(extra, packages)
    for name, purpose in OPTIONAL.items():
        if version := _version(name):
            yield Check("optional", name, OK, f"{version}, for {purpose}")
        else:
            yield Check("optional", name, ABSENT, f"for {purpose}", _install(name))


def _extra(extra: str, packages: Mapping[str, str]) -> Check:
    """Checks that an extra is complete, absent, or has missing packages or packages of another version."""
    versions = {name: version for name in packages if (version := _version(name))}
    purpose, fix = f"for {PURPOSES[extra]}", _install(f"hybridkg[{extra}]")
    if not versions:
        return Check("optional", extra, ABSENT, purpose, fix)
    missing = [f"{name} is missing" for name in packages if name not in versions]
    wrong = [
        f"{name} is {version}, needed is {packages[name]}"
        for name, version in versions.items()
        if not satisfies(version, packages[name])
    ]
    if missing or wrong:
        state = "half installed" if missing else "of another version"
        return Check("optional", extra, NOTE, f"{state}: {', '.join(missing + wrong)}; {purpose}", fix)
    return Check(
        "optional", extra, OK, f"{', '.join(f'{name} {version}' for name, version in versions.items())}; {purpose}"
    )


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


# --- what works ----------------------------------------------------------------------

Finding = tuple[str, str, str]
"""(state, detail, fix)."""


def _cache() -> Finding:
    import tempfile

    from hybridkg.resources import _cache_path, cache_dir

    wanted, folder = _cache_path(), cache_dir()
    why = "every start takes about a second longer"
    if folder is None:
        if wanted is None:
            return NOTE, f"there is no home folder: {why}", "export HYBRIDKG_CACHE=/a/folder/of/yours"
        shown = shlex.quote(str(wanted))
        fix = f"chmod u+rwx,go-w {shown}" if wanted.is_dir() else f"mkdir -p -m 700 {shown}"
        problem = "is not a folder that only you can write" if wanted.exists() else "cannot be made"
        return NOTE, f"{wanted} {problem}: {why}", fix
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"hybridkg")
    except OSError as e:
        return NOTE, f"{folder} cannot be written ({e.strerror}): {why}", f"df -h {shlex.quote(str(folder))}"
    return OK, str(folder), ""


def _grammar() -> Finding:
    from hybridkg.query.parser import parse
    from hybridkg.resources import cache_dir

    start = time.perf_counter()
    parse("SELECT ?x { ?x MATCH 'a' }")
    took = time.perf_counter() - start
    folder = cache_dir()
    if folder is None or next(folder.glob("parser-*.json"), None) is None:
        return NOTE, f"built again at every start ({took:.2f} s): the cache folder does not keep it", ""
    return OK, f"its table is cached; ready in {took:.2f} s", ""


def _analysis() -> Finding:
    from hybridkg.interfaces.analyzer import ANALYZERS

    analyzer = ANALYZERS.get("standard")()
    term = analyzer.term("Models", analyzer.stemmer("en"))
    if term != "model":
        return BROKEN, f"'Models' becomes {term!r}", _install("--force-reinstall", "PyStemmer")
    return OK, analyzer.chain, ""


def _graph() -> Finding:
    from hybridkg.rdf.terms import Literal, NamedNode, Triple
    from hybridkg.store.oxigraph import OxigraphStore

    store = OxigraphStore.memory([Triple(NamedNode("x:s"), NamedNode("x:p"), Literal("o"))])
    if not store.ask("ASK WHERE { <x:s> <x:p> 'o' }"):
        return BROKEN, "Oxigraph does not find a triple that it stored", _install("--force-reinstall", "pyoxigraph")
    return OK, "Oxigraph answers", ""


def _kernels() -> Finding:
    from hybridkg.compute.compilation import compiled
    from hybridkg.compute.kernel_list import KERNELS
    from hybridkg.compute.kernels import LazyKernel

    start = time.perf_counter()
    # The smallest kernel shows whether numba works and can write its cache; compiling all of them takes 45 s.
    if LazyKernel("hybridkg.text.models.logarithm_kernel").load() is None:
        detail = "they do not load; numpy ranks instead, same scores, about three times slower"
        return NOTE, detail, _install("--force-reinstall", "numba")
    seconds, ready = time.perf_counter() - start, len(compiled())
    if ready == len(KERNELS):
        return OK, f"all {ready} are compiled; the smallest loads in {seconds:.2f} s", ""
    detail = f"{ready} of {len(KERNELS)} are compiled; a first large load or search compiles the rest, beside its work"
    return NOTE, detail, "hybridkg doctor --compile"


def _disk(folder: Path, wanted: int) -> Finding:
    free = shutil.disk_usage(folder).free
    shown = f"{free / 2**30:,.1f} GiB free at {folder}"
    if free >= wanted:
        return OK, shown, ""
    return NOTE, f"{shown}; a load or an index may need {max(wanted, 2**20) / 2**30:,.1f} GiB", ""


# --- a knowledge base ------------------------------------------------------------------


def _knowledge_base(path: Path) -> Iterator[Check]:
    from hybridkg.interfaces.text_engine import is_remote_engine

    part, shown = "knowledge base", shlex.quote(str(path))
    stats: dict[str, Any] = {}

    def opens() -> Finding:
        from hybridkg.kb import KnowledgeBase

        base = KnowledgeBase.open(path)
        stats.update(base.stats())  # once, because a server may be slow
        base.query("ASK { ?s ?p ?o }")
        state = f"{stats['triples']:,} triples, {stats['documents']:,} documents, generation {stats['generation']}"
        return OK, state, ""

    def is_as_exported() -> Finding:
        from hybridkg.kb import KnowledgeBase

        about = stats["endpoint"]
        if about["state"] != "asked":
            return (
                NOTE,
                f"{about['url']} answers; it has not been exported: MATCH finds nothing",
                f"hybridkg index {shown}",
            )
        rows = KnowledgeBase.open(path).query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
        now = next(iter(rows)).to_python()["n"]
        state = f"{about['url']} answers, {about['round_trip_ms']:.1f} ms there and back; exported {about['exported']}"
        if now != stats["triples"]:
            return (
                NOTE,
                f"{state}; it has {now:,} triples by now, the indexes have {stats['triples']:,}",
                f"hybridkg index {shown}",
            )
        return OK, state, ""

    def has_index() -> Finding:
        from hybridkg.kb.write.configured import AS_INDEXED

        if stats["profile"] is None:
            return NOTE, "there is none: MATCH finds nothing", f"hybridkg index {shown}"
        if stats["stale_indexes"]:
            return NOTE, "it is older than the graph or the documents", f"hybridkg index {shown}"
        synonyms = stats.get("synonyms", {"state": AS_INDEXED})
        if synonyms["state"] != AS_INDEXED:
            return NOTE, f"synonyms: {synonyms['state']}", f"hybridkg index {shown}"
        return OK, f"{stats['entities']:,} entities, profile {stats['profile']}, up to date", ""

    def is_fast() -> Finding:
        state = str(stats["projection"]["state"])
        if state == "ready":
            return OK, f"{stats['projection']['triples']:,} triples", ""
        if "as kb.toml says" in state:
            return OK, state, ""
        why = state.partition("; hybridkg index")[0]  # the command is the fix
        return NOTE, f"{why}; queries are slower", f"hybridkg index {shown}"

    def has_vectors() -> Finding:
        vectors = stats["vectors"]
        state = str(vectors["state"])
        if state == "ready":
            if "problem" in vectors and "url" in vectors:
                return BROKEN, f"{vectors['problem']}; NEAR finds nothing", ""
            if "problem" in vectors:
                return NOTE, f"{vectors['problem']}; every vector is compared instead", f"hybridkg index {shown}"
            if "note" in vectors:
                return NOTE, str(vectors["note"]).partition("; hybridkg index")[0], f"hybridkg index {shown}"
            recall = f", recall@10 {vectors['recall@10']:g}" if "recall@10" in vectors else ""
            return OK, f"{vectors['entities']:,} of {vectors['encoder']}, {vectors['index']}{recall}", ""
        return NOTE, f"{state.partition('; hybridkg index')[0]}; NEAR finds nothing", f"hybridkg index {shown}"

    def answers() -> Finding:
        about = {name: str(value) for name, value in stats["text"].items()}
        if "problem" in about:
            return BROKEN, f"{about['engine']}: {about['problem']}", ""
        details = ", ".join(f"{name} {value}" for name, value in about.items() if name in ("url", "index", "health"))
        # Yellow is the best state of a single node, which has no other node for replicas.
        return NOTE if about.get("health") == "red" else OK, f"{about['engine']} answers: {details}", ""

    def are_whole() -> Finding:
        from hybridkg.store.generations.folder import Folder
        from hybridkg.store.generations.manifest import INDEXES
        from hybridkg.store.generations.verification import read_record

        generation = Folder.open(path).current()
        record, n = read_record(generation.path), len(generation.manifest.files)
        if record is None:
            state = f"not all of {n} compared with their checksums on this machine yet; a session of some seconds does"
            return OK, f"{state}, and so does hybridkg stats {shown} --verify", ""
        if record.damaged:
            fix = f"hybridkg index {shown}" if record.damaged.startswith(INDEXES) else ""
            return BROKEN, f"{record.damaged} is damaged, as found on {record.at} UTC", fix
        return OK, f"all {n} had their checksums on {record.at} UTC", ""

    opening = _guarded(part, "opens", opens)
    yield opening
    if opening.state == OK:
        yield _guarded(part, "files", are_whole)
        if "endpoint" in stats:
            yield _guarded(part, "endpoint", is_as_exported)
        yield _guarded(part, "text index", has_index)
        if stats["profile"] is not None and not stats["stale_indexes"]:  # else the next index makes both
            yield _guarded(part, "projection", is_fast)
            if not str(stats["vectors"]["state"]).startswith("none"):
                yield _guarded(part, "vectors", has_vectors)
        if is_remote_engine(str(stats.get("text", {}).get("engine", ""))):
            yield _guarded(part, "text server", answers)
    # A load or an index step writes a new generation next to the live one.
    yield _guarded(part, "disk space", lambda: _disk(_existing(path), max(MIN_FREE, 2 * int(stats.get("bytes", 0)))))


def _existing(path: Path) -> Path:
    """The nearest existing folder at or above a path."""
    return next(folder for folder in (path, *path.absolute().parents) if folder.is_dir())
