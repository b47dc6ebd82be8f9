"""docker/ says what the project says: names, ports, versions, limits; and what can run without Docker is run."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from hybridkg.remote import credentials
from hybridkg.remote.elasticsearch.server import OLDEST_SERVER
from hybridkg.resources import cache_dir

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
OURS = ("oxigraph", "hybridkg")
DOCKERFILE = re.sub(r"\\\n", " ", (DOCKER / "Dockerfile").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINNED = re.compile(r"[^:@]+(:[0-9]+)?(/[^:@]+)*:[0-9]+\.[0-9]+\.[0-9]+[\w.-]*")
OXIGRAPH = shutil.which("oxigraph", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}


def lines(word, stage=None):
    """The arguments of an instruction, of all stages or of one."""
    found, current = [], ""
    for line in DOCKERFILE.splitlines():
        if line.startswith("FROM "):
            current = line.split(" AS ")[-1].strip()
        if line.startswith(f"{word} ") and stage in (None, current):
            found.append(line[len(word) + 1 :].strip())
    return found


def default(text):
    """`${NAME:-value}` without a NAME."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)


def size(text):
    return int(text[:-1]) * UNITS[text[-1].lower()]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class TestCompose:
    @pytest.mark.parametrize("image", [s["image"] for s in SERVICES.values()] + [f.split()[0] for f in lines("FROM")])
    def test_every_image_has_a_whole_version(self, image):
        assert image in ("build", "base") or PINNED.fullmatch(image), image

    def test_our_images_have_the_version_of_the_project(self):
        assert {SERVICES[name]["image"].split(":")[1] for name in OURS} == {PROJECT["version"]}

    def test_elasticsearch_is_new_enough_and_of_the_version_that_tests_use(self):
        version = SERVICES["elasticsearch"]["image"].rsplit(":", 1)[1]
        assert tuple(map(int, version.split(".")[:2])) >= OLDEST_SERVER
        shared = ROOT.parent / "shared" / "servers"
        if shared.is_dir():
            assert (shared / f"elasticsearch-{version}.tar.xz").exists()

    def test_every_variable_of_ours_is_one_that_hybridkg_reads(self):
        known = {value for value in vars(credentials).values() if isinstance(value, str)}
        names = {name for name in SERVICES["hybridkg"]["environment"] if name.startswith("HYBRIDKG_")}
        assert names == {credentials.URL, credentials.USERNAME, credentials.PASSWORD}
        assert names <= known
        given = re.findall(r"\b(HYBRIDKG_\w+)=", " ".join(lines("ENV")))
        assert given == ["HYBRIDKG_CACHE"]
        assert "HYBRIDKG_CACHE" in (ROOT / "hybridkg" / "resources.py").read_text()

    def test_the_address_of_the_server_is_that_of_its_service(self):
        url = SERVICES["hybridkg"]["environment"][credentials.URL]
        port = default(SERVICES["elasticsearch"]["ports"][0]).rsplit(":", 1)[1]
        assert credentials.server_url(url, {}) == f"http://elasticsearch:{port}"
        assert f":{port}/" in SERVICES["elasticsearch"]["healthcheck"]["test"][1]

    def test_the_port_of_the_sparql_server_is_the_same_everywhere(self):
        (command,) = lines("CMD", "oxigraph")
        port = default(SERVICES["oxigraph"]["ports"][0]).rsplit(":", 1)[1]
        assert f'"0.0.0.0:{port}"' in command
        assert lines("EXPOSE", "oxigraph") == [port]
        assert f":{port}/" in SERVICES["oxigraph"]["healthcheck"]["test"][3]
        (volume,) = SERVICES["oxigraph"]["volumes"]
        assert f'"--location", "{volume.split(":")[1]}"' in command

    def test_no_port_is_open_to_other_machines(self):
        for service in SERVICES.values():
            for port in service.get("ports", []):
                assert port.startswith("127.0.0.1:"), port

    def test_the_password_comes_from_outside_and_stands_nowhere(self):
        text = (DOCKER / "compose.yaml").read_text()
        assert SERVICES["elasticsearch"]["environment"]["ELASTIC_PASSWORD"].startswith("${ELASTIC_PASSWORD:?")
        assert SERVICES["hybridkg"]["environment"][credentials.PASSWORD].startswith("${ELASTIC_PASSWORD:?")
        assert SERVICES["elasticsearch"]["environment"]["xpack.security.enabled"] == "true"
        assert "-u elastic" not in text
        ignored = (ROOT / ".gitignore").read_text().splitlines()
        assert ".env" in ignored

    def test_every_service_has_limits_and_no_more_rights_than_it_needs(self):
        for name, service in SERVICES.items():
            assert size(default(service["mem_limit"])) <= 4 * UNITS["g"]
            assert service["security_opt"] == ["no-new-privileges:true"]
            assert not {"privileged", "cap_add", "pid", "network_mode", "devices"} & set(service)
            assert not any("docker.sock" in volume for volume in service["volumes"])
            if name in OURS:
                assert service["read_only"] is True
                assert service["cap_drop"] == ["ALL"]
                assert service["pids_limit"] == 256

    def test_the_heap_is_at_most_half_of_the_memory(self):
        heap = default(SERVICES["elasticsearch"]["environment"]["ES_JAVA_OPTS"])
        least, most = re.fullmatch(r"-Xms(\w+) -Xmx(\w+)", heap).groups()
        assert least == most
        assert 2 * size(most) <= size(default(SERVICES["elasticsearch"]["mem_limit"]))

    def test_servers_are_waited_for_until_they_are_healthy(self):
        for name, wanted in SERVICES["hybridkg"]["depends_on"].items():
            assert wanted == {"condition": "service_healthy"}
            assert {"test", "interval", "timeout", "retries", "start_period"} <= set(SERVICES[name]["healthcheck"])

    def test_every_volume_is_declared(self):
        named = {v.split(":")[0] for s in SERVICES.values() for v in s["volumes"] if v[0] not in "./$"}
        assert named == set(COMPOSE["volumes"])


