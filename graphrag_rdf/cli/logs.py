"""The program's log on stderr."""

from __future__ import annotations

import logging
import traceback
from typing import ClassVar

import click

_LEVELS = {0: logging.WARNING, 1: logging.INFO}


class _Terminal(logging.Handler):
    """Writes `warning: …` to stderr; names the logger only when debugging."""

    colours: ClassVar[dict[int, str]] = {logging.ERROR: "red", logging.WARNING: "yellow"}

    def emit(self, record: logging.LogRecord) -> None:
        from graphrag_rdf.cli.output import safe, styled

        try:
            level = styled(f"{record.levelname.lower()}:", fg=self.colours.get(record.levelno), err=True)
            where = f"{record.name}: " if self.level <= logging.DEBUG else ""
            click.echo(f"{level} {where}{safe(record.getMessage())}{_fault(record)}", err=True)
        except (OSError, ValueError):  # stderr is closed
            return


def _fault(record: logging.LogRecord) -> str:
    """The traceback of an unexpected error; expected errors have a message only."""
    if record.exc_info is None or record.exc_info[1] is None:
        return ""
    from graphrag_rdf.cli.output import safe

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
