"""A missing optional package is error R202 with the line that installs it, at every door; the doctor finds it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from hybridkg import KnowledgeBase
from hybridkg.cli.diagnosis import diagnose
from hybridkg.config.settings import ElasticSettings, EncodingSettings
from hybridkg.errors import MissingExtraError
from hybridkg.evaluation.engine_comparison import compare_engines
from hybridkg.extras import EXTRAS, MODULES, check_extra, is_installed, needs_extra
from hybridkg.remote.elasticsearch.bulk import _action
from hybridkg.remote.elasticsearch.server import Server
from hybridkg.store.generations.folder import Folder

DATA = '<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "red fish" .\n'
QUERY = 'SELECT ?x { ?x MATCH "red" AS ?s } RANK BY ?s'
MODELS = "sentence-transformers:./model"


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """The folder of a knowledge base, to be copied."""
    folder = tmp_path_factory.mktemp("loaded")
    (folder / "data.nt").write_text(DATA)
    with KnowledgeBase.create(folder / "kb") as made:
        made.load(folder / "data.nt", index=True)
    return folder / "kb"


@pytest.fixture
def kb(loaded, tmp_path):
    shutil.copytree(loaded, tmp_path / "kb", symlinks=True)
    with KnowledgeBase.open(tmp_path / "kb") as copied:
        yield copied


def configured(kb, **settings) -> None:
    folder = Folder.open(kb._snapshot.generation.path.parent)
    folder.configure(replace(folder.config, **settings))


def index(kb, **settings):
    configured(kb, **settings)
    before = kb._snapshot.generation.name
    try:
        kb.index()
    finally:
        assert Folder.open(kb._snapshot.generation.path.parent).live_name() == before  # nothing has changed


def a_frame(kb):
    from hybridkg.evaluation.experiment.frames import run_to_frame
    from hybridkg.evaluation.run import Run

    return run_to_frame(Run("x", {}))


def a_table(kb):
    from hybridkg.evaluation.experiment.outcome import ExperimentOutcome

    return ExperimentOutcome.to_dataframe(SimpleNamespace(means=dict, names=()))


def a_plot(kb):
    from hybridkg.evaluation.experiment.plots import to_svg

    return to_svg(SimpleNamespace())


def a_transformer(kb):
    from hybridkg.evaluation.pyterrier import HybridQuery

    return HybridQuery(kb, "SELECT ?x { ?x MATCH ?text AS ?s } RANK BY ?s").transform(SimpleNamespace(columns=()))


def reranked(kb):
    query = 'SELECT ?x { ?x MATCH "red" AS ?s } RANK BY ?s RERANK TOP 2 USING cross_encoder(model="x")'
    return kb.query(query)


ELASTIC = {"text": "elasticsearch", "elasticsearch": ElasticSettings(url="http://127.0.0.1:1")}
DOORS = {
    "to_arrow": ("pyarrow", lambda kb: kb.query(QUERY).to_arrow()),
    "to_dataframe": ("pandas", lambda kb: kb.query(QUERY).to_dataframe()),
    "a run": ("pandas", a_frame),
    "an outcome": ("pandas", a_table),
    "a plot": ("matplotlib", a_plot),
    "text in Elasticsearch": ("elasticsearch", lambda kb: index(kb, **ELASTIC)),
    "text in Elasticsearch without orjson": ("orjson", lambda kb: index(kb, **ELASTIC)),
    "migrate": ("orjson", lambda kb: kb.migrate("elasticsearch")),
    "parity": ("elasticsearch", lambda kb: compare_engines(kb, {"q": QUERY}, against="elasticsearch")),
    "vectors in Elasticsearch": ("orjson", lambda kb: index(kb, encoder="lsa", vectors="elasticsearch")),
    "prune": ("elasticsearch", lambda kb: (configured(kb, **ELASTIC), kb.prune())),
    "a document of a bulk": ("orjson", lambda kb: _action({"node": 1})),
    "hnsw": ("faiss", lambda kb: index(kb, encoder="lsa", vectors="hnsw")),
    "cross_encoder": ("sentence_transformers", reranked),
    **{
        f"encoder without {name}": (name, lambda kb: index(kb, encoder=MODELS))
        for name in ("huggingface_hub", "sentence_transformers", "torch", "onnx", "onnxruntime", "tokenizers")
    },
    "model2vec": ("tokenizers", lambda kb: index(kb, encoder="model2vec:./model")),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_missing_package_is_an_error_with_the_line_that_installs_it(kb, monkeypatch, door):
    package, ask = DOORS[door]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as caught:
        ask(kb)
    assert caught.value.code == "R202"
    assert f"needs the package {package!r}" in caught.value.message
    assert caught.value.hint == f'pip install "hybridkg[{MODULES[package]}]"'


def test_a_transformer_of_pyterrier_needs_pandas(kb, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="'pandas'") as caught:
        a_transformer(kb)
    assert caught.value.hint == 'pip install "hybridkg[pyterrier]"'


def test_a_table_in_parquet_names_the_extra_of_the_documentation(tmp_path, monkeypatch):
    (tmp_path / "films.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with KnowledgeBase.create(tmp_path / "kb") as made, pytest.raises(MissingExtraError, match="'pyarrow'") as caught:
        made.load(tmp_path / "films.parquet")
    assert caught.value.hint == 'pip install "hybridkg[tables]"'


def blocked(*packages: str) -> str:
    """The program `hybridkg` on a machine without some packages."""
    return f"import sys; sys.modules.update(dict.fromkeys({packages!r})); from hybridkg.__main__ import main; main()"


def program(*args: object, without: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", blocked(*without), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=dict(os.environ))


@pytest.mark.parametrize(
    ("package", "settings", "args"),
    [
        ("faiss", {"encoder": "lsa", "vectors": "hnsw"}, ("index",)),
        ("orjson", {}, ("migrate", "--to", "elasticsearch")),
        # The same doors as above, in processes of their own.
        pytest.param("orjson", ELASTIC, ("index",), marks=pytest.mark.exhaustive),
        pytest.param("elasticsearch", ELASTIC, ("index",), marks=pytest.mark.exhaustive),
        pytest.param(
            "torch",
            {"encoder": MODELS, "encoding": EncodingSettings(batch=2)},
            ("index",),
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_the_command_line_says_so_in_two_lines(kb, package, settings, args):
    folder: Path = kb._snapshot.generation.path.parent
    configured(kb, **settings)
    found = program(args[0], folder, *args[1:], without=(package,))
    assert found.returncode == 2
    assert "Traceback" not in found.stderr
    assert "error[R202]" in found.stderr
    assert f'hint: pip install "hybridkg[{MODULES[package]}]"' in found.stderr


def test_help_doctor_and_queries_need_none_of_them(kb):
    everything = tuple(MODULES)
    folder = kb._snapshot.generation.path.parent
    assert program("--help", without=everything).returncode == 0
    found = program("query", folder, QUERY, "--format", "csv", without=everything)
    assert found.stdout.split() == ["x", "http://e/a"]
    assert program("doctor", without=everything).returncode == 0


def test_a_module_of_ours_that_is_missing_is_no_missing_package():
    with pytest.raises(ModuleNotFoundError), needs_extra("models", "x"):
        import hybridkg.no_such_module  # noqa: F401


def test_what_a_package_needs_itself_is_named():
    with (
        pytest.raises(MissingExtraError, match="a plot needs the package 'no_such_package'"),
        needs_extra("eval", "a plot"),
    ):
        import no_such_package.part  # noqa: F401


def test_a_package_is_looked_for_without_importing_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    assert is_installed("wave")
    assert "wave" not in sys.modules
    check_extra("eval", "x", "wave")
    with pytest.raises(MissingExtraError):
        check_extra("eval", "x", "wave", "no_such_package")


def test_a_server_is_not_asked_before_its_packages_are_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "orjson", None)
    with pytest.raises(MissingExtraError, match="Elasticsearch needs the package 'orjson'"):
        _ = Server(ElasticSettings()).client


# --- the doctor ---------------------------------------------------------------------------


@pytest.fixture
def versions(monkeypatch):
    """What is installed, by name; everything at first."""
    installed = {name: wanted.split(",")[0].lstrip(">=") for own in EXTRAS.values() for name, wanted in own.items()}
    real = metadata.version

    def version(name: str) -> str:
        if name in installed:
            return installed[name]
        if any(name in own for own in EXTRAS.values()):
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr("hybridkg.cli.diagnosis.metadata.version", version)
    return installed


def extra(name: str):
    (found,) = [check for check in diagnose() if (check.part, check.name) == ("optional", name)]
    return found


def test_the_doctor_tells_extras_that_are_complete_absent_and_half_installed(versions):
    complete = extra("elasticsearch")
    assert (complete.state, complete.fix) == ("ok", "")
    assert complete.detail == "elasticsearch 8.19, orjson 3.10; for text and vectors in Elasticsearch"
    del versions["orjson"]
    half = extra("elasticsearch")
    assert half.state == "note"
    assert half.detail == "half installed: orjson is missing; for text and vectors in Elasticsearch"
    assert half.fix.endswith("-m pip install 'hybridkg[elasticsearch]'")
    del versions["elasticsearch"]
    absent = extra("elasticsearch")
    assert (absent.state, absent.detail) == ("absent", "for text and vectors in Elasticsearch")
    assert absent.fix.endswith("-m pip install 'hybridkg[elasticsearch]'")


def test_the_doctor_tells_a_version_that_cannot_be_used(versions):
    versions["elasticsearch"] = "9.1"
    found = extra("elasticsearch")
    assert found.state == "note"
    assert "elasticsearch is 9.1, needed is >=8.19,<9" in found.detail
    for name in ("torch", "onnx"):
        del versions[name]
    assert "half installed: onnx is missing, torch is missing" in extra("models").detail


def test_the_doctor_speaks_of_every_extra(versions):
    optional = [check.name for check in diagnose() if check.part == "optional"]
    assert set(EXTRAS) <= set(optional)
