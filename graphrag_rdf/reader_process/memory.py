"""The memory of a process that works for this one: how much it holds, and its end when that is too much."""

from __future__ import annotations

import os
import sys
import time

MEMORY_EXIT = 77
"""Exit code of a process that grew over its memory limit."""

_WATCH = 0.05


class Memory:
    """Memory of the process, updated by the thread that runs `watch`."""

    megabytes = 0.0


def watch(limit_mb: int, parent: int, memory: Memory) -> None:
    """End the process when it has grown too large, or when the server is gone."""
    while True:
        time.sleep(_WATCH)
        if os.getppid() != parent:
            os._exit(1)
        memory.megabytes = resident_mb()
        if memory.megabytes > limit_mb:
            os._exit(MEMORY_EXIT)


def resident_mb(pid: int | str = "self") -> float:
    """Resident memory in 2^20 bytes: now, where the system has /proc, else the peak of this process.

    Raises:
        OSError: the system has no figures of another process.
    """
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123 - twenty times a second
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    except OSError:
        if pid != "self":
            raise
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1 << 20) if sys.platform == "darwin" else peak / 1024


def limit_address_space(limit_mb: int) -> None:
    """A hard stop on Linux, for what grows faster than `watch` looks. A lower limit that is set stays."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
        in_use = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    # address space is more than memory: stacks, mapped files
    ceiling = in_use + 2 * (limit_mb << 20) + (1 << 30)
    limits = [limit for limit in resource.getrlimit(resource.RLIMIT_AS) if limit != resource.RLIM_INFINITY]
    lowest = min([ceiling, *limits])
    resource.setrlimit(resource.RLIMIT_AS, (lowest, lowest))
