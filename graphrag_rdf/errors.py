"""The errors of the program.

Every error that reaches a user is one of these. Its message names the thing and the cause, its `hint` says
what to do, and `exit_code` is that of the command line.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from graphrag_rdf.i18n import later, tr

LlmErrorKind = Literal[
    "auth",
    "model",
    "rate_limit",
    "timeout",
    "deadline",
    "connection",
    "server",
    "bad_request",
    "budget",
    "unparsable",
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
"""Text that tantivy quotes from an unreadable file, perhaps all of it."""
_LONGEST_CAUSE = 300
_LONGEST_DEFECT = 200
_PACKAGE = Path(__file__).parent

_NO_MEMORY = (
    "Cannot allocate memory",
    "can't start new thread",
    "Failed to spawn",
    "bad_alloc",
    "MemoryError",
    "Resource temporarily unavailable",
)

RAISE_FILES = later(
    "raise the limit of open files, e.g. with ulimit -n 1024 (for a container: --ulimit nofile=1024), and "
    "start it again"
)
"""The hint when a process may not open enough files; not yet translated."""


def short_cause(error: object) -> str:
    """The error message of a library, shortened to one line without internal details."""
    problems = getattr(error, "errors", None)  # of pydantic
    cause: object = error
    if problems:
        places = ((".".join(map(str, problem["loc"])), in_words(problem)) for problem in problems())
        cause = "; ".join(": ".join(filter(None, each)) for each in places)
    text = _CONTENT.sub("", " ".join(str(cause).split()))
    if inner := _RUST.search(text):
        text = inner[1]
    if not text and isinstance(error, BaseException):
        text = type(error).__name__
    return text if len(text) <= _LONGEST_CAUSE else text[: _LONGEST_CAUSE - 1] + "…"


def defect_in_words(error: Exception) -> str:
    """`unexpected IndexError in extract/tagging.py, line 219: list index out of range`: the error, and where
    the program raised it or called what did.
    """
    own = [
        (Path(frame.filename).relative_to(_PACKAGE).as_posix(), frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(_PACKAGE)
    ]
    place = "{} in {}, line {}".format(type(error).__name__, *own[-1]) if own else type(error).__name__
    what = " ".join(str(error).split())[:_LONGEST_DEFECT]
    return f"unexpected {place}{': ' if what else ''}{what}"


_FAULTS = {
    "missing": later("it is missing"),
    "extra_forbidden": later("unknown key"),
    "int_type": later("not a whole number"),
    "int_parsing": later("not a whole number"),
    "int_from_float": later("not a whole number"),
    "float_type": later("not a number"),
    "float_parsing": later("not a number"),
    "finite_number": later("not a finite number"),
    "bool_type": later("neither true nor false"),
    "bool_parsing": later("neither true nor false"),
    "string_type": later("not a text"),
    "list_type": later("not a list"),
    "tuple_type": later("not a list"),
    "dict_type": later("not a mapping of keys to values"),
    "model_type": later("not a mapping of keys to values"),
    "model_attributes_type": later("not a mapping of keys to values"),
    "literal_error": later("not one of {expected}"),
    "greater_than": later("must be more than {gt}"),
    "greater_than_equal": later("must be at least {ge}"),
    "less_than": later("must be less than {lt}"),
    "less_than_equal": later("must be at most {le}"),
    "too_short": later("it is empty"),
    "string_too_short": later("it is empty"),
    "too_long": later("more than {max_length}"),
    "string_too_long": later("more than {max_length} characters"),
    "string_pattern_mismatch": later("not an absolute IRI"),
}
"""Kind of fault in pydantic → message in place of its own."""


def in_words(fault: Mapping[str, Any]) -> str:
    """What is wrong with a value: one of the `errors()` of pydantic's ValidationError."""
    template = _FAULTS.get(fault["type"])
    if template is None:
        message = fault["msg"].removeprefix("Value error, ")
        return tr(message)
    values = fault.get("ctx", {})
    if "expected" in values:  # 'a', 'b' or 'c'
        values = {**values, "expected": values["expected"].replace(" or ", tr(" or "))}
    return tr(template).format(**values)


