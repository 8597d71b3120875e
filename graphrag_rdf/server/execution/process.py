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

_TUNED = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=127"}
"""The engine takes and gives back thousands of small pieces of memory for each query; glibc keeps seven of a
size at hand if it is not told otherwise. With more, a look-up takes a quarter less time in a process with one
thread; not so in the server's, whose threads come and go. Other C libraries do not look at it."""


_STARTED: weakref.WeakSet[subprocess.Popen[bytes]] = weakref.WeakSet()


def spawn(module: str, *arguments: str, fds: tuple[int, ...]) -> subprocess.Popen[bytes]:
    """Start a module as a program.

    Args:
        fds: open files that it gets, under the same numbers.
    """
    root = str(Path(graphrag_rdf.__file__).parents[1])
    environment = _TUNED | {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
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
