"""Looks at an installation: what is there, what works, what is missing, and the command that mends it.

Imports nothing of hybridkg but its errors and the names of its extras until a check needs it, so that it
can also speak of an installation in which half of the packages are broken.
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
"""Packages of no extra that hybridkg uses where they are installed, and for what."""

MIN_FREE = 2**30
"""Bytes: with less disk space left than this, a load of some size is likely to fail."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Args:
        part: `installed`, `optional`, `works` or `knowledge base`.
        name: what was looked at.
        state: `ok`; `broken` (needed, and does not work); `note` (works, but could be better); `absent` (optional).
        detail: what was found.
        fix: the command that mends it; empty where there is none.
    """

    part: str
    name: str
    state: str
    detail: str = ""
    fix: str = ""


def healthy(checks: list[Check]) -> bool:
    """Whether everything needed works."""
    return all(check.state != BROKEN for check in checks)


def diagnose(kb: Path | None = None) -> list[Check]:
    """Every check, in a fixed order; takes a few seconds, writes only into the cache.

    Asks nobody on the network but the servers that have the graph or the text index of `kb`, where some have them.

    Args:
        kb: folder of a knowledge base to look at as well.
    """
    checks = [_python(), *_needed(), *_optional()]
    for name, look in (
        ("cache folder", _cache),
        ("grammar", _grammar),
        ("text analysis", _analysis),
        ("graph store", _graph),
        ("compiled kernel", _kernel),
    ):
        checks.append(_guarded("works", name, look))
    if kb is None:
        checks.append(_guarded("works", "disk space", lambda: _disk(Path.cwd(), MIN_FREE)))
        return checks
    return [*checks, *_knowledge_base(kb)]


def _guarded(part: str, name: str, look: Callable[[], tuple[str, str, str]]) -> Check:
    """A check whose failure, of whatever kind, is its finding."""
    try:
        return Check(part, name, *look())
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
    found = platform.python_version()
    try:
        wanted = metadata.metadata("hybridkg")["Requires-Python"] or ""
    except metadata.PackageNotFoundError:
        wanted = ""
    if satisfies(found, wanted):
        return Check("installed", "Python", OK, found)
    return Check("installed", "Python", BROKEN, f"{found}; hybridkg needs {wanted}")


def _needed() -> Iterator[Check]:
    try:
        yield Check("installed", "hybridkg", OK, metadata.version("hybridkg"))
        requirements = metadata.requires("hybridkg") or []
    except metadata.PackageNotFoundError:
        yield Check("installed", "hybridkg", BROKEN, "it runs, but pip does not know it", _install("-e", "."))
        return
    for requirement in sorted(requirements, key=str.lower):
        if ";" not in requirement:  # what stands behind it is for an extra
            name, wanted = _parts(requirement)
            yield _package(name, wanted)


def _parts(requirement: str) -> tuple[str, str]:
    """Name and version of a requirement.

    >>> _parts("pyoxigraph<0.6,>=0.5.7")
    ('pyoxigraph', '<0.6,>=0.5.7')
    """
    found = re.match(r"([\w.-]+)(?:\[[^\]]*\])?\s*\(?([^)]*)", requirement.strip())
    return (found[1], found[2].strip()) if found else (requirement, "")


def _package(name: str, wanted: str) -> Check:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
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
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def _optional() -> Iterator[Check]:
    for extra, packages in EXTRAS.items():
        yield _extra(extra, packages)
    for name, purpose in OPTIONAL.items():
        version = _version(name)
        if version:
            yield Check("optional", name, OK, f"{version}, for {purpose}")
        else:
            yield Check("optional", name, ABSENT, f"for {purpose}", _install(name))


def _extra(extra: str, packages: Mapping[str, str]) -> Check:
    """Whether an extra is complete, absent, or half installed, and then what of it is missing or of a wrong version."""
    found = {name: version for name in packages if (version := _version(name))}
    purpose, fix = f"for {PURPOSES[extra]}", _install(f"hybridkg[{extra}]")
    if not found:
        return Check("optional", extra, ABSENT, purpose, fix)
    missing = [f"{name} is missing" for name in packages if name not in found]
    wrong = [
        f"{name} is {version}, needed is {packages[name]}"
        for name, version in found.items()
        if not satisfies(version, packages[name])
    ]
    if missing or wrong:
        state = "half installed" if missing else "of another version"
        return Check("optional", extra, NOTE, f"{state}: {', '.join(missing + wrong)}; {purpose}", fix)
    return Check(
        "optional", extra, OK, f"{', '.join(f'{name} {version}' for name, version in found.items())}; {purpose}"
    )


def _version(name: str) -> str:
    """Of an installed package; empty where it is not."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


