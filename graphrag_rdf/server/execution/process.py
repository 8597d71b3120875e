"""Processes of ours: Python again, with an environment made for it, which holds no secret."""

from __future__ import annotations

import os
import subprocess
import sys
import weakref
from pathlib import Path

import graphrag_rdf

_PASSED_ON = (
    *("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "TMPDIR"),
    *("GLIBC_TUNABLES", "LD_PRELOAD", "MALLOC_CONF"),
)
"""Variables of the environment that are passed on: none that can hold a secret."""


_STARTED: weakref.WeakSet[subprocess.Popen[bytes]] = weakref.WeakSet()


def spawn(module: str, *arguments: str, fds: tuple[int, ...]) -> subprocess.Popen[bytes]:
    """Start a module as a program.

    Args:
        fds: open files that it gets, under the same numbers.
    """
    root = str(Path(graphrag_rdf.__file__).parents[1])
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    process = subprocess.Popen(  # noqa: S603 - our own interpreter, our own words
        [sys.executable, "-P", "-m", module, *arguments],
        env={**environment, "PYTHONPATH": root},
        pass_fds=fds,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        cwd="/",
    )
    _STARTED.add(process)
    return process


def kill_all() -> None:
    """End all that were started, also those that are stopped (SIGSTOP), which see nothing of our own end."""
    for process in list(_STARTED):
        process.kill()
