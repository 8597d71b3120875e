"""Exceptions become one message and an exit code; the log on stderr; Ctrl-C and SIGTERM."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, ClassVar, TypeVar

import click

from graphrag_rdf import i18n
from graphrag_rdf.cli.output import is_quiet, labelled, never_fail_to_encode, safe
from graphrag_rdf.errors import RAISE_FILES, GraphRagError, is_out_of_memory, short_cause, system_cause
from graphrag_rdf.i18n import later, tr

DONE, FAILED, WRONG_USAGE, IN_PART, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes."""
_FILES = 4096


def run_safely(work: Callable[[], Any], *, exit_: bool) -> Any:
    """Run a command line.

    Args:
        work: may raise any exception. A number that it returns is the exit code.
        exit_: end the process; otherwise return the exit code.
    """
    i18n.set_process_language(i18n.of_environment())
    set_up_logging()
    never_fail_to_encode()
    _allow_files()
    with _terminated_like_interrupted():
        code = _code(work)
    if exit_:
        sys.exit(code)
    return code


def _allow_files() -> None:
    """Raise the limit of open files as far as the system allows: macOS starts with 256."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _code(work: Callable[[], Any]) -> int:
    try:
        result = work()
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except (KeyboardInterrupt, click.Abort):
        say_error(tr("interrupted"))
        return INTERRUPTED
    except BrokenPipeError as error:
        if not _reader_left():  # another pipe or connection broke: report it
            say_error(tr("the other end closed a connection: {error}").format(error=error))
            _traceback_if_asked()
        return FAILED
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())  # a group without a command prints its help
        return DONE
    except click.ClickException as error:
        return _click_error(error)
    except GraphRagError as error:
        say_error(error.message, error.hint)
        _traceback_if_asked()
        return error.exit_code
    except OSError as error:
        if is_out_of_memory(error):
            return _out_of_memory()
        said = f"{error.filename}: {system_cause(error)}" if error.filename else short_cause(error)
        say_error(said, tr(RAISE_FILES) if error.errno == errno.EMFILE else None)
        _traceback_if_asked()
        return FAILED
    except RecursionError:
        say_error(tr("the input is nested too deeply"))
        return FAILED
    except Exception as error:  # noqa: BLE001 - the last line of defence
        if is_out_of_memory(error):
            return _out_of_memory()
        if not _traceback_if_asked():
            what = f"{type(error).__name__}: {short_cause(error)}"
            say_error(
                tr("unexpected error: {what}").format(what=what),
                tr("run the command again with -vv, and report the error with that output"),
            )
        return FAILED
    return result if isinstance(result, int) else DONE


def _out_of_memory() -> int:
    say_error(
        tr("out of memory or threads. Everything committed before is intact"),
        tr("raise the limit (ulimit -v, ulimit -u, or the container's), and run the same command again"),
    )
    _traceback_if_asked()
    return FAILED


def say_error(message: str, hint: str | None = None) -> None:
    """`error: …` and `hint: …` on stderr."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(labelled(tr("error:"), "red") + safe(message), err=True)
        if hint:
            click.echo(labelled(tr("hint:"), "cyan") + safe(hint), err=True)


_CLICK_TYPES = (later("integer range"), later("float range"))
"""Names in messages of click that it does not translate."""


