"""The server that other tests rely on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from elastic_server import RunningServer

pytestmark = pytest.mark.needs_elastic


def processes_that_name(text):
    """Command lines of running processes; a process that ends meanwhile has none."""
    found = subprocess.run(["ps", "-eww", "-o", "args="], capture_output=True, text=True, check=True).stdout
    return [line for line in found.splitlines() if text in line]


def test_each_test_has_a_name_of_its_own_and_its_indexes_go(elastic, elastic_name):
    from elasticsearch import Elasticsearch

    with Elasticsearch(elastic.url) as client:
        client.index(index=f"{elastic_name}-1", id="7", document={"text": "a red fish"}, refresh=True)
        assert client.count(index=f"{elastic_name}*")["count"] == 1
    assert elastic.indexes(elastic_name) == [f"{elastic_name}-1"]
    elastic.clear(elastic_name)
    assert elastic.indexes(elastic_name) == []


def test_another_process_reaches_it_by_its_port_and_its_folder(elastic, elastic_name):
    there = RunningServer(elastic.port, elastic.folder)
    assert there.wait().url == elastic.url
    there.request("PUT", f"/{elastic_name}")
    assert elastic.indexes(elastic_name) == [elastic_name]


def test_a_server_that_another_process_has_ended_is_not_waited_for(tmp_path):
    with pytest.raises(RuntimeError, match="Elasticsearch has ended"):
        RunningServer(1, tmp_path / "gone").wait()


def test_nothing_of_the_developers_settings_is_seen():
    assert not [name for name in os.environ if name.startswith("HYBRIDKG_ELASTICSEARCH_")]


@pytest.mark.exhaustive
def test_a_killed_server_has_its_documents_its_password_and_its_certificate_when_it_is_started_again(
    elastic_server, certificate
):
    """One test, because each start takes 10 to 20 s."""
    from elasticsearch import AuthenticationException, Elasticsearch

    server = elastic_server(password="a-good-one", tls=certificate)
    assert server.url.startswith("https://")

    def client(password="a-good-one"):
        return Elasticsearch(server.url, ca_certs=str(certificate[0]), basic_auth=("elastic", password))

    with client() as good, client("another") as bad:
        good.index(index="kept", id="7", document={"text": "a red fish"}, refresh=True)
        with pytest.raises(AuthenticationException):
            bad.info()
    server.kill()
    assert processes_that_name(str(server.folder)) == []
    with pytest.raises(OSError, match="refused"):
        server.request("GET", "/")
    server.start()
    with client() as good:
        assert good.get(index="kept", id="7")["_source"] == {"text": "a red fish"}
    server.stop()
    server.stop()
    assert not server.folder.exists()
    assert processes_that_name(str(server.folder)) == []


def test_a_server_goes_when_the_tests_are_killed():
    """Not even kill -9 of the tests leaves a server or a folder."""
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from elastic_server import ElasticServer\n"
        "server = ElasticServer(); server.launch(); print(server.folder, flush=True); time.sleep(60)"
    )
    folder_of_module = Path(__file__).parents[2] / "servers"
    with subprocess.Popen([sys.executable, "-c", code, folder_of_module], stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        folder = tests.stdout.readline().strip()
        until = time.monotonic() + 120
        while not processes_that_name(folder) and time.monotonic() < until:
            time.sleep(0.05)
        assert processes_that_name(folder)
        tests.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 120
    while (Path(folder).exists() or processes_that_name(folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(folder).exists()
    assert processes_that_name(folder) == []
