"""What every test may use."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from elastic_server import ElasticServer, RunningServer, self_signed, unavailable, unique_name
from hypothesis import HealthCheck, settings
from sampling import EXHAUSTIVE

ROOT = Path(__file__).resolve().parent.parent
SKIP_KINDS = {
    "no shared data": "shared data",
    "no Elasticsearch": "Elasticsearch",
    "no SPARQL server": "SPARQL servers",
    "no model packages": "models",
    "exhaustive": "exhaustive",
}
"""How the reasons begin, and what the summary calls them."""

# How long an example takes is the machine's business, whose neighbours are noisy; it says nothing of what is right.
settings.register_profile("sample", deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])
# In CI the same examples in each run: what a change has broken fails, and not what a draw has found in earlier code.
# Elsewhere they are drawn anew.
settings.register_profile("ci", parent=settings.get_profile("sample"), derandomize=True, database=None)
settings.register_profile(EXHAUSTIVE, parent=settings.get_profile("sample"), max_examples=300)

SERVERS_OF_THE_DEVELOPER = ("HYBRIDKG_ELASTICSEARCH_", "HYBRIDKG_ENDPOINT_")
"""Beginnings of variables of the environment that tests must not see."""

MEMORY, ROOM = Path("/dev/shm"), 4 << 30
"""A file system in memory, and the bytes that must be free there before the files of a run go to it."""

GARBAGE = 100_000
"""New objects after which the garbage collector looks at them."""

RUN_FOLDER = pytest.StashKey[Path]()
USER_CACHE = pytest.StashKey[Path]()
FAILED = pytest.StashKey[bool]()
SESSION_SERVER = pytest.StashKey[RunningServer]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--exhaustive", action="store_true", help="also run long fuzzing and big data")


def pytest_configure(config: pytest.Config) -> None:
    # Bytecode is kept, also by the programs that tests start: without it each start compiles 300 modules.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if not hasattr(config, "workerinput") and (folder := _folder_in_memory()):
        config.stash[RUN_FOLDER] = folder
        # The scripts of the servers unpack them where the next run finds them, and not anew into the memory of each.
        unpacked = Path(tempfile.gettempdir(), f"hybridkg-servers-{os.getuid()}")
        os.environ.setdefault("HYBRIDKG_SERVERS", str(unpacked))
        os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.tempdir = str(folder)
    if not hasattr(config, "workerinput"):
        # Each generation that a test makes leaves a record in the user's cache folder, which a year does not remove.
        config.stash[USER_CACHE] = Path(tempfile.mkdtemp(prefix="hybridkg-tests-cache-"))
        os.environ["HYBRIDKG_CACHE"] = str(config.stash[USER_CACHE])
        _copy_tables(_kept_tables(config), config.stash[USER_CACHE])
    drawn = "ci" if os.environ.get("CI") else "sample"
    settings.load_profile(EXHAUSTIVE if config.getoption("--exhaustive") else drawn)
    # Here and not in a fixture, so that it holds for fixtures of every scope: no test may reach, or write to, the
    # developer's own server.
    for name in [name for name in os.environ if name.startswith(SERVERS_OF_THE_DEVELOPER)]:
        del os.environ[name]
    # A shell that starts us in the background has Ctrl-C ignored, by what we start too, and tests send it to both.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Each worker has a core. With a thread for each core OpenBLAS waits in a loop for threads that do not run: 17 ms
    # of processor time instead of 0.8 for the eigenvectors of a matrix of 100 x 100. Numpy reads these when imported.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    # Until the tests are collected, when the collector starts again: hardly anything of theirs is garbage.
    gc.disable()
    # Kernels are compiled once for this process, its workers, and the programs they start, and by none of these aside.
    os.environ["HYBRIDKG_COMPILE"] = "off"
    if (cache := getattr(config, "cache", None)) is not None:
        os.environ.setdefault("NUMBA_CACHE_DIR", str(cache.mkdir("numba")))


def _kept_tables(config: pytest.Config) -> Path | None:
    """Where the tables of the parser of earlier runs are; None without a cache of pytest's."""
    cache = getattr(config, "cache", None)
    return cache.mkdir("parser") if cache is not None else None


def _copy_tables(source: Path | None, target: Path | None) -> None:
    """Every worker would build them, in 0.6 s; their names tell the grammar."""
    if source is not None and target is not None:
        for file in source.glob("parser-*.json"):
            if not (target / file.name).exists():
                shutil.copy(file, target)