def _click_error(error: click.ClickException) -> int:
    message = error.format_message()
    for name in _CLICK_TYPES:
        message = message.replace(name, tr(name))
    if message[-2:-1] in "'\"" and not message.isascii():  # click ends a translated message with its own stop
        message = message.removesuffix(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    say_error(
        message[:1].lower() + message[1:],
        tr("{command_path} --help").format(command_path=context.command_path) if context else None,
    )
    return error.exit_code


def _traceback_if_asked() -> bool:
    asked = logging.getLogger("graphrag_rdf").level <= logging.DEBUG
    if asked:
        click.echo(safe(traceback.format_exc()), err=True)
    return asked


def _reader_left() -> bool:
    """Whether nobody reads stdout any more; the interpreter's last flush then goes nowhere."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False


@contextlib.contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Let SIGTERM end a command like Ctrl-C, which closes open files and stores."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


_PREFIXES = {
    logging.DEBUG: later("debug:"),
    logging.INFO: later("info:"),
    logging.WARNING: later("warning:"),
    logging.ERROR: later("error:"),
    logging.CRITICAL: later("critical:"),
}
_LEVELS = {0: logging.WARNING, 1: logging.INFO}


class _Terminal(logging.Handler):
    """Writes `warning: …` to stderr; names the logger only when debugging."""

    colours: ClassVar[dict[int, str]] = {logging.ERROR: "red", logging.WARNING: "yellow"}

    def emit(self, record: logging.LogRecord) -> None:
        try:
            level = labelled(
                tr(_PREFIXES.get(record.levelno, f"{record.levelname.lower()}:")),
                self.colours.get(record.levelno),
            )
            where = f"{record.name}: " if self.level <= logging.DEBUG else ""
            click.echo(f"{level}{where}{safe(record.getMessage())}{_fault(record)}", err=True)
        except (OSError, ValueError):  # stderr is closed
            return


def _fault(record: logging.LogRecord) -> str:
    """The traceback of an unexpected error; expected errors have a message only."""
    if record.exc_info is None or record.exc_info[1] is None:
        return ""
    lines = "".join(traceback.format_exception(record.exc_info[1])).splitlines()
    return "".join(f"\n    {safe(line)}" for line in lines)


def set_up_logging(verbose: int = 0, *, quiet: bool = False) -> None:
    """Show the program's log.

    Args:
        verbose: 0 warnings, 1 progress, 2 everything.
        quiet: errors only; overrides `verbose`.
    """
    level = logging.ERROR if quiet else _LEVELS.get(verbose, logging.DEBUG)
    logger = logging.getLogger("graphrag_rdf")
    handler = next((h for h in logger.handlers if isinstance(h, _Terminal)), None)
    if handler is None:
        handler = _Terminal()
        logger.addHandler(handler)
    handler.setLevel(level)
    logger.setLevel(level)


T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = "\x1b[?25h\n"
"""The progress bar hides it."""


@contextlib.contextmanager
def ended_by_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the process during a query: the engine does not check for signals.

    For reading only, where nothing can be left half done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def ended_at_once(work: Callable[[], T], hint: str) -> T:
    """The result of work during which the first Ctrl-C or SIGTERM ends the process.

    The work runs in another thread, because the engine checks for signals only after it has written
    everything. Ending it at once is as safe as a kill: the store keeps what was committed before.

    Args:
        hint: what the user should do after an interruption.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, "work") as thread:
        working = thread.submit(work)
        try:
            return working.result()
        except KeyboardInterrupt:
            say_error(tr("interrupted"), hint)
            os._exit(INTERRUPTED)


@contextlib.contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C or SIGTERM into a request to stop; the second ends the process at once.

    Ending it at once is safe: the store keeps whole chunks, and the next run continues from there.

    Yields:
        whether stopping was requested.
    """
    requested = threading.Event()
    quiet = is_quiet()
    told = tr("interrupted; run the command again to continue")
    stopped = f"{_SHOW_CURSOR}{told}\n".encode()
    told = tr("stopping after the current chunk; press Ctrl-C again to stop at once")
    stopping = f"{told}\n".encode()
    if threading.current_thread() is not threading.main_thread():
        yield requested.is_set
        return

    def request(number: int, frame: FrameType | None) -> None:
        del number, frame
        if requested.is_set():
            os.write(2, stopped if os.isatty(2) else b"")
            os._exit(INTERRUPTED)
        requested.set()
        if not quiet:  # written directly: a handler may run in the middle of a print or an import
            os.write(2, stopping)

    before = {number: signal.signal(number, request) for number in _SIGNALS}
    try:
        yield requested.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def outcome(stopped: str | None, *, failed: bool) -> int:
    """The exit code of work that continues when a part of it fails.

    Args:
        stopped: why it ended early; None if it did not.
    """
    if stopped == "interrupted":
        return INTERRUPTED
    return IN_PART if failed or stopped else DONE
