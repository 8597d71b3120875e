"""Why a file cannot be read, for people."""

from __future__ import annotations

import errno
import os
from pathlib import Path

IS_FOLDER = "a folder, not a file"
NOT_REGULAR = "not a regular file"

_REASONS = {
    errno.ENOENT: "no such file or folder",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EISDIR: IS_FOLDER,
    errno.ELOOP: "a symbolic link that leads in a circle",
    errno.ENXIO: NOT_REGULAR,
}


def why_unreadable(error: OSError | ValueError, path: Path) -> str:
    """The reason of what the system refused.

    Args:
        error: a ValueError is of a name that cannot be one, such as with a NUL.
        path: what was asked for.
    """
    if not isinstance(error, OSError):
        return str(error)
    if error.errno == errno.ENOENT and os.path.islink(path):  # noqa: PTH114 - Path.is_symlink may raise
        return "a symbolic link that leads nowhere"
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)
