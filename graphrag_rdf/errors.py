"""What can go wrong, in words for people.

Every error that reaches a user is one of these: a message that names the thing and the cause, a
`hint` that names the way out, and the exit code that the command line ends with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

LlmErrorKind = Literal[
    "auth", "model", "rate_limit", "timeout", "connection", "server", "bad_request", "budget", "unparsable"
]
EndpointErrorKind = Literal["unreachable", "timeout", "refused", "conflict"]

_USER = re.compile(r"(\w://)[^/?#\s]*@")
_KEY = re.compile(
    r"([?&][\w.-]*(?:key|token|secret|password|sig)[\w.-]*=)[^&#\s\"'<>]+", re.ASCII | re.IGNORECASE
)


def without_credentials(text: str) -> str:
    """A text with asterisks for the users, passwords and keys in its addresses."""
    return _KEY.sub(r"\1**********", _USER.sub(r"\1**********@", text))


_RUST = re.compile(r'message: "((?:[^"\\]|\\.)*)"')
_CONTENT = re.compile(r'[.\s]*Content: ".*', re.DOTALL)
"""What tantivy quotes of a file that it cannot read: perhaps all of it."""
_LONGEST_CAUSE = 300

_NO_MEMORY = (
    "Cannot allocate memory",
    "can't start new thread",
    "Failed to spawn",
    "bad_alloc",
    "MemoryError",
)

RAISE_FILES = (
    "start it again where it may open more files, e.g. after: ulimit -n 1024"
    " (a container: --ulimit nofile=1024)"
)
"""The way out when a process may not open as many files as it needs."""


def short_cause(error: object) -> str:
    """What a library says went wrong, in one short line, without its inner structures."""
    problems = getattr(error, "errors", None)  # of pydantic
    said = "; ".join(f"{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in problems()) if problems else error
    text = _CONTENT.sub("", " ".join(str(said).split()))
    if inner := _RUST.search(text):
        text = inner[1]
    if not text and isinstance(error, BaseException):
        text = type(error).__name__
    return text if len(text) <= _LONGEST_CAUSE else text[: _LONGEST_CAUSE - 1] + "…"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory is the cause, in whatever words a library says so; a thread needs memory too."""
    said = str(error)
    return isinstance(error, MemoryError) or any(words in said for words in _NO_MEMORY)


def is_out_of_files(cause: str) -> bool:
    """Whether a cause is the limit of open files (RocksDB reserves some and says so in its own words)."""
    return "Too many open files" in cause or "file descriptors when reserving" in cause


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """A hint that names what is spelt like an unknown name.

    Args:
        otherwise: the hint where nothing is spelt alike.
    """
    import difflib

    near = difflib.get_close_matches(name, list(known), n=3)
    return f"did you mean {' or '.join(near)}?" if near else otherwise


class GraphRagError(Exception):
    """Base of all errors that are meant for people.

    Args:
        message: what happened, naming the file, IRI or setting concerned.
        hint: the way out, if there is one.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(GraphRagError):
    """The request itself is wrong: nothing was done."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting is unknown or has an impossible value."""


class DocumentError(GraphRagError):
    """A document cannot be read; others can.

    Args:
        path: the file as the user named it.
        reason: the cause, without the path.
    """

    def __init__(self, path: str | Path, reason: str, hint: str | None = None) -> None:
        super().__init__(f"{path}: {reason}", hint)
        self.path = str(path)
        self.reason = reason


class TemplateError(GraphRagError):
    """A query template is malformed or was given unfit parameters."""


class StoreError(GraphRagError):
    """The store cannot be opened, read or written; an address in the message loses its credentials."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(without_credentials(message), hint)


class StoreMissingError(StoreError):
    """There is no store where one is looked for. The wrong one was named, as with any other thing."""

    exit_code = 2


class NotPurgedError(StoreError):
    """Documents are forgotten, but files of the store still hold their text; forgetting again finishes."""


class EndpointError(StoreError):
    """The endpoint behind a remote store did not do what it was asked for.

    Args:
        kind: it did not answer at all, not in time, said no (or what cannot be read), or another program
            came in between.
        address: of the endpoint, as the message names it; None when it does not.
    """

    def __init__(
        self, message: str, kind: EndpointErrorKind, hint: str | None = None, address: str | None = None
    ) -> None:
        super().__init__(message, hint)
        self.kind = kind
        self.address = address and without_credentials(address)


class MalformedError(UsageError):
    """An endpoint finds what people wrote malformed.

    Args:
        address: of the endpoint, as the message names it.
    """

    def __init__(self, message: str, address: str) -> None:
        super().__init__(without_credentials(message))
        self.address = without_credentials(address)


class TooLargeError(UsageError):
    """What was sent is larger than what can be taken at once."""


class StoreLockedError(StoreError):
    """Another process holds the store.

    Args:
        server: the address of that process, when it is our server.
    """

    def __init__(self, message: str, hint: str | None = None, server: str | None = None) -> None:
        super().__init__(message, hint)
        self.server = server


class SearchIndexError(GraphRagError):
    """A text or vector index is missing, damaged or of another model."""


class LlmError(GraphRagError):
    """A call to a model failed.

    Args:
        kind: what sort of failure; `retryable` follows from it.
    """

    RETRYABLE: frozenset[str] = frozenset({"rate_limit", "timeout", "connection", "server"})

    def __init__(self, message: str, kind: LlmErrorKind, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.kind = kind

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return self.kind in self.RETRYABLE