def _folder_in_memory() -> Path | None:
    """A folder for the files of this run, where fsync takes no time; None where there is no room in memory.

    Folders of runs that have ended are removed: those of runs with failures stay until then.
    """
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return None
    about = os.statvfs(MEMORY)
    if about.f_bavail * about.f_frsize < ROOM or about.f_flag & os.ST_NOEXEC:  # Elasticsearch runs code from its folder
        return None
    for old in MEMORY.glob("hybridkg-tests-*"):
        if not Path("/proc", old.name.rpartition("-")[2]).exists():
            shutil.rmtree(old, ignore_errors=True)
    folder = MEMORY / f"hybridkg-tests-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        return None
    return folder


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus != 0:
        session.config.stash[FAILED] = True


def pytest_sessionstart(session: pytest.Session) -> None:
    """Workers compile the kernels together, each those that no other has begun, instead of each for itself."""
    if getattr(session.config, "workerinput", None) is not None and os.environ.get("NUMBA_CACHE_DIR"):
        from hybridkg.compute.compilation import remaining

        for _ in remaining():
            pass


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    no_elastic = unavailable()
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.add_marker(pytest.mark.quick)
        if item.get_closest_marker("exhaustive") and not config.getoption("--exhaustive"):
            item.add_marker(pytest.mark.skip(reason="exhaustive: runs in `make test-all`"))
        if item.get_closest_marker("needs_shared") and not shared_data().is_dir():
            item.add_marker(pytest.mark.skip(reason=f"no shared data at {shared_data()}"))
        if no_elastic and _needs_elastic(item):
            item.add_marker(pytest.mark.skip(reason=no_elastic))