class TestDockerfile:
    def test_the_targets_are_those_of_the_compose_file(self):
        stages = {line.split(" AS ")[1] for line in lines("FROM")}
        for name in OURS:
            build = SERVICES[name]["build"]
            assert build["target"] == name in stages
            assert (DOCKER / build["context"] / build["dockerfile"]).resolve() == DOCKER / "Dockerfile"

    def test_nobody_runs_as_root(self):
        (user,) = lines("USER", "base")
        assert re.fullmatch(r"[1-9][0-9]*:[1-9][0-9]*", user)
        assert not [one for name in OURS for one in lines("USER", name)]
        assert default(SERVICES["hybridkg"]["user"]) == user
        for name in OURS:
            assert f"FROM base AS {name}" in DOCKERFILE

    def test_what_is_copied_is_there_and_goes_to_the_build(self):
        let_in = {
            line[1:] for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")
        }
        copied = [word for line in lines("COPY", "build") for word in line.split()[:-1]]
        assert set(copied) == let_in
        for path in copied:
            assert (ROOT / path).exists(), path
        read = {PROJECT["readme"], *PROJECT["license-files"], "pyproject.toml", "grammar", "ontologies", "hybridkg"}
        assert all(let_in & {path, path.partition("/")[0]} for path in read)

    def test_the_programs_exist(self):
        assert lines("ENTRYPOINT", "hybridkg") == ['["hybridkg"]']
        assert "hybridkg" in PROJECT["scripts"]
        assert lines("ENTRYPOINT", "oxigraph") == ['["oxigraph"]']

    def test_extras_exist(self):
        (extras,) = [line.split("=")[1] for line in lines("ARG") if line.startswith("EXTRAS=")]
        assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])

    def test_the_python_is_one_that_the_project_supports(self):
        from packaging.specifiers import SpecifierSet

        versions = {re.match(r"python:([0-9.]+)-", line)[1] for line in lines("FROM") if line.startswith("python")}
        assert len(versions) == 1
        assert versions.pop() in SpecifierSet(PROJECT["requires-python"])

    def test_the_pinned_versions_are_those_that_the_project_allows(self):
        pinned = dict(
            line.lower().split("==")
            for line in (DOCKER / "constraints.txt").read_text().splitlines()
            if not line.startswith("#")
        )
        extras = PROJECT["optional-dependencies"]["elasticsearch"]
        for wanted in map(Requirement, [*PROJECT["dependencies"], *extras]):
            assert wanted.specifier.contains(pinned[wanted.name.lower()]), wanted
        assert pinned["oxigraph"] == pinned["pyoxigraph"]  # one version of the store, embedded and served

    def test_the_cache_folder_that_it_names_is_used(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HYBRIDKG_CACHE", str(tmp_path / "cache" / "hybridkg"))
        (tmp_path / "cache").mkdir()
        (tmp_path / "cache").chmod(0o1777)  # as in the image, for whoever the user is
        assert cache_dir() == tmp_path / "cache" / "hybridkg"
        assert cache_dir().stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(OXIGRAPH is None, reason="other: the program oxigraph is not installed")
def test_the_sparql_server_starts_with_these_arguments_and_is_found_healthy(tmp_path):
    (command,) = (yaml.safe_load(line) for line in lines("CMD", "oxigraph"))
    port = free_port()
    command = [
        str(tmp_path) if word == "/data" else word.replace("0.0.0.0:7878", f"127.0.0.1:{port}") for word in command
    ]
    program, *rest = SERVICES["oxigraph"]["healthcheck"]["test"][1:]
    check = [program, *(word.replace("7878", str(port)) for word in rest)]
    assert subprocess.run(check, capture_output=True, check=False).returncode != 0
    server = subprocess.Popen([str(OXIGRAPH), *command], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            if subprocess.run(check, capture_output=True, check=False).returncode == 0:
                break
            assert server.poll() is None
            time.sleep(0.2)
        else:
            pytest.fail("never healthy")
    finally:
        server.kill()
        server.wait()


@pytest.mark.exhaustive  # a server of its own; test_security.py runs the same check by TLS
@pytest.mark.needs_elastic
def test_elasticsearch_starts_with_these_settings_and_is_found_healthy_by_its_password_only(elastic_server):
    if shutil.which("curl") is None:
        pytest.skip("other: no curl")
    settings = SERVICES["elasticsearch"]["environment"]
    own = {key: value for key, value in settings.items() if "." in key and key != "discovery.type"}
    assert own.pop("xpack.security.enabled") == "true"  # what the password turns on in the server of the tests
    server = elastic_server(password="quoted-by-nobody-1", settings=own)
    check = SERVICES["elasticsearch"]["healthcheck"]["test"][1].replace("$$", "$").replace(":9200", f":{server.port}")

    def health(password):
        environment = {**os.environ, "ELASTIC_PASSWORD": password}
        return subprocess.run(["sh", "-c", check], env=environment, capture_output=True, check=False).returncode

    assert health(server.password) == 0
    assert health("wrong-word") != 0
    assert health("") != 0
