"""Programs with Apache Jena's classes, as Debian installs them; Debian has no commands for them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

JARS = Path("/usr/share/java")
_ASKED_FOR = ("cvc-datatype-valid.1.2.1", "cvc-datatype-valid.1.2.2", "cvc-datatype-valid.1.2.3")
"""Keys of messages that casts of invalid values look up, though nobody sees the messages."""


def jena_program(name: str, folder: Path) -> list[str]:
    """The command that runs a program of `tests/remote/jena`, compiled into a folder; skips without Java."""
    if not (JARS / "jena-arq.jar").exists() or shutil.which("javac") is None:
        pytest.skip("Jena or a Java compiler is not installed: apt install libapache-jena-java default-jdk")
    source = Path(__file__).resolve().parents[1] / "remote" / "jena" / f"{name}.java"
    subprocess.run(["javac", "-cp", f"{JARS}/*", "-d", str(folder), str(source)], check=True)
    write_messages(folder)
    return ["java", "-cp", f"{folder}:{JARS}/*", name]


def write_messages(folder: Path) -> None:
    """Files of messages that Debian's package lacks."""
    for missing in ("xpath/regex/message", "msg/XMLSchemaMessages"):
        file = folder / "xerces" / "impl" / f"{missing}.properties"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(f"{key} = invalid value" for key in _ASKED_FOR))