# One Elasticsearch serves the whole session. With `-n` it is the controller's, which outlives the workers, while only
# the workers know whether a test needs it: each leaves word in the server's folder before it reports what it collected.


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Starts the session's Elasticsearch as soon as it is known to be needed: other tests run until it is ready."""
    # 400,000 objects of modules and collected tests live until the end: a search for cycles among them takes 0.3 s.
    gc.freeze()
    gc.enable()
    # By default it searches after 700 new objects, and a seventh of a run was such searches.
    gc.set_threshold(GARBAGE)
    if session.config.option.collectonly or session.config.option.setupplan:
        return
    if any(_needs_session_server(item) and not item.get_closest_marker("skip") for item in session.items):
        server = _session_server(session.config)
        if isinstance(server, ElasticServer):
            server.launch()
        else:
            _wanted(server.folder).touch()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """In the controller, before a worker starts: where the server will answer."""
    if not unavailable():
        server = _session_server(node.config)
        node.workerinput["elastic"] = (server.port, str(server.folder))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist=loadfile`, except that the files that use torch go to one worker: its import takes four seconds."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return "torch" if _uses_torch(file) else file

    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


@cache
def _uses_torch(file: str) -> bool:
    path = ROOT / file
    is_test = path.name.startswith("test_") and path.is_file()
    return is_test and re.search(r"\btorch\b|tiny_models", path.read_text(encoding="utf-8")) is not None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    """In the controller: the first worker whose tests need the server has it started."""
    server = node.config.stash.get(SESSION_SERVER, None)
    if isinstance(server, ElasticServer) and not server.launched and _wanted(server.folder).exists():
        server.launch()


def pytest_unconfigure(config: pytest.Config) -> None:
    if isinstance(server := config.stash.get(SESSION_SERVER, None), ElasticServer):
        server.stop()
    if cache := config.stash.get(USER_CACHE, None):
        _copy_tables(cache, _kept_tables(config))
        shutil.rmtree(cache, ignore_errors=True)
    if (folder := config.stash.get(RUN_FOLDER, None)) and not config.stash.get(FAILED, False):
        shutil.rmtree(folder, ignore_errors=True)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    stats = terminalreporter.stats
    ran = sum(len(stats.get(kind, ())) for kind in ("passed", "failed", "xfailed", "xpassed"))
    reasons = [_reason(report) for report in stats.get("skipped", ())]
    kinds = Counter(next((kind for start, kind in SKIP_KINDS.items() if r.startswith(start)), "other") for r in reasons)
    listed = ", ".join(f"{kind} {count:,}" for kind, count in sorted(kinds.items()))
    terminalreporter.write_line(f"{ran:,} tests ran, {len(reasons):,} skipped" + (f": {listed}" if listed else ""))


def _reason(report: Any) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


def _fixtures(item: pytest.Item) -> list[str]:
    return getattr(item, "fixturenames", [])


def _needs_elastic(item: pytest.Item) -> bool:
    wanted = {"elastic", "elastic_server"} & set(_fixtures(item))
    return bool(wanted) or item.get_closest_marker("needs_elastic") is not None


def _needs_session_server(item: pytest.Item) -> bool:
    """Who is only marked asks for the fixture by `request.getfixturevalue`, unless it has servers of its own."""
    return "elastic" in _fixtures(item) or (_needs_elastic(item) and "elastic_server" not in _fixtures(item))


def _session_server(config: pytest.Config) -> RunningServer:
    """Of this process, or in a worker that of the controller."""
    if SESSION_SERVER not in config.stash:
        port, folder = getattr(config, "workerinput", {}).get("elastic", (0, ""))
        config.stash[SESSION_SERVER] = RunningServer(port, Path(folder)) if folder else ElasticServer()
    return config.stash[SESSION_SERVER]


def _wanted(folder: Path) -> Path:
    return folder / "wanted"


def shared_data() -> Path:
    return Path(os.environ.get("HYBRIDKG_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(name="shared_data", scope="session")
def shared_data_fixture() -> Path:
    """The folder of real public data; tests that use it are marked needs_shared."""
    return shared_data()


@pytest.fixture(scope="session")
def copy_films(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """`copy_films(folder)` is that folder: a knowledge base of examples/films.ttl, indexed once in this process.

    For tests that change theirs; a copy takes a tenth of the time of a load.
    """
    made = tmp_path_factory.mktemp("copied") / "films.kb"

    def copy(folder: Path) -> Path:
        from hybridkg import KnowledgeBase

        if not made.exists():
            with KnowledgeBase.create(made) as kb:
                kb.load(ROOT / "examples" / "films.ttl", index=True)
        return shutil.copytree(made, folder, symlinks=True)

    return copy


@pytest.fixture(scope="session")
def elastic(request: pytest.FixtureRequest) -> RunningServer:
    """The Elasticsearch that all tests share, ready: `elastic.url`; not to be killed or reconfigured.

    Tests take their names from `elastic_name`. Where there can be none, the test is skipped; a test that reaches
    this fixture in another way than by its arguments is marked needs_elastic.
    """
    if why := unavailable():
        pytest.skip(why)
    return _session_server(request.config).wait()


@pytest.fixture
def elastic_name(elastic: RunningServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """A name for an index or alias of one test; indexes whose names begin with it are removed after the test."""
    name = unique_name(request.node.name)
    yield name
    elastic.clear(name)


@pytest.fixture(scope="module")
def elastic_server() -> Iterator[Any]:
    """elastic_server(password=, tls=, settings=, heap=, wait=True) -> ElasticServer of one's own.

    It lives until it is stopped, at the latest to the end of the module.
    """
    if why := unavailable():
        pytest.skip(why)
    servers: list[ElasticServer] = []

    def make(*, wait: bool = True, **options: Any) -> ElasticServer:
        server = ElasticServer(**options)
        servers.append(server)
        server.launch()
        return server.wait() if wait else server

    try:
        yield make
    finally:
        for server in servers:
            server.stop()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(certificate, key), self-signed for 127.0.0.1: `elastic_server(tls=certificate)`."""
    if shutil.which("openssl") is None:
        pytest.skip("no Elasticsearch with TLS: it needs the program `openssl`")
    return self_signed(tmp_path_factory.mktemp("certificate"))


def _yardstick(clock: Callable[[], float]) -> float:
    """Seconds of a fixed piece of work, at their least YARDSTICK_S on a core of 2026."""
    begin = clock()
    sum(number * number for number in range(400_000))
    return clock() - begin


YARDSTICK_S = 0.025


@pytest.fixture(scope="session")
def within(request: pytest.FixtureRequest) -> Callable[..., AbstractContextManager[None]]:
    """`with within(2):` bounds the seconds of its body, and only in `make test-all`.

    Seconds depend on the machine and on what else it does, so the default run asserts results and counts of operations
    only, and the bound is multiplied by how much longer than usual a fixed piece of work takes, before or after.
    `clock=time.process_time` counts processor time instead of wall time.
    """

    @contextmanager
    def bounded(seconds: float, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
        if not request.config.getoption("--exhaustive"):
            yield
            return
        before, begin = _yardstick(clock), clock()
        yield
        taken, after = clock() - begin, _yardstick(clock)
        bound = seconds * max(1.0, before / YARDSTICK_S, after / YARDSTICK_S)
        assert taken < bound, f"{taken:.2f} s, bound {bound:.2f} s"

    return bounded