_SYSTEM = (
    later("No such file or directory"),
    later("Permission denied"),
    later("Operation not permitted"),
    later("Is a directory"),
    later("Not a directory"),
    later("File exists"),
    later("File name too long"),
    later("No space left on device"),
    later("Read-only file system"),
    later("Too many open files"),
    later("Address already in use"),
    later("Connection refused"),
    later("Connection reset by peer"),
    later("Name or service not known"),
    later("timed out"),
)
"""What operating systems say, translated by `system_cause`."""
_NUMBERS = re.compile(r"^\[Errno -?\d+\] | \(os error \d+\)$")


def system_cause(error: BaseException | str) -> str:
    """The cause in an error of the operating system, without its number and file."""
    return tr(_NUMBERS.sub("", getattr(error, "strerror", None) or str(error)))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether lack of memory is the cause, by messages of several libraries. A thread needs memory too."""
    text = str(error)
    return isinstance(error, MemoryError) or any(words in text for words in _NO_MEMORY)


def is_out_of_files(cause: str) -> bool:
    """Whether the cause is the limit of open files, which RocksDB reports in its own words."""
    return "Too many open files" in cause or "file descriptors when reserving" in cause


def did_you_mean(name: str, candidates: Iterable[str], otherwise: str) -> str:
    """A hint that names what is spelt like an unknown name.

    Args:
        otherwise: the hint where nothing is spelt alike.
    """
    import difflib

    near = difflib.get_close_matches(name, list(candidates), n=3)
    return tr("did you mean {names}?").format(names=alternatives(near)) if near else otherwise


def alternatives(names: Iterable[str]) -> str:
    """Names of which the reader chooses one: `one or two`."""
    return tr(" or ").join(names)


class GraphRagError(Exception):
    """Base of all errors for users.

    Args:
        message: the cause, with the file, IRI or setting.
        hint: what to do.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(GraphRagError):
    """The request is invalid, and nothing was done."""

    exit_code = 2


class EvaluationError(UsageError):
    """A well-formed query or update that the engine cannot evaluate."""

    exit_code = 1


class ConfigError(UsageError):
    """A setting is unknown or has an invalid value."""


class UnknownParameterError(ConfigError):
    """A pipeline has no such step, parameter or way; an earlier version of the program may have had it."""


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

    def __reduce__(self) -> tuple[type[DocumentError], tuple[str, str, str | None]]:
        """For readers in other processes."""
        return DocumentError, (self.path, self.reason, self.hint)


class TemplateError(GraphRagError):
    """A query template is malformed, or has invalid parameters."""


class StoreError(GraphRagError):
    """The store cannot be opened, read or written. Credentials are removed from the message."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(without_credentials(message), hint)


class StoreMissingError(StoreError):
    """The named store does not exist."""

    exit_code = 2


class NotPurgedError(StoreError):
    """Documents are forgotten, but files of the store still hold their text; run forget again to finish."""


class EndpointError(StoreError):
    """A request to the endpoint of a remote store failed.

    Args:
        kind: no response, a time-out, a refusal (or an unreadable response), or a conflict with another
        program. address: of the endpoint, as in the message; None if it is not there.
    """

    def __init__(
        self, message: str, kind: EndpointErrorKind, hint: str | None = None, address: str | None = None
    ) -> None:
        super().__init__(message, hint)
        self.kind = kind
        self.address = address and without_credentials(address)


class MalformedError(UsageError):
    """An endpoint reports a malformed query or update of a user.

    Args:
        address: of the endpoint, as in the message.
    """

    def __init__(self, message: str, address: str) -> None:
        super().__init__(without_credentials(message))
        self.address = without_credentials(address)


class TooLargeError(UsageError):
    """A request is too large."""


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


class OtherVersionError(SearchIndexError):
    """An index was written by another version of the program."""


class LlmError(GraphRagError):
    """A call to a model failed.

    Args:
        kind: of the failure; `retryable` depends on it.
    """

    RETRYABLE: frozenset[str] = frozenset({"rate_limit", "timeout", "connection", "server"})

    def __init__(self, message: str, kind: LlmErrorKind, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.kind = kind

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return self.kind in self.RETRYABLE


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, with or without a byte order mark.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise UsageError(
            tr("cannot read {path}: {cause}").format(path=path, cause=system_cause(error))
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(tr("cannot read {path}: it is not UTF-8 text").format(path=path)) from error
