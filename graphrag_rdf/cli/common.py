"""The values of the options that every command has, as they were given."""

from __future__ import annotations

from typing import Any

import click

_KEY = "graphrag_rdf.common"


def kept(context: click.Context | None = None) -> dict[str, Any]:
    """The common options as they were given, shared by a command and all above it; empty outside of commands.

    Args:
        context: None for that of the running command.
    """
    context = context or click.get_current_context(silent=True)
    found: dict[str, Any] = {} if context is None else context.meta.setdefault(_KEY, {})
    return found
