"""The compose file runs what is tested, by names that exist."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import yaml

_DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE = yaml.safe_load((_DEPLOY / "compose.yaml").read_text("utf-8"))


def test_versions_are_those_of_the_tests() -> None:
    text = (_DEPLOY / "compose.yaml").read_text("utf-8")
    for package in ("oxigraph", "distributed"):
        assert f" {package}=={version(package)}" in text


def test_services_name_each_other_and_their_volumes() -> None:
    services = COMPOSE["services"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= services.keys()
        for volume in service.get("volumes", ()):
            name = volume.split(":")[0]
            assert name in COMPOSE["volumes"] or name.startswith("../")
        for word in service["command"]:
            if "://" in word:
                assert word.split("://")[1].split(":")[0] in services
    assert (_DEPLOY / ".." / services["server"]["build"]["dockerfile"]).exists()


def test_only_this_computer_reaches_the_server_and_nobody_the_engine() -> None:
    ports = {name: service.get("ports", []) for name, service in COMPOSE["services"].items()}
    assert ports.pop("server") == ["127.0.0.1:7878:7878"]
    assert not any(ports.values())