# --- what works ----------------------------------------------------------------------

Finding = tuple[str, str, str]
"""State, detail, fix."""


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
        return NOTE, f"built anew at every start ({took:.2f} s): the cache folder does not keep it", ""
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
        return BROKEN, "Oxigraph does not find what it was given", _install("--force-reinstall", "pyoxigraph")
    return OK, "Oxigraph answers", ""


def _kernel() -> Finding:
    from hybridkg.compute.kernels import LazyKernel

    start = time.perf_counter()
    # A small one, which tells whether numba works and can keep its cache; to compile the largest takes ten seconds.
    if LazyKernel("hybridkg.text.models.logarithm_kernel").load() is None:
        detail = "it does not load; numpy ranks instead, same scores, about three times slower"
        return NOTE, detail, _install("--force-reinstall", "numba")
    return OK, f"loads in {time.perf_counter() - start:.2f} s", ""


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
    found: dict[str, Any] = {}

    def opens() -> Finding:
        from hybridkg.kb import KnowledgeBase

        base = KnowledgeBase.open(path)
        found.update(base.stats())  # once: the server of its text index may take its time
        base.query("ASK { ?s ?p ?o }")
        state = f"{found['triples']:,} triples, {found['documents']:,} documents, generation {found['generation']}"
        return OK, state, ""

    def is_as_exported() -> Finding:
        from hybridkg.kb import KnowledgeBase

        about = found["endpoint"]
        if about["state"] != "asked":
            return (
                NOTE,
                f"{about['url']} answers; it has not been exported: MATCH finds nothing",
                f"hybridkg index {shown}",
            )
        rows = KnowledgeBase.open(path).query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
        now = next(iter(rows)).to_python()["n"]
        state = f"{about['url']} answers, {about['round_trip_ms']:.1f} ms there and back; exported {about['exported']}"
        if now != found["triples"]:
            return (
                NOTE,
                f"{state}; it has {now:,} triples by now, of which the indexes know {found['triples']:,}",
                (f"hybridkg index {shown}"),
            )
        return OK, state, ""

    def has_index() -> Finding:
        from hybridkg.kb.write.configured import AS_INDEXED

        if found["profile"] is None:
            return NOTE, "there is none: MATCH finds nothing", f"hybridkg index {shown}"
        if found["stale_indexes"]:
            return NOTE, "it is older than the graph or the documents", f"hybridkg index {shown}"
        synonyms = found.get("synonyms", {"state": AS_INDEXED})
        if synonyms["state"] != AS_INDEXED:
            return NOTE, f"synonyms: {synonyms['state']}", f"hybridkg index {shown}"
        return OK, f"{found['entities']:,} entities, profile {found['profile']}, up to date", ""

    def is_fast() -> Finding:
        state = str(found["projection"]["state"])
        if state == "ready":
            return OK, f"{found['projection']['triples']:,} triples", ""
        if "as kb.toml says" in state:
            return OK, state, ""
        why = state.partition("; hybridkg index")[0]  # the command stands below
        return NOTE, f"{why}; queries are slower", f"hybridkg index {shown}"

    def has_vectors() -> Finding:
        vectors = found["vectors"]
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
        about = {name: str(value) for name, value in found["text"].items()}
        if "problem" in about:
            return BROKEN, f"{about['engine']}: {about['problem']}", ""
        details = ", ".join(f"{name} {value}" for name, value in about.items() if name in ("url", "index", "health"))
        # Yellow is what one node can reach: a copy of the data on another node is not there.
        return NOTE if about.get("health") == "red" else OK, f"{about['engine']} answers: {details}", ""

    opening = _guarded(part, "opens", opens)
    yield opening
    if opening.state == OK:
        if "endpoint" in found:
            yield _guarded(part, "endpoint", is_as_exported)
        yield _guarded(part, "text index", has_index)
        if found["profile"] is not None and not found["stale_indexes"]:  # else the next index makes both
            yield _guarded(part, "projection", is_fast)
            if not str(found["vectors"]["state"]).startswith("none"):
                yield _guarded(part, "vectors", has_vectors)
        if is_remote_engine(str(found.get("text", {}).get("engine", ""))):
            yield _guarded(part, "text server", answers)
    # A load or an index writes a new generation beside the one that is read.
    yield _guarded(part, "disk space", lambda: _disk(_existing(path), max(MIN_FREE, 2 * int(found.get("bytes", 0)))))


def _existing(path: Path) -> Path:
    """The nearest folder above a path that is there."""
    return next(folder for folder in (path, *path.absolute().parents) if folder.is_dir())
